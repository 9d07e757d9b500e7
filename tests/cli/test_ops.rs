//! `tether ops`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn ops_lists_what_was_done_newest_first() {
    let env = TestEnvironment::new();
    let dir = env.dataset();
    assert_snapshot!(dir.tether(["ops"]), @"no operations yet");
    env.code("code");
    env.work_dir("raw").write("a.txt", "one\n");
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    dir.tether(["add", "raw", "--kind", "file", "../raw"])
        .success();
    dir.tether(["commit", "-m", "first"]).success();
    dir.tether(["set", "raw", "--file", "versioned"]).success();
    dir.tether(["remove", "code"]).success();
    assert_snapshot!(dir.tether(["ops"]), @r"
    O2  2026-03-01 12:00:00  remove   code
    O3  2026-03-01 12:00:00  set      raw: file=immutable->versioned
    O4  2026-03-01 12:00:00  commit   pinned code; recorded raw; vcs O1
    O5  2026-03-01 12:00:00  add      raw
    O6  2026-03-01 12:00:00  add      code
    ");
    assert_snapshot!(dir.tether(["ops", "-n", "1", "--json"]), @r#"
    [
      {
        "id": "O2",
        "at": "2026-03-01T12:00:00.000000+00:00",
        "command": "remove",
        "plan": null,
        "result": {
          "key": "code"
        },
        "pre": {
          "objects": {
            "code": "key = \"code\"\nkind = \"git\"\nrecoverable = true\ncaptured_at = \"2026-03-01T12:00:00.000000+00:00\"\n\n[locator]\nuri = \"$TEST_ENV/code\"\n\n[policy]\nfile = \"immutable\"\npin = \"native\"\n\n[state]\nsha = \"C1\"\ndirty = false\n\n[pin]\nid = \"0a1b2c3d.P1\"\nref = \"tether.0a1b2c3d.P1\"\n"
          },
          "left": {
            "code": null
          },
          "workspace": "workspace_id = \"W1\"\nbookmark = \"main\"\nlast_snapshot_at = \"2026-03-01T12:00:00.000000+00:00\"\noperation = \"O3\"\nview = \"W2\"\n\n[last_snapshot.code]\nsha = \"C1\"\ndirty = false\n\n[last_snapshot.raw]\ntype = \"dir\"\ncount = 1\nsize = 4\ndigest = \"W3\"\n"
        },
        "undoes": null,
        "undone_by": null,
        "status": "done",
        "parent": null,
        "progress": [],
        "vcs_commit_gone": false
      }
    ]
    "#);
    let all = dir.tether(["ops", "--json"]).success().json();
    assert_eq!(all.as_array().unwrap().len(), 5);
    assert_eq!(all[2]["command"], "commit");
    assert!(all[2]["plan"]["digest"].is_string());
}

#[test]
fn ops_marks_a_commit_that_left_history() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    dir.tether(["commit", "-m", "second"]).success();
    dir.git(["reset", "-q", "--hard", "HEAD~1"]);
    assert_snapshot!(dir.tether(["ops", "-n", "1"]), @"O3  2026-03-01 12:00:00  commit   pinned code; vcs O2  (vcs commit gone)");
    assert_eq!(
        dir.tether(["ops", "-n", "1", "--json"]).json()[0]["vcs_commit_gone"],
        true
    );
}

#[test]
fn an_unfinished_commit_is_told_by_ops_and_status() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    let trace = env.root().join("trace");
    let mut command = dir.command(["commit", "-m", "second", "--dry-run"]);
    command.env("TETHER_TEST_TRACE_STEPS", &trace);
    dir.run(command).success();
    assert!(!trace.exists(), "a dry run takes no step");
    let mut command = dir.command(["commit", "-m", "second"]);
    command.env("TETHER_TEST_KILL_AT", "did.pin");
    let killed = dir.run(command);
    assert_ne!(killed.code, 0, "{killed}");
    let ops = dir.tether(["ops", "-n", "1"]).success();
    assert!(ops.stdout.contains("INCOMPLETE"), "{ops}");
    assert_eq!(
        dir.tether(["ops", "-n", "1", "--json"]).json()[0]["status"],
        "started"
    );
    let status = dir.tether(["status"]).success();
    assert!(status.stderr.starts_with("Warning: "), "{status}");
}

/// Git gives a worktree the id of one that is gone when its folder has the same name: what the old one did is not what this one did.
#[test]
fn a_worktree_added_again_does_not_go_on_with_the_old_ones_log() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.git(["worktree", "add", "-q", "-b", "side", "../tree"]);
    let tree = env.work_dir("tree");
    tree.tether(["remove", "raw"]).success();
    tree.tether(["remove", "code"]).success();
    let ops = tree.tether(["ops", "--json"]).success().json();
    assert_eq!(ops.as_array().unwrap().len(), 2, "{ops}");
    let head = ".git/worktrees/tree/tether/heads/worktree-tree";
    assert!(dir.exists(head));

    dir.git(["worktree", "remove", "--force", "../tree"]);
    dir.git(["worktree", "add", "-q", "../tree", "side"]);
    assert_snapshot!(tree.tether(["ops"]), @"no operations yet");
    let refused = tree.tether(["undo"]).exits(1);
    assert!(refused.stderr.contains("nothing to undo"), "{refused}");
    let status = tree.tether(["status"]).success();
    assert_eq!(status.stderr, "", "it never had records to lose");
    // What the old one removed is not why manifests are missing here.
    for key in ["code", "raw"] {
        std::fs::remove_file(tree.path().join(format!(".tether/objects/{key}.toml"))).unwrap();
    }
    let status = tree.tether(["status"]).success();
    assert!(
        status.stderr.contains("no `tether remove` took them away"),
        "{status}"
    );
    tree.git(["restore", "--", ".tether/objects"]);

    tree.tether(["remove", "raw"]).success();
    assert!(dir.exists(head));
    let ops = tree.tether(["ops", "--json"]).success().json();
    let commands: Vec<&str> = ops
        .as_array()
        .unwrap()
        .iter()
        .map(|op| op["command"].as_str().unwrap())
        .collect();
    assert_eq!(commands, ["remove"]);
    tree.tether(["undo"]).success();
    assert!(tree.exists(".tether/objects/raw.toml"));
    let refused = tree.tether(["undo"]).exits(1);
    assert!(refused.stderr.contains("nothing to undo"), "{refused}");
    // The checkout that stayed has its own.
    let ops = dir.tether(["ops", "--json"]).success().json();
    assert_eq!(ops.as_array().unwrap().len(), 3, "{ops}");
}
