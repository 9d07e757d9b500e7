//! `tether set`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn set_changes_a_policy_in_the_manifest_and_says_what_it_was() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    assert_snapshot!(dir.tether(["set", "code", "--pin", "record"]), @"");
    assert_snapshot!(dir.tether(["set", "code", "--pin", "record"]), @"");
    assert_snapshot!(dir.git_status(), @"");
    assert_snapshot!(dir.tether(["set", "--all", "--pin", "record", "--json"]), @"");
}

/// Surprise 21: a plan counts a policy edit, as the commit does.
#[test]
fn a_policy_edit_is_a_change_to_commit() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.tether(["set", "raw", "--file", "immutable"]).success();
    let plan = dir
        .tether(["commit", "-m", "policy", "--dry-run"])
        .success();
    assert!(!plan.stdout.contains("nothing to do"), "{plan}");
    assert!(plan.stdout.contains("vcs-commit"), "{plan}");
    assert_snapshot!(plan, @"");
    assert_snapshot!(dir.tether(["commit", "-m", "policy"]), @"");
    assert_eq!(dir.git_status(), "");
}

#[test]
fn set_needs_objects_and_a_policy() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let before = dir.files();
    assert_snapshot!(dir.tether(["set", "code"]), @"");
    assert_snapshot!(dir.tether(["set", "--pin", "record"]), @"");
    assert_snapshot!(dir.tether(["set", "nosuch", "--pin", "record"]), @"");
    // `file` is a policy of files.
    assert_snapshot!(dir.tether(["set", "code", "--file", "versioned"]), @"");
    assert_eq!(dir.files(), before);
}
