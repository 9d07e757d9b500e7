//! What is pinned, recorded and left alone.

use super::*;

#[test]
fn the_first_commit_pins_records_and_commits_by_tier() {
    let mut world = world();
    Object::new("code", FORKABLE).now(1).put(&mut world);
    Object::new("events", ADDRESSABLE).now(1).put(&mut world);
    Object::new("raw", OBSERVED).now(1).put(&mut world);
    let plan = plan(&world, &options()).unwrap();
    let (actions, notes) = shown(&plan);
    assert_eq!(
        actions,
        ["pin code", "record events", "record raw", "vcs-commit"]
    );
    assert!(notes.is_empty(), "{notes:?}");
    let details: Vec<&str> = plan.actions.iter().map(|it| it.detail.as_str()).collect();
    assert_eq!(
        details,
        [
            "native ref at version=1 lsn=1",
            "Addressable: state version=1 lsn=1, no native ref",
            "Observed: recorded, not recoverable",
            "git commit: 'm'",
        ]
    );
}

/// The JSON shape of the user guide's 'JSON output', plan row, and of the transcripts (01, step 42).
#[test]
fn a_plan_has_the_fields_of_the_guide_in_their_order() {
    let mut world = world();
    Object::new("code", FORKABLE).now(1).put(&mut world);
    Object::new("raw", OBSERVED).now(2).put(&mut world);
    let value = plan(&world, &options()).unwrap().to_value();
    let fields: Vec<&String> = value.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        [
            "format",
            "tether_version",
            "command",
            "created_at",
            "context",
            "notes",
            "preconditions",
            "actions",
            "digest"
        ]
    );
    let context: Vec<&String> = value["context"].as_object().unwrap().keys().collect();
    assert_eq!(
        context,
        ["message", "manifest_hash", "states", "workspace_id", "pull"]
    );
    assert_eq!(
        value["context"]["states"],
        json!({"code": {"version": 1, "lsn": 1}, "raw": {"version": 2, "lsn": 2}})
    );
    assert_eq!(value["context"]["pull"], json!(false));
    let kinds: Vec<&Value> = value["preconditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["kind"])
        .collect();
    assert_eq!(
        kinds,
        ["workspace_id", "workspace_bookmark", "manifest_hash"]
    );
    for precondition in value["preconditions"].as_array().unwrap() {
        let fields: Vec<&String> = precondition.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["kind", "expected", "key", "params", "detail"]);
    }
    let pin = value["actions"][0]["params"]["pin_id"].as_str().unwrap();
    assert_eq!(
        value["actions"][0],
        json!({
            "op": "pin", "key": "code", "kind": "kind", "target": format!("tether.{pin}"),
            "detail": "native ref at version=1 lsn=1",
            "params": {"state": {"version": 1, "lsn": 1}, "pin_id": pin},
        })
    );
    assert_eq!(
        value["actions"][1]["params"],
        json!({"state": {"version": 2, "lsn": 2}, "recoverable": false})
    );
    assert_eq!(
        value["actions"][2],
        json!({
            "op": "vcs-commit", "key": "", "kind": "", "target": "", "detail": "git commit: 'm'", "params": {},
        })
    );
}

/// P104: volatile keys address and do not identify.
#[test]
fn a_moved_volatile_key_is_no_change() {
    let mut world = world();
    Object::new("db", FORKABLE).committed(1).put(&mut world);
    world
        .states
        .insert(key("db"), Ok(at(1).with("lsn", "0/99")));
    let plan = plan(&world, &options()).unwrap();
    assert!(plan.is_empty());
    assert_eq!(plan.notes, ["db: unchanged"]);
}

#[test]
fn what_is_not_read_stays_as_committed() {
    let mut world = world();
    Object::new("raw", OBSERVED).committed(1).put(&mut world);
    let plan = plan(&world, &options()).unwrap();
    assert!(plan.is_empty());
    assert_eq!(plan.context["states"], json!({"raw": {"version": 1}}));
}

