//! `tether commit`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn commit_pins_records_and_commits() {
    let env = TestEnvironment::new();
    env.work_dir("raw").write("a.txt", "one\n");
    env.code("code");
    env.code("rec");
    let dir = env.dataset();
    dir.tether(["add", "raw", "--kind", "file", "../raw"])
        .success();
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    dir.tether(["add", "rec", "--kind", "git", "../rec", "--pin", "record"])
        .success();
    assert_snapshot!(dir.tether(["commit", "-m", "first"]), @r"
      pinned code -> tether.0a1b2c3d.P1
      recorded rec (state only)
      recorded raw (not recoverable)
    committed O1
    ");
    assert_eq!(
        dir.git(["log", "--format=%s %an", "main"]),
        "first Test User"
    );
    assert_eq!(dir.git_status(), "");
    // The pin is a tag in the code repository.
    let pin = env.work_dir("code").git(["tag", "--points-at", "HEAD"]);
    assert!(pin.starts_with("tether.0a1b2c3d."), "{pin}");
    assert!(
        dir.read(".tether/objects/code.toml")
            .contains(&format!("ref = {pin:?}"))
    );
}

/// Surprise 7: a commit with nothing to do says so.
#[test]
fn commit_with_nothing_to_do_says_so() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let head = dir.git(["rev-parse", "HEAD"]);
    assert_snapshot!(dir.tether(["commit", "-m", "again"]), @"nothing to commit (2 objects unchanged)");
    assert_snapshot!(dir.tether(["commit", "-m", "again", "--json"]), @r#"
    {
      "vcs_commit": null,
      "pinned": {},
      "unrecoverable": [],
      "unchanged": [
        "code",
        "raw"
      ]
    }
    "#);
    assert_eq!(dir.git(["rev-parse", "HEAD"]), head);
}

