//! A log that the repository's own undo moves, as jj's does.

use std::sync::Arc;

use tether_engine::Result;
use tether_engine::dataset::Dataset;
use tether_engine::id::OpId;
use tether_engine::oplog::{FileHeads, Head, OpLog, Operation};

use super::in_stores::{create, exists};
use super::*;

#[derive(Debug)]
struct Moving(FileHeads);

impl OpLog for Moving {
    fn head(&self) -> Result<Option<Head>> {
        self.0.head()
    }

    fn publish(&self, operation: &Operation, expected: Option<&Head>) -> Result<()> {
        self.0.publish(operation, expected)
    }

    fn published(&self, operation: &OpId) -> Result<bool> {
        self.0.published(operation)
    }

    fn moves_with_vcs(&self) -> bool {
        true
    }
}

fn moving(fixture: &Fixture) -> Dataset {
    let heads = FileHeads::new(&fixture.dir.path().join("shared"), "main");
    fixture.dataset_with(Arc::new(Moving(heads)))
}

/// Moves the head to `operation`, as the repository's own undo or redo would.
fn move_to(fixture: &Fixture, operation: &OpId) {
    let dataset = moving(fixture);
    let operation = dataset.op_store().operation(operation).unwrap();
    let head = dataset.oplog.head().unwrap();
    dataset.oplog.publish(&operation, head.as_ref()).unwrap();
}

async fn warnings(fixture: &Fixture) -> Vec<String> {
    pending(&moving(fixture)).await
}

async fn run(fixture: &Fixture, discard: bool) -> Result<UndoReport> {
    let options = UndoOptions {
        operation: None,
        discard,
    };
    undo::run(&moving(fixture), &options, &mut |_| {}).await
}

/// A created store, and the head moved back to before it.
async fn taken_back() -> (Fixture, String, OpId) {
    let fixture = Fixture::new();
    fixture.add_memory("other");
    remove(&fixture, "other").await;
    let before = fixture.operations()[0].id.clone();
    let made = create(&fixture, "made").await;
    let add = fixture.operations()[0].id.clone();
    // jj puts the files back as well.
    std::fs::remove_file(fixture.path(".tether/objects/made.toml")).unwrap();
    move_to(&fixture, &before);
    (fixture, made, add)
}

#[tokio::test]
async fn what_it_took_back_is_pending_until_undo_settles_it() {
    let (fixture, made, add) = taken_back().await;
    let operations = fixture.operations();
    let told = warnings(&fixture).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(add.as_str()), "{told:?}");
    let report = run(&fixture, false).await.unwrap();
    assert_eq!(report.undone, add);
    assert_eq!(report.undo_id, None);
    assert!(!exists(&made));
    assert_eq!(fixture.operations(), operations, "nothing else is undone");
    assert!(warnings(&fixture).await.is_empty());
    // The next one undoes.
    assert_eq!(run(&fixture, false).await.unwrap().command, "remove");
}

/// The writing command that rewrites `workspace.toml` in between does not lose it.
#[tokio::test]
async fn it_stays_pending_over_other_commands() {
    let (fixture, made, add) = taken_back().await;
    fixture.add_memory("more");
    let dataset = moving(&fixture);
    register::remove(&dataset, &key("more"), &mut |_| {})
        .await
        .unwrap();
    assert_eq!(warnings(&fixture).await.len(), 1);
    let report = run(&fixture, false).await.unwrap();
    assert_eq!(report.undone, add);
    assert!(!exists(&made));
    assert_eq!(run(&fixture, false).await.unwrap().command, "remove");
}

#[tokio::test]
async fn what_was_redone_is_not_pending() {
    let (fixture, made, add) = taken_back().await;
    assert_eq!(warnings(&fixture).await.len(), 1);
    undo::after_vcs(&moving(&fixture), false).await.unwrap();
    move_to(&fixture, &add);
    assert!(warnings(&fixture).await.is_empty());
    assert!(
        undo::after_vcs(&moving(&fixture), true)
            .await
            .unwrap()
            .is_empty()
    );
    assert!(exists(&made));
    let pending = fixture.dir.path().join("shared/tether/pending");
    assert_eq!(std::fs::read_dir(pending).unwrap().count(), 0);
}

#[tokio::test]
async fn our_jj_settles_at_once() {
    let (fixture, made, _) = taken_back().await;
    let lines = undo::after_vcs(&moving(&fixture), true).await.unwrap();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].starts_with("restored made: removed the empty store"),
        "{lines:?}"
    );
    assert!(!exists(&made));
    assert!(
        undo::after_vcs(&moving(&fixture), true)
            .await
            .unwrap()
            .is_empty()
    );
    assert!(warnings(&fixture).await.is_empty());
}

#[tokio::test]
async fn our_jj_can_leave_it_and_say_so() {
    let (fixture, made, add) = taken_back().await;
    let lines = undo::after_vcs(&moving(&fixture), false).await.unwrap();
    assert_eq!(lines, warnings(&fixture).await);
    assert!(exists(&made));
    // `workspace.toml` follows.
    let text = fixture.read(".tether/workspace.toml").unwrap();
    assert!(!text.contains(add.as_str()), "{text}");
}

/// Nothing moved: no lock, no file.
#[tokio::test]
async fn after_a_command_that_moved_nothing_nothing_is_written() {
    let fixture = Fixture::new();
    fixture.add_memory("other");
    remove(&fixture, "other").await;
    let before = std::fs::metadata(fixture.path(".tether/workspace.toml")).unwrap();
    let shared = fixture.dir.path().join("shared");
    let _held =
        tether_engine::apply::session::Session::repository(&moving(&fixture), "test", &mut |_| {})
            .unwrap();
    let lines = undo::after_vcs(&moving(&fixture), true).await.unwrap();
    assert!(lines.is_empty());
    let after = std::fs::metadata(fixture.path(".tether/workspace.toml")).unwrap();
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    assert!(!shared.join("tether/pending").exists());
}

#[tokio::test]
async fn a_branch_with_writes_waits_for_a_decision() {
    let fixture = Fixture::new();
    fixture.vcs.switch(Some("side"));
    let mut workspace = fixture.workspace();
    workspace.view.bookmark = Some("side".parse().unwrap());
    fixture.write_workspace(&workspace);
    fixture.add_memory("other");
    remove(&fixture, "other").await;
    let before = fixture.operations()[0].id.clone();
    let made = create(&fixture, "made").await;
    write(&made, "tether.ws.0a1b2c3d.side", "mine");
    std::fs::remove_file(fixture.path(".tether/objects/made.toml")).unwrap();
    move_to(&fixture, &before);

    let lines = undo::after_vcs(&moving(&fixture), true).await.unwrap();
    assert!(lines[0].contains("has writes since"), "{lines:?}");
    let error = run(&fixture, false).await.unwrap_err();
    assert!(
        error.hint().unwrap().contains("tether undo --discard"),
        "{error}"
    );
    assert!(exists(&made));
    run(&fixture, true).await.unwrap();
    assert!(!exists(&made));
}
