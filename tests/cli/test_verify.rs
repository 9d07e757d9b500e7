//! `tether verify`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn verify_reports_every_recorded_state() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    assert_snapshot!(dir.tether(["verify"]), @r"
    ok  code
    ok  raw
    ");
    assert_snapshot!(dir.tether(["verify", "--json"]), @r#"
    {
      "code": {
        "status": "ok",
        "message": ""
      },
      "raw": {
        "status": "ok",
        "message": ""
      }
    }
    "#);
    assert_snapshot!(dir.tether(["verify", "code"]), @"        ok  code");
    assert_snapshot!(dir.tether(["verify", "nosuch"]), @r#"
    ------- stderr -------
    Error: no object "nosuch"
    Hint: `tether status` lists the objects; a prefix ends in `/`
    [exit status: 1]
    "#);
}

/// Surprise 7: an empty dataset gets a sentence.
#[test]
fn verify_of_nothing_says_so() {
    let env = TestEnvironment::new();
    let dir = env.dataset();
    assert_snapshot!(dir.tether(["verify"]), @"nothing to verify: no object has a committed state");
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
    assert_snapshot!(dir.tether(["verify"]), @r"
       missing  code  tether.0a1b2c3d.P1 not found
       drifted  raw  content changed since commit
    [exit status: 1]
    ");
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
    assert_snapshot!(dir.tether(["verify", "--all-history", "code"]), @r"
    ok  O2:code
    ok  O1:code
    ");
    assert_snapshot!(dir.tether(["verify", "--all-history", "--deep", "--json"]), @r#"
    {
      "O2:code": {
        "status": "ok",
        "message": ""
      },
      "O1:code": {
        "status": "ok",
        "message": ""
      }
    }
    "#);
    assert_snapshot!(dir.tether(["verify", "-r", "HEAD~1", "code"]), @"        ok  code");
    assert_snapshot!(dir.tether(["verify", "-r", "nosuch"]), @r#"
    ------- stderr -------
    Error: there is no revision "nosuch"
    Caused by: couldn't parse revision: "nosuch"
    Caused by: The ref partially named "nosuch" could not be found
    Hint: git log --oneline --all
    [exit status: 1]
    "#);
}
