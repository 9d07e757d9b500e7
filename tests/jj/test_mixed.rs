//! Stock jj between tether's operations: tether follows, and nothing of its own comes out.

use serde_json::Value;

use crate::common::{DATASET, TestEnvironment};

use super::story::{Place, Story};

/// The commands of the operations that stand, newest first.
fn standing(story: &Story<'_>) -> Vec<String> {
    let rows = story.run(&["ops", "--json"]).success().json();
    let rows = rows.as_array().unwrap().iter();
    rows.filter(|row| row["status"] == "done" && row["undone_by"].is_null())
        .map(|row| row["command"].as_str().unwrap().to_owned())
        .collect()
}

fn keys(story: &Story<'_>) -> Vec<String> {
    let objects = story.status()["objects"].as_array().unwrap().clone();
    let keys = objects.iter().map(|row| row["key"].as_str().unwrap());
    keys.map(str::to_owned).collect()
}

fn pins(env: &TestEnvironment) -> String {
    let format = "--format=%(refname) %(objectname)";
    env.work_dir("code").git(["for-each-ref", format])
}

#[test]
fn stock_undo_takes_back_a_dataset_commit_and_redo_brings_it_again() {
    for place in [Place::Colocated, Place::Internal, Place::Secondary] {
        let env = TestEnvironment::new();
        let story = Story::committed(&env, place);
        story.advance("print(2)\n");
        story.does(&["commit", "-m", "second"]);
        let (after, commit) = (story.status(), story.dir.jj_log("main", "commit_id"));
        let pinned = pins(&env);
        story.stock(&["undo"]);
        assert_eq!(
            story.dir.jj_log("main", "description.first_line()"),
            ["first"]
        );
        // The manifests are edits again, as the guide says of an undone commit.
        assert_eq!(story.changed_in("@"), [".tether/objects/code.toml"]);
        let status = story.status();
        assert_eq!(status["bookmark"], "main");
        assert_eq!(status["bookmark_drift"], serde_json::json!([]), "{status}");
        assert_eq!(status["manifest_hash"], after["manifest_hash"]);
        assert_eq!(pins(&env), pinned, "pins stay");
        assert_eq!(standing(&story), ["commit", "add", "add"]);
        story.settled();
        story.stock(&["redo"]);
        assert_eq!(story.dir.jj_log("main", "commit_id"), commit);
        assert_eq!(story.status(), after);
        assert_eq!(standing(&story), ["commit", "commit", "add", "add"]);
        story.clean();
    }
}

#[test]
fn an_undone_commit_is_committed_again_with_the_same_pins() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    story.advance("print(2)\n");
    story.does(&["commit", "-m", "second"]);
    let pinned = pins(&env);
    story.stock(&["undo"]);
    story.does(&["commit", "-m", "second, again"]);
    assert_eq!(pins(&env), pinned);
    story.clean();
    story.does(&["verify", "--all-history"]);
}

#[test]
fn stock_undo_takes_back_an_edit_of_the_registry() {
    let env = TestEnvironment::new();
    let story = Story::added(&env, Place::Colocated);
    assert_eq!(keys(&story), ["code", "raw"]);
    story.stock(&["undo"]);
    assert_eq!(keys(&story), ["raw"]);
    assert_eq!(standing(&story), ["add"]);
    story.stock(&["undo"]);
    assert!(keys(&story).is_empty());
    assert!(standing(&story).is_empty());
    story.settled();
    story.stock(&["redo"]);
    story.stock(&["redo"]);
    assert_eq!(keys(&story), ["code", "raw"]);
    assert_eq!(standing(&story), ["add", "add"]);
    story.does(&["commit", "-m", "first"]);
    story.clean();
}

#[test]
fn stock_op_restore_is_followed_both_ways() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    let first = (story.dir.jj_operation(), story.status());
    story.advance("print(2)\n");
    story.does(&["commit", "-m", "second"]);
    story.does(&["remove", "raw"]);
    story.does(&["commit", "-m", "third"]);
    let third = (story.dir.jj_operation(), story.status());
    let stable = |status: &Value| {
        let names = [
            "bookmark",
            "trunk",
            "manifest_hash",
            "stale",
            "bookmark_drift",
        ];
        names.map(|name| status[name].clone())
    };
    for (operation, status) in [&first, &third, &first] {
        story.stock(&["op", "restore", operation]);
        assert_eq!(stable(&story.status()), stable(status));
        story.settled();
    }
    assert_eq!(standing(&story), ["commit", "add", "add"]);
    story.does(&["set", "raw", "--file", "immutable"]);
    story.does(&["commit", "-m", "another second"]);
    story.clean();
}

