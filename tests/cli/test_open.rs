//! `tether open`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn open_prints_the_address_alone() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    assert_snapshot!(dir.tether(["open", "raw"]), @"$TEST_ENV/raw");
    assert_snapshot!(dir.tether(["open", "code"]), @"$TEST_ENV/code@C1");
    assert_snapshot!(dir.tether(["open", "code", "--read-only"]), @"$TEST_ENV/code@C1");
    assert_snapshot!(dir.shell("cd \"$(tether open raw)\" && cat a.txt"), @"one");
}

/// Surprise 2: `key` is the object's key.
#[test]
fn open_answers_in_json_with_the_object_s_key() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    assert_snapshot!(dir.tether(["open", "code", "--json"]), @r#"
    {
      "key": "code",
      "read_only": false,
      "address": "$TEST_ENV/code@C1",
      "type": "GitHandle"
    }
    "#);
    assert_snapshot!(dir.tether(["open", "raw", "--json"]), @r#"
    {
      "key": "raw",
      "read_only": true,
      "address": "$TEST_ENV/raw",
      "type": "FileHandle"
    }
    "#);
    assert_snapshot!(dir.tether(["open", "code", "-r", "HEAD", "--json"]), @r#"
    {
      "key": "code",
      "read_only": true,
      "address": "$TEST_ENV/code@C1",
      "type": "GitHandle"
    }
    ------- stderr -------
    HEAD is commit O1
    "#);
}

/// E25: the commit a revision resolved to is told, on standard error.
#[test]
fn open_at_a_revision_is_read_only_and_names_the_commit() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let code = env.work_dir("code");
    code.git(["commit", "-q", "--allow-empty", "-m", "more"]);
    dir.tether(["commit", "-m", "second"]).success();
    assert_snapshot!(dir.tether(["open", "code", "-r", "HEAD"]), @r"
    $TEST_ENV/code@C1
    ------- stderr -------
    HEAD is commit O2
    ");
    assert_snapshot!(dir.tether(["open", "code", "-r", "main~1"]), @r"
    $TEST_ENV/code@C2
    ------- stderr -------
    main~1 is commit O1
    ");
    assert_snapshot!(dir.tether(["open", "raw", "-r", "HEAD"]), @r"
    ------- stderr -------
    Error: raw (file): its state at HEAD was recorded and cannot be read back
    Hint: `tether open raw` opens it as it is now
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["open", "code", "-r", "nosuch"]), @r#"
    ------- stderr -------
    Error: there is no revision "nosuch"
    Caused by: couldn't parse revision: "nosuch"
    Caused by: The ref partially named "nosuch" could not be found
    Hint: git log --oneline --all
    [exit status: 1]
    "#);
}

/// Surprise 26.
#[test]
fn the_revision_of_the_environment_counts_unless_it_is_empty() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let with = |rev: &str, args: &[&str]| {
        let mut command = dir.command([&["open", "code", "--json"], args].concat());
        command.env("TETHER_REV", rev);
        dir.run(command)
    };
    assert_eq!(with("HEAD", &[]).success().json()["read_only"], true);
    assert_eq!(with("", &[]).success().json()["read_only"], false);
    assert_snapshot!(with("HEAD", &["--writable"]), @r"
    ------- stderr -------
    Error: TETHER_REV is set, and a revision's state is read-only: --writable contradicts it
    Hint: unset TETHER_REV
    [exit status: 2]
    ");
    assert_snapshot!(with("nosuch", &[]), @r#"
    ------- stderr -------
    Error: there is no revision "nosuch"
    Caused by: couldn't parse revision: "nosuch"
    Caused by: The ref partially named "nosuch" could not be found
    Hint: git log --oneline --all
    [exit status: 1]
    "#);
    // `-r` goes before the environment.
    with("nosuch", &["-r", "HEAD"]).success();
}

#[test]
fn open_says_when_an_object_cannot_be_written_or_is_not_there() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    assert_snapshot!(dir.tether(["open", "raw", "--writable"]), @r"
    ------- stderr -------
    Error: raw (file): it has no branches, so there is no writable handle
    Hint: `tether open raw --read-only`
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["open", "nosuch"]), @r#"
    ------- stderr -------
    Error: no object "nosuch"
    Hint: `tether status` lists the objects of this dataset
    [exit status: 1]
    "#);
}

/// E52: a revision that looks like an option is no option.
#[test]
fn a_revision_that_looks_like_an_option_is_refused() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let target = env.root().join("PWN");
    let option = format!("--output={}", target.display());
    dir.tether(["open", "code", "-r", &option]).exits(2);
    assert_snapshot!(dir.tether(["open", "code", &format!("--rev={option}")]), @r#"
    ------- stderr -------
    Error: "--output=$TEST_ENV/PWN" is not the name of one revision
    Hint: git log --oneline --all
    [exit status: 1]
    "#);
    assert!(!target.exists());
}
