//! `tether log`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn log_lists_the_store_s_own_history() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let code = env.work_dir("code");
    code.git(["commit", "-q", "--allow-empty", "-m", "more code"]);
    assert_snapshot!(dir.tether(["log", "code"]), @r"
    C1  2026-03-01 12:00  more code  [main]
    C2  2026-03-01 12:00  first code  [tether.0a1b2c3d.P1]
    ");
    assert_snapshot!(dir.tether(["log", "code", "-n", "1"]), @"  C1  2026-03-01 12:00  more code  [main]");
    assert_snapshot!(dir.tether(["log", "code", "--json"]), @r#"
    [
      {
        "id": "C1",
        "when": "2026-03-01T12:00:00Z",
        "message": "more code",
        "refs": [
          "main"
        ]
      },
      {
        "id": "C2",
        "when": "2026-03-01T12:00:00Z",
        "message": "first code",
        "refs": [
          "tether.0a1b2c3d.P1"
        ]
      }
    ]
    "#);
    assert_snapshot!(dir.tether(["log", "code", "--ref", "HEAD~1"]), @"  C2  2026-03-01 12:00  first code  [tether.0a1b2c3d.P1]");
    assert_snapshot!(dir.tether(["log", "code", "--ref", "nosuch"]), @r#"
    ------- stderr -------
    Error: code (git): $TEST_ENV/code has no branch, tag or commit "nosuch"
    Hint: `git -C $TEST_ENV/code branch --all` lists the branches
    [exit status: 1]
    "#);
    assert_snapshot!(dir.tether(["log", "raw"]), @r"
    ------- stderr -------
    Error: raw (file): a file object keeps no history
    Hint: `tether backends` lists what each kind can do
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["log", "nosuch"]), @r#"
    ------- stderr -------
    Error: no object "nosuch"
    Hint: `tether status` lists the objects of this dataset
    [exit status: 1]
    "#);
}

#[test]
fn log_with_a_kind_browses_what_is_not_registered() {
    let env = TestEnvironment::new();
    env.code("code");
    let dir = env.dataset();
    let registered = dir.files();
    assert_snapshot!(dir.tether(["log", "../code", "--kind", "git"]), @"  C1  2026-03-01 12:00  first code  [main]");
    dir.tether([
        "log", "../code", "--kind", "git", "--set", "ref=main", "--json",
    ])
    .success();
    assert_snapshot!(dir.tether(["log", "../gone", "--kind", "git"]), @r"
    ------- stderr -------
    Error: gone (git): $TEST_ENV/gone does not exist
    Hint: clone the repository to $TEST_ENV/gone
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["log", "../code", "--kind", "nosuch"]), @r#"
    ------- stderr -------
    Error: there is no backend kind "nosuch"
    Hint: `tether backends` lists the kinds of this build
    [exit status: 1]
    "#);
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
