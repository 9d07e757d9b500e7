//! `tether ops`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn ops_lists_what_was_done_newest_first() {
    let env = TestEnvironment::new();
    let dir = env.dataset();
    assert_snapshot!(dir.tether(["ops"]), @"");
    env.code("code");
    env.work_dir("raw").write("a.txt", "one\n");
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    dir.tether(["add", "raw", "--kind", "file", "../raw"])
        .success();
    dir.tether(["commit", "-m", "first"]).success();
    dir.tether(["set", "raw", "--file", "versioned"]).success();
    dir.tether(["remove", "code"]).success();
    assert_snapshot!(dir.tether(["ops"]), @"");
    assert_snapshot!(dir.tether(["ops", "-n", "1", "--json"]), @"");
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
    assert_snapshot!(dir.tether(["ops", "-n", "1"]), @"");
    assert_eq!(
        dir.tether(["ops", "-n", "1", "--json"]).json()[0]["vcs_commit_gone"],
        true
    );
}
