//! `tether init`.

use insta::assert_snapshot;

use crate::common::{DATASET, TestEnvironment};

#[test]
fn init_makes_a_dataset_of_a_repository() {
    let env = TestEnvironment::new();
    let dir = env.git_repo("ds");
    assert_snapshot!(dir.tether(["init", "--dataset-id", DATASET]), @"initialized tether dataset at $TEST_ENV/ds (dataset id 0a1b2c3d: its pins and working branches are tether.0a1b2c3d.* / tether.ws.0a1b2c3d.*)");
    assert_snapshot!(dir.read("tether.toml"), @r#"
    [tether]
    version = 5

    [dataset]
    id = "0a1b2c3d"

    [snapshot]
    auto = false

    [verify]
    on_status = false

    [new]
    fork = "lazy"

    [defaults]
    file = "immutable"
    pin = "native"
    "#);
    assert_snapshot!(dir.read(".tether/.gitignore"), @r"
    /workspace.toml
    /ops.jsonl
    /cache
    /lock
    /secrets.toml
    ");
    assert_snapshot!(dir.git_status(), @r"
    ?? .tether/.gitignore
    ?? tether.toml
    ");
    // Once is enough.
    let before = dir.files();
    assert_snapshot!(dir.tether(["init"]), @r"
    ------- stderr -------
    Error: there is a dataset at $TEST_ENV/ds already
    Hint: `tether status` shows it
    [exit status: 1]
    ");
    assert_eq!(dir.files(), before);
}

#[test]
fn init_answers_in_json_with_the_root_and_the_id() {
    let env = TestEnvironment::new();
    env.git_repo("ds");
    let output = env
        .work_dir(".")
        .tether(["init", "ds", "--dataset-id", DATASET, "--json"]);
    assert_snapshot!(output, @r#"
    {
      "root": "$TEST_ENV/ds",
      "dataset_id": "0a1b2c3d"
    }
    "#);
}

#[test]
fn init_gives_every_dataset_its_own_id() {
    let env = TestEnvironment::new();
    let id = |name| {
        env.git_repo(name)
            .tether(["init", "--json"])
            .success()
            .json()["dataset_id"]
            .clone()
    };
    let (one, two) = (id("one"), id("two"));
    assert_ne!(one, two);
    let text = one.as_str().unwrap();
    assert!(
        text.len() == 8
            && text
                .bytes()
                .all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())
    );
}

/// The current branch is the trunk, and is written down when it is not `main`.
#[test]
fn init_takes_the_current_branch_for_the_trunk() {
    let env = TestEnvironment::new();
    let dir = env.work_dir("ds");
    dir.git(["init", "-q", "-b", "trunk"]);
    dir.git(["commit", "-q", "--allow-empty", "-m", "r"]);
    dir.tether(["init", "sub"]).success();
    assert!(
        dir.read("sub/tether.toml")
            .ends_with("\n[vcs]\ntrunk = \"trunk\"\n")
    );
    let status = dir.dir("sub").tether(["status", "--json"]).success().json();
    assert_eq!(status["bookmark"], "trunk");
    assert_eq!(status["trunk"], true);
}

/// Surprise 10: nothing stays behind.
#[test]
fn init_outside_a_repository_leaves_nothing() {
    let env = TestEnvironment::new();
    let dir = env.work_dir("nowhere");
    assert_snapshot!(dir.tether(["init"]), @r"
    ------- stderr -------
    Error: no git or jj repository found at or above $TEST_ENV/nowhere
    Hint: make one first: `jj git init $TEST_ENV/nowhere` or `git init $TEST_ENV/nowhere`
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["init", "new/folder"]), @r"
    ------- stderr -------
    Error: no git or jj repository found at or above $TEST_ENV/nowhere/new/folder
    Hint: make one first: `jj git init $TEST_ENV/nowhere/new/folder` or `git init $TEST_ENV/nowhere/new/folder`
    [exit status: 1]
    ");
    assert_eq!(dir.files(), []);
    assert!(!dir.exists("new"));
}

#[test]
fn init_refuses_an_id_that_is_none_before_it_writes() {
    let env = TestEnvironment::new();
    let dir = env.git_repo("ds");
    assert_snapshot!(dir.tether(["init", "--dataset-id", "XYZ"]), @r#"
    ------- stderr -------
    Error: a dataset id is 8 lower-case hexadecimal digits, not "XYZ"
    [exit status: 1]
    "#);
    dir.tether(["init", "--dataset-id", "0A1B2C3D"]).exits(1);
    assert_eq!(dir.files(), []);
}
