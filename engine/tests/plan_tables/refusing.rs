//! What is refused, and saved plans.

use super::*;

/// The user guide, 'Selecting objects', and surprise 16: only kinds with branches share a branch scope.
#[test]
fn objects_of_one_branch_scope_are_named_together() {
    let mut world = world();
    for key in ["db/a", "db/b"] {
        Object::new(key, FORKABLE)
            .system("db")
            .now(1)
            .put(&mut world);
    }
    for key in ["raw", "raw2"] {
        Object::new(key, OBSERVED)
            .system("raw")
            .now(1)
            .put(&mut world);
    }
    let error = refusal(&world, &selecting(&["db/a", "raw"]));
    assert_eq!(
        error.message(),
        "db/a shares one pin and one working branch with db/b, so they are committed together"
    );
    assert_eq!(
        error.hint().unwrap(),
        "`tether commit db/a raw db/b -m MESSAGE`"
    );
    let plan = plan(&world, &selecting(&["raw"])).unwrap();
    assert_eq!(shown(&plan).0, ["record raw", "vcs-commit"]);
}

/// Surprises 29 and 56: the message is checked first.
#[test]
fn a_blank_message_is_refused_before_anything_else() {
    let mut world = world();
    world.position.bookmarks.clear();
    for (message, said) in [
        (None, "a commit needs a message"),
        (Some(""), "the message is blank"),
        (Some(" \n\t"), "the message is blank"),
        (Some("a\0b"), "the message holds a NUL character"),
    ] {
        let options = CommitOptions {
            message: message.map(ToOwned::to_owned),
            ..options()
        };
        let error = refusal(&world, &options);
        assert_eq!(error.message(), said, "{message:?}");
        assert_eq!(error.hint().unwrap(), "`tether commit -m MESSAGE`");
    }
}

#[test]
fn a_checkout_off_its_bookmark_is_refused_with_the_way_back() {
    let mut left = world();
    left.position.bookmarks = vec![bookmark("other")];
    let mut detached = world();
    detached.position.bookmarks.clear();
    let mut reading = world();
    reading.workspace.view.bookmark = None;
    for (world, said, hint) in [
        (
            left,
            "the working copy is not on bookmark 'main': it moved to other",
            "`tether new main` returns to it, `tether new` works where you are",
        ),
        (
            detached,
            "the working copy is not on bookmark 'main': it moved to no bookmark",
            "`tether new main` returns to it, `tether new` works where you are",
        ),
        (
            reading,
            "this checkout is on no bookmark, so it is read-only",
            "`tether new main` works on the trunk, `tether new -b NAME` on a bookmark of its own",
        ),
    ] {
        let error = refusal(&world, &options());
        assert_eq!(error.kind(), ErrorKind::StaleWorkingCopy);
        assert_eq!(error.message(), said);
        assert_eq!(error.hint().unwrap(), hint);
    }
}

/// P106: a stale object stays stale, whatever becomes of the others.
#[test]
fn a_stale_checkout_is_refused_whatever_is_selected() {
    let mut world = world();
    Object::new("code", FORKABLE)
        .committed(2)
        .now(3)
        .put(&mut world);
    Object::new("raw", OBSERVED).now(1).put(&mut world);
    world.workspace.view.base_states.insert(key("code"), at(1));
    // The trunk's branches are upstream's: nothing was forked that could be stale.
    assert!(plan(&world, &options()).is_ok());
    world.workspace.view.bookmark = Some(bookmark("f"));
    world.position.bookmarks = vec![bookmark("f")];
    for options in [options(), selecting(&["raw"])] {
        let error = refusal(&world, &options);
        assert_eq!(error.kind(), ErrorKind::StaleWorkingCopy);
        assert_eq!(
            error.message(),
            "the working copy is stale: the committed state of code changed since this checkout forked"
        );
        assert_eq!(
            error.hint().unwrap(),
            "`tether new` decides every fork again"
        );
    }
}

#[test]
fn strict_refuses_new_states_that_cannot_be_read_back_and_no_others() {
    let mut world = world();
    Object::new("old", OBSERVED).committed(1).put(&mut world);
    Object::new("events", ADDRESSABLE).now(1).put(&mut world);
    let strict = CommitOptions {
        strict: true,
        ..options()
    };
    assert!(plan(&world, &strict).is_ok());
    Object::new("raw", OBSERVED).now(1).put(&mut world);
    let error = refusal(&world, &strict);
    assert_eq!(error.kind(), ErrorKind::Unpinned);
    assert_eq!(error.key(), Some("raw"));
}

#[test]
fn objects_that_cannot_be_read_are_one_error_that_names_each() {
    let mut world = world();
    for key in ["a", "b", "c"] {
        Object::new(key, FORKABLE).now(1).put(&mut world);
    }
    for name in ["a", "b"] {
        let failed = Error::store("no answer").with_hint("plug it in");
        world.states.insert(key(name), Err(failed));
    }
    let error = refusal(&world, &options());
    assert_eq!(error.kind(), ErrorKind::Several);
    let keys: Vec<_> = error.parts().iter().map(Error::key).collect();
    assert_eq!(keys, [Some("a"), Some("b")]);
    assert_eq!(error.parts()[0].hint(), Some("plug it in"));
    assert_eq!(
        error.hint().unwrap(),
        "nothing was committed; `tether commit KEY... -m MESSAGE` commits the others"
    );
}

