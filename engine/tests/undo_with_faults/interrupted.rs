//! Undos that fail or are cut off.

use super::common::vcs::Trouble;
use super::*;

/// Runs an undo that dies in the VCS step.
async fn dies(fixture: &Fixture, trouble: Trouble) {
    fixture.vcs.trouble(trouble);
    let dataset = fixture.dataset();
    let run = tokio::spawn(async move {
        undo::run(&dataset, &UndoOptions::default(), &mut |_| {})
            .await
            .map(drop)
    });
    assert!(run.await.unwrap_err().is_panic());
    fixture.vcs.trouble(Trouble::None);
    assert_eq!(fixture.unfinished(), 1);
}

async fn committed() -> Fixture {
    let fixture = Fixture::new();
    fixture.add_memory("code");
    fixture.commit("one").await.unwrap();
    fixture
}

#[tokio::test]
async fn one_that_the_repository_refuses_leaves_everything_as_it_was() {
    let fixture = committed().await;
    let (head, operations) = (fixture.vcs.head(), fixture.operations());
    fixture.vcs.trouble(Trouble::Refused);
    let error = undo(&fixture).await.unwrap_err();
    assert_eq!(error.message(), "the ref is locked");
    assert!(!error.is_partly_done());
    assert_eq!(fixture.vcs.head(), head);
    assert_eq!(fixture.operations(), operations);
    assert_eq!(fixture.unfinished(), 0);
}

/// The reply was lost, the commit is taken back: the next writing command finishes it.
#[tokio::test]
async fn one_that_took_the_commit_back_and_failed_is_finished_by_the_next_command() {
    let fixture = committed().await;
    fixture.vcs.trouble(Trouble::Landed);
    let error = undo(&fixture).await.unwrap_err();
    assert!(error.is_partly_done(), "{error}");
    assert_eq!(fixture.vcs.head(), None);
    fixture.vcs.trouble(Trouble::None);
    let lines = tether_engine::apply::recover::recover(&fixture.dataset())
        .await
        .unwrap();
    assert!(
        lines[0].starts_with("finished the interrupted undo "),
        "{lines:?}"
    );
    assert_eq!(commands(&fixture), ["undo", "commit"]);
    assert_eq!(fixture.unfinished(), 0);
}

#[tokio::test]
async fn one_that_died_before_the_commit_moved_is_rolled_back() {
    let fixture = committed().await;
    let head = fixture.vcs.head();
    dies(&fixture, Trouble::DieBefore).await;
    assert_eq!(fixture.vcs.head(), head);
    let report = undo(&fixture).await.unwrap();
    assert!(report.notes[0].starts_with("rolled back the interrupted undo "));
    assert_eq!(fixture.vcs.head(), None);
    assert_eq!(commands(&fixture), ["undo", "commit"]);
}

#[tokio::test]
async fn one_that_died_after_the_commit_moved_is_finished() {
    let fixture = committed().await;
    dies(&fixture, Trouble::DieLanded).await;
    assert_eq!(fixture.vcs.head(), None);
    fixture.commit("again").await.unwrap();
    assert_eq!(commands(&fixture), ["commit", "undo", "commit"]);
    assert_eq!(fixture.vcs.messages(), ["again"]);
    assert_eq!(fixture.unfinished(), 0);
}
