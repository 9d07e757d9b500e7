//! Pins: lost, shared, released; and which objects are read.

use super::*;

/// Surprise 60.
#[tokio::test]
async fn a_lost_pin_is_made_again_without_a_commit() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    fixture.commit("first").await.unwrap();
    let before = tags(&code);
    delete_tag(&code, &before[0].0);
    let manifest = fixture.read(".tether/objects/code.toml");
    let report = fixture.commit("again").await.unwrap();
    assert_eq!(report.vcs_commit, None);
    assert_eq!(
        report.pinned,
        [(key("code"), Some(before[0].0.clone()))].into()
    );
    assert_eq!(tags(&code), before);
    assert_eq!(fixture.read(".tether/objects/code.toml"), manifest);
    assert_eq!(fixture.operations()[0].command, "commit");
    assert_eq!(fixture.vcs.messages(), ["first"]);
}

#[tokio::test]
async fn a_pin_that_points_elsewhere_is_not_overwritten() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    let first =
        tether_backend_memory::system::with(|systems| systems[&code].branches["main"].clone());
    write(&code, "main", "2");
    let plan = planned(&fixture, &options("first")).await;
    let target = plan.actions[0].target.clone();
    tether_backend_memory::system::with(|systems| {
        let system = systems.get_mut(&code).unwrap();
        system.tags.insert(target.clone(), first.clone());
    });
    let error = fixture.commit("first").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PinDrift);
    assert_eq!(error.key(), Some("code"));
    assert_eq!(tags(&code), [(target, first)]);
    assert_eq!(fixture.unfinished(), 0);
}

/// The transcripts, 05.
#[tokio::test]
async fn a_pin_policy_releases_and_makes_pins_of_unchanged_objects() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    fixture.commit("first").await.unwrap();
    let set = |mode: PinMode| {
        let mut manifest = fixture.manifest("code");
        manifest.policy.pin = mode;
        fixture.write_manifest(&manifest);
    };
    set(PinMode::Record);
    let report = fixture.commit("record").await.unwrap();
    assert_eq!(report.pinned, [(key("code"), None)].into());
    let manifest = fixture.manifest("code");
    assert!(manifest.pin.is_none());
    assert!(manifest.recoverable);
    assert_eq!(tags(&code).len(), 1, "the ref is gc's");
    set(PinMode::Native);
    fixture.commit("native").await.unwrap();
    assert_eq!(
        fixture.manifest("code").pin.unwrap().native.to_string(),
        tags(&code)[0].0
    );
    assert_eq!(fixture.vcs.messages(), ["native", "record", "first"]);
}

#[tokio::test]
async fn no_snapshot_takes_the_states_of_the_last_one() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    let cached = CommitOptions {
        no_snapshot: true,
        ..options("first")
    };
    let error = fixture.commit_with(&cached).await.unwrap_err();
    assert_eq!(error.key(), Some("code"));
    assert_eq!(error.hint(), Some("`tether snapshot code` takes one"));
    fixture.commit("first").await.unwrap();
    let second = write(&code, "main", "2");
    let mut workspace = fixture.workspace();
    workspace.last_snapshot.insert(key("code"), second.clone());
    fixture.write_workspace(&workspace);
    write(&code, "main", "3");
    fixture.faults.calls();
    fixture.commit_with(&cached).await.unwrap();
    assert_eq!(fixture.faults.calls(), [format!("pin {code}")]);
    assert_eq!(fixture.manifest("code").state, Some(second));
}

