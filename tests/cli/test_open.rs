//! `tether open`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn open_prints_the_address_alone() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    assert_snapshot!(dir.tether(["open", "raw"]), @"");
    assert_snapshot!(dir.tether(["open", "code"]), @"");
    assert_snapshot!(dir.tether(["open", "code", "--read-only"]), @"");
    assert_snapshot!(dir.shell("cd \"$(tether open raw)\" && cat a.txt"), @"");
}

/// Surprise 2: `key` is the object's key.
#[test]
fn open_answers_in_json_with_the_object_s_key() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    assert_snapshot!(dir.tether(["open", "code", "--json"]), @"");
    assert_snapshot!(dir.tether(["open", "raw", "--json"]), @"");
    assert_snapshot!(dir.tether(["open", "code", "-r", "HEAD", "--json"]), @"");
}

/// E25: the commit a revision resolved to is told, on standard error.
#[test]
fn open_at_a_revision_is_read_only_and_names_the_commit() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let code = env.work_dir("code");
    code.git(["commit", "-q", "--allow-empty", "-m", "more"]);
    dir.tether(["commit", "-m", "second"]).success();
    assert_snapshot!(dir.tether(["open", "code", "-r", "HEAD"]), @"");
    assert_snapshot!(dir.tether(["open", "code", "-r", "main~1"]), @"");
    assert_snapshot!(dir.tether(["open", "raw", "-r", "HEAD"]), @"");
    assert_snapshot!(dir.tether(["open", "code", "-r", "nosuch"]), @"");
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
    assert_snapshot!(with("HEAD", &["--writable"]), @"");
    assert_snapshot!(with("nosuch", &[]), @"");
    // `-r` goes before the environment.
    with("nosuch", &["-r", "HEAD"]).success();
}

#[test]
fn open_says_when_an_object_cannot_be_written_or_is_not_there() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    assert_snapshot!(dir.tether(["open", "raw", "--writable"]), @"");
    assert_snapshot!(dir.tether(["open", "nosuch"]), @"");
}

/// E52: a revision that looks like an option is no option.
#[test]
fn a_revision_that_looks_like_an_option_is_refused() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let target = env.root().join("PWN");
    let option = format!("--output={}", target.display());
    dir.tether(["open", "code", "-r", &option]).exits(2);
    assert_snapshot!(dir.tether(["open", "code", &format!("--rev={option}")]), @"");
    assert!(!target.exists());
}