/// Surprise 20: a drifted file that commit does not read is at least mentioned, when the last snapshot saw it.
#[test]
fn a_file_the_last_snapshot_found_changed_is_mentioned() {
    let mut world = world();
    Object::new("raw", OBSERVED).committed(1).put(&mut world);
    world.workspace.last_snapshot.insert(key("raw"), at(2));
    let plan = plan(&world, &options()).unwrap();
    assert!(plan.is_empty());
    assert_eq!(
        plan.notes,
        [
            "raw: unchanged; not read, and the last snapshot found it changed (`tether status --snapshot`)"
        ]
    );
}

/// Surprise 20: the same of an immutable object that changed, which a snapshot keeps as an error.
#[test]
fn a_changed_immutable_object_is_mentioned_with_what_the_snapshot_said() {
    let mut world = world();
    Object::new("raw", OBSERVED).committed(1).put(&mut world);
    let failed = tether_engine::workspace::SnapshotError {
        native: String::new(),
        error: "the immutable object changed".to_owned(),
    };
    world
        .workspace
        .last_snapshot_errors
        .insert(key("raw"), failed);
    let plan = plan(&world, &options()).unwrap();
    assert_eq!(
        plan.notes,
        ["raw: unchanged; not read, and the last snapshot failed: the immutable object changed"]
    );
}

/// Surprise 21: an edit of a policy, a removal and a change of `tether.toml` are something to commit.
#[test]
fn edits_and_removals_are_something_to_commit() {
    let mut edited = world();
    Object::new("raw", OBSERVED).committed(1).put(&mut edited);
    edited.edited.insert(key("raw"));
    edited.manifests.get_mut("raw").unwrap().policy.file =
        tether_engine::manifest::FileMode::Versioned;
    let mut removed = world();
    removed.removed.insert(key("gone"), true);
    let mut config = world();
    config.files.push(ChangedFile {
        path: "tether.toml".to_owned(),
        new: false,
    });
    for (world, note) in [
        (edited, "raw: policy changed"),
        (removed, "gone: removed"),
        (config, "tether.toml: changed"),
    ] {
        let plan = plan(&world, &options()).unwrap();
        let (actions, notes) = shown(&plan);
        assert_eq!(actions, ["vcs-commit"], "{note}");
        assert_eq!(notes, [note]);
        assert!(!plan.is_empty());
    }
}

/// Surprise 21 the other way round: a commit of some objects leaves other edits alone.
#[test]
fn a_selection_leaves_other_edits_uncommitted() {
    let mut world = world();
    Object::new("code", FORKABLE)
        .committed(1)
        .now(1)
        .put(&mut world);
    Object::new("raw", OBSERVED).put(&mut world);
    world.removed.insert(key("gone"), false);
    world.files.push(ChangedFile {
        path: "tether.toml".to_owned(),
        new: false,
    });
    let plan = plan(&world, &selecting(&["code"])).unwrap();
    assert!(plan.is_empty(), "{:?}", plan.actions);
    assert_eq!(plan.context["keys"], json!(["code"]));
}

/// Surprise 15: `rm -rf .tether/objects` is no removal anybody asked for.
#[test]
fn removals_nobody_recorded_are_refused_unless_named() {
    let mut world = world();
    world.removed.insert(key("a b"), false);
    world.removed.insert(key("asked"), true);
    world.removed.insert(key("zarr"), false);
    let error = refusal(&world, &options());
    assert_eq!(error.kind(), ErrorKind::User);
    assert_eq!(
        error.message(),
        "the manifests of a b, zarr are gone, but no `tether remove` took them away"
    );
    assert_eq!(
        error.hint().unwrap(),
        "`git checkout -- .tether/objects` brings back what is missing; `tether commit 'a b' zarr -m MESSAGE` records the removal of the objects it names"
    );
    let plan = plan(&world, &selecting(&["a b", "zarr"])).unwrap();
    assert_eq!(plan.notes, ["a b: removed", "zarr: removed"]);
    assert_eq!(shown(&plan).0, ["vcs-commit"]);
}

/// E07: what a sparse checkout left out is not removed.
#[test]
fn a_manifest_left_out_by_a_sparse_checkout_stays_as_committed() {
    let mut world = world();
    Object::new("code", FORKABLE).committed(1).put(&mut world);
    world.left_out.insert(key("code"));
    let plan = plan(&world, &options()).unwrap();
    assert!(plan.is_empty());
    assert_eq!(
        plan.notes,
        ["code: left out of this sparse checkout; stays as committed"]
    );
}

