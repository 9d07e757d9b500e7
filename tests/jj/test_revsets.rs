//! Revset functions: commits that touch a dataset, and those that change an object.

use insta::assert_snapshot;

use super::test_display::{found, history, manifest, shown};
use crate::common::TestEnvironment;

#[test]
fn commits_that_touch_a_dataset_are_found() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("ds");
    history(&dir);
    assert_eq!(
        found(&dir, "tether_commits()"),
        ["third", "second", "first"]
    );
    assert_eq!(found(&dir, "~tether_commits() & subject(code)"), ["code"]);
    assert_eq!(
        found(&dir, "tether_changed(db)"),
        ["third", "second", "first"]
    );
    assert_eq!(found(&dir, "tether_changed(zarr/imaging)"), ["first"]);
    assert_eq!(found(&dir, "tether_changed('zarr/')"), ["first"]);
    assert!(found(&dir, "tether_changed(zarr)").is_empty());
    assert!(found(&dir, "tether_changed(d)").is_empty());
    assert_eq!(found(&dir, "latest(tether_changed(db))"), ["third"]);
    // From a folder it is the same question.
    assert_eq!(
        found(&dir.dir("exp"), "tether_changed(db)"),
        ["third", "second", "first"]
    );
    // In an alias of the user's, with an argument.
    env.jj_config("[revset-aliases]\n'touched(k)' = 'tether_changed(k) & ::@'\n");
    assert_eq!(found(&dir, "touched(zarr/imaging)"), ["first"]);
}

#[test]
fn a_key_is_taken_literally() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("ds");
    let keys = [
        "a[bc]d", "a*", "q?", "{a,b}", "a b", "it's", "quo\"te", "-dash", "x, y",
    ];
    for key in keys {
        manifest(&dir, key, "1");
        dir.jj(["commit", &format!("--message={key}")]).success();
    }
    for decoy in ["abd", "ab", "qq", "a"] {
        manifest(&dir, decoy, "1");
    }
    dir.jj(["commit", "-m", "decoys"]).success();
    for key in keys {
        assert_eq!(found(&dir, &format!("tether_changed({key:?})")), [key]);
    }
    assert_eq!(
        shown(&dir, "tether"),
        [
            "",
            "decoys | +a, +ab, +abd, +qq",
            "x, y | +\"x, y\"",
            "-dash | +\"-dash\"",
            "quo\"te | +\"quo\\\"te\"",
            "it's | +it's",
            "a b | +a b",
            "{a,b} | +\"{a,b}\"",
            "q? | +q?",
            "a* | +a*",
            "a[bc]d | +a[bc]d",
            "",
        ]
    );
}

#[test]
fn what_is_no_key_is_an_error_of_the_revset() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("ds");
    let refused = |revset: &str| {
        let output = dir.jj(["log", "-r", revset]).exits(1);
        let first = output.stderr.lines().next().unwrap().to_owned();
        first
            .strip_prefix("Error: Failed to parse revset: ")
            .unwrap()
            .to_owned()
    };
    assert_snapshot!(dir.jj(["log", "-r", "@ & tether_changed(\"a//b\")"]), @r#"
    ------- stderr -------
    Error: Failed to parse revset: "a//b" cannot be a key: it has an empty segment
    Caused by:  --> 1:20
      |
    1 | @ & tether_changed("a//b")
      |                    ^----^
      |
      = "a//b" cannot be a key: it has an empty segment
    [exit status: 1]
    "#);
    assert_eq!(
        refused("tether_changed('')"),
        "\"\" cannot be a key: it is empty"
    );
    assert_eq!(
        refused("tether_changed('/')"),
        "\"\" cannot be a key: it is empty"
    );
    assert_eq!(
        refused("tether_changed('a//')"),
        "\"a/\" cannot be a key: it ends with `/`, which selects every key below a prefix"
    );
    assert!(refused("tether_changed('../x')").starts_with("\"../x\" cannot be a key"));
    assert_eq!(refused("tether_changed(a | b)"), "Expected object key");
    assert_eq!(
        refused("tether_changed()"),
        "Function `tether_changed`: Expected 1 arguments"
    );
    assert_eq!(
        refused("tether_commits(db)"),
        "Function `tether_commits`: Expected 0 arguments"
    );
}

/// `tether` reads the same revsets as our `jj`, also where an alias of the user's that it needs itself is written with them.
#[test]
fn tether_understands_its_own_revset_functions() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("ds");
    let raw = env.work_dir("raw");
    raw.write("a.txt", "one\n");
    env.jj_config(
        "[revset-aliases]\n'immutable_heads()' = 'builtin_immutable_heads() | latest(tether_changed(nosuch))'\n",
    );
    dir.tether(["init"]).success();
    dir.tether([
        "add",
        "raw",
        "--kind",
        "file",
        "../raw",
        "--file",
        "versioned",
    ])
    .success();
    dir.tether(["commit", "-m", "first"]).success();
    raw.write("a.txt", "two\n");
    dir.tether(["commit", "-m", "second"]).success();
    let rows = |args: &[&str]| dir.tether(args).success().json();
    let by_function = rows(&[
        "diff",
        "roots(tether_changed(raw))",
        "latest(tether_commits())",
        "--json",
    ]);
    let by_name = rows(&["diff", "subject(first)", "main", "--json"]);
    assert_eq!(by_function, by_name);
    let refused = dir
        .tether(["diff", "tether_changed('a//b')", "main"])
        .exits(1);
    assert!(
        refused.stderr.contains("it has an empty segment"),
        "{refused}"
    );
}
