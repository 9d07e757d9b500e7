//! `tether undo` under jj: one stack with `jj undo`, and the store half of what jj took back.

use insta::assert_snapshot;

use crate::common::{Saved, TestEnvironment, WorkDir};

use super::story::{Place, Program, Story};

const MAKE: [&str; 6] = ["add", "made", "--kind", "git", "../made", "--create"];

fn made(env: &TestEnvironment) -> bool {
    env.root().join("made").exists()
}

/// What `undo --json` answers.
#[track_caller]
fn undone(story: &Story<'_>, args: &[&str]) -> serde_json::Value {
    let output = story.run(&[&["undo", "--json"], args].concat());
    assert_eq!(output.code, 0, "{output}");
    output.json()
}

/// N undos of N operations lead back to the start, each one operation of jj's, also from `jj tether`.
#[test]
fn undos_walk_back_to_the_start() {
    for (place, program) in [
        (Place::Colocated, Program::Tether),
        (Place::Internal, Program::Jj),
        (Place::Secondary, Program::Tether),
    ] {
        let env = TestEnvironment::new();
        let mut story = Story::empty(&env, place);
        story.program = program;
        story.does(&["init"]);
        let files = || story.dir.dir(".tether/objects").files();
        let mut before = Vec::new();
        let commands: [&[&str]; 5] = [
            &[
                "add",
                "raw",
                "--kind",
                "file",
                "../raw",
                "--file",
                "versioned",
            ],
            &["commit", "-m", "one"],
            &["set", "raw", "--file", "immutable"],
            &["commit", "-m", "two"],
            &["remove", "raw"],
        ];
        for args in commands {
            before.push((
                files(),
                story.dir.jj_log("all()", "description.first_line()"),
            ));
            story.does(args);
        }
        for (args, (files_then, log_then)) in commands.iter().zip(before).rev() {
            let operations = story.operations_of(|| {
                assert_eq!(undone(&story, &[])["command"], args[0]);
            });
            assert_eq!(operations.len(), 1, "{operations:?}");
            assert!(operations[0].starts_with("undo: restore to operation "));
            if args[0] != "commit" {
                assert_eq!(files(), files_then, "{place:?} {args:?}");
            }
            let log = story.dir.jj_log("all()", "description.first_line()");
            assert_eq!(log, log_then, "{place:?} {args:?}");
            story.settled();
        }
        story.run(&["undo"]).exits(1);
    }
}

/// `jj redo` brings back what `tether undo` took back, and `jj undo` goes on where it stopped.
#[test]
fn it_is_one_stack_with_jj_undo_and_jj_redo() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    story.does(&["set", "raw", "--file", "immutable"]);
    story.does(&["commit", "-m", "second"]);
    let subjects = || story.dir.jj_log("::main", "description.first_line()");
    undone(&story, &[]);
    assert_eq!(subjects(), ["first"]);
    story.stock(&["redo"]);
    assert_eq!(subjects(), ["second", "first"]);
    story.stock(&["undo"]);
    assert_eq!(undone(&story, &[])["command"], "set");
    story.stock(&["undo"]);
    assert_eq!(subjects(), [""; 0]);
    assert_snapshot!(story.run(&["ops"]), @r"
    O9  2026-03-01 12:00:00  undo     undid O8: set raw: file=versioned->immutable  (undone by jj)
    O4  2026-03-01 12:00:00  undo     undid O3: commit vcs O2  (undone by jj)
    O3  2026-03-01 12:00:00  commit   vcs O2  (undone by jj)
    O8  2026-03-01 12:00:00  set      raw: file=versioned->immutable  (undone by jj)
    O12  2026-03-01 12:00:00  commit   pinned code; recorded raw; vcs O1  (undone by jj)
    O13  2026-03-01 12:00:00  add      code
    O14  2026-03-01 12:00:00  add      raw
    ");
}

/// Work of the user's in between stays: the commit is squashed into the working copy.
#[test]
fn a_commit_is_uncommitted_under_work_that_went_on() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    story.does(&["set", "raw", "--file", "immutable"]);
    story.does(&["commit", "-m", "second"]);
    story.dir.write("mine.txt", "mine\n");
    story.stock(&["describe", "-m", "mine"]);
    undone(&story, &[]);
    assert_eq!(
        story.dir.jj_log("all()", "description.first_line()"),
        ["mine", "first"]
    );
    let changed = story.dir.jj_text(["diff", "-r", "@", "--name-only"]);
    assert_eq!(changed, ".tether/objects/raw.toml\nmine.txt");
    assert_eq!(undone(&story, &[])["command"], "set");
    let changed = story.dir.jj_text(["diff", "-r", "@", "--name-only"]);
    assert_eq!(changed, "mine.txt");
    story.settled();
}

#[test]
fn a_commit_that_work_builds_on_is_refused() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    story.stock(&["commit", "-m", "on top"]);
    let ops = story.run(&["ops", "--json"]).success().stdout;
    let refused = story.run(&["undo"]).exits(1);
    assert!(refused.stderr.contains("cannot undo "), "{refused}");
    assert_eq!(story.run(&["ops", "--json"]).success().stdout, ops);
    story.settled();
}

/// An older operation is undone by the beginning of its id; what came after it stands.
#[test]
fn an_older_operation_is_undone_by_name() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Internal);
    story.does(&["set", "raw", "--file", "immutable"]);
    let ops = story.run(&["ops", "--json", "-n", "1"]).success().json();
    let id = ops[0]["id"].as_str().unwrap().to_owned();
    story.does(&["add", "extra", "--kind", "file", "../raw"]);
    assert_eq!(undone(&story, &[&id[..7]])["undone"], id.as_str());
    let changed = story.dir.jj_text(["diff", "-r", "@", "--name-only"]);
    assert_eq!(changed, ".tether/objects/extra.toml");
    story.settled();
}

