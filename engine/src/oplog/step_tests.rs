use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use serde_json::json;
use tempfile::tempdir;

use super::super::heads::tests::operation;
use super::super::{FileHeads, Journal, OpLog as _, OpStore};
use crate::workspace::View;

/// A whole operation as a command runs it.
#[test]
#[ignore = "run by other tests"]
fn child_runs_an_operation() {
    let Some(dir) = std::env::var_os("TETHER_TEST_PATH").map(PathBuf::from) else {
        return;
    };
    let operation = operation(None);
    let mut journal = Journal::begin(
        &dir,
        operation.id.clone(),
        &operation.workspace,
        "add",
        None,
        json!({}),
    )
    .unwrap();
    for key in ["a", "b"] {
        journal.intent("pin", json!({ "key": key })).unwrap();
        fs::write(dir.join(key), "").unwrap();
        journal.did("pin", json!({ "key": key })).unwrap();
    }
    let store = OpStore::new(&dir);
    store.put_view(&View::default()).unwrap();
    store.put_operation(&operation).unwrap();
    FileHeads::new(&dir, "main")
        .publish(&operation, None)
        .unwrap();
    journal.done().unwrap();
}

fn run(dir: &Path, name: &str, value: &str) -> ExitStatus {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "oplog::step::tests::child_runs_an_operation",
            "--ignored",
        ])
        .env("TETHER_TEST_PATH", dir)
        .env(name, value)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap()
}

fn traced() -> Vec<String> {
    let dir = tempdir().unwrap();
    let trace = dir.path().join("trace");
    assert!(
        run(
            dir.path(),
            "TETHER_TEST_TRACE_STEPS",
            trace.to_str().unwrap()
        )
        .success()
    );
    let text = fs::read_to_string(trace).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_trace_names_every_step_of_an_operation() {
    let steps: Vec<String> = traced()
        .into_iter()
        .filter(|name| name != "file.renaming")
        .collect();
    let pin = ["intent.pin", "effect.pin", "did.pin"];
    let expected: Vec<&str> = ["begin"]
        .into_iter()
        .chain(pin)
        .chain(pin)
        .chain([
            "view.written",
            "operation.written",
            "publish",
            "published",
            "closing",
            "closed",
        ])
        .collect();
    assert_eq!(steps, expected);
}

/// E12: killed at every step, an operation is either not begun, unfinished with what it did on record, or published.
#[test]
fn a_kill_at_every_step_leaves_a_journal_or_a_whole_operation() {
    let mut seen = std::collections::HashMap::<String, u32>::new();
    let mut outcomes = Vec::new();
    for name in traced() {
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        let dir = tempdir().unwrap();
        let status = run(
            dir.path(),
            "TETHER_TEST_KILL_AT",
            &format!("{name}#{count}"),
        );
        assert_eq!(status.signal(), Some(9), "{name}#{count}");
        let unfinished = Journal::unfinished(dir.path()).unwrap();
        let head = FileHeads::new(dir.path(), "main").head().unwrap();
        if let Some(head) = &head {
            let store = OpStore::new(dir.path());
            assert_eq!(store.operation(&head.operation).unwrap().view, head.view);
            assert_eq!(store.view(&head.view).unwrap(), View::default());
        }
        for key in ["a", "b"] {
            // Nothing is done that was not announced.
            let announced = unfinished
                .iter()
                .flat_map(|one| &one.progress)
                .any(|progress| {
                    progress.phase == "intent" && progress.detail == json!({ "key": key })
                });
            assert!(
                !dir.path().join(key).exists() || announced || head.is_some(),
                "{name}#{count}"
            );
        }
        outcomes.push((unfinished.len(), head.is_some()));
    }
    assert_eq!(outcomes.first(), Some(&(0, false)));
    assert_eq!(outcomes.last(), Some(&(0, true)));
    assert!(outcomes.contains(&(1, false)) && outcomes.contains(&(1, true)));
    assert!(!outcomes[1..].contains(&(0, false)), "{outcomes:?}");
}

#[test]
fn a_kill_point_names_a_step_and_an_occurrence() {
    let parse = |text: &str| super::test::parse(text.to_owned());
    assert_eq!(parse("did.pin"), ("did.pin".to_owned(), 1));
    assert_eq!(parse("did.pin#3"), ("did.pin".to_owned(), 3));
    assert_eq!(parse("did.#x"), ("did.#x".to_owned(), 1));
}