#[test]
fn no_vcs_plans_no_dataset_commit() {
    let mut world = world();
    Object::new("code", FORKABLE).now(1).put(&mut world);
    let plan = plan(
        &world,
        &CommitOptions {
            no_vcs: true,
            ..options()
        },
    )
    .unwrap();
    assert_eq!(shown(&plan).0, ["pin code"]);
    assert_eq!(plan.context["no_vcs"], json!(true));
}

/// The user guide's 'Positions', as a table.
#[test]
fn positions_are_those_of_the_guide() {
    let working: tether_engine::name::NativeRef = "tether.ws.0a1b2c3d.b".parse().unwrap();
    let fork = Capabilities::of(FORKABLE);
    let plain = Capabilities::of(ADDRESSABLE);
    let on_ref = Place::Ref(working.clone());
    // bookmark, can fork, committed, --at, has a working ref
    for (on, capabilities, committed, pinned_at, has_ref, expected) in [
        (Some("main"), fork, true, false, false, Place::Upstream),
        (Some("main"), fork, true, false, true, Place::Upstream),
        (Some("main"), fork, true, true, false, Place::Kept),
        (Some("main"), fork, false, true, false, Place::Upstream),
        (Some("main"), plain, true, false, false, Place::Kept),
        (Some("main"), plain, false, false, false, Place::Upstream),
        (Some("b"), fork, true, false, true, on_ref.clone()),
        (Some("b"), fork, true, true, true, on_ref.clone()),
        (Some("b"), fork, true, false, false, Place::Kept),
        (Some("b"), fork, false, false, false, Place::Upstream),
        (Some("b"), plain, true, false, false, Place::Kept),
        (Some("b"), plain, false, false, false, Place::Upstream),
        (None, fork, true, false, false, Place::Kept),
        (None, fork, false, false, false, Place::Upstream),
    ] {
        let mut workspace = world().workspace;
        workspace.view.bookmark = on.map(bookmark);
        let mut locator = Locator::default().with("system", "s");
        if pinned_at {
            locator = locator.with("at", "v1");
        }
        let mut manifest = Manifest::new(key("k"), "kind", locator, Policy::default());
        manifest.state = committed.then(|| at(1));
        if has_ref {
            workspace
                .view
                .working_refs
                .insert(key("k"), working.clone());
        }
        assert_eq!(
            place(&manifest, &workspace, &bookmark("main"), capabilities),
            expected,
            "{on:?} {capabilities:?} committed={committed} at={pinned_at} ref={has_ref}"
        );
    }
}

#[test]
fn a_saved_plan_reads_back_as_it_was() {
    let mut world = world();
    Object::new("code", FORKABLE).now(1).put(&mut world);
    let plan = plan(&world, &options()).unwrap();
    let again = Plan::from_json(&plan.to_json(), "commit").unwrap();
    assert_eq!(again, plan);
    assert_eq!(plan.digest.len(), 64);
}

/// Surprise 3 (a JSON list), and the refusals of the transcripts (06, '--from-plan').
#[test]
fn saved_plans_that_cannot_be_vouched_for_are_refused() {
    let mut world = world();
    Object::new("code", FORKABLE).now(1).put(&mut world);
    let saved = plan(&world, &options()).unwrap().to_value();
    let with = |field: &str, value: Value| {
        let mut plan = saved.clone();
        plan[field] = value;
        plan
    };
    let without = |field: &str| {
        let mut plan = saved.clone();
        plan.as_object_mut().unwrap().remove(field);
        plan
    };
    let sealed = |mut plan: Value| {
        plan.as_object_mut().unwrap().remove("digest");
        let text = tether_engine::json::canonical(&plan);
        plan["digest"] = tether_engine::json::hash(32, [text.as_bytes()]).into();
        plan
    };
    let mut lacking = saved.clone();
    lacking["preconditions"].as_array_mut().unwrap().remove(2);
    let mut evil = saved.clone();
    evil["context"]["message"] = json!("evil");
    let stale = ErrorKind::StalePlan;
    let user = ErrorKind::User;
    for (plan, kind, said) in [
        (
            json!([]),
            user,
            "the file does not hold a saved plan: it is not a JSON object",
        ),
        (
            json!({}),
            user,
            "the file does not hold a saved plan: it names no plan format",
        ),
        (
            with("format", json!(4)),
            stale,
            "this plan has format 4; this tether reads format 3",
        ),
        (
            with("tether_version", json!("0.1.0b6")),
            stale,
            "this plan was made by tether 0.1.0b6; this is tether 0.1.0",
        ),
        (
            without("tether_version"),
            stale,
            "this plan was made by an older tether; this is tether 0.1.0",
        ),
        (
            with("command", json!("gc")),
            user,
            "this is a plan of `tether gc`, not of `tether commit`",
        ),
        (
            evil,
            stale,
            "this commit plan was edited after it was saved: its digest is not that of its content, so nothing vouches for what it would do",
        ),
        (
            with("smuggled", json!(1)),
            stale,
            "this commit plan was edited after it was saved: its digest is not that of its content, so nothing vouches for what it would do",
        ),
        (
            sealed(lacking),
            stale,
            "this commit plan lacks the precondition(s) that tether requires of it: manifest_hash",
        ),
        (
            sealed(with("actions", json!({"op": 1}))),
            user,
            "the file does not hold a saved plan: a field is missing or has a wrong type",
        ),
    ] {
        let error = Plan::from_json(&plan.to_string(), "commit").unwrap_err();
        assert_eq!(error.message(), said);
        assert_eq!(error.kind(), kind, "{said}");
        assert!(error.hint().is_some(), "{said}");
    }
    let error = Plan::from_json("{", "commit").unwrap_err();
    assert_eq!(
        error.message(),
        "the file does not hold a saved plan: it is not JSON"
    );
}
