//! `tether undo`, under git.

use insta::assert_snapshot;

use crate::common::{TestEnvironment, WorkDir};

fn head(dir: &WorkDir<'_>) -> String {
    dir.git(["rev-parse", "HEAD"])
}

#[test]
fn undo_takes_slips_back_newest_first() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let (before, start) = (dir.git_status(), head(&dir));
    let manifest = dir.read(".tether/objects/raw.toml");

    dir.tether(["set", "raw", "--file", "immutable"]).success();
    dir.tether(["remove", "code"]).success();
    dir.tether(["commit", "-m", "two slips"]).success();
    assert_ne!(head(&dir), start);

    assert_snapshot!(dir.tether(["undo"]), @r"
    undid O3 (commit: vcs O2)
      restored  uncommitted O2; its manifests are working-tree changes again (pins kept)
    ");
    assert_eq!(head(&dir), start);
    assert_snapshot!(dir.git_status(), @r"
    D .tether/objects/code.toml
    M .tether/objects/raw.toml
    ");
    assert_snapshot!(dir.tether(["undo"]), @r"
    undid O4 (remove: code)
      restored  code: manifest restored
    ");
    assert!(dir.exists(".tether/objects/code.toml"));
    assert_snapshot!(dir.tether(["undo"]), @r"
    undid O5 (set: raw: file=versioned->immutable)
      restored  raw: manifest restored
    ");
    assert_eq!(dir.read(".tether/objects/raw.toml"), manifest);
    assert_eq!(dir.git_status(), before);
    assert_snapshot!(dir.tether(["ops"]), @r"
    O6  2026-03-01 12:00:00  undo     undid O5: set raw: file=versioned->immutable
    O7  2026-03-01 12:00:00  undo     undid O4: remove code
    O8  2026-03-01 12:00:00  undo     undid O3: commit vcs O2
    O3  2026-03-01 12:00:00  commit   vcs O2  (undone by O8)
    O4  2026-03-01 12:00:00  remove   code  (undone by O7)
    O5  2026-03-01 12:00:00  set      raw: file=versioned->immutable  (undone by O6)
    O9  2026-03-01 12:00:00  commit   pinned code; recorded raw; vcs O1
    O10  2026-03-01 12:00:00  add      code
    O11  2026-03-01 12:00:00  add      raw
    ");
    assert_snapshot!(dir.tether(["status"]), @r"
    dataset O12; on trunk bookmark main
      states as fingerprinted 0s ago; --snapshot to refresh
          clean  code  [git/forkable]
          clean  raw  [file/observed] unrecoverable
    ");
}

/// The id of the newest operation of a command.
fn newest(dir: &WorkDir<'_>, command: &str) -> String {
    let ops = dir.tether(["ops", "--json"]).success().json();
    let ops = ops.as_array().unwrap();
    let found = ops.iter().find(|op| op["command"] == command).unwrap();
    found["id"].as_str().unwrap().to_owned()
}

/// What a refused undo must not change: files, commits, what git has staged, the operation log.
fn all(dir: &WorkDir<'_>) -> (Vec<(std::path::PathBuf, String)>, String, String) {
    let git = dir.git(["log", "--all", "--format=%H"]) + &dir.git_status();
    let ops = dir.tether(["ops", "--json"]).success().stdout;
    (dir.files(), git, ops)
}

#[test]
fn undo_json_is_the_guides() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.tether(["add", "extra", "--kind", "file", "../raw"])
        .success();
    assert_snapshot!(dir.tether(["undo", "--json"]), @r#"
    {
      "undone": "O2",
      "command": "add",
      "undo_id": "O3",
      "restored": [
        "extra: manifest removed again"
      ],
      "irreversible": [],
      "skipped": []
    }
    "#);
    assert!(!dir.exists(".tether/objects/extra.toml"));
}

/// Surprise 38: the listing of an undone commit, whose `add` is undone too, is not taken along by the next commit.
#[test]
fn the_next_commit_takes_nothing_of_an_undone_one_along() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    env.work_dir("more").write("x.txt", "x\n");
    dir.tether(["add", "more", "--kind", "file", "../more"])
        .success();
    dir.tether(["commit", "-m", "more"]).success();
    dir.tether(["undo"]).success();
    dir.tether(["undo"]).success();
    assert_eq!(dir.git(["diff", "--cached", "--name-only"]), "");
    let listings = dir.git_status();
    assert!(listings.starts_with("?? .tether/listings/"), "{listings}");
    dir.tether(["set", "raw", "--file", "immutable"]).success();
    dir.tether(["commit", "-m", "unrelated"]).success();
    assert_snapshot!(dir.git(["show", "--format=", "--name-only", "HEAD"]), @".tether/objects/raw.toml");
}

#[test]
fn an_undone_commit_can_be_made_again_with_its_pins() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let code = env.work_dir("code");
    code.write("main.py", "print(2)\n");
    code.git(["commit", "-q", "-a", "-m", "second code"]);
    dir.tether(["commit", "-m", "second"]).success();
    let pins = code.git(["tag", "--list"]);
    dir.tether(["undo"]).success();
    assert_eq!(code.git(["tag", "--list"]), pins);
    assert_snapshot!(dir.tether(["status", "--snapshot"]), @r"
    dataset O4; on trunk bookmark main
          clean  code  [git/forkable]
          clean  raw  [file/observed] unrecoverable
    ");
    assert_snapshot!(dir.tether(["commit", "-m", "again"]), @"committed O5");
    assert_eq!(code.git(["tag", "--list"]), pins);
    assert_eq!(dir.git(["log", "--format=%s"]), "again\nfirst");
}

/// A removal that was committed, uncommitted, and is committed again is a removal still.
#[test]
fn an_undone_removal_can_be_committed_again() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.tether(["remove", "code"]).success();
    dir.tether(["commit", "-m", "gone"]).success();
    dir.tether(["undo"]).success();
    assert_eq!(dir.git_status(), " D .tether/objects/code.toml");
    dir.tether(["commit", "-m", "gone again"]).success();
    assert_snapshot!(dir.git(["show", "--format=", "--name-status", "HEAD"]), @"D	.tether/objects/code.toml");
}

#[test]
fn the_first_commit_of_a_repository_can_be_undone() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.tether(["undo"]).success();
    assert_eq!(dir.git(["for-each-ref"]), "", "the branch is unborn again");
    // A listing is named by the store's address, which is this test's own.
    let status = dir.git_status();
    let (listings, rest): (Vec<&str>, Vec<&str>) = status
        .lines()
        .partition(|line| line.contains(".tether/listings/"));
    assert_eq!(listings.len(), 1, "{status}");
    assert!(listings[0].starts_with("?? "), "{status}");
    assert_snapshot!(rest.join("\n"), @r"
    ?? .tether/.gitignore
    ?? .tether/objects/code.toml
    ?? .tether/objects/raw.toml
    ?? tether.toml
    ");
    dir.tether(["commit", "-m", "first again"]).success();
    assert_eq!(dir.git_status(), "");
    assert_eq!(dir.git(["log", "--format=%s"]), "first again");
}

#[test]
fn a_commit_without_the_repository_puts_the_manifests_back() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.tether(["add", "extra", "--kind", "file", "../raw"])
        .success();
    let before = dir.read(".tether/objects/extra.toml");
    dir.tether(["commit", "--no-vcs", "-m", "x"]).success();
    assert_ne!(dir.read(".tether/objects/extra.toml"), before);
    assert_snapshot!(dir.tether(["undo"]), @r"
    undid O2 (commit: recorded extra)
      restored  extra: manifest restored
    ");
    assert_eq!(dir.read(".tether/objects/extra.toml"), before);
    // What the undone commit wrote is no edit of the user's, so the `add` can be undone as well.
    dir.tether(["commit", "--no-vcs", "-m", "x"]).success();
    dir.tether(["undo"]).success();
    dir.tether(["undo"]).success();
    assert_eq!(dir.git_status(), "");
}

/// Surprise 39: ids can be shortened. The older operation comes back, the newer stands.
#[test]
fn an_older_operation_is_undone_by_the_beginning_of_its_id() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let code = dir.read(".tether/objects/code.toml");
    dir.tether(["set", "code", "--pin", "record"]).success();
    let older = newest(&dir, "set");
    dir.tether(["set", "raw", "--pin", "record"]).success();
    assert_snapshot!(dir.tether(["undo", &older[..8]]), @r"
    undid O2 (set: code: pin=native->record)
      restored  code: manifest restored
    ");
    assert_eq!(dir.read(".tether/objects/code.toml"), code);
    assert!(dir.read(".tether/objects/raw.toml").contains("record"));
    // The newest that stands is next.
    dir.tether(["undo"]).success();
    assert_eq!(dir.git_status(), "");
}

/// Surprise 37: what is refused leaves no trace.
#[test]
fn a_refused_undo_changes_nothing() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let commit = newest(&dir, "commit");
    dir.tether(["set", "code", "--pin", "record"]).success();
    let set = newest(&dir, "set");
    dir.tether(["undo"]).success();
    let undo = newest(&dir, "undo");
    let before = all(&dir);
    assert_snapshot!(dir.tether(["undo", "nosuch"]), @r#"
    ------- stderr -------
    Error: there is no operation "nosuch" in this checkout's log
    Hint: `tether ops` lists this checkout's operations
    [exit status: 1]
    "#);
    assert_snapshot!(dir.tether(["undo", ""]), @r#"
    ------- stderr -------
    Error: there is no operation "" in this checkout's log
    Hint: `tether ops` lists this checkout's operations
    [exit status: 1]
    "#);
    assert_snapshot!(dir.tether(["undo", &set]), @r"
    ------- stderr -------
    Error: cannot undo O6 (set): it was undone by O7
    Hint: `tether ops` shows what was undone
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["undo", &undo]), @r"
    ------- stderr -------
    Error: cannot undo O7 (undo): it is the undo of O6
    Hint: run the command again that was undone
    [exit status: 1]
    ");
    assert_eq!(all(&dir), before);

    dir.write("file", "mine\n");
    dir.git(["add", "file"]);
    dir.git(["commit", "-q", "-m", "mine", "file"]);
    let before = all(&dir);
    assert_snapshot!(dir.tether(["undo", &commit]), @r"
    ------- stderr -------
    Error: cannot undo O2 (commit): other commits were made on top of the dataset commit O1: main is at O8 now
    Hint: git revert O1 makes a commit that takes it back
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["undo"]), @r"
    ------- stderr -------
    Error: cannot undo O2 (commit): other commits were made on top of the dataset commit O1: main is at O8 now
    Hint: git revert O1 makes a commit that takes it back
    [exit status: 1]
    ");
    dir.git(["switch", "-q", "-c", "side"]);
    assert_snapshot!(dir.tether(["undo"]), @r"
    ------- stderr -------
    Error: cannot undo O2 (commit): the dataset commit O1 was made on main, and HEAD is on side
    Hint: git switch main
    [exit status: 1]
    ");
    dir.git(["switch", "-q", "main"]);
    dir.git(["branch", "-q", "-D", "side"]);
    assert_eq!(all(&dir), before);
}

#[test]
fn an_edited_manifest_is_only_given_up_with_discard() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.tether(["add", "extra", "--kind", "file", "../raw"])
        .success();
    let manifest = dir.read(".tether/objects/extra.toml");
    dir.write(
        ".tether/objects/extra.toml",
        manifest.replace("native", "record"),
    );
    let before = all(&dir);
    assert_snapshot!(dir.tether(["undo"]), @r"
    ------- stderr -------
    Error: cannot undo O2 (add): the manifest of extra was edited since
    Hint: `tether undo O2 --discard` gives up what is in .tether/objects/extra.toml now
    [exit status: 1]
    ");
    assert_eq!(all(&dir), before);
    assert_snapshot!(dir.tether(["undo", "--discard"]), @r"
    undid O2 (add: extra)
      restored  extra: manifest removed again
    ");
    assert_eq!(dir.git_status(), "");
    // One that a later operation changed is named with that operation.
    dir.tether(["add", "extra", "--kind", "file", "../raw"])
        .success();
    let add = newest(&dir, "add");
    dir.tether(["set", "extra", "--pin", "record"]).success();
    assert_snapshot!(dir.tether(["undo", &add]), @r"
    ------- stderr -------
    Error: cannot undo O7 (add): set O9 changed the manifest of extra since
    Hint: `tether undo O7 --discard` gives up what is in .tether/objects/extra.toml now
    [exit status: 1]
    ");
}

#[test]
fn there_may_be_nothing_to_undo() {
    let env = TestEnvironment::new();
    let dir = env.dataset();
    assert_snapshot!(dir.tether(["undo"]), @r"
    ------- stderr -------
    Error: there is nothing to undo in this checkout
    Hint: `tether ops` lists what tether did here
    [exit status: 1]
    ");
    dir.tether(["add", "raw", "--kind", "file", "../ds/.."])
        .exits(1);
    env.work_dir("raw");
    dir.tether(["add", "raw", "--kind", "file", "../raw"])
        .success();
    dir.tether(["undo"]).success();
    dir.tether(["undo"]).exits(1);
}

#[test]
fn an_empty_store_that_add_created_is_removed() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let add = ["add", "made", "--kind", "git", "../made", "--create"];
    dir.tether(add).success();
    assert!(env.root().join("made").exists());
    assert_snapshot!(dir.tether(["undo"]), @r"
    undid O2 (add: made)
      restored  made: manifest removed again
      restored  made: removed the empty store at $TEST_ENV/made
    ");
    assert!(!env.root().join("made").exists());
    assert!(!dir.exists(".tether/objects/made.toml"));
    assert_eq!(dir.read(".git/tether-created.jsonl"), "");
    // And again, from the start.
    dir.tether(add).success();
    dir.tether(["undo"]).success();
    assert!(!env.root().join("made").exists());
}

#[test]
fn a_created_store_with_content_is_kept_and_named() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.tether(["add", "made", "--kind", "git", "../made", "--create"])
        .success();
    let clone = env.root().join("clone");
    dir.git(["clone", "-q", "../made", clone.to_str().unwrap()]);
    let clone = env.work_dir("clone");
    clone.write("x", "x\n");
    clone.git(["add", "x"]);
    clone.git(["commit", "-q", "-m", "content"]);
    clone.git(["push", "-q", "origin", "HEAD:theirs"]);
    assert_snapshot!(dir.tether(["undo"]), @r"
    undid O2 (add: made)
      restored  made: manifest removed again
      skipped   made: kept the store at $TEST_ENV/made: it has content now
    [exit status: 3]
    ");
    assert!(env.root().join("made").exists());
    assert!(!dir.exists(".tether/objects/made.toml"));
}
