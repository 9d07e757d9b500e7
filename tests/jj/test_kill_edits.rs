//! E12 and surprise 41 under jj: `add` and `remove` killed at every step are whole or not there; a killed commit is completed also
//! when stock jj came between.

use serde_json::Value;
use std::collections::BTreeSet;

use crate::common::{Saved, TestEnvironment, WorkDir};

use super::story::{Place, Story};

const COMMIT: [&str; 3] = ["commit", "-m", "killed"];

/// A committed dataset with a moved store, a new object and an edited policy; and a file of the user's.
fn fixture(place: Place) -> Saved {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, place);
    story.advance("print(2)\n");
    env.code("more");
    story.does(&["add", "more", "--kind", "git", "../more"]);
    story.does(&["set", "raw", "--file", "immutable"]);
    story.dir.write("mine.txt", "mine\n");
    story.stock(&["status"]);
    drop(story);
    Saved::new(env)
}

fn json(dir: &WorkDir<'_>, step: &str, args: &[&str]) -> Value {
    let output = dir.tether(args);
    assert_eq!(output.code, 0, "{step}: {args:?}: {output}");
    output.json()
}

fn pins(saved: &Saved) -> BTreeSet<String> {
    let mut pins = BTreeSet::new();
    for code in ["code", "more"] {
        let tags = saved.env.work_dir(code).git(["tag", "--list", "tether.*"]);
        pins.extend(tags.lines().map(ToOwned::to_owned));
    }
    pins
}

fn journals(dir: &WorkDir<'_>) -> usize {
    let journals = dir.path().join(".jj/repo/tether/journal");
    std::fs::read_dir(journals).map_or(0, |entries| {
        let names = entries.map(|entry| entry.unwrap().file_name());
        names
            .filter(|name| name.to_string_lossy().ends_with(".jsonl"))
            .count()
    })
}

/// jj's own steps, and every third of the others: test_kill.rs is at each.
fn some(steps: Vec<String>) -> Vec<String> {
    let kept = steps.into_iter().enumerate();
    let kept = kept.filter(|(at, step)| step.starts_with("jj.") || at % 3 == 0);
    kept.map(|(_, step)| step).collect()
}

/// Kills the commit at its steps; `between` is what happens before tether runs again.
fn killed_everywhere(place: Place, between: impl Fn(&WorkDir<'_>)) {
    let saved = fixture(place);
    let steps = saved.steps(&COMMIT);
    assert!(steps.len() > 15, "{steps:?}");
    let steps = some(steps);
    let whole = pins(&saved);
    assert_eq!(whole.len(), 3, "{whole:?}");
    let mut landed = 0;
    for step in &steps {
        let dir = saved.restore();
        dir.killed(COMMIT, step);
        json(&dir, step, &["ops", "--json"]);
        json(&dir, step, &["status", "--json"]);
        between(&dir);
        let report = json(&dir, step, &["commit", "-m", "again", "--json"]);
        let subjects = dir.jj_log("::main", "description.first_line()");
        match subjects[0].as_str() {
            "again" => assert_eq!(report["pinned"].as_object().unwrap().len(), 2, "{step}"),
            "killed" => {
                landed += 1;
                assert_eq!(report["vcs_commit"], Value::Null, "{step}");
            }
            other => panic!("{step}: {other}"),
        }
        assert_eq!(subjects[1..], ["first"], "{step}");
        assert_eq!(journals(&dir), 0, "{step}");
        assert_eq!(pins(&saved), whole, "{step}");
        let ops = json(&dir, step, &["ops", "--json"]);
        let head = dir.jj_log("main", "commit_id").remove(0);
        assert_eq!(ops[0]["command"], "commit", "{step}");
        assert_eq!(ops[0]["status"], "done", "{step}");
        assert_eq!(ops[0]["result"]["vcs_commit"], head.as_str(), "{step}");
        // The user's file is in the user's change and nowhere else.
        let changed = dir.jj_text(["diff", "-r", "@", "--name-only"]);
        assert_eq!(changed, "mine.txt", "{step}");
        let status = dir.stock_jj(["status"]).success();
        assert!(!status.to_string().contains("stale"), "{step}: {status}");
        json(&dir, step, &["verify", "code", "more", "--deep", "--json"]);
    }
    assert!(
        (2..steps.len() - 4).contains(&landed),
        "{landed} of {} kills came after the commit had landed",
        steps.len()
    );
}

#[test]
fn a_commit_killed_at_any_step_before_stock_jj_looks() {
    killed_everywhere(Place::Internal, |dir| {
        let status = dir.stock_jj(["status"]);
        if status.code != 0 {
            // What jj says of a jj that was killed here, too.
            assert!(status.stderr.contains("update-stale"), "{status}");
            dir.stock_jj(["workspace", "update-stale"]).success();
        }
    });
}

/// `add` and `remove`: whole or not at all, and one more jj operation at most.
#[test]
fn an_edit_killed_at_any_step_is_whole_or_not_at_all() {
    for args in [
        &["add", "new", "--kind", "file", "../raw"][..],
        &["remove", "raw"],
    ] {
        let saved = fixture(Place::Colocated);
        let objects = |dir: &WorkDir<'_>| dir.dir(".tether/objects").files();
        let dir = saved.restore();
        let before = objects(&dir);
        dir.tether(args).success();
        let after = objects(&dir);
        assert_ne!(before, after);
        let steps = saved.steps(args);
        assert!(steps.len() > 6, "{steps:?}");
        for step in &steps {
            let dir = saved.restore();
            dir.killed(args, step);
            json(&dir, step, &["status", "--json"]);
            dir.tether(["set", "more", "--pin", "record"]).success();
            dir.tether(["set", "more", "--pin", "native"]).success();
            let ops = json(&dir, step, &["ops", "--json"]);
            let rows = ops.as_array().unwrap();
            assert!(
                rows.iter().all(|row| row["status"] == "done"),
                "{step}: {ops}"
            );
            let found = objects(&dir);
            let happened = rows[2]["command"] == args[0] && rows[2]["id"] != rows[3]["id"];
            assert!(found == before || found == after, "{step}: {found:?}");
            assert!(found == before || happened, "{step}: {ops}");
            if found == before {
                dir.tether(args).success();
            }
            assert_eq!(objects(&dir), after, "{step}");
            dir.tether(["commit", "-m", "all"]).success();
            assert_eq!(journals(&dir), 0, "{step}");
            assert_eq!(
                dir.jj_text(["diff", "-r", "@", "--name-only"]),
                "mine.txt",
                "{step}"
            );
        }
    }
}