/// Surprise 60.
#[test]
fn a_pin_the_store_lost_is_made_again() {
    let mut world = world();
    Object::new("code", FORKABLE)
        .committed(1)
        .now(1)
        .put(&mut world);
    world
        .pins
        .insert(key("code"), Ok(VerifyReport::new(Verdict::Missing, "gone")));
    let plan = plan(&world, &options()).unwrap();
    assert_eq!(
        shown(&plan).0,
        ["pin code"],
        "and no commit: the manifest stays"
    );
    assert_eq!(
        plan.actions[0].detail,
        "native ref is missing; made again at version=1"
    );
}

#[test]
fn a_drifted_pin_is_mentioned_and_left_alone() {
    let mut world = world();
    Object::new("code", FORKABLE)
        .committed(1)
        .now(1)
        .put(&mut world);
    world.pins.insert(
        key("code"),
        Ok(VerifyReport::new(Verdict::Drifted, "elsewhere")),
    );
    let plan = plan(&world, &options()).unwrap();
    assert!(plan.is_empty());
    assert_eq!(
        plan.notes,
        [
            "code: unchanged",
            "code: its pin points at another state than recorded; `tether verify code` says where"
        ]
    );
}

/// The transcripts, 05: `pin = "record"` releases the manifest's pin, and back again makes one, with the state unchanged.
#[test]
fn a_pin_policy_takes_effect_although_the_state_is_unchanged() {
    let mut to_record = world();
    Object::new("zarr", FORKABLE)
        .committed(1)
        .now(1)
        .put(&mut to_record);
    to_record.manifests.get_mut("zarr").unwrap().policy.pin = PinMode::Record;
    to_record.edited.insert(key("zarr"));
    let facts = to_record.objects.get_mut("zarr").unwrap();
    facts.capabilities = facts.capabilities.without(Capability::Pin);
    let released = plan(&to_record, &options()).unwrap();
    assert_eq!(shown(&released).0, ["record zarr", "vcs-commit"]);
    assert_eq!(released.notes, ["zarr: policy changed; pin released"]);
    assert_eq!(
        released.actions[0].detail,
        "pin=record: state version=1 lsn=1, no native ref"
    );

    let mut to_native = world();
    Object::new("zarr", FORKABLE)
        .committed(1)
        .now(1)
        .put(&mut to_native);
    to_native.manifests.get_mut("zarr").unwrap().pin = None;
    let committed = to_native.committed.get_mut("zarr").unwrap();
    committed.pin = None;
    committed.policy.pin = PinMode::Record;
    let pinned = plan(&to_native, &options()).unwrap();
    assert_eq!(shown(&pinned).0, ["pin zarr", "vcs-commit"]);
}

/// A store that cannot pin just now is no reason to forget a pin.
#[test]
fn losing_the_ability_to_pin_keeps_the_recorded_pin() {
    let mut world = world();
    Object::new("zarr", FORKABLE)
        .committed(1)
        .now(1)
        .put(&mut world);
    let facts = world.objects.get_mut("zarr").unwrap();
    facts.capabilities = facts.capabilities.without(Capability::Pin);
    assert!(plan(&world, &options()).unwrap().is_empty());
}

/// P076: one system at one state has one pin; the second object is recorded at the state the pin is taken at.
#[test]
fn objects_at_one_state_of_one_system_share_a_pin() {
    let mut world = world();
    Object::new("db/a", FORKABLE).system("db").put(&mut world);
    Object::new("db/b", FORKABLE).system("db").put(&mut world);
    world
        .states
        .insert(key("db/a"), Ok(at(4).with("lsn", "0/1")));
    world
        .states
        .insert(key("db/b"), Ok(at(4).with("lsn", "0/2")));
    let plan = plan(&world, &options()).unwrap();
    let [a, b, _] = plan.actions.as_slice() else {
        panic!("{:?}", plan.actions);
    };
    assert_eq!(a.params["pin_id"], b.params["pin_id"]);
    assert_eq!(b.params["state"], json!({"version": 4, "lsn": "0/1"}));
}
