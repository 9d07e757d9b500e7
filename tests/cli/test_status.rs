//! `tether status`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn status_of_an_empty_dataset() {
    let env = TestEnvironment::new();
    let dir = env.dataset();
    assert_snapshot!(dir.tether(["status"]), @"");
    assert_snapshot!(dir.tether(["status", "--json"]), @"");
}

#[test]
fn the_first_status_takes_a_snapshot_and_later_ones_show_it() {
    let env = TestEnvironment::new();
    env.code("code");
    let dir = env.dataset();
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    assert_snapshot!(dir.tether(["status"]), @"");
    // The store moves; the cached state is shown until a snapshot is asked for.
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    assert_snapshot!(dir.tether(["status"]), @"");
}

#[test]
fn status_classifies_objects() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    assert_snapshot!(dir.tether(["status"]), @"");
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    env.work_dir("raw").write("a.txt", "changed\n");
    dir.tether(["add", "extra", "--kind", "file", "../raw/sub"])
        .success();
    assert_snapshot!(dir.tether(["status", "--snapshot"]), @"");
    assert_snapshot!(dir.tether(["status", "--no-snapshot", "--json"]), @"");
}

#[test]
fn status_can_be_limited_to_keys_and_prefixes() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.tether(["add", "raw2/sub", "--kind", "file", "../raw/sub"])
        .success();
    assert_snapshot!(dir.tether(["status", "code", "raw2/"]), @"");
    assert_snapshot!(dir.tether(["status", "nosuch"]), @"");
    assert_snapshot!(dir.tether(["status", "ra/"]), @"");
}

/// P032, surprise 19: one unreadable object is one `error` row; the rest is reported, exit code 1.
#[test]
fn an_object_that_cannot_be_read_is_an_error_row_among_the_others() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    std::fs::rename(env.root().join("code"), env.root().join("gone")).unwrap();
    assert_snapshot!(dir.tether(["status", "--snapshot"]), @"");
    // The next status remembers it without looking.
    assert_snapshot!(dir.tether(["status"]), @"");
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
    assert_snapshot!(dir.tether(["status", "--snapshot"]), @"");
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
    assert_snapshot!(dir.tether(["status"]), @"");
    dir.git(["switch", "-q", "--detach"]);
    assert_snapshot!(dir.tether(["status"]), @"");
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
    assert_snapshot!(output, @"");
}
