//! `tether commit`, killed at every step (E12): SIGKILL at each kill point that a whole run passes, one run each.

use serde_json::Value;
use std::collections::BTreeSet;

use crate::common::{Saved, TestEnvironment, WorkDir};

/// A dataset with something of each sort to commit: two moved stores that can pin, a new directory (with its listing), an edited
/// policy.
fn fixture() -> Saved {
    let env = TestEnvironment::new();
    let dir = env.committed();
    env.code("more");
    for code in ["code", "more"] {
        let code = env.work_dir(code);
        code.write("main.py", "print(2)\n");
        code.git(["commit", "-q", "-a", "-m", "second code"]);
    }
    env.work_dir("new").write("c.txt", "three\n");
    for args in [
        &["add", "more", "--kind", "git", "../more"][..],
        &["add", "new", "--kind", "file", "../new"],
        &["set", "raw", "--file", "immutable"],
    ] {
        dir.tether(args).success();
    }
    Saved::new(env)
}

fn json(dir: &WorkDir<'_>, step: &str, args: &[&str]) -> Value {
    let output = dir.command(args).output().unwrap();
    assert!(
        output.status.success(),
        "{step}: {args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The pins that exist in the two code repositories.
fn pins(saved: &Saved) -> BTreeSet<String> {
    let mut pins = BTreeSet::new();
    for code in ["code", "more"] {
        let tags = saved.env.work_dir(code).git(["tag", "--list", "tether.*"]);
        pins.extend(tags.lines().map(ToOwned::to_owned));
    }
    pins
}

/// The pins on the clone's record.
fn on_record(dir: &WorkDir<'_>) -> BTreeSet<String> {
    dir.read(".git/tether-pinned.jsonl")
        .lines()
        .map(|line| {
            let entry: Value = serde_json::from_str(line).unwrap();
            format!("tether.{}", entry["pin_id"].as_str().unwrap())
        })
        .collect()
}

fn journals(dir: &WorkDir<'_>) -> usize {
    let journals = dir.path().join(".git/tether/journal");
    std::fs::read_dir(journals).map_or(0, |entries| {
        entries
            .filter(|entry| {
                let path = entry.as_ref().unwrap().path();
                path.extension().is_some_and(|it| it == "jsonl")
            })
            .count()
    })
}

/// E12, and surprise 41: the next commit needs no manual clean-up, and leaves exactly what an undisturbed run leaves.
#[test]
fn a_commit_killed_at_any_step_is_completed_by_the_next_one() {
    let saved = fixture();
    let steps = saved.steps(&["commit", "-m", "whole"]);
    assert!(steps.len() > 20, "{steps:?}");
    let whole = pins(&saved);
    assert_eq!(whole.len(), 3, "{whole:?}");
    let mut landed = 0;
    for step in &steps {
        let dir = saved.restore();
        dir.killed(["commit", "-m", "killed"], step);
        // Reads work, write nothing, and the log parses.
        json(&dir, step, &["ops", "--json"]);
        json(&dir, step, &["status", "--json"]);
        assert!(
            pins(&saved).is_subset(&on_record(&dir)),
            "{step}: an orphan pin"
        );
        let report = json(&dir, step, &["commit", "-m", "again", "--json"]);
        let log = dir.git(["log", "--format=%s"]);
        match log.as_str() {
            "again\nfirst" => assert_eq!(report["pinned"].as_object().unwrap().len(), 2, "{step}"),
            "killed\nfirst" => {
                landed += 1;
                assert_eq!(report["vcs_commit"], Value::Null, "{step}");
            }
            other => panic!("{step}: {other}"),
        }
        assert_eq!(dir.git(["status", "--porcelain"]), "", "{step}");
        assert_eq!(journals(&dir), 0, "{step}");
        assert_eq!(pins(&saved), whole, "{step}");
        assert_eq!(on_record(&dir), whole, "{step}");
        let ops = json(&dir, step, &["ops", "--json"]);
        let head = dir.git(["rev-parse", "HEAD"]);
        assert_eq!(ops[0]["command"], "commit", "{step}");
        assert_eq!(ops[0]["status"], "done", "{step}");
        assert_eq!(ops[0]["result"]["vcs_commit"], head.as_str(), "{step}");
        assert_eq!(
            ops[0]["result"]["unrecoverable"],
            serde_json::json!(["new"]),
            "{step}"
        );
        let again = json(&dir, step, &["commit", "-m", "third", "--json"]);
        assert_eq!(again["vcs_commit"], Value::Null, "{step}");
        assert_eq!(again["pinned"], serde_json::json!({}), "{step}");
        for key in ["code", "more"] {
            let verified = json(&dir, step, &["verify", key, "--deep", "--json"]);
            assert_eq!(verified[key]["status"], "ok", "{step}: {key}");
        }
    }
    assert!(
        (5..steps.len() - 10).contains(&landed),
        "{landed} of {} kills came after the commit had landed",
        steps.len()
    );
}

/// E12: the stores moved on after the kill. What the killed commit pinned is released, or at least on record; nothing else is lost.
#[test]
fn a_killed_commits_pins_are_released_or_on_record_when_the_next_one_pins_others() {
    let saved = fixture();
    let steps = saved.steps(&["commit", "-m", "whole"]);
    let pinning = steps.iter().filter(|step| step.contains("pin#"));
    let mut killed = 0;
    for step in pinning {
        let dir = saved.restore();
        let first = pins(&saved);
        dir.killed(["commit", "-m", "killed"], step);
        let code = saved.env.work_dir("code");
        code.write("main.py", "print(3)\n");
        code.git(["commit", "-q", "-a", "-m", "third code"]);
        json(&dir, step, &["commit", "-m", "again", "--json"]);
        let now = pins(&saved);
        assert!(first.is_subset(&now), "{step}: a committed pin is gone");
        assert!(now.is_subset(&on_record(&dir)), "{step}: an orphan pin");
        // At most the pin whose making the kill kept from being recorded is left.
        assert!((3..=4).contains(&now.len()), "{step}: {now:?}");
        assert_eq!(journals(&dir), 0, "{step}");
        killed += 1;
    }
    assert!(killed >= 4, "{steps:?}");
}

/// Any writing command recovers first: `add` in between finds the manifests as they were, or the commit finished.
#[test]
fn another_writing_command_recovers_a_killed_commit_first() {
    let saved = fixture();
    for (step, landed) in [
        ("did.pin#1", false),
        ("did.manifests#1", false),
        ("did.vcs-commit#1", true),
        ("published#1", true),
    ] {
        let dir = saved.restore();
        let before = dir.read(".tether/objects/code.toml");
        dir.killed(["commit", "-m", "killed"], step);
        dir.tether(["set", "new", "--file", "versioned"]).success();
        assert_eq!(journals(&dir), 0, "{step}");
        assert_eq!(
            dir.read(".tether/objects/code.toml") == before,
            !landed,
            "{step}"
        );
        let ops = json(&dir, step, &["ops", "--json"]);
        let commands: Vec<&str> = ops
            .as_array()
            .unwrap()
            .iter()
            .map(|op| op["command"].as_str().unwrap())
            .take(2)
            .collect();
        let second = if landed { "commit" } else { "set" };
        assert_eq!(commands, ["set", second], "{step}");
        dir.tether(["commit", "-m", "last"]).success();
        assert_eq!(dir.git(["status", "--porcelain"]), "", "{step}");
    }
}
