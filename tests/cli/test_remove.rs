//! `tether remove`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn remove_unregisters_and_leaves_the_store_alone() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let tags = env.work_dir("code").git(["tag"]);
    assert_ne!(tags, "");
    assert_snapshot!(dir.tether(["remove", "code"]), @"removed code");
    assert_snapshot!(dir.git_status(), @" D .tether/objects/code.toml");
    assert_snapshot!(dir.tether(["diff"]), @"    removed  code");
    // Surprise 21: a plan counts a removal, as the commit does.
    assert_snapshot!(dir.tether(["commit", "-m", "without code", "--dry-run"]), @r"
    plan: commit (1 write(s))
              vcs-commit    git commit: 'without code'
                          raw: unchanged
                          code: removed
    ");
    assert_snapshot!(dir.tether(["commit", "-m", "without code"]), @"committed O2");
    assert_eq!(env.work_dir("code").git(["tag"]), tags);
    assert_eq!(dir.git_status(), "");
}

#[test]
fn remove_needs_a_key_that_is_registered() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let before = dir.files();
    assert_snapshot!(dir.tether(["remove", "nosuch"]), @r#"
    ------- stderr -------
    Error: no object "nosuch"
    Hint: `tether status` lists the objects of this dataset
    [exit status: 1]
    "#);
    assert_snapshot!(dir.tether(["remove", "../code"]), @r#"
    ------- stderr -------
    Error: "../code" cannot be a key: `.` and `..` are not names
    Hint: use names separated by `/`, such as `tether add raw/plate1 LOCATOR`
    [exit status: 1]
    "#);
    assert_eq!(dir.files(), before);
}

/// P012: a key that looks like an option is one after `--`.
#[test]
fn a_key_that_looks_like_an_option_is_reached_after_two_dashes() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    for key in ["-x", "--help"] {
        let added = dir.tether(["add", "--kind", "file", "--", key, "../raw"]);
        if added.code != 0 {
            // Refused by the key grammar is right as well, when it says so.
            assert!(added.stderr.contains(key), "{added}");
            continue;
        }
        dir.tether(["status", "--", key]).success();
        dir.tether(["remove", "--", key]).success();
    }
    assert_eq!(dir.git_status(), "");
}
