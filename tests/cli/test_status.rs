//! `tether status`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn status_of_an_empty_dataset() {
    let env = TestEnvironment::new();
    let dir = env.dataset();
    assert_snapshot!(dir.tether(["status"]), @r"
    dataset O1; on trunk bookmark main
      no objects; `tether add` registers one
    ");
    assert_snapshot!(dir.tether(["status", "--json"]), @r#"
    {
      "manifest_hash": "H1",
      "stale": false,
      "stale_keys": [],
      "fresh": true,
      "snapshot_at": "2026-03-01T12:00:00.000000+00:00",
      "bookmark": "main",
      "trunk": true,
      "bookmark_drift": [],
      "vcs_drift": [],
      "objects": []
    }
    "#);
}

#[test]
fn the_first_status_takes_a_snapshot_and_later_ones_show_it() {
    let env = TestEnvironment::new();
    env.code("code");
    let dir = env.dataset();
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    assert_snapshot!(dir.tether(["status"]), @r"
    dataset O1; on trunk bookmark main
            new  code  [git/forkable]
    ");
    // The store moves; the cached state is shown until a snapshot is asked for.
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    assert_snapshot!(dir.tether(["status"]), @r"
    dataset O1; on trunk bookmark main
      states as fingerprinted 0s ago; --snapshot to refresh
            new  code  [git/forkable]
    ");
}

#[test]
fn status_classifies_objects() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    assert_snapshot!(dir.tether(["status"]), @r"
    dataset O2; on trunk bookmark main
      states as fingerprinted 0s ago; --snapshot to refresh
          clean  code  [git/forkable]
          clean  raw  [file/observed] unrecoverable
    ");
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    env.work_dir("raw").write("a.txt", "changed\n");
    dir.tether(["add", "extra", "--kind", "file", "../raw/sub"])
        .success();
    assert_snapshot!(dir.tether(["status", "--snapshot"]), @r"
    dataset O3; on trunk bookmark main
       modified  code  [git/forkable]
            new  extra  [file/observed]
         behind  raw  [file/observed] unrecoverable
    ");
    assert_snapshot!(dir.tether(["status", "--no-snapshot", "--json"]), @r#"
    {
      "manifest_hash": "H1",
      "stale": false,
      "stale_keys": [],
      "fresh": false,
      "snapshot_at": "2026-03-01T12:00:00.000000+00:00",
      "bookmark": "main",
      "trunk": true,
      "bookmark_drift": [],
      "vcs_drift": [],
      "objects": [
        {
          "key": "code",
          "kind": "git",
          "tier": "forkable",
          "state": "modified",
          "pinned": true,
          "recoverable": true,
          "origin": "adopted",
          "verify": null,
          "error": null
        },
        {
          "key": "extra",
          "kind": "file",
          "tier": "observed",
          "state": "new",
          "pinned": false,
          "recoverable": true,
          "origin": "adopted",
          "verify": null,
          "error": null
        },
        {
          "key": "raw",
          "kind": "file",
          "tier": "observed",
          "state": "behind",
          "pinned": false,
          "recoverable": false,
          "origin": "adopted",
          "verify": null,
          "error": null
        }
      ]
    }
    "#);
}

#[test]
fn status_can_be_limited_to_keys_and_prefixes() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.tether(["add", "raw2/sub", "--kind", "file", "../raw/sub"])
        .success();
    assert_snapshot!(dir.tether(["status", "code", "raw2/"]), @r"
    dataset O2; on trunk bookmark main
      states as fingerprinted 0s ago; --snapshot to refresh
          clean  code  [git/forkable]
            new  raw2/sub  [file/observed]
    ");
    assert_snapshot!(dir.tether(["status", "nosuch"]), @r#"
    ------- stderr -------
    Error: no object "nosuch"
    Hint: `tether status` lists the objects; a prefix ends in `/`
    [exit status: 1]
    "#);
    assert_snapshot!(dir.tether(["status", "ra/"]), @r#"
    ------- stderr -------
    Error: no object's key starts with "ra/"
    Hint: `tether status` lists the objects; a prefix ends in `/`
    [exit status: 1]
    "#);
}

/// P032, surprise 19: one unreadable object is one `error` row; the rest is reported, exit code 1.
#[test]
fn an_object_that_cannot_be_read_is_an_error_row_among_the_others() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    std::fs::rename(env.root().join("code"), env.root().join("gone")).unwrap();
    assert_snapshot!(dir.tether(["status", "--snapshot"]), @r"
    dataset O2; on trunk bookmark main
          error  code  [git/forkable]
          clean  raw  [file/observed] unrecoverable
    ------- stderr -------
    Error: code (git): $TEST_ENV/code does not exist (clone the repository to $TEST_ENV/code)
    [exit status: 1]
    ");
    // The next status remembers it without looking.
    assert_snapshot!(dir.tether(["status"]), @r"
    dataset O2; on trunk bookmark main
      states as fingerprinted 0s ago; --snapshot to refresh
          error  code  [git/forkable]
          clean  raw  [file/observed] unrecoverable
    ------- stderr -------
    Error: code (git): $TEST_ENV/code does not exist (clone the repository to $TEST_ENV/code)
    Hint: tether status --snapshot code looks again
    [exit status: 1]
    ");
    let json = dir.tether(["status", "--json"]).exits(1).json();
    assert_eq!(json["objects"][0]["key"], "code");
    assert_eq!(json["objects"][0]["state"], "error");
    assert!(json["objects"][0]["error"].is_string());
    assert_eq!(json["objects"][1]["state"], "clean");
    // Only the objects named count.
    dir.tether(["status", "raw"]).success();
    // And it is over when the store is back.
    std::fs::rename(env.root().join("gone"), env.root().join("code")).unwrap();
    dir.tether(["status", "--snapshot"]).success();
}

/// Surprise 19: a changed immutable file is an error row as well.
#[test]
fn a_changed_immutable_file_is_an_error_row() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.tether(["set", "raw", "--file", "immutable"]).success();
    dir.tether(["commit", "-m", "immutable"]).success();
    env.work_dir("raw").write("a.txt", "changed\n");
    assert_snapshot!(dir.tether(["status", "--snapshot"]), @r"
    dataset O3; on trunk bookmark main
          clean  code  [git/forkable]
          error  raw  [file/observed] unrecoverable
    ------- stderr -------
    Error: raw (file): the immutable object changed since it was committed (to accept the change, `tether remove raw`, `tether add raw` again and commit; `tether set raw --file versioned` if it may change)
    [exit status: 1]
    ");
}

/// A read-only command writes no commit and no operation.
#[test]
fn status_leaves_history_and_the_operation_log_alone() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let ops = dir.tether(["ops", "--json"]).success().stdout;
    let head = dir.git(["rev-parse", "HEAD"]);
    for _ in 0..3 {
        dir.tether(["status", "--snapshot"]).success();
    }
    assert_eq!(dir.tether(["ops", "--json"]).success().stdout, ops);
    assert_eq!(dir.git(["rev-parse", "HEAD"]), head);
    assert_eq!(dir.git_status(), "");
}

#[test]
fn status_warns_when_the_working_copy_left_the_bookmark() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.git(["switch", "-q", "-c", "other"]);
    assert_snapshot!(dir.tether(["status"]), @r"
    dataset O2; on trunk bookmark main
      states as fingerprinted 0s ago; --snapshot to refresh
          clean  code  [git/forkable]
          clean  raw  [file/observed] unrecoverable
    ------- stderr -------
    Warning: the working copy has left bookmark 'main' (now on other); `tether new main` returns to it, `tether new` works where you are
    ");
    dir.git(["switch", "-q", "--detach"]);
    assert_snapshot!(dir.tether(["status"]), @r"
    dataset O2; on trunk bookmark main
      states as fingerprinted 0s ago; --snapshot to refresh
          clean  code  [git/forkable]
          clean  raw  [file/observed] unrecoverable
    ------- stderr -------
    Warning: the working copy has left bookmark 'main' (now on no bookmark); `tether new main` returns to it, `tether new` works where you are
    ");
}

#[test]
fn status_warns_when_a_dataset_commit_left_history() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    dir.tether(["commit", "-m", "second"]).success();
    dir.git(["reset", "-q", "--hard", "HEAD~1"]);
    let output = dir.tether(["status"]);
    assert!(
        output.stderr.contains("no longer in VCS history"),
        "{output}"
    );
    assert_snapshot!(output, @r"
    dataset O3; on trunk bookmark main
      states as fingerprinted 0s ago; --snapshot to refresh
       modified  code  [git/forkable]
          clean  raw  [file/observed] unrecoverable
    ------- stderr -------
    Warning: dataset commit O2 (op O4) is no longer in VCS history: undone or abandoned outside tether; its pins for code are unreferenced
    ");
}
