//! `tether verify`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn verify_reports_every_recorded_state() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    assert_snapshot!(dir.tether(["verify"]), @"");
    assert_snapshot!(dir.tether(["verify", "--json"]), @"");
    assert_snapshot!(dir.tether(["verify", "code"]), @"");
    assert_snapshot!(dir.tether(["verify", "nosuch"]), @"");
}

/// Surprise 7: an empty dataset gets a sentence.
#[test]
fn verify_of_nothing_says_so() {
    let env = TestEnvironment::new();
    let dir = env.dataset();
    assert_snapshot!(dir.tether(["verify"]), @"");
    assert_eq!(
        dir.tether(["verify", "--json"]).success().json(),
        serde_json::json!({})
    );
}

#[test]
fn verify_ends_with_1_when_anything_is_not_ok() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let code = env.work_dir("code");
    let tag = code.git(["tag"]);
    code.git(["tag", "-d", &tag]);
    env.work_dir("raw").write("a.txt", "changed\n");
    assert_snapshot!(dir.tether(["verify"]), @"");
    let json = dir.tether(["verify", "--json"]).exits(1).json();
    assert_eq!(json["code"]["status"], "missing");
    assert_eq!(json["raw"]["status"], "drifted");
}

#[test]
fn verify_of_history_labels_each_commit() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    dir.tether(["commit", "-m", "second"]).success();
    assert_snapshot!(dir.tether(["verify", "--all-history", "code"]), @"");
    assert_snapshot!(dir.tether(["verify", "--all-history", "--deep", "--json"]), @"");
    assert_snapshot!(dir.tether(["verify", "-r", "HEAD~1", "code"]), @"");
    assert_snapshot!(dir.tether(["verify", "-r", "nosuch"]), @"");
}
