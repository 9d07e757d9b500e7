//! `tether snapshot`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn snapshot_prints_the_state_of_every_object() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    assert_snapshot!(dir.tether(["snapshot"]), @r"
    code: sha=C1 dirty=false
    raw: type=dir count=2 size=8 digest=W1
    ");
    assert_snapshot!(dir.tether(["snapshot", "--json"]), @r#"
    {
      "code": {
        "sha": "C1",
        "dirty": false
      },
      "raw": {
        "type": "dir",
        "count": 2,
        "size": 8,
        "digest": "W1"
      }
    }
    "#);
    assert_snapshot!(dir.tether(["snapshot", "nosuch"]), @r#"
    ------- stderr -------
    Error: no object "nosuch"
    Hint: `tether status` lists the objects; a prefix ends in `/`
    [exit status: 1]
    "#);
}

#[test]
fn snapshot_of_some_leaves_the_cached_states_of_the_rest() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    env.work_dir("raw").write("a.txt", "changed\n");
    assert_snapshot!(dir.tether(["snapshot", "raw", "--json"]), @r#"
    {
      "raw": {
        "type": "dir",
        "count": 2,
        "size": 12,
        "digest": "W1"
      }
    }
    "#);
    let status = dir.tether(["status", "--json"]).success().json();
    assert_eq!(status["objects"][0]["state"], "clean");
    assert_eq!(status["objects"][1]["state"], "behind");
}

/// Several failures are told each with its object, and what could be read is kept.
#[test]
fn snapshot_names_every_object_that_failed() {
    let env = TestEnvironment::new();
    env.code("code2");
    let dir = env.committed();
    dir.tether(["add", "code2", "--kind", "git", "../code2"])
        .success();
    for name in ["code", "code2"] {
        std::fs::rename(
            env.root().join(name),
            env.root().join(format!("{name}-gone")),
        )
        .unwrap();
    }
    assert_snapshot!(dir.tether(["snapshot"]), @r"
    ------- stderr -------
    Error: 2 objects failed
      code (git): $TEST_ENV/code does not exist
        Hint: clone the repository to $TEST_ENV/code
      code2 (git): $TEST_ENV/code2 does not exist
        Hint: clone the repository to $TEST_ENV/code2
    [exit status: 1]
    ");
}
