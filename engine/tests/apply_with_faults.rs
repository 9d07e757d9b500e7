//! Committing on real files and a repository in memory, with a fault at each place that can have one.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which the lint's exception for tests does not reach"
)]

mod common;

use common::vcs::Trouble;
use common::{Fixture, delete_tag, key, keys, options, tags, write};
use std::sync::Arc;

use serde_json::{Value, json};
use tether_engine::apply;
use tether_engine::backend::Registry;
use tether_engine::dataset::{Dataset, Parts};
use tether_engine::error::ErrorKind;
use tether_engine::manifest::{FileMode, PinMode, Policy};
use tether_engine::oplog::FileHeads;
use tether_engine::plan::Plan;
use tether_engine::plan::commit::CommitOptions;
use tether_engine::state::{Locator, State};

/// Everything below the dataset's root and the shared directory, but locks: what "nothing was written" means.
fn everything(fixture: &Fixture) -> Vec<(String, String)> {
    fn walk(dir: &std::path::Path, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if !path.ends_with("lock") && !path.ends_with("tether.lock") {
                let text = std::fs::read(&path).unwrap();
                found.push((
                    path.display().to_string(),
                    String::from_utf8_lossy(&text).into_owned(),
                ));
            }
        }
    }
    let mut found = Vec::new();
    walk(fixture.dir.path(), &mut found);
    found.sort();
    found
}

fn saved(plan: &Plan) -> Plan {
    Plan::from_json(&plan.to_json(), "commit").unwrap()
}

async fn planned(fixture: &Fixture, options: &CommitOptions) -> Plan {
    apply::commit::plan(&fixture.dataset(), options, false)
        .await
        .unwrap()
}

async fn apply_saved(
    fixture: &Fixture,
    plan: Plan,
    options: &CommitOptions,
) -> tether_engine::Result<tether_engine::report::CommitReport> {
    apply::commit::apply_saved(&fixture.dataset(), plan, options, &mut |_| {}).await
}

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

fn open(fixture: &Fixture) -> tether_engine::Result<Dataset> {
    Dataset::open(Parts {
        root: fixture.root(),
        vcs: Arc::clone(&fixture.vcs) as _,
        oplog: Arc::new(FileHeads::new(fixture.dir.path(), "main")),
        registry: Registry::new(),
    })
}

/// The guide's security model, 'Write outside `.tether/`': a clone can bring links, and none is followed.
#[test]
fn links_in_the_place_of_tethers_own_directories_are_refused() {
    for place in [".tether", ".tether/objects", ".tether/listings"] {
        let fixture = Fixture::new();
        let elsewhere = fixture.dir.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        let path = fixture.path(place);
        if path.exists() {
            std::fs::remove_dir_all(&path).unwrap();
        }
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        let error = open(&fixture).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{place}");
        assert!(
            error.message().ends_with(&format!(
                "/ds/{place} is a symbolic link, which tether does not follow there"
            )),
            "{error}"
        );
    }
    let fixture = Fixture::new();
    for name in ["group", "key.toml"] {
        let path = fixture.path(".tether/objects").join(name);
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        let error = fixture.dataset().manifests().unwrap_err();
        assert!(error.message().contains("is a symbolic link"), "{error}");
        std::fs::remove_file(&path).unwrap();
    }
}

/// P022: files whose place is no key are named; files that are no manifests do not count.
#[test]
fn a_manifest_at_a_place_that_is_no_key_is_named() {
    let fixture = Fixture::new();
    for name in [".toml", "C:.toml", "a\\b.toml"] {
        let path = fixture.path(".tether/objects").join(name);
        std::fs::write(&path, "key = \"x\"").unwrap();
        let error = fixture.dataset().manifests().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{name}");
        assert!(
            error
                .message()
                .ends_with("stands at a place that is no object's"),
            "{error}"
        );
        std::fs::remove_file(&path).unwrap();
    }
    for name in ["README", ".tether-tmp-1", "x.toml.orig"] {
        std::fs::write(fixture.path(".tether/objects").join(name), "").unwrap();
    }
    assert!(fixture.dataset().manifests().unwrap().is_empty());
}

/// P023: a tracked per-checkout file is refused when the dataset is opened, before secrets are read.
#[test]
fn a_tracked_per_checkout_file_is_refused_before_secrets_are_read() {
    for name in ["secrets.toml", "workspace.toml", "ops.jsonl"] {
        let fixture = Fixture::new();
        let path = format!(".tether/{name}");
        std::fs::write(fixture.path(".tether/secrets.toml"), "not = [toml").unwrap();
        fixture.vcs.track(&path);
        let Err(error) = open(&fixture) else {
            panic!("{name} was accepted");
        };
        assert_eq!(error.kind(), ErrorKind::Config);
        assert_eq!(
            error.hint().unwrap(),
            format!("`git rm --cached -- {path}`, and commit that")
        );
    }
}

