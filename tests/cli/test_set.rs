//! `tether set`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn set_changes_a_policy_in_the_manifest_and_says_what_it_was() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    assert_snapshot!(dir.tether(["set", "code", "--pin", "record"]), @r"
      set code  pin native -> record
    commit to record the policy
    ");
    assert_snapshot!(dir.tether(["set", "code", "--pin", "record"]), @"  unchanged code");
    assert_snapshot!(dir.git_status(), @" M .tether/objects/code.toml");
    assert_snapshot!(dir.tether(["set", "--all", "--pin", "record", "--json"]), @r#"
    {
      "changed": {
        "raw": {
          "pin": {
            "from": "native",
            "to": "record"
          }
        }
      },
      "unchanged": [
        "code"
      ]
    }
    "#);
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
    assert_snapshot!(plan, @r"
    plan: commit (1 write(s))
              vcs-commit    git commit: 'policy'
                          code: unchanged
                          raw: policy changed
    ");
    assert_snapshot!(dir.tether(["commit", "-m", "policy"]), @"committed O2");
    assert_eq!(dir.git_status(), "");
}

#[test]
fn set_needs_objects_and_a_policy() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let before = dir.files();
    assert_snapshot!(dir.tether(["set", "code"]), @r"
    ------- stderr -------
    Error: nothing to set: give --file or --pin
    Hint: tether set --pin record KEY
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["set", "--pin", "record"]), @r"
    ------- stderr -------
    Error: give one or more KEY, or --all
    Hint: tether set --all --pin record
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["set", "nosuch", "--pin", "record"]), @r#"
    ------- stderr -------
    Error: no object "nosuch"
    Hint: `tether status` lists the objects; a prefix ends in `/`
    [exit status: 1]
    "#);
    assert_eq!(dir.files(), before);
}