/// P040, 'Positions': off the trunk a bookmark's branch counts once it exists; until then nothing is read.
#[tokio::test]
async fn on_a_bookmark_only_its_branches_are_read() {
    let fixture = Fixture::new();
    let a = fixture.add_memory("a");
    let b = fixture.add_memory("b");
    fixture.commit("first").await.unwrap();
    let base = fixture.manifest("a").state.unwrap();
    let working = "tether.ws.0a1b2c3d.side";
    tether_backend_memory::system::with(|systems| {
        let system = systems.get_mut(&a).unwrap();
        let head = system.branches["main"].clone();
        system.branches.insert(working.to_owned(), head);
    });
    fixture.vcs.switch(Some("side"));
    let mut workspace = fixture.workspace();
    workspace.view.bookmark = Some("side".parse().unwrap());
    let native: tether_engine::name::NativeRef = working.parse().unwrap();
    workspace.view.working_refs.insert(key("a"), native.clone());
    workspace.view.pending_forks.insert(key("b"), native);
    for name in ["a", "b"] {
        workspace.view.base_states.insert(key(name), base.clone());
    }
    workspace
        .view
        .base_states
        .insert(key("b"), fixture.manifest("b").state.unwrap());
    fixture.write_workspace(&workspace);
    let ours = write(&a, working, "ours");
    write(&a, "main", "theirs");
    write(&b, "main", "theirs");
    fixture.faults.calls();
    let report = fixture.commit("side").await.unwrap();
    assert_eq!(report.unchanged, [key("b")]);
    assert_eq!(fixture.manifest("a").state, Some(ours.clone()));
    assert!(
        fixture
            .faults
            .calls()
            .iter()
            .all(|call| !call.ends_with(&b)),
        "b is at its pin until the first write"
    );
    // The workspace was written by something else: that is an operation of its own.
    let commands: Vec<String> = fixture
        .operations()
        .iter()
        .map(|it| it.command.clone())
        .collect();
    assert_eq!(commands, ["commit", "import-view", "commit", "init"]);
    assert_eq!(
        fixture.workspace().view.base_states[&key("a")],
        ours,
        "own commits never make a checkout stale"
    );
    fixture.commit("again").await.unwrap();
}

/// P076 in a store: two keys on one system, one pin; the manifests name it both.
#[tokio::test]
async fn two_keys_on_one_system_share_one_pin() {
    let fixture = Fixture::new();
    let system = fixture.add_memory("a");
    let locator = Locator::default()
        .with("system", system.clone())
        .with("branch", "main");
    fixture.add("b", "memory", locator, Policy::default());
    fixture.faults.calls();
    let report = fixture.commit("both").await.unwrap();
    assert_eq!(report.pinned.len(), 2);
    assert_eq!(fixture.manifest("a").pin, fixture.manifest("b").pin);
    assert_eq!(tags(&system).len(), 1);
    let pins = fixture.faults.calls();
    let pins = pins.iter().filter(|call| call.starts_with("pin "));
    assert_eq!(pins.count(), 1);
}

/// Objects of one system at two states: each has its pin.
#[tokio::test]
async fn many_objects_are_pinned_at_once_and_each_is_recorded() {
    let fixture = Fixture::new();
    let names: Vec<String> = (0..40).map(|n| format!("group/o{n:02}")).collect();
    for name in &names {
        fixture.add_memory(name);
    }
    let report = fixture.commit("many").await.unwrap();
    assert_eq!(report.pinned.len(), 40);
    assert_eq!(fixture.pins_on_record().len(), 40);
    let progress = &fixture.operations()[0].progress;
    assert_eq!(
        progress.iter().filter(|it| it["action"] == "pin").count(),
        40
    );
    assert_eq!(fixture.dataset().manifests().unwrap().len(), 40);
}

#[tokio::test]
async fn an_unreadable_object_fails_the_whole_commit_and_not_one_of_the_others() {
    let fixture = Fixture::new();
    let a = fixture.add_memory("a");
    let b = fixture.add_memory("b");
    fixture.faults.fail(&format!("fingerprint {b}"));
    let error = fixture.commit("all").await.unwrap_err();
    assert_eq!(error.key(), Some("b"));
    assert!(tags(&a).is_empty());
    let some = CommitOptions {
        keys: keys(&["a"]),
        ..options("a")
    };
    fixture.commit_with(&some).await.unwrap();
    assert_eq!(tags(&a).len(), 1);
}

#[tokio::test]
async fn objects_of_a_kind_this_build_lacks_stay_as_committed() {
    let fixture = Fixture::new();
    fixture.add_memory("a");
    fixture.commit("first").await.unwrap();
    let mut manifest = fixture.manifest("a");
    manifest.key = key("b");
    manifest.kind = "future".to_owned();
    fixture.write_manifest(&manifest);
    let report = fixture.commit("b").await.unwrap();
    assert_eq!(report.unchanged, [key("a"), key("b")]);
    assert_eq!(fixture.vcs.changed_paths(), [".tether/objects/b.toml"]);
    manifest.state = None;
    manifest.key = key("c");
    fixture.write_manifest(&manifest);
    let error = fixture.commit("c").await.unwrap_err();
    assert_eq!(error.key(), Some("c"));
    assert_eq!(error.message(), "there is no backend kind \"future\"");
}