/// An edit of the policy is committed although nothing else changed: surprise 21.
#[tokio::test]
async fn an_edited_policy_is_committed() {
    let fixture = Fixture::new();
    fixture.add_shelf("raw");
    fixture.commit("first").await.unwrap();
    let mut manifest = fixture.manifest("raw");
    manifest.policy.file = FileMode::Versioned;
    fixture.write_manifest(&manifest);
    let dry = planned(&fixture, &options("policy")).await;
    assert!(!dry.is_empty());
    let report = fixture.commit("policy").await.unwrap();
    assert_eq!(report.vcs_commit, fixture.vcs.head());
    assert_eq!(report.unchanged, [key("raw")]);
    assert_eq!(fixture.vcs.changed_paths(), [".tether/objects/raw.toml"]);
    let value: Value = serde_json::to_value(&report).unwrap();
    assert_eq!(
        value,
        json!({
            "vcs_commit": fixture.vcs.head(), "pinned": {}, "unrecoverable": [], "unchanged": ["raw"],
        })
    );
}

/// A `workspace.toml` written before the head moved (a kill between the two) is followed, not taken for an edit.
#[tokio::test]
async fn a_workspace_file_behind_the_head_is_followed() {
    let fixture = Fixture::new();
    fixture.add_memory("a");
    fixture.commit("first").await.unwrap();
    let old = fixture.read(".tether/workspace.toml").unwrap();
    let dataset = fixture.dataset();
    let mut workspace = fixture.workspace();
    workspace
        .view
        .base_states
        .insert(key("a"), fixture.manifest("a").state.unwrap());
    let head = apply::publish::publish(
        &dataset,
        &mut workspace,
        apply::publish::Record::new("new").unwrap(),
    )
    .unwrap();
    std::fs::write(fixture.path(".tether/workspace.toml"), old).unwrap();
    let followed = fixture.workspace();
    assert_eq!(followed.view, workspace.view);
    assert_eq!(followed.materialised, Some((head.operation, head.view)));
}

/// Runs a commit that dies in the VCS step.
async fn dies(fixture: &Fixture, trouble: Trouble, options: &CommitOptions) {
    fixture.vcs.trouble(trouble);
    let dataset = fixture.dataset();
    let options = options.clone();
    let run = tokio::spawn(async move {
        apply::commit::run(&dataset, &options, &mut |_| {})
            .await
            .map(drop)
    });
    assert!(run.await.unwrap_err().is_panic());
    fixture.vcs.trouble(Trouble::None);
    assert_eq!(fixture.unfinished(), 1);
}

/// E12 and surprise 41: killed before the commit stands, the next commit rolls it back and makes it anew, with the same pins.
#[tokio::test]
async fn a_commit_killed_before_it_landed_is_rolled_back_and_made_by_the_next_one() {
    for trouble in [Trouble::DieBefore, Trouble::DiePrepared] {
        let fixture = Fixture::new();
        let code = fixture.add_memory("code");
        fixture.add_shelf("raw");
        dies(&fixture, trouble, &options("killed")).await;
        let pins = tags(&code);
        assert_eq!(pins.len(), 1);
        fixture.faults.calls();
        let report = fixture.commit("again").await.unwrap();
        assert_eq!(report.pinned.len(), 1);
        assert_eq!(report.unrecoverable, [key("raw")]);
        assert_eq!(
            report.notes.len(),
            1,
            "the report says what was rolled back: {:?}",
            report.notes
        );
        assert!(report.notes[0].starts_with("rolled back the interrupted commit "));
        assert_eq!(fixture.vcs.messages(), ["again"]);
        assert_eq!(tags(&code), pins);
        let calls = fixture.faults.calls();
        assert!(
            !calls.contains(&format!("unpin {code}")),
            "a pin that is used again is not deleted first: {calls:?}"
        );
        assert_eq!(fixture.unfinished(), 0);
        assert_eq!(fixture.pins_on_record().len(), 1);
    }
}

/// E12: the pins of a killed commit that the next one does not need are released.
#[tokio::test]
async fn a_killed_commits_pins_are_released_when_the_next_one_needs_others() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    dies(&fixture, Trouble::DiePrepared, &options("killed")).await;
    let first = tags(&code);
    write(&code, "main", "2");
    fixture.commit("again").await.unwrap();
    let now = tags(&code);
    assert_eq!(now.len(), 1);
    assert_ne!(now, first);
    assert_eq!(fixture.pins_on_record().len(), 1);
}

/// Any writing command recovers; alone it releases the pins.
#[tokio::test]
async fn recovering_alone_puts_files_back_and_releases_pins() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    fixture.add_shelf("raw");
    let before = everything(&fixture);
    dies(&fixture, Trouble::DieBefore, &options("killed")).await;
    assert_ne!(everything(&fixture), before);
    let lines = apply::recover::recover(&fixture.dataset()).await.unwrap();
    assert_eq!(lines.len(), 1);
    assert!(tags(&code).is_empty());
    let changed: Vec<String> = everything(&fixture)
        .into_iter()
        .filter(|entry| !before.contains(entry))
        .filter_map(|(path, _)| path.rsplit('/').next().map(ToOwned::to_owned))
        .collect();
    assert_eq!(
        changed,
        ["tether-pinned.jsonl", "tether-touched.jsonl"],
        "an empty record of pins, and the memory of the store"
    );
    assert!(fixture.pins_on_record().is_empty());
}

