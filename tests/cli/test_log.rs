//! `tether log`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn log_lists_the_store_s_own_history() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let code = env.work_dir("code");
    code.git(["commit", "-q", "--allow-empty", "-m", "more code"]);
    assert_snapshot!(dir.tether(["log", "code"]), @"");
    assert_snapshot!(dir.tether(["log", "code", "-n", "1"]), @"");
    assert_snapshot!(dir.tether(["log", "code", "--json"]), @"");
    assert_snapshot!(dir.tether(["log", "code", "--ref", "HEAD~1"]), @"");
    assert_snapshot!(dir.tether(["log", "code", "--ref", "nosuch"]), @"");
    assert_snapshot!(dir.tether(["log", "raw"]), @"");
    assert_snapshot!(dir.tether(["log", "nosuch"]), @"");
}

#[test]
fn log_with_a_kind_browses_what_is_not_registered() {
    let env = TestEnvironment::new();
    env.code("code");
    let dir = env.dataset();
    let registered = dir.files();
    assert_snapshot!(dir.tether(["log", "../code", "--kind", "git"]), @"");
    dir.tether([
        "log", "../code", "--kind", "git", "--set", "ref=main", "--json",
    ])
    .success();
    assert_snapshot!(dir.tether(["log", "../gone", "--kind", "git"]), @"");
    assert_snapshot!(dir.tether(["log", "../code", "--kind", "nosuch"]), @"");
    assert_eq!(dir.files(), registered);
}

/// E52.
#[test]
fn a_ref_that_looks_like_an_option_is_refused() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let target = env.root().join("PWN");
    let option = format!("--ref=--exec=touch {}", target.display());
    let output = dir.tether(["log", "code", &option]).exits(1);
    assert!(output.stderr.starts_with("Error: "), "{output}");
    assert!(!target.exists());
}

/// What a store says cannot drive the terminal.
#[test]
fn control_characters_of_a_message_are_escaped() {
    let env = TestEnvironment::new();
    let code = env.code("code");
    code.git([
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "red \u{1b}[31m \u{9b}2J \u{202e}gpj",
    ]);
    let dir = env.dataset();
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    let output = dir.tether(["log", "code"]).success();
    assert!(
        output.stdout.contains(r"red \x1b[31m \x9b2J \u{202e}gpj"),
        "{output}"
    );
    let json = dir.tether(["log", "code", "--json"]).success();
    assert!(json.stdout.is_ascii(), "{json}");
    assert_eq!(
        json.json()[0]["message"],
        "red \u{1b}[31m \u{9b}2J \u{202e}gpj"
    );
}
