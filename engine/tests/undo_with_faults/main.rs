//! Undoing over the memory backend, with faults in the repository and in stores.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

mod in_stores;
mod interrupted;
mod moved_by_the_vcs;

use tether_engine::apply::undo::{self, UndoOptions};
use tether_engine::report::UndoReport;
use tether_engine::{Error, register};

use common::*;

async fn undo_of(
    fixture: &Fixture,
    operation: Option<&str>,
    discard: bool,
) -> Result<UndoReport, Error> {
    let options = UndoOptions {
        operation: operation.map(ToOwned::to_owned),
        discard,
    };
    undo::run(&fixture.dataset(), &options, &mut |_| {}).await
}

/// What `status` says about undone operations.
async fn pending(dataset: &tether_engine::dataset::Dataset) -> Vec<String> {
    let report = tether_engine::query::status::status(dataset, &keys(&[]), Some(false)).await;
    let warnings = report.unwrap().warnings.into_iter();
    warnings
        .filter(|line| line.contains("was undone"))
        .collect()
}

async fn undo(fixture: &Fixture) -> Result<UndoReport, Error> {
    undo_of(fixture, None, false).await
}

async fn remove(fixture: &Fixture, name: &str) {
    register::remove(&fixture.dataset(), &key(name), &mut |_| {})
        .await
        .unwrap();
}

/// Commands of the log, newest first, without `init` and `import-view`.
fn commands(fixture: &Fixture) -> Vec<String> {
    let operations = fixture.operations().into_iter();
    operations
        .map(|operation| operation.command)
        .filter(|command| command != "init" && command != "import-view")
        .collect()
}

/// The view after undoing the newest operation is exactly the view before it; pins stay, and the log stays linear.
#[tokio::test]
async fn a_commit_is_taken_back_with_its_view_and_keeps_its_pins() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    let dataset = fixture.dataset();
    let mut workspace = fixture.workspace();
    let base = write(&code, "main", "1");
    workspace.view.base_states.insert(key("code"), base);
    dataset.write_workspace(&workspace).unwrap();
    fixture.commit("one").await.unwrap();
    write(&code, "main", "2");
    let before = fixture.workspace().view;
    let one = fixture.vcs.head();
    fixture.commit("two").await.unwrap();
    assert_ne!(fixture.workspace().view, before);
    let pins = tags(&code);
    assert_eq!(pins.len(), 2);

    let report = undo(&fixture).await.unwrap();
    assert_eq!(fixture.workspace().view, before);
    assert_eq!(fixture.vcs.head(), one);
    assert_eq!(tags(&code), pins);
    assert_eq!(report.command, "commit");
    assert!(report.is_whole());
    let operations = fixture.operations();
    assert_eq!(operations[0].undoes, Some(report.undone.clone()));
    assert_eq!(operations[0].previous.as_ref(), Some(&report.undone));
    assert_eq!(Some(&operations[0].id), report.undo_id.as_ref());
    assert_eq!(
        operations[0].result["restored"].as_array().unwrap().len(),
        2
    );

    undo(&fixture).await.unwrap();
    assert_eq!(fixture.vcs.head(), None);
    assert_eq!(commands(&fixture), ["undo", "undo", "commit", "commit"]);
    assert_eq!(fixture.unfinished(), 0);
}

/// `remove` forgets what the checkout knew of an object; its undo knows it again, also when another object moved on.
#[tokio::test]
async fn an_older_remove_gives_back_its_objects_fields_only() {
    let fixture = Fixture::new();
    for name in ["a", "b"] {
        fixture.add_memory(name);
    }
    let dataset = fixture.dataset();
    let mut workspace = fixture.workspace();
    for name in ["a", "b"] {
        let state = tether_engine::state::State::default().with("snapshot_id", name);
        workspace.view.base_states.insert(key(name), state);
    }
    dataset.write_workspace(&workspace).unwrap();
    let before = fixture.workspace().view;
    let manifest = fixture.read(".tether/objects/a.toml");
    remove(&fixture, "a").await;
    let id = fixture.operations()[0].id.clone();
    remove(&fixture, "b").await;
    assert!(fixture.workspace().view.base_states.is_empty());

    let report = undo_of(&fixture, Some(id.as_str()), false).await.unwrap();
    assert_eq!(fixture.read(".tether/objects/a.toml"), manifest);
    assert_eq!(fixture.read(".tether/objects/b.toml"), None);
    let view = fixture.workspace().view;
    assert_eq!(view.base_states.len(), 1);
    assert_eq!(view.base_states["a"], before.base_states["a"]);
    assert_eq!(
        report.restored,
        [
            "a: manifest restored",
            "workspace.toml restored (base_states of a)"
        ]
    );
    undo(&fixture).await.unwrap();
    assert_eq!(fixture.workspace().view, before);
}

/// Surprise 37: a refused undo is no operation.
#[tokio::test]
async fn what_is_refused_writes_nothing() {
    let fixture = Fixture::new();
    fixture.add_memory("code");
    fixture.commit("one").await.unwrap();
    fixture.vcs.amend("theirs");
    let operations = fixture.operations();
    let error = undo(&fixture).await.unwrap_err();
    assert!(error.message().starts_with("cannot undo "), "{error}");
    assert!(error.message().ends_with("is not the head"), "{error}");
    undo_of(&fixture, Some("f"), false).await.map(drop).ok();
    assert_eq!(fixture.operations(), operations);
    assert_eq!(fixture.unfinished(), 0);
}

/// A manifest that the VCS put back since is no edit of anybody's.
#[tokio::test]
async fn a_removed_manifest_that_is_there_again_is_left_as_it_is() {
    let fixture = Fixture::new();
    fixture.add_memory("code");
    let text = fixture.read(".tether/objects/code.toml").unwrap();
    remove(&fixture, "code").await;
    std::fs::write(fixture.path(".tether/objects/code.toml"), &text).unwrap();
    undo(&fixture).await.unwrap();
    assert_eq!(fixture.read(".tether/objects/code.toml"), Some(text));
}