#[test]
fn commit_answers_in_json() {
    let env = TestEnvironment::new();
    env.work_dir("raw").write("a.txt", "one\n");
    env.code("code");
    let dir = env.dataset();
    dir.tether(["add", "raw", "--kind", "file", "../raw"])
        .success();
    dir.tether(["add", "code", "--kind", "git", "../code", "--pin", "record"])
        .success();
    assert_snapshot!(dir.tether(["commit", "-m", "first", "--json"]), @r#"
    {
      "vcs_commit": "C1",
      "pinned": {
        "code": null
      },
      "unrecoverable": [
        "raw"
      ],
      "unchanged": []
    }
    "#);
}

/// Surprise 29: a blank message is refused before anything is pinned.
#[test]
fn commit_refuses_a_blank_message_before_pinning() {
    let env = TestEnvironment::new();
    env.code("code");
    let dir = env.dataset();
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    let before = dir.files();
    assert_snapshot!(dir.tether(["commit", "-m", ""]), @r"
    ------- stderr -------
    Error: the message is blank
    Hint: `tether commit -m MESSAGE`
    [exit status: 1]
    ");
    dir.tether(["commit", "-m", " \n\t "]).exits(1);
    assert_eq!(env.work_dir("code").git(["tag"]), "");
    assert_eq!(dir.files(), before);
}

#[test]
fn a_message_is_taken_as_it_is() {
    let env = TestEnvironment::new();
    env.code("code");
    let dir = env.dataset();
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    let message = "-x $(touch PWN) \"q\" 'q'\n\nbody \u{e9}";
    dir.tether(["commit", "-m", message]).success();
    assert_eq!(dir.git(["log", "-1", "--format=%B"]), message);
    assert!(!dir.exists("PWN"));
}

#[test]
fn commit_of_some_objects_leaves_the_rest_uncommitted() {
    let env = TestEnvironment::new();
    env.code("code2");
    let dir = env.committed();
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    dir.tether(["add", "code2", "--kind", "git", "../code2"])
        .success();
    dir.tether(["add", "extra", "--kind", "file", "../raw"])
        .success();
    assert_snapshot!(dir.tether(["commit", "code2", "-m", "only code2"]), @r"
      pinned code2 -> tether.0a1b2c3d.P2
    committed O2
    ");
    assert_snapshot!(dir.git_status(), @"?? .tether/objects/extra.toml");
    assert_eq!(
        dir.git(["show", "--format=", "--name-only", "HEAD"]),
        ".tether/objects/code2.toml"
    );
    assert_snapshot!(dir.tether(["commit", "nosuch", "-m", "x"]), @r#"
    ------- stderr -------
    Error: no object "nosuch"
    Hint: `tether status` lists the objects; a prefix ends in `/`
    [exit status: 1]
    "#);
}

/// Files somebody staged or edited are not taken along.
#[test]
fn commit_takes_only_its_own_files() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.write("notes.txt", "mine\n");
    dir.write("staged.txt", "mine\n");
    dir.git(["add", "staged.txt"]);
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    dir.tether(["commit", "-m", "second"]).success();
    assert_eq!(
        dir.git(["show", "--format=", "--name-only", "HEAD"]),
        ".tether/objects/code.toml"
    );
    assert_snapshot!(dir.git_status(), @r"
    A  staged.txt
    ?? notes.txt
    ");
}

#[test]
fn commit_strict_refuses_a_state_that_cannot_be_read_back() {
    let env = TestEnvironment::new();
    env.work_dir("raw").write("a.txt", "one\n");
    let dir = env.dataset();
    dir.tether(["add", "raw", "--kind", "file", "../raw"])
        .success();
    let before = dir.git_status();
    assert_snapshot!(dir.tether(["commit", "-m", "strict", "--strict"]), @r"
    ------- stderr -------
    Error: raw (file): --strict: the state of raw can be recorded but not read back
    Hint: commit without `--strict`, or keep such data in a store that can pin
    [exit status: 1]
    ");
    assert_eq!(dir.git_status(), before);
}

#[test]
fn commit_without_the_vcs_writes_the_manifests_only() {
    let env = TestEnvironment::new();
    env.code("code");
    let dir = env.dataset();
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    assert_snapshot!(dir.tether(["commit", "-m", "x", "--no-vcs"]), @r"
      pinned code -> tether.0a1b2c3d.P1
    manifests written, not committed (--no-vcs)
    ");
    assert!(dir.read(".tether/objects/code.toml").contains("[pin]"));
    assert_eq!(dir.git(["rev-list", "--all"]), "");
    // The next commit takes them into history.
    dir.tether(["commit", "-m", "y"]).success();
    assert_eq!(dir.git(["log", "--format=%s"]), "y");
}

#[test]
fn commit_from_the_cache_does_not_look_at_the_stores() {
    let env = TestEnvironment::new();
    env.code("code");
    let dir = env.dataset();
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    let first = env.work_dir("code").git(["rev-parse", "HEAD"]);
    dir.tether(["snapshot"]).success();
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    dir.tether(["commit", "-m", "cached", "--no-snapshot"])
        .success();
    assert!(dir.read(".tether/objects/code.toml").contains(&first));
}

/// P062: git may be told not to list untracked files.
#[test]
fn new_manifests_are_committed_when_git_does_not_list_untracked_files() {
    let env = TestEnvironment::new();
    env.code("code");
    let dir = env.dataset();
    dir.git(["config", "status.showUntrackedFiles", "no"]);
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    dir.tether(["commit", "-m", "first"]).success();
    assert_eq!(
        dir.git(["ls-tree", "-r", "--name-only", "HEAD"]),
        ".tether/.gitignore\n.tether/objects/code.toml\ntether.toml"
    );
}

/// One object that fails stops the commit; the others' pins are taken back.
#[test]
fn a_store_that_fails_stops_the_commit() {
    let env = TestEnvironment::new();
    env.code("code2");
    let dir = env.committed();
    dir.tether(["add", "code2", "--kind", "git", "../code2"])
        .success();
    std::fs::rename(env.root().join("code2"), env.root().join("gone")).unwrap();
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    let tags = env.work_dir("code").git(["tag"]);
    let head = dir.git(["rev-parse", "HEAD"]);
    assert_snapshot!(dir.tether(["commit", "-m", "x"]), @r"
    ------- stderr -------
    Error: code2 (git): $TEST_ENV/code2 does not exist
    Hint: clone the repository to $TEST_ENV/code2
    [exit status: 1]
    ");
    assert_eq!(env.work_dir("code").git(["tag"]), tags);
    assert_eq!(dir.git(["rev-parse", "HEAD"]), head);
}

/// A hook that refuses is relayed, and nothing is left behind.
#[test]
fn a_refusing_hook_stops_the_commit() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnvironment::new();
    let dir = env.committed();
    let hook = dir.path().join(".git/hooks/pre-commit");
    dir.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\necho 'not on a Friday' >&2\nexit 1\n",
    );
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    let tags = env.work_dir("code").git(["tag"]);
    assert_snapshot!(dir.tether(["commit", "-m", "x"]), @r"
    ------- stderr -------
    Error: git refused the commit: not on a Friday
    Hint: mend what it says (see the hooks in $TEST_ENV/ds/.git/hooks), then run the command again
    [exit status: 1]
    ");
    assert_eq!(env.work_dir("code").git(["tag"]), tags);
    assert_eq!(dir.git_status(), "");
}

/// Exit code 3: the dataset commit stands, and its record could not be written; the next command writes it.
#[test]
fn a_commit_that_stands_without_its_record_ends_with_3() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnvironment::new();
    let dir = env.committed();
    let hook = dir.path().join(".git/hooks/post-commit");
    dir.write(
        ".git/hooks/post-commit",
        "#!/bin/sh\nmv .git/tether/heads .git/tether/away && : > .git/tether/heads\n",
    );
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    assert_snapshot!(dir.tether(["commit", "-m", "second"]), @r"
    ------- stderr -------
    Error: the dataset commit O2 stands, but recording it in the operation log failed
    Caused by: cannot read $TEST_ENV/ds/.git/tether/heads/main
    Caused by: Not a directory (os error 20)
    Hint: the next writing command finishes the record: `tether commit -m MESSAGE`
    [exit status: 3]
    ");
    assert_eq!(dir.git(["log", "--format=%s"]), "second\nfirst");
    // With the trouble gone, the next command finishes it.
    std::fs::remove_file(&hook).unwrap();
    let tether = dir.path().join(".git/tether");
    std::fs::remove_file(tether.join("heads")).unwrap();
    std::fs::rename(tether.join("away"), tether.join("heads")).unwrap();
    assert_snapshot!(dir.tether(["commit", "-m", "third"]), @r"
    nothing to commit (2 objects unchanged)
    ------- stderr -------
    note: finished the interrupted commit O3
    ");
    let ops = dir.tether(["ops", "--json"]).success().json();
    assert_eq!(ops[0]["command"], "commit");
    assert_eq!(ops[0]["status"], "done");
    assert_eq!(dir.git_status(), "");
    dir.tether(["verify", "--all-history"]).success();
}

/// Surprise 20: drift of a file that commit does not read is told, once it was seen.
#[test]
fn commit_tells_that_a_file_it_does_not_read_changed() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.tether(["set", "raw", "--file", "immutable"]).success();
    dir.tether(["commit", "-m", "immutable"]).success();
    env.work_dir("raw").write("a.txt", "changed\n");
    let _ = dir.tether(["status", "--snapshot"]).exits(1);
    let output = dir.tether(["commit", "-m", "x"]);
    assert!(output.stderr.contains("raw"), "{output}");
    assert_snapshot!(output, @r"
    nothing to commit (2 objects unchanged)
    ------- stderr -------
    note: raw: unchanged; not read, and the last snapshot failed: the immutable object changed since it was committed (to accept the change, `tether remove raw`, `tether add raw` again and commit; `tether set raw --file versioned` if it may change)
    ");
}
