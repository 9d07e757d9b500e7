//! `tether undo`, killed at every step (E12): it happened whole or not at all, and the next command needs no help.

use crate::common::{Saved, TestEnvironment, WorkDir};

/// What must be the same whatever step the kill hit, once the undo is through.
#[derive(Debug, PartialEq)]
struct Seen {
    files: Vec<(std::path::PathBuf, String)>,
    log: String,
    status: String,
    undone: Vec<String>,
    made: bool,
}

fn seen(saved: &Saved, dir: &WorkDir<'_>) -> Seen {
    let ops = dir.tether(["ops", "--json"]).success().json();
    let ops = ops.as_array().unwrap().clone();
    for op in &ops {
        assert_eq!(op["status"], "done", "{op}");
    }
    let undone = ops.iter().filter(|op| !op["undone_by"].is_null());
    let files = dir.files().into_iter();
    Seen {
        files: files
            .filter(|(path, _)| path.to_str().unwrap().contains("/.tether/objects/"))
            .collect(),
        log: dir.git(["log", "--all", "--format=%s"]),
        status: dir.git_status(),
        undone: undone
            .map(|op| op["command"].as_str().unwrap().to_owned())
            .collect(),
        made: saved.env.root().join("made").exists(),
    }
}

fn journals(dir: &WorkDir<'_>) -> usize {
    let journals = std::fs::read_dir(dir.path().join(".git/tether/journal"));
    journals.map_or(0, |entries| {
        entries
            .filter(|entry| {
                let path = entry.as_ref().unwrap().path();
                path.extension().is_some_and(|it| it == "jsonl")
            })
            .count()
    })
}

/// Kills an undo at each step. The next `undo` then does it, unless the killed one stands.
fn killed_everywhere(saved: &Saved) {
    let steps = saved.steps(&["undo"]);
    assert!(steps.len() > 6, "{steps:?}");
    let dir = saved.restore();
    let before = seen(saved, &dir);
    dir.tether(["undo"]).success();
    let after = seen(saved, &dir);
    assert_ne!(before, after);
    let (mut back, mut through) = (0, 0);
    for step in &steps {
        let dir = saved.restore();
        dir.killed(["undo"], step);
        // Reading works whatever was left.
        dir.tether(["status"]).success();
        dir.tether(["ops"]).success();
        // Any writing command ends it; this one changes nothing that is compared.
        dir.tether(["set", "raw", "--file", "versioned"]).success();
        assert_eq!(journals(&dir), 0, "{step}");
        let found = seen(saved, &dir);
        if found == before {
            back += 1;
            dir.tether(["undo"]).success();
            assert_eq!(seen(saved, &dir), after, "{step}");
        } else {
            through += 1;
            assert_eq!(found, after, "{step}");
        }
        dir.git(["fsck", "--strict"]);
    }
    assert!(back > 2 && through > 2, "{back} {through} {steps:?}");
}

fn saved(run: impl FnOnce(&TestEnvironment, &WorkDir<'_>)) -> Saved {
    let env = TestEnvironment::new();
    let dir = env.committed();
    run(&env, &dir);
    Saved::new(env)
}

#[test]
fn an_undone_commit_is_undone_whole() {
    killed_everywhere(&saved(|env, dir| {
        let code = env.work_dir("code");
        code.write("main.py", "print(2)\n");
        code.git(["commit", "-q", "-a", "-m", "second code"]);
        dir.tether(["remove", "raw"]).success();
        dir.tether([
            "add",
            "raw",
            "--kind",
            "file",
            "../raw",
            "--file",
            "versioned",
        ])
        .success();
        dir.tether(["commit", "-m", "second"]).success();
    }));
}

#[test]
fn an_undone_remove_is_undone_whole() {
    killed_everywhere(&saved(|_, dir| {
        dir.tether(["remove", "code"]).success();
    }));
}

#[test]
fn an_undone_add_that_created_a_store_is_undone_whole() {
    killed_everywhere(&saved(|_, dir| {
        dir.tether(["add", "made", "--kind", "git", "../made", "--create"])
            .success();
    }));
}

/// Surprise 41: a commit that was killed after it stood can be undone, as soon as the next writing command ended it.
#[test]
fn a_commit_killed_after_it_stood_can_be_undone() {
    let saved = saved(|_, dir| {
        dir.tether(["set", "raw", "--file", "immutable"]).success();
    });
    for step in ["did.vcs-commit", "view.written", "published", "closing"] {
        let dir = saved.restore();
        dir.killed(["commit", "-m", "killed"], step);
        assert_eq!(dir.git(["log", "--format=%s"]), "killed\nfirst");
        let undone = dir.tether(["undo", "--json"]).success().json();
        assert_eq!(undone["command"], "commit", "{step}");
        assert_eq!(dir.git(["log", "--format=%s"]), "first", "{step}");
        assert_eq!(dir.git(["diff", "--cached", "--name-only"]), "", "{step}");
        assert_eq!(journals(&dir), 0, "{step}");
    }
}
