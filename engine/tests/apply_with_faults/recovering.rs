//! What the next command does about a killed commit.

use super::*;

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
