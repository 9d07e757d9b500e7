//! `add`, `add --create`, `set` and `remove`, killed at every step (E12): the edit happened whole or not at all, the next command
//! needs no help, and the same command again gets there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use crate::common::{TestEnvironment, WorkDir};

/// What the killed command must leave: everything below `.tether/objects` and what `ops` lists.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    manifests: BTreeMap<PathBuf, String>,
    operations: Vec<String>,
}

fn seen(dir: &WorkDir<'_>) -> Seen {
    let objects = dir.path().join(".tether/objects");
    let files = dir.files().into_iter();
    let manifests: BTreeMap<PathBuf, String> = files
        .filter_map(|(path, text)| Some((path.strip_prefix(&objects).ok()?.to_owned(), text)))
        .collect();
    assert!(manifests.len() >= 2, "{manifests:?}");
    Seen {
        manifests,
        operations: operations(dir)
            .into_iter()
            .filter(|(_, status)| status == "done")
            .map(|(command, _)| command)
            .collect(),
    }
}

/// Commands and whether they ended, newest first.
fn operations(dir: &WorkDir<'_>) -> Vec<(String, String)> {
    let rows = dir.tether(["ops", "--json"]).success().json();
    let rows = rows.as_array().unwrap().clone();
    let text = |row: &serde_json::Value, field: &str| row[field].as_str().unwrap().to_owned();
    rows.iter()
        .map(|row| (text(row, "command"), text(row, "status")))
        .collect()
}

/// A machine with a dataset, its folder copied aside to start from again.
struct Story {
    env: TestEnvironment,
    args: Vec<&'static str>,
}

impl Story {
    fn new(args: &[&'static str]) -> Self {
        let env = TestEnvironment::new();
        let dir = env.committed();
        dir.tether(["add", "deep/er/raw", "--kind", "file", "../raw"])
            .success();
        copy(&env, "ds", "saved");
        Self {
            env,
            args: args.to_vec(),
        }
    }

    fn fresh(&self) -> WorkDir<'_> {
        for name in ["ds", "made"] {
            // `made` is there only after a `--create`.
            let _ = std::fs::remove_dir_all(self.env.root().join(name));
        }
        copy(&self.env, "saved", "ds");
        self.env.work_dir("ds")
    }

    fn steps(&self) -> BTreeSet<String> {
        let dir = self.fresh();
        let trace = self.env.root().join("trace");
        let _ = std::fs::remove_file(&trace);
        let mut command = dir.command(&self.args);
        command.env("TETHER_TEST_TRACE_STEPS", &trace);
        dir.run(command).success();
        let mut counts = BTreeMap::<String, u32>::new();
        let names = std::fs::read_to_string(trace).unwrap();
        let numbered = names.lines().map(|name| {
            let count = counts.entry(name.to_owned()).or_default();
            *count += 1;
            format!("{name}#{count}")
        });
        numbered.collect()
    }

    /// Kills the command at each step, and then looks whether the next command finds everything in order.
    fn run(&self) {
        let before = seen(&self.fresh());
        let dir = self.fresh();
        dir.tether(&self.args).success();
        let after = seen(&dir);
        assert_ne!(before, after);
        let steps = self.steps();
        assert!(steps.len() > 8, "{steps:?}");
        for step in &steps {
            let dir = self.fresh();
            dir.killed(&self.args, step);
            // Reading works whatever was left.
            dir.tether(["status"]).success();
            operations(&dir);

            dir.tether(["set", "raw", "--file", "immutable"]).success();
            let done = operations(&dir).iter().all(|(_, status)| status == "done");
            assert!(done, "{step}: {:?}", operations(&dir));
            dir.tether(["set", "raw", "--file", "versioned"]).success();
            let mut found = seen(&dir);
            found.operations.drain(..2);
            assert!(found == before || found == after, "{step}: {found:?}");
            if found == before {
                dir.tether(&self.args).success();
            }
            let mut found = seen(&dir);
            found.operations.retain(|command| command != "set");
            let mut whole = after.clone();
            whole.operations.retain(|command| command != "set");
            assert_eq!(found, whole, "{step}");
            dir.tether(["commit", "-m", "all"]).success();
            dir.tether(["verify", "--all-history", "--deep"]).success();
        }
    }
}

fn copy(env: &TestEnvironment, from: &str, to: &str) {
    let mut command = Command::new("cp");
    command.arg("-a").arg(env.root().join(from));
    command.arg(env.root().join(to));
    assert!(command.status().unwrap().success());
}

#[test]
fn add_is_whole_or_not_at_all() {
    Story::new(&["add", "new", "--kind", "file", "../raw"]).run();
}

#[test]
fn add_create_is_whole_or_taken_up_again() {
    let story = Story::new(&["add", "made", "--kind", "git", "../made", "--create"]);
    story.run();
    let index = story.env.work_dir("ds").read(".git/tether-created.jsonl");
    assert_eq!(index.lines().count(), 1, "{index}");
}

#[test]
fn set_is_whole_or_not_at_all() {
    Story::new(&["set", "code", "deep/", "--pin", "record"]).run();
}

#[test]
fn remove_is_whole_or_not_at_all() {
    Story::new(&["remove", "deep/er/raw"]).run();
}
