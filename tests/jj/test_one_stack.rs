//! Undo under jj: tether's and jj's walk one stack, and neither costs the user anything.

use serde_json::Value;

use crate::common::TestEnvironment;

use super::story::{Place, Program, Story};

fn keys(story: &Story<'_>) -> Vec<String> {
    let rows = story.status()["objects"].as_array().unwrap().clone();
    let keys = rows.iter().map(|row| row["key"].as_str().unwrap());
    keys.map(str::to_owned).collect()
}

fn add(story: &Story<'_>, key: &str) {
    story.does(&["add", key, "--kind", "file", "../raw"]);
}

#[test]
fn tethers_undo_and_jjs_walk_one_stack() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    for key in ["w", "x", "y", "z"] {
        add(&story, key);
    }
    assert_eq!(keys(&story), ["code", "raw", "w", "x", "y", "z"]);
    story.does(&["undo"]);
    assert_eq!(keys(&story), ["code", "raw", "w", "x", "y"]);
    story.stock(&["undo"]);
    assert_eq!(keys(&story), ["code", "raw", "w", "x"]);
    story.does(&["undo"]);
    assert_eq!(keys(&story), ["code", "raw", "w"]);
    story.dir.jj(["undo"]).success();
    assert_eq!(keys(&story), ["code", "raw"]);
    story.clean();
    // Four undos of four operations: the next takes the commit back.
    let before = story.dir.jj_log("main", "description.first_line()");
    assert_eq!(before, ["first"]);
    story.does(&["undo"]);
    assert_eq!(
        story.dir.jj_log("main", "description.first_line()").len(),
        0
    );
    assert_eq!(keys(&story), ["code", "raw"]);
    story.settled();
}

/// Surprise 39: what tether itself moved is nobody's drift; and an operation's id may be shortened.
#[test]
fn an_undone_commit_leaves_no_warning() {
    for program in [Program::Tether, Program::Jj] {
        let env = TestEnvironment::new();
        let mut story = Story::committed(&env, Place::Colocated);
        story.program = program;
        story.advance("print(2)\n");
        story.does(&["commit", "-m", "second"]);
        let ops = story.run(&["ops", "-n", "1", "--json"]).json();
        let id = ops[0]["id"].as_str().unwrap().to_owned();
        story.does(&["undo", &id[..8]]);
        let status = story.run(&["status", "--json"]).success();
        assert_eq!(status.stderr, "", "{status}");
        let status = status.json();
        for none in ["bookmark_drift", "vcs_drift"] {
            assert_eq!(status[none], serde_json::json!([]), "{status}");
        }
        assert_eq!(
            story.dir.jj_log("main", "description.first_line()"),
            ["first"]
        );
        // The manifests are edits: the same commit again, with the same pin.
        assert_eq!(story.changed_in("@"), [".tether/objects/code.toml"]);
        story.does(&["commit", "-m", "second, again"]);
        story.clean();
        story.does(&["verify", "--all-history"]);
    }
}

/// Surprise 37: a refused undo is no operation, of tether's or of jj's.
#[test]
fn a_refused_undo_leaves_no_trace() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    story.dir.write("mine.txt", "mine\n");
    story.stock(&["commit", "-m", "mine"]);
    let before = (story.heads(), story.run(&["ops", "--json"]).stdout);
    let refused = story.run(&["undo"]).exits(1);
    assert!(refused.stderr.contains("Hint: `jj new "), "{refused}");
    assert_eq!(
        (story.heads(), story.run(&["ops", "--json"]).stdout),
        before
    );
    // As told.
    let parent = story.dir.jj_log("main", "commit_id").remove(0);
    story.stock(&["new", &parent]);
    assert_eq!(
        story.run(&["undo"]).exits(1).stdout,
        "",
        "a commit of the user's is on top"
    );
    let subjects = story.dir.jj_log("all()", "description.first_line()");
    assert!(subjects.contains(&"mine".to_owned()), "{subjects:?}");
}

/// What jj's own undo would take along: edits that nothing has snapshotted yet.
#[test]
fn files_the_user_is_working_on_stay_as_they_are() {
    for place in [Place::Colocated, Place::Internal] {
        let env = TestEnvironment::new();
        let story = Story::committed(&env, place);
        story.dir.write("old.txt", "old\n");
        story.stock(&["commit", "-m", "mine"]);
        story.stock(&["bookmark", "set", "main", "-r", "@-"]);
        add(&story, "x");
        story.dir.write("old.txt", "edited\n");
        story.dir.write("mine.txt", "mine\n");
        story.does(&["undo"]);
        assert_eq!(keys(&story), ["code", "raw"]);
        story.advance("print(2)\n");
        story.does(&["commit", "-m", "second"]);
        story.dir.write("mine.txt", "more\n");
        story.does(&["undo"]);
        assert_eq!(story.dir.read("old.txt"), "edited\n");
        assert_eq!(story.dir.read("mine.txt"), "more\n");
        story.stock(&["status"]);
        let changed = story.changed_in("@");
        assert_eq!(
            changed,
            [".tether/objects/code.toml", "mine.txt", "old.txt"]
        );
    }
}

/// An undo in one workspace leaves the others' operations and files alone.
#[test]
fn other_workspaces_keep_what_they_did() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    let other = story.dir.jj_workspace("other");
    other.stock_jj(["new", "main"]).success();
    let id = "00112233445566778899aabbccddeeff";
    let file = format!("workspace_id = \"{id}\"\nbookmark = \"main\"\n");
    other.write(".tether/workspace.toml", file);
    add(&story, "ours");
    let args = ["add", "theirs", "--kind", "file", "../raw"];
    other.tether(args).success();
    let there = other.tether(["status", "--json"]).success().json();
    story.does(&["undo"]);
    assert_eq!(keys(&story), ["code", "raw"]);
    let after = other.tether(["status", "--json"]).success().json();
    assert_eq!(after["manifest_hash"], there["manifest_hash"]);
    let ops = other.tether(["ops", "--json"]).success().json();
    assert_eq!(ops[0]["command"], "add");
    assert_eq!(ops[0]["undone_by"], Value::Null);
    other.tether(["undo"]).success();
    assert!(!other.exists(".tether/objects/theirs.toml"));
    story.clean();
}
