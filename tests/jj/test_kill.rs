//! E12 under jj: commands killed at every step, jj's own among them. The next command needs no manual clean-up.

use crate::common::{Saved, TestEnvironment, WorkDir};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Git {
    Colocated,
    Internal,
}

/// A dataset with two objects, `commits` of whose states are committed already, and a file of the user's in the working copy.
fn fixture(git: Git, commits: usize) -> Saved {
    let env = TestEnvironment::new();
    let dir = match git {
        Git::Colocated => env.jj_repo("ds"),
        Git::Internal => env.jj_repo_internal("ds"),
    };
    let raw = env.work_dir("raw");
    raw.write("a.txt", "one\n");
    let code = env.code("code");
    dir.tether(["init"]).success();
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
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    for n in 0..commits {
        dir.tether(["commit", "-m", "before"]).success();
        raw.write(&format!("{n}.txt"), "more\n");
        code.write("main.py", format!("print({n})\n"));
        code.git(["commit", "-q", "-a", "-m", "more code"]);
    }
    dir.write("notes.txt", "mine\n");
    Saved::new(env)
}

/// What must be the same whatever step the kill hit.
#[derive(Debug, PartialEq)]
struct Seen {
    /// Subjects of every visible commit, newest first, with a mark on a change that is there twice.
    commits: Vec<String>,
    bookmarks: String,
    /// What stock jj calls changed in the working copy.
    changed: String,
    pins: usize,
    journals: usize,
    manifests: Vec<String>,
}

fn seen(saved: &Saved, dir: &WorkDir<'_>) -> Seen {
    let journals = dir.path().join(".jj/repo/tether/journal");
    let journals = std::fs::read_dir(journals).map_or(0, |entries| {
        entries
            .filter(|entry| {
                let path = entry.as_ref().unwrap().path();
                path.extension().is_some_and(|it| it == "jsonl")
            })
            .count()
    });
    let pins = saved
        .env
        .work_dir("code")
        .git(["tag", "--list", "tether.*"]);
    Seen {
        changed: dir.jj_text(["diff", "--summary"]),
        commits: dir.jj_log(
            "all()",
            r#"if(divergent, "DIVERGENT ") ++ if(conflict, "CONFLICT ") ++ description.first_line()"#,
        ),
        bookmarks: dir.jj_text(["bookmark", "list", "--all"]),
        pins: pins.lines().count(),
        journals,
        manifests: ["raw", "code"]
            .map(|key| {
                let text = dir.read(&format!(".tether/objects/{key}.toml"));
                text.lines()
                    .filter(|line| !line.starts_with("captured_at"))
                    .collect()
            })
            .to_vec(),
    }
}

/// Bookmarks and commits without ids, which differ from run to run.
fn without_ids(mut seen: Seen) -> Seen {
    let words: Vec<String> = seen
        .bookmarks
        .split_whitespace()
        .filter(|word| !word.chars().all(|c| c.is_ascii_alphanumeric()) || word.len() < 8)
        .map(ToOwned::to_owned)
        .collect();
    seen.bookmarks = words.join(" ");
    seen
}

fn every_step(git: Git, commits: usize) {
    let saved = fixture(git, commits);
    let steps = saved.steps(&["commit", "-m", "whole"]);
    assert!(
        ["jj.exported#1", "jj.published#2", "closed#1"]
            .iter()
            .all(|name| steps.iter().any(|step| step == name)),
        "{steps:?}"
    );
    let dir = saved.restore();
    dir.tether(["commit", "-m", "whole"]).success();
    let whole = without_ids(seen(&saved, &dir));
    assert_eq!(whole.changed, "A notes.txt");
    for step in steps {
        let dir = saved.restore();
        dir.killed(["commit", "-m", "whole"], &step);
        // Reading is possible at once, and changes nothing.
        for args in [&["status"][..], &["commit", "-m", "whole"]] {
            let output = dir.tether(args);
            assert_eq!(output.code, 0, "{args:?} after a kill at {step}: {output}");
        }
        let after = without_ids(seen(&saved, &dir));
        assert_eq!(after, whole, "{git:?}, killed at {step}");
        if git == Git::Colocated {
            assert_eq!(dir.git_status(), " A notes.txt", "killed at {step}");
        }
        // Nothing is left to be finished: another commit finds nothing to do.
        let again = dir.tether(["commit", "-m", "again"]).success();
        assert!(
            again.stdout.starts_with("nothing to commit"),
            "{step}: {again}"
        );
    }
}

#[test]
fn the_first_commit_killed_at_any_step_is_completed_by_the_next_one() {
    every_step(Git::Colocated, 0);
}

#[test]
fn a_later_commit_killed_at_any_step_is_completed_by_the_next_one() {
    every_step(Git::Colocated, 1);
}

#[test]
fn a_commit_that_git_does_not_see_killed_at_any_step_is_completed_by_the_next_one() {
    every_step(Git::Internal, 1);
}
