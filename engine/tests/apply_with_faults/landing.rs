//! What a commit and a saved plan leave.

use super::*;

#[tokio::test]
async fn a_commit_pins_records_and_lands_with_its_files() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    fixture.add_shelf("raw");
    let report = fixture.commit("first").await.unwrap();

    let code_pin = fixture.manifest("code").pin.unwrap();
    assert_eq!(
        report.pinned,
        [(key("code"), Some(code_pin.native.to_string()))].into()
    );
    assert_eq!(report.unrecoverable, [key("raw")]);
    assert!(report.unchanged.is_empty());
    assert_eq!(report.vcs_commit, fixture.vcs.head());
    assert_eq!(tags(&code).len(), 1);
    assert_eq!(tags(&code)[0].0, code_pin.native.to_string());
    assert_eq!(fixture.pins_on_record(), [code_pin.id.to_string()]);
    assert_eq!(fixture.vcs.messages(), ["first"]);

    let listing = fixture.dataset();
    let listing = listing
        .listing_name(
            &fixture.manifest("raw"),
            fixture.manifest("raw").state.as_ref().unwrap(),
        )
        .unwrap();
    assert_eq!(
        fixture.vcs.changed_paths(),
        [
            ".tether/.gitignore".to_owned(),
            format!(".tether/listings/{listing}"),
            ".tether/objects/code.toml".to_owned(),
            ".tether/objects/raw.toml".to_owned(),
            "tether.toml".to_owned(),
        ]
    );
    for name in ["code", "raw"] {
        let path = format!(".tether/objects/{name}.toml");
        assert_eq!(fixture.vcs.at_head(&path), fixture.read(&path), "{name}");
    }
    let raw = fixture.manifest("raw");
    assert!(!raw.recoverable);
    assert_eq!(raw.state, Some(State::default().with("version", 1)));
    assert_eq!(raw.captured_at, fixture.manifest("code").captured_at);

    let operations = fixture.operations();
    assert_eq!(operations[0].command, "commit");
    assert_eq!(operations[0].commit, fixture.vcs.head());
    assert_eq!(
        operations[0].result,
        json!({
            "vcs_commit": fixture.vcs.head(),
            "pinned": {"code": code_pin.id},
            "unrecoverable": ["raw"],
        })
    );
    assert_eq!(operations[0].plan.as_ref().unwrap()["command"], "commit");
    assert_eq!(fixture.unfinished(), 0);
    let workspace = fixture.workspace();
    assert!(workspace.materialised.is_some());
    assert_eq!(workspace.last_snapshot.len(), 2);
    assert!(workspace.last_snapshot_at.is_some());
    assert!(workspace.view.base_states.is_empty(), "nothing is forked");
}

#[tokio::test]
async fn a_commit_without_changes_makes_no_operation_and_no_commit() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    fixture.add_shelf("raw");
    fixture.commit("first").await.unwrap();
    let before = fixture.operations();
    fixture.faults.calls();
    let report = fixture.commit("again").await.unwrap();
    assert_eq!(report.vcs_commit, None);
    assert!(report.pinned.is_empty());
    assert_eq!(report.unchanged, [key("code"), key("raw")]);
    assert_eq!(fixture.operations(), before);
    assert_eq!(fixture.vcs.messages(), ["first"]);
    // The shelf has no branches: it stays at its state and is not read.
    assert_eq!(
        fixture.faults.calls(),
        [format!("fingerprint {code}"), format!("verify {code}")]
    );
}

#[tokio::test]
async fn a_commit_of_some_objects_reads_and_commits_those_alone() {
    let fixture = Fixture::new();
    let a = fixture.add_memory("a");
    let b = fixture.add_memory("b");
    fixture.commit("first").await.unwrap();
    write(&a, "main", "1");
    write(&b, "main", "1");
    fixture.add_shelf("new");
    fixture.faults.calls();
    let report = fixture
        .commit_with(&CommitOptions {
            keys: keys(&["a"]),
            ..options("only a")
        })
        .await
        .unwrap();
    assert_eq!(report.pinned.keys().collect::<Vec<_>>(), [&key("a")]);
    assert!(report.unchanged.is_empty());
    assert_eq!(
        fixture.faults.calls(),
        [format!("fingerprint {a}"), format!("pin {a}")]
    );
    assert_eq!(fixture.vcs.changed_paths(), [".tether/objects/a.toml"]);
    let report = fixture.commit("the rest").await.unwrap();
    assert_eq!(report.unrecoverable, [key("new")]);
    assert_eq!(report.pinned.keys().collect::<Vec<_>>(), [&key("b")]);
}

