//! What a failure takes back, and what it leaves.

use super::*;

/// P088, P090: only the pins this commit made are rolled back, and everything else is as before.
#[tokio::test]
async fn a_failing_pin_rolls_back_the_pins_this_run_made_and_no_others() {
    let fixture = Fixture::new();
    let a = fixture.add_memory("a");
    let b = fixture.add_memory("b");
    let c = fixture.add_memory("c");
    let kept = CommitOptions {
        keys: keys(&["a"]),
        ..options("a")
    };
    fixture.commit_with(&kept).await.unwrap();
    // `a` is registered anew: its pin is found again.
    let mut manifest = fixture.manifest("a");
    (manifest.state, manifest.pin) = (None, None);
    fixture.write_manifest(&manifest);
    let before = everything(&fixture);
    fixture.faults.fail(&format!("pin {c}"));
    let error = fixture.commit("all").await.unwrap_err();
    assert_eq!(error.key(), Some("c"));
    assert_eq!(error.kind(), ErrorKind::Store);
    assert_eq!(tags(&a).len(), 1, "the pin that was there stays");
    assert!(tags(&b).is_empty(), "the pin this run made is gone");
    // The indexes are memories: a failed pin may stand nevertheless, so its record stays. The one that was taken back is off it.
    let recorded = fixture.pins_on_record();
    assert_eq!(recorded.len(), 2, "{recorded:?}");
    assert!(recorded.contains(&fixture.manifest_at_head("a").pin.unwrap().id.to_string()));
    let changed: Vec<String> = everything(&fixture)
        .into_iter()
        .filter(|entry| !before.contains(entry))
        .filter_map(|(path, _)| path.rsplit('/').next().map(ToOwned::to_owned))
        .collect();
    assert_eq!(changed, ["tether-pinned.jsonl", "tether-touched.jsonl"]);
    fixture.faults.mend();
    let report = fixture.commit("all").await.unwrap();
    assert_eq!(report.pinned.len(), 3);
    assert_eq!(fixture.unfinished(), 0);
}

/// E15: a refusing hook or signer rolls the commit back as a unit.
#[tokio::test]
async fn a_refused_dataset_commit_rolls_everything_back() {
    for trouble in [Trouble::Refused, Trouble::AfterPrepared] {
        let fixture = Fixture::new();
        let code = fixture.add_memory("code");
        fixture.add_shelf("raw");
        let manifest = fixture.read(".tether/objects/code.toml");
        let workspace = fixture.read(".tether/workspace.toml");
        fixture.vcs.trouble(trouble);
        let error = fixture.commit("first").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Vcs, "{trouble:?}");
        assert_eq!(error.exit_code(), 1);
        assert!(tags(&code).is_empty());
        assert!(fixture.pins_on_record().is_empty());
        assert_eq!(fixture.read(".tether/objects/code.toml"), manifest);
        assert_eq!(fixture.read(".tether/workspace.toml"), workspace);
        let listings = std::fs::read_dir(fixture.path(".tether/listings"));
        assert_eq!(listings.map_or(0, Iterator::count), 0);
        assert_eq!(fixture.unfinished(), 0);
        assert_eq!(fixture.operations().len(), 1, "init alone");
        fixture.vcs.trouble(Trouble::None);
        let report = fixture.commit("again").await.unwrap();
        assert_eq!(report.pinned.len(), 1);
    }
}

/// A commit that landed is never undone by an error after it.
#[tokio::test]
async fn a_commit_that_landed_stands_although_an_error_came_back() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    fixture.vcs.trouble(Trouble::Landed);
    let report = fixture.commit("first").await.unwrap();
    assert_eq!(report.vcs_commit, fixture.vcs.head());
    assert_eq!(tags(&code).len(), 1);
    assert_eq!(fixture.operations()[0].commit, fixture.vcs.head());
    assert_eq!(fixture.unfinished(), 0);
}

