use serde_json::json;
use tempfile::{TempDir, tempdir};

use super::*;

fn begin(dir: &TempDir, command: &str) -> Journal {
    let workspace = WorkspaceId::random().unwrap();
    let plan = Some(json!({"steps": [1, 2]}));
    let pre = json!({"view": null});
    Journal::begin(
        dir.path(),
        OpId::random().unwrap(),
        &workspace,
        command,
        plan,
        pre,
    )
    .unwrap()
}

fn unfinished(dir: &TempDir) -> Vec<Unfinished> {
    Journal::unfinished(dir.path()).unwrap()
}

fn progress(action: &str, phase: &str, detail: Value) -> Progress {
    Progress {
        action: action.to_owned(),
        phase: phase.to_owned(),
        detail,
    }
}

#[test]
fn plan_and_pre_are_on_disk_once_a_journal_began() {
    let dir = tempdir().unwrap();
    let operation = OpId::random().unwrap();
    let workspace = WorkspaceId::random().unwrap();
    let journal = Journal::begin(
        dir.path(),
        operation.clone(),
        &workspace,
        "commit",
        Some(json!({"n": 1})),
        json!({"head": "x"}),
    )
    .unwrap();
    drop(journal);
    let found = unfinished(&dir);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].operation, operation);
    assert_eq!(found[0].workspace, workspace);
    assert_eq!(found[0].command, "commit");
    assert_eq!(found[0].plan, Some(json!({"n": 1})));
    assert_eq!(found[0].pre, json!({"head": "x"}));
    assert_eq!(found[0].progress, []);
    assert_eq!(found[0].at.len(), "2026-09-04T22:10:03.118273+00:00".len());
}

#[test]
fn progress_is_read_back_in_order() {
    let dir = tempdir().unwrap();
    let mut journal = begin(&dir, "commit");
    journal.intent("pin", json!({"key": "a"})).unwrap();
    journal.did("pin", json!({"ref": "tether.x"})).unwrap();
    journal.intent("manifest", json!(null)).unwrap();
    assert_eq!(
        unfinished(&dir)[0].progress,
        [
            progress("pin", "intent", json!({"key": "a"})),
            progress("pin", "done", json!({"ref": "tether.x"})),
            progress("manifest", "intent", json!(null)),
        ]
    );
}

#[test]
fn a_journal_that_ended_is_gone() {
    let dir = tempdir().unwrap();
    begin(&dir, "commit").done().unwrap();
    begin(&dir, "commit").rolled_back().unwrap();
    assert_eq!(unfinished(&dir), []);
    // Ending it twice (a second recovery after a kill) is success.
    let journal = begin(&dir, "commit");
    let again = Journal::resume(&unfinished(&dir)[0]);
    journal.done().unwrap();
    again.done().unwrap();
}

#[test]
fn journals_are_listed_oldest_first_whatever_their_ids() {
    let dir = tempdir().unwrap();
    let commands = ["one", "two", "three", "four"];
    for command in commands {
        drop(begin(&dir, command));
        // The clock shows microseconds.
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let found: Vec<String> = unfinished(&dir)
        .into_iter()
        .map(|one| one.command)
        .collect();
    assert_eq!(found, commands);
}

#[test]
fn no_journal_directory_means_nothing_is_unfinished() {
    let dir = tempdir().unwrap();
    assert_eq!(unfinished(&dir), []);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn temporary_files_of_a_journal_that_never_began_are_not_listed() {
    let dir = tempdir().unwrap();
    let journal = dir.path().join("tether/journal");
    fs::create_dir_all(&journal).unwrap();
    fs::write(journal.join(".tether-tmp-0123456789abcdef"), "{\"beg").unwrap();
    assert_eq!(unfinished(&dir), []);
}

/// E12: cut at every byte of the last record, the journal lists what came before, and a resumed one starts on a fresh line.
#[test]
fn a_record_torn_at_any_byte_costs_that_record_only() {
    let dir = tempdir().unwrap();
    let mut journal = begin(&dir, "commit");
    journal.intent("pin", json!({"key": "a\nb"})).unwrap();
    let path = journal.path.clone();
    let before = fs::read(&path).unwrap();
    journal.did("pin", json!({"ref": "tether.x"})).unwrap();
    let after = fs::read(&path).unwrap();
    let first = progress("pin", "intent", json!({"key": "a\nb"}));
    let last = progress("pin", "done", json!({"ref": "tether.x"}));
    let more = progress("vcs-commit", "intent", json!(1));
    for length in before.len()..=after.len() {
        fs::write(&path, &after[..length]).unwrap();
        let mut expected = vec![first.clone()];
        if length >= after.len() - 1 {
            expected.push(last.clone());
        }
        let found = unfinished(&dir).remove(0);
        assert_eq!(found.progress, expected, "{length}");
        let mut resumed = Journal::resume(&found);
        assert_eq!(resumed.operation, journal.operation);
        resumed.intent("vcs-commit", json!(1)).unwrap();
        expected.push(more.clone());
        assert_eq!(unfinished(&dir).remove(0).progress, expected, "{length}");
    }
}

#[test]
fn a_damaged_first_line_stops_with_the_file_named() {
    let dir = tempdir().unwrap();
    let journal = begin(&dir, "commit");
    for content in ["", "\n", "{\"begin\":\"x\"}\n", "{\"begin"] {
        fs::write(&journal.path, content).unwrap();
        let error = Journal::unfinished(dir.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted, "{content:?}");
        assert!(error.message().contains(journal.path.to_str().unwrap()));
    }
}

#[test]
fn an_operation_has_one_journal() {
    let dir = tempdir().unwrap();
    let journal = begin(&dir, "commit");
    let workspace = WorkspaceId::random().unwrap();
    let again = Journal::begin(
        dir.path(),
        journal.operation.clone(),
        &workspace,
        "new",
        None,
        json!(1),
    );
    assert_eq!(again.unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(unfinished(&dir)[0].command, "commit");
}

#[test]
fn an_unwritable_journal_stops_before_the_effect() {
    let dir = tempdir().unwrap();
    fs::create_dir(dir.path().join("tether")).unwrap();
    fs::write(dir.path().join("tether/journal"), "").unwrap();
    let workspace = WorkspaceId::random().unwrap();
    let operation = OpId::random().unwrap();
    let error =
        Journal::begin(dir.path(), operation, &workspace, "commit", None, json!(1)).unwrap_err();
    assert!(error.message().contains("tether/journal"), "{error}");
}