/// Both operations moved the view: jj merges what it can (files that a rewritten change still holds it keeps), tether the rest.
#[test]
fn stock_op_revert_of_an_older_operation_is_followed() {
    let env = TestEnvironment::new();
    let story = Story::added(&env, Place::Colocated);
    let raw = story.dir.jj_text([
        "op",
        "log",
        "--ignore-working-copy",
        "--no-graph",
        "-T",
        "if(description.contains(\"add: raw\"), id)",
    ]);
    story.stock(&["op", "revert", &raw]);
    let files = story.dir.jj_text(["file", "list", "-r", "@"]);
    let manifests = files.lines().filter_map(|path| {
        let name = path.strip_prefix(".tether/objects/")?;
        name.strip_suffix(".toml").map(str::to_owned)
    });
    assert_eq!(keys(&story), manifests.collect::<Vec<_>>());
    assert_eq!(story.status()["bookmark"], "main");
    story.does(&["set", "code", "--pin", "record"]);
    story.does(&["ops"]);
    story.settled();
}

#[test]
fn abandoned_operations_and_gc_lose_nothing_that_stands() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    story.advance("print(2)\n");
    story.does(&["commit", "-m", "second"]);
    let before = (story.status(), standing(&story));
    story.stock(&["op", "abandon", "..@-"]);
    for _ in 0..2 {
        story.stock(&["util", "gc", "--expire", "now"]);
    }
    assert_eq!((story.status(), standing(&story)), before);
    story.clean();
    story.does(&["set", "raw", "--file", "immutable"]);
    story.does(&["commit", "-m", "third"]);
    story.clean();
    story.does(&["verify", "--all-history"]);
    assert_eq!(standing(&story)[..2], ["commit", "set"]);
}

#[test]
fn an_abandoned_dataset_commit_is_told() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    story.advance("print(2)\n");
    story.does(&["commit", "-m", "second"]);
    let gone = story.dir.jj_log("main", "commit_id").remove(0);
    story.stock(&["abandon", "main"]);
    let status = story.status();
    assert_eq!(status["vcs_drift"][0]["commit"], gone.as_str(), "{status}");
    let ops = story.run(&["ops", "-n", "1", "--json"]).json();
    assert_eq!(ops[0]["vcs_commit_gone"], true, "{ops}");
    story.stock(&["undo"]);
    assert_eq!(story.status()["vcs_drift"], serde_json::json!([]));
}

/// One of each: what a stock jj shows and does with anchors must come to nothing.
#[test]
fn anchors_are_no_git_refs_and_are_not_pushed() {
    let env = TestEnvironment::new();
    let remote = env.work_dir("remote.git");
    remote.git(["init", "-q", "--bare"]);
    let story = Story::committed(&env, Place::Colocated);
    story.stock(&["git", "remote", "add", "origin", "../remote.git"]);
    story.stock(&["git", "push", "--all"]);
    story.stock(&["git", "fetch"]);
    assert_eq!(
        remote.git(["for-each-ref", "--format=%(refname)"]),
        "refs/heads/main"
    );
    assert_eq!(story.dir.jj_text(["tag", "list"]), "");
    assert_eq!(story.dir.git(["tag"]), "");
    // Hidden: in no set a user works with.
    for revset in ["all()", "mutable()", "heads(all())", "visible_heads()"] {
        let found = story.dir.jj_log(revset, "description.first_line()");
        assert!(
            !found.iter().any(|it| it.contains("tether view")),
            "{found:?}"
        );
    }
    // Yet it is there.
    let shown = story.dir.jj_text(["tag", "list", "--all-remotes"]);
    assert!(shown.contains("tether/views"), "{shown}");
}

#[test]
fn anchors_that_a_user_tracks_are_let_go_again() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    story.stock(&["tag", "track", "*"]);
    assert!(story.dir.git(["tag"]).contains("ws/"), "jj exports them");
    story.does(&["status"]);
    story.does(&["set", "raw", "--file", "immutable"]);
    assert_eq!(story.dir.git(["tag"]), "");
    assert_eq!(story.dir.jj_text(["tag", "list"]), "");
    story.settled();
    story.does(&["commit", "-m", "second"]);
    story.clean();
}

#[test]
fn other_workspaces_come_and_go() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    let before = story.status();
    let other = story.dir.jj_workspace("other");
    other.stock_jj(["new", "main"]).success();
    // On no bookmark until told: it reads.
    let seen = other.tether(["status", "--json"]).success().json();
    assert_eq!(seen["manifest_hash"], before["manifest_hash"]);
    assert_eq!(seen["bookmark"], Value::Null);
    other.tether(["verify"]).success();
    other.tether(["commit", "-m", "x"]).exits(1);
    assert_eq!(story.status(), before);
    other.stock_jj(["workspace", "rename", "third"]).success();
    let seen = other.tether(["status", "--json"]).success().json();
    assert_eq!(seen["manifest_hash"], before["manifest_hash"]);
    story.stock(&["workspace", "forget", "third"]);
    assert_eq!(story.status(), before);
    story.advance("print(2)\n");
    story.does(&["commit", "-m", "second"]);
    story.clean();
}