/// Surprise 23.
#[tokio::test]
async fn planning_writes_nothing() {
    let fixture = Fixture::new();
    fixture.add_memory("code");
    fixture.add_shelf("raw");
    let before = everything(&fixture);
    let plan = planned(&fixture, &options("first")).await;
    assert_eq!(plan.actions.len(), 3);
    assert_eq!(everything(&fixture), before);
}

#[tokio::test]
async fn a_saved_plan_is_applied_once() {
    let fixture = Fixture::new();
    fixture.add_memory("code");
    let plan = saved(&planned(&fixture, &options("first")).await);
    let report = apply_saved(&fixture, plan.clone(), &CommitOptions::default())
        .await
        .unwrap();
    assert_eq!(report.pinned.len(), 1);
    assert_eq!(fixture.vcs.messages(), ["first"]);
    let before = everything(&fixture);
    let error = apply_saved(&fixture, plan, &CommitOptions::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StalePlan);
    assert_eq!(
        error.message(),
        "manifests changed since the plan was made; plan again"
    );
    assert_eq!(everything(&fixture), before);
}

/// Surprise 9: another message is an override, since no state of the world was reviewed in it.
#[tokio::test]
async fn a_saved_plan_takes_another_message_and_refuses_a_blank_one() {
    let fixture = Fixture::new();
    fixture.add_memory("code");
    let plan = saved(&planned(&fixture, &options("first")).await);
    let error = apply_saved(&fixture, plan.clone(), &options("  "))
        .await
        .unwrap_err();
    assert_eq!(error.message(), "the message is blank");
    apply_saved(&fixture, plan, &options("better"))
        .await
        .unwrap();
    assert_eq!(fixture.vcs.messages(), ["better"]);
}

#[tokio::test]
async fn a_saved_plan_is_refused_when_an_object_moved() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    let plan = saved(&planned(&fixture, &options("first")).await);
    write(&code, "main", "2");
    let before = everything(&fixture);
    let error = apply_saved(&fixture, plan, &CommitOptions::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StalePlan);
    assert!(
        error
            .message()
            .starts_with("code changed since the plan was made (snapshot_id="),
        "{error}"
    );
    assert_eq!(everything(&fixture), before);
    assert!(tags(&code).is_empty());
}

#[tokio::test]
async fn a_saved_plan_belongs_to_its_checkout_and_its_bookmark() {
    let fixture = Fixture::new();
    fixture.add_memory("code");
    let plan = saved(&planned(&fixture, &options("first")).await);
    let workspace = fixture.workspace();
    let mut elsewhere = workspace.clone();
    elsewhere.id = "0".repeat(32).parse().unwrap();
    fixture.write_workspace(&elsewhere);
    let error = apply_saved(&fixture, plan.clone(), &CommitOptions::default())
        .await
        .unwrap_err();
    assert_eq!(
        error.message(),
        "this commit plan was made in another checkout; plan again here"
    );
    fixture.write_workspace(&workspace);
    fixture.vcs.switch(Some("other"));
    let error = apply_saved(&fixture, plan, &CommitOptions::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StalePlan);
    assert_eq!(
        error.message(),
        "this commit plan was made on main; the checkout is on other now; plan again"
    );
}

#[tokio::test]
async fn keys_given_with_a_saved_plan_must_be_its_selection() {
    let fixture = Fixture::new();
    fixture.add_memory("a");
    fixture.add_memory("b");
    let some = CommitOptions {
        keys: keys(&["a"]),
        ..options("a")
    };
    let plan = saved(&planned(&fixture, &some).await);
    for wrong in [&["b"][..], &["a", "b"]] {
        let given = CommitOptions {
            keys: keys(wrong),
            ..CommitOptions::default()
        };
        let error = apply_saved(&fixture, plan.clone(), &given)
            .await
            .unwrap_err();
        assert_eq!(
            error.message(),
            "the plan commits a, which is another selection than the keys given"
        );
    }
    let given = CommitOptions {
        keys: keys(&["a"]),
        ..CommitOptions::default()
    };
    apply_saved(&fixture, plan, &given).await.unwrap();
    assert_eq!(fixture.vcs.messages(), ["a"]);
}