/// A store that cannot be reached keeps nothing from being recovered: its pin stays on record.
#[tokio::test]
async fn recovering_goes_on_when_a_pin_cannot_be_released() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    dies(&fixture, Trouble::DieBefore, &options("killed")).await;
    fixture.faults.fail(&format!("unpin {code}"));
    let lines = apply::recover::recover(&fixture.dataset()).await.unwrap();
    assert_eq!(lines.len(), 2);
    assert!(
        lines[1].starts_with(
            "a pin of the interrupted commit could not be released and stays on record for `tether gc`: code (memory)"
        ),
        "{lines:?}"
    );
    assert_eq!(fixture.pins_on_record().len(), 1);
    assert_eq!(fixture.unfinished(), 0);
}

/// Surprise 41: killed after the commit landed, the next command finishes the record.
#[tokio::test]
async fn a_commit_killed_after_it_landed_is_finished() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    dies(&fixture, Trouble::DieLanded, &options("killed")).await;
    let commit = fixture.vcs.head().unwrap();
    let report = fixture.commit("again").await.unwrap();
    assert_eq!(report.vcs_commit, None, "there is nothing left to commit");
    assert_eq!(report.unchanged, [key("code")]);
    assert!(report.notes[0].starts_with("finished the interrupted commit "));
    assert_eq!(fixture.vcs.messages(), ["killed"]);
    let operation = &fixture.operations()[0];
    assert_eq!(operation.command, "commit");
    assert_eq!(operation.commit, Some(commit.clone()));
    assert_eq!(operation.result["vcs_commit"], json!(commit));
    assert_eq!(
        operation.result["pinned"]["code"],
        json!(fixture.manifest("code").pin.unwrap().id)
    );
    assert_eq!(tags(&code).len(), 1);
    assert_eq!(fixture.unfinished(), 0);
}

/// The landed commit was amended by hand before anybody recovered: it still landed.
#[tokio::test]
async fn a_landed_commit_that_was_amended_since_is_finished_and_not_rolled_back() {
    let fixture = Fixture::new();
    fixture.add_memory("code");
    dies(&fixture, Trouble::DieLanded, &options("killed")).await;
    fixture.vcs.amend("better words");
    let manifest = fixture.read(".tether/objects/code.toml");
    apply::recover::recover(&fixture.dataset()).await.unwrap();
    assert_eq!(fixture.read(".tether/objects/code.toml"), manifest);
    assert_eq!(fixture.operations()[0].commit, fixture.vcs.head());
}

/// Rolling back leaves alone what the user changed since.
#[tokio::test]
async fn rolling_back_keeps_a_manifest_that_was_edited_since() {
    let fixture = Fixture::new();
    fixture.add_memory("code");
    dies(&fixture, Trouble::DieBefore, &options("killed")).await;
    let mut manifest = fixture.manifest("code");
    manifest.policy.file = FileMode::Versioned;
    fixture.write_manifest(&manifest);
    apply::recover::recover(&fixture.dataset()).await.unwrap();
    assert_eq!(fixture.manifest("code"), manifest);
}

/// P044: another checkout's unfinished operation is that checkout's.
#[tokio::test]
async fn another_checkouts_unfinished_operation_is_left_alone() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    dies(&fixture, Trouble::DieBefore, &options("killed")).await;
    let mut other = fixture.workspace();
    other.id = "0".repeat(32).parse().unwrap();
    fixture.write_workspace(&other);
    let lines = apply::recover::recover(&fixture.dataset()).await.unwrap();
    assert!(lines.is_empty());
    assert_eq!(fixture.unfinished(), 1);
    assert_eq!(tags(&code).len(), 1);
}

/// A preview says that an interrupted operation comes first, and still writes nothing.
#[tokio::test]
async fn planning_mentions_an_unfinished_operation() {
    let fixture = Fixture::new();
    fixture.add_memory("code");
    dies(&fixture, Trouble::DieBefore, &options("killed")).await;
    let before = everything(&fixture);
    let plan = planned(&fixture, &options("next")).await;
    assert!(
        plan.notes
            .iter()
            .any(|note| note.contains("never finished")),
        "{:?}",
        plan.notes
    );
    saved(&plan);
    assert_eq!(everything(&fixture), before);
}

/// A checkout with other line ends than the repository (`core.autocrlf`) has nothing to commit.
#[tokio::test]
async fn line_ends_of_the_checkout_are_no_edit() {
    let fixture = Fixture::new();
    fixture.add_memory("code");
    fixture.commit("first").await.unwrap();
    for path in [".tether/objects/code.toml", "tether.toml"] {
        let text = fixture.read(path).unwrap().replace('\n', "\r\n");
        std::fs::write(fixture.path(path), text).unwrap();
    }
    assert!(planned(&fixture, &options("again")).await.is_empty());
    let text = fixture
        .read("tether.toml")
        .unwrap()
        .replace("lazy", "eager");
    std::fs::write(fixture.path("tether.toml"), text).unwrap();
    assert_eq!(
        planned(&fixture, &options("again")).await.notes,
        ["code: unchanged", "tether.toml: changed"]
    );
}