#[test]
fn a_renamed_workspace_keeps_its_view() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    let before = story.status();
    story.stock(&["workspace", "rename", "here"]);
    assert_eq!(story.status(), before);
    assert_eq!(standing(&story), ["commit", "add", "add"]);
    story.advance("print(2)\n");
    story.does(&["commit", "-m", "second"]);
    assert_eq!(standing(&story), ["commit", "commit", "add", "add"]);
    story.clean();
}

/// A second checkout that works on the trunk, as the guide allows.
#[test]
fn two_workspaces_on_the_trunk_take_turns() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    let other = story.dir.jj_workspace("other");
    other.stock_jj(["new", "main"]).success();
    let id = "00112233445566778899aabbccddeeff";
    other.write(
        ".tether/workspace.toml",
        format!("workspace_id = \"{id}\"\nbookmark = \"main\"\n"),
    );
    story.advance("print(2)\n");
    other.tether(["commit", "-m", "theirs"]).success();
    assert_eq!(
        story.dir.jj_log("main", "description.first_line()"),
        ["theirs"]
    );
    // Ours is behind the trunk now, is told so, and goes on after it moved.
    story.advance("print(3)\n");
    let refused = story.run(&["commit", "-m", "ours"]).exits(1);
    assert!(refused.stderr.contains("main"), "{refused}");
    assert!(refused.stderr.contains("Hint: "), "{refused}");
    story.stock(&["new", "main"]);
    story.does(&["commit", "-m", "ours"]);
    assert_eq!(standing(&story), ["commit", "commit", "add", "add"]);
    story.clean();
    // An undo there leaves this workspace's view alone.
    story.stock(&["undo"]);
    assert_eq!(standing(&story), ["commit", "add", "add"]);
    let theirs = other.tether(["ops", "--json"]).success().json();
    assert_eq!(theirs[0]["command"], "commit");
    assert_eq!(theirs[0]["undone_by"], Value::Null);
}

#[test]
fn operations_at_once_are_both_kept() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    let before = story.dir.jj_operation();
    story.advance("print(2)\n");
    story.does(&["commit", "-m", "second"]);
    story.stock(&[
        "bookmark", "create", "side", "-r", "main", "--at-op", &before,
    ]);
    let status = story.status();
    assert_eq!(status["bookmark"], "main");
    assert_eq!(status["bookmark_drift"], serde_json::json!([]));
    assert_eq!(standing(&story), ["commit", "commit", "add", "add"]);
    assert_eq!(
        story.dir.jj_log("main", "description.first_line()"),
        ["second"]
    );
    assert_eq!(
        story.dir.jj_log("side", "description.first_line()"),
        ["first"]
    );
    story.does(&["set", "raw", "--file", "immutable"]);
    story.does(&["commit", "-m", "third"]);
    story.clean();
}

/// Surprise 33: where the dataset's own ignore file is gone, its private files still are nobody's change.
#[test]
fn before_the_dataset_its_private_files_are_still_not_committed() {
    for place in [Place::Colocated, Place::Internal] {
        let env = TestEnvironment::new();
        let story = Story::empty(&env, place);
        story.dir.write("mine.txt", "mine\n");
        story.stock(&["commit", "-m", "mine"]);
        let before = story.dir.jj_operation();
        story.does(&["init", "--dataset-id", DATASET]);
        story.dir.write(".tether/secrets.toml", "[x]\n");
        story.does(&["add", "code", "--kind", "git", "../code"]);
        story.does(&["commit", "-m", "first"]);
        story.does(&["status"]);
        story.stock(&["op", "restore", &before]);
        assert!(!story.dir.exists("tether.toml"));
        story.stock(&["status"]);
        let files = story.dir.jj_text(["file", "list", "-r", "@"]);
        assert_eq!(files, "mine.txt");
        let refused = story.run(&["status"]).exits(1);
        assert!(refused.stderr.contains("holds no dataset"), "{refused}");
        story.stock(&["undo"]);
        story.does(&["status"]);
        assert_eq!(standing(&story), ["commit", "add"]);
        story.clean();
    }
}

/// jj's undo never stays where it is, whatever tether did.
#[test]
fn stock_undo_walks_all_the_way_back() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    story.advance("print(2)\n");
    story.does(&["commit", "-m", "second"]);
    story.does(&["set", "raw", "--file", "immutable"]);
    story.does(&["snapshot"]);
    let mut count = 0;
    loop {
        let undone = story.dir.stock_jj(["undo"]);
        assert!(!undone.to_string().contains("Nothing changed"), "{undone}");
        if undone.code != 0 {
            assert!(undone.stderr.contains("root operation"), "{undone}");
            break;
        }
        count += 1;
        assert!(count < 40, "undo goes round in circles");
        let status = story.run(&["status"]);
        assert!(status.code <= 1, "{status}");
        assert!(!status.stderr.contains("internal"), "{status}");
    }
    assert!(count >= 6, "{count}");
    for _ in 0..count {
        story.stock(&["redo"]);
    }
    assert_eq!(standing(&story), ["set", "commit", "commit", "add", "add"]);
    story.settled();
}