/// What the VCS would refuse is refused before the first pin: surprise 29.
#[tokio::test]
async fn what_the_vcs_would_refuse_is_refused_before_pinning() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    let before = everything(&fixture);
    fixture.vcs.trouble(Trouble::NotNow);
    let error = fixture.commit("first").await.unwrap_err();
    assert_eq!(error.message(), "a merge is in progress");
    assert!(tags(&code).is_empty());
    assert_eq!(everything(&fixture), before);
}

/// P046: a manifest that an ignore rule covers would not be in the commit.
#[tokio::test]
async fn an_ignored_manifest_is_refused_before_pinning() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    fixture.vcs.ignore(".tether/objects/code.toml");
    let error = fixture.commit("first").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Vcs);
    assert_eq!(
        error.message(),
        "an ignore rule of the repository covers .tether/objects/code.toml, so a commit would not hold it"
    );
    assert!(tags(&code).is_empty());
}

#[tokio::test]
async fn a_blank_message_contacts_no_store() {
    let fixture = Fixture::new();
    fixture.add_memory("code");
    let before = everything(&fixture);
    let error = fixture.commit(" ").await.unwrap_err();
    assert_eq!(error.message(), "the message is blank");
    assert!(fixture.faults.calls().is_empty());
    assert_eq!(everything(&fixture), before);
}

/// E07 and surprise 15.
#[tokio::test]
async fn a_removal_is_committed_when_it_was_asked_for() {
    let fixture = Fixture::new();
    fixture.add_memory("a");
    fixture.add_memory("b");
    fixture.add_memory("c");
    fixture.commit("first").await.unwrap();
    for name in ["a", "b", "c"] {
        std::fs::remove_file(fixture.path(&format!(".tether/objects/{name}.toml"))).unwrap();
    }
    fixture.vcs.leave_out(".tether/objects/a.toml");
    let error = fixture.commit("gone").await.unwrap_err();
    assert_eq!(
        error.message(),
        "the manifests of b, c are gone, but no `tether remove` took them away"
    );
    // `tether remove c` is on record.
    let dataset = fixture.dataset();
    let mut workspace = fixture.workspace();
    let mut record = apply::publish::Record::new("remove").unwrap();
    record.result = json!({"key": "c"});
    apply::publish::publish(&dataset, &mut workspace, record).unwrap();
    let error = fixture.commit("gone").await.unwrap_err();
    assert_eq!(
        error.message(),
        "the manifest of b is gone, but no `tether remove` took it away"
    );
    let named = CommitOptions {
        keys: keys(&["b"]),
        ..options("drop b")
    };
    fixture.commit_with(&named).await.unwrap();
    assert_eq!(fixture.vcs.changed_paths(), ["-.tether/objects/b.toml"]);
    fixture.commit("drop c").await.unwrap();
    assert_eq!(fixture.vcs.changed_paths(), ["-.tether/objects/c.toml"]);
    assert!(fixture.vcs.at_head(".tether/objects/a.toml").is_some());
    let report = fixture.commit("again").await.unwrap();
    assert_eq!(report.unchanged, [key("a")]);
    assert_eq!(
        report.notes,
        ["a: left out of this sparse checkout; stays as committed"]
    );
}

#[tokio::test]
async fn no_vcs_writes_manifests_and_a_later_commit_takes_them_along() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    fixture.commit("first").await.unwrap();
    write(&code, "main", "2");
    let no_vcs = CommitOptions {
        no_vcs: true,
        ..options("second")
    };
    let report = fixture.commit_with(&no_vcs).await.unwrap();
    assert_eq!(report.vcs_commit, None);
    assert_eq!(report.pinned.len(), 1);
    assert_eq!(fixture.vcs.messages(), ["first"]);
    assert_eq!(fixture.operations()[0].commit, None);
    assert!(
        fixture.operations()[0].pre["files"][".tether/objects/code.toml"].is_string(),
        "undo finds what the manifest held"
    );
    assert_eq!(tags(&code).len(), 2);
    let report = fixture.commit("third").await.unwrap();
    assert_eq!(report.unchanged, [key("code")]);
    assert_eq!(report.vcs_commit, fixture.vcs.head());
    assert_eq!(fixture.vcs.messages(), ["third", "first"]);
    assert!(report.notes.is_empty());
}