/// Stock jj knows nothing of stores: `status` says what is left, and `tether undo` does that and nothing else.
#[test]
fn what_stock_jj_took_back_is_pending_in_stores() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    story.does(&MAKE);
    story.stock(&["undo"]);
    assert!(made(&env));
    let operations = story.operations_of(|| {
        let status = story.run(&["status"]).success();
        assert!(
            status.stderr.contains("`tether undo` takes it back"),
            "{status}"
        );
        // Other work in between does not lose it.
        story.does(&["snapshot"]);
        let status = story.run(&["status"]).success();
        assert!(
            status.stderr.contains("`tether undo` takes it back"),
            "{status}"
        );
        let report = undone(&story, &[]);
        assert_eq!(report["command"], "add");
        assert_eq!(report["undo_id"], serde_json::Value::Null);
        assert!(!made(&env));
        let status = story.run(&["status"]).success();
        assert!(!status.stderr.contains("takes it back"), "{status}");
    });
    assert_eq!(operations, [""; 0], "jj's log is not touched");
    assert_eq!(undone(&story, &[])["command"], "commit");
}

#[test]
fn our_jj_takes_back_in_stores_what_its_undo_took_back() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    story.does(&MAKE);
    let output = story.dir.jj(["undo"]).success();
    assert!(
        output.stderr.contains("removed the empty store"),
        "{output}"
    );
    assert!(!made(&env));
    // A store with content is kept, and said to be.
    story.does(&MAKE);
    let made = env.work_dir("made");
    let commit = made.git(["rev-parse", "HEAD"]);
    made.git(["branch", "theirs", &commit]);
    let output = story.dir.jj(["undo"]).success();
    assert!(output.stderr.contains("it has content now"), "{output}");
    assert!(made.exists(".git"));
}

/// What stock jj took back and brought back again is not pending.
#[test]
fn what_jj_redid_stays() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    story.does(&MAKE);
    story.stock(&["undo"]);
    story.does(&["snapshot"]);
    story.stock(&["redo"]);
    let status = story.run(&["status"]).success();
    assert!(!status.stderr.contains("takes it back"), "{status}");
    let output = story.dir.jj(["describe", "-m", "x"]).success();
    assert!(!output.stderr.contains("made"), "{output}");
    assert!(made(&env));
    assert!(story.dir.exists(".tether/objects/made.toml"));
}

fn second_commit(dir: &WorkDir<'_>) {
    dir.tether(["set", "raw", "--file", "immutable"]).success();
    dir.tether(["commit", "-m", "second"]).success();
}

/// E12: killed at any step, the next command ends it, and `undo` then does what is left.
#[test]
fn an_undone_commit_killed_at_any_step_is_whole_or_not_at_all() {
    killed_everywhere(second_commit, |_| true, true);
}

#[test]
fn an_undone_created_store_killed_at_any_step_is_whole_or_not_at_all() {
    let create = |dir: &WorkDir<'_>| drop(dir.tether(MAKE).success());
    killed_everywhere(create, |step| !step.starts_with("file."), true);
}

/// With work of the user's in between, jj's own undo cannot do it. Killed after git was told, jj takes in what git has and begins a new
/// change: the log differs then, and nothing is lost.
#[test]
fn an_undone_commit_under_other_work_killed_in_jj_is_whole_or_not_at_all() {
    let prepare = |dir: &WorkDir<'_>| {
        second_commit(dir);
        dir.write("mine.txt", "mine\n");
        dir.stock_jj(["describe", "-m", "mine"]).success();
    };
    let in_jj = |step: &str| step.starts_with("jj.") || step.contains("uncommit");
    killed_everywhere(prepare, in_jj, false);
}

fn killed_everywhere(
    prepare: impl FnOnce(&WorkDir<'_>),
    here: impl Fn(&str) -> bool,
    compare_log: bool,
) {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    prepare(&story.dir);
    drop(story);
    let saved = Saved::new(env);
    let seen = |dir: &WorkDir<'_>| {
        let ops = dir.tether(["ops", "--json"]).success().json();
        let ops = ops.as_array().unwrap().clone();
        assert!(ops.iter().all(|op| op["status"] == "done"), "{ops:?}");
        let undone = ops.iter().filter(|op| !op["undone_by"].is_null()).count();
        (
            dir.dir(".tether/objects").files(),
            if compare_log {
                dir.jj_log("all()", "description.first_line()")
            } else {
                dir.jj_log("main", "description.first_line()")
            },
            undone,
            made(&saved.env),
        )
    };
    let mut steps = saved.steps(&["undo"]);
    steps.retain(|step| here(step));
    let dir = saved.restore();
    let before = seen(&dir);
    dir.tether(["undo"]).success();
    let after = seen(&dir);
    assert_ne!(before, after);
    let mut through = 0;
    for step in &steps {
        let dir = saved.restore();
        dir.killed(["undo"], step);
        dir.tether(["status"]).success();
        dir.tether(["set", "code", "--pin", "native"]).success();
        if seen(&dir) == before {
            dir.tether(["undo"]).success();
        } else {
            through += 1;
        }
        assert_eq!(seen(&dir), after, "{step}");
        let status = dir.stock_jj(["status"]).success();
        assert!(!status.to_string().contains("stale"), "{step}: {status}");
        if dir.exists("mine.txt") {
            let mine = dir.jj_log("description(substring:mine)", "description.first_line()");
            assert_eq!(mine, ["mine"], "{step}: the user's change is gone");
        }
    }
    assert!(through > 0 && through < steps.len(), "{through} {steps:?}");
}
