//! `tether add`.

use insta::assert_snapshot;

use crate::common::{TestEnvironment, WorkDir};

fn fixture(env: &TestEnvironment) -> WorkDir<'_> {
    env.work_dir("raw").write("a.txt", "one\n");
    env.code("code");
    env.dataset()
}

#[test]
fn add_writes_a_manifest_and_says_so() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    assert_snapshot!(dir.tether(["add", "raw/plate1", "--kind", "file", "../raw"]), @"");
    let manifest = dir.read(".tether/objects/raw/plate1.toml");
    assert_snapshot!(manifest.replace(env.root().to_str().unwrap(), "$TEST_ENV"), @"");
    assert_snapshot!(dir.tether(["status", "--no-snapshot"]), @"");
}

#[test]
fn add_takes_the_key_from_the_locator() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    assert_snapshot!(dir.tether(["add", "../code", "--kind", "git"]), @"");
    assert_snapshot!(dir.tether(["add", "--kind", "file", "--set", "path=../raw"]), @"");
    assert!(dir.exists(".tether/objects/raw.toml"));
    // A derived key that is taken is refused.
    assert_snapshot!(dir.tether(["add", "../code", "--kind", "git"]), @"");
}

/// Relative paths are those of the directory `add` runs in. P093
#[test]
fn add_resolves_a_path_where_it_runs() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    dir.dir("deep/er")
        .tether(["add", "raw", "--kind", "file", "../../../raw"])
        .success();
    let path = env.root().join("raw");
    assert!(
        dir.read(".tether/objects/raw.toml")
            .contains(&format!("uri = {path:?}"))
    );
}

/// Named options first, then `--set` in order, then `at`, as the Python package writes them.
#[test]
fn add_keeps_the_order_of_locator_fields() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    let line = "add code --kind git --set ref=main --at main --branch main ../code";
    assert_snapshot!(dir.tether(line.split(' ')), @"");
    let manifest = dir.read(".tether/objects/code.toml");
    let locator = manifest.split("[locator]\n").nth(1).unwrap();
    let fields: Vec<_> = locator
        .lines()
        .take(4)
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(fields, ["uri", "branch", "ref", "at"]);
}

#[test]
fn add_takes_policies() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    dir.tether([
        "add",
        "raw",
        "--kind",
        "file",
        "../raw",
        "--file",
        "versioned",
        "--pin",
        "record",
    ])
    .success();
    let manifest = dir.read(".tether/objects/raw.toml");
    assert!(manifest.contains("file = \"versioned\"\npin = \"record\"\n"));
}

#[test]
fn add_creates_an_empty_store_when_asked() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    assert_snapshot!(dir.tether(["add", "made", "--kind", "git", "../made", "--create"]), @"");
    assert!(env.root().join("made/.git").exists());
    assert_snapshot!(dir.tether(["status", "--no-snapshot"]), @"");
    // Not over something that is there.
    assert_snapshot!(dir.tether(["add", "again", "--kind", "git", "../code", "--create"]), @"");
    assert!(!dir.exists(".tether/objects/again.toml"));
}

#[test]
fn pick_lists_the_history_and_takes_a_number_or_an_id() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    let code = env.work_dir("code");
    let first = code.git(["rev-parse", "HEAD"]);
    code.git(["commit", "-q", "--allow-empty", "-m", "second code"]);
    let pick = |key: &str, answer: &str| {
        dir.tether_reading(answer, ["add", key, "--kind", "git", "../code", "--pick"])
    };
    assert_snapshot!(pick("picked", "2\n"), @"");
    assert!(
        dir.read(".tether/objects/picked.toml")
            .contains(&format!("at = \"{first}\""))
    );
    // Enter takes the newest; an id may be shortened.
    pick("newest", "\n").success();
    let head = code.git(["rev-parse", "HEAD"]);
    assert!(
        dir.read(".tether/objects/newest.toml")
            .contains(&format!("at = \"{head}\""))
    );
    pick("by-id", &first[..10]).success();
    assert!(
        dir.read(".tether/objects/by-id.toml")
            .contains(&format!("at = \"{first}\""))
    );
    // Anything else adds nothing.
    assert_snapshot!(pick("bad", "9\n"), @"");
    assert_snapshot!(pick("bad", ""), @"");
    assert!(!dir.exists(".tether/objects/bad.toml"));
}

/// Surprise 11: what can be known now is refused now, not by every later commit.
#[test]
fn add_refuses_what_cannot_work() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    dir.tether(["add", "raw", "--kind", "file", "../raw"])
        .success();
    let before = dir.files();
    assert_snapshot!(dir.tether(["add", "raw", "--kind", "file", "../raw"]), @"");
    assert_snapshot!(dir.tether(["add", "gone", "--kind", "file", "../gone"]), @"");
    assert_snapshot!(dir.tether(["add", "gone", "--kind", "git", "../gone"]), @"");
    assert_snapshot!(dir.tether(["add", "plain", "--kind", "git", "../raw"]), @"");
    assert_snapshot!(dir.tether(["add", "web", "--kind", "file", "https://example.org/x"]), @"");
    assert_snapshot!(dir.tether(["add", "self", "--kind", "file", "."]), @"");
    assert_snapshot!(dir.tether(["add", "at", "--kind", "file", "../raw", "--at", "1"]), @"");
    assert_snapshot!(dir.tether(["add", "at", "--kind", "git", "../code", "--at", "nosuch"]), @"");
    assert_snapshot!(dir.tether(["add", "br", "--kind", "git", "../code", "--branch", "nosuch"]), @"");
    assert_snapshot!(dir.tether(["add", "k", "--kind", "nosuch", "../raw"]), @"");
    assert_snapshot!(dir.tether(["add", "k", "--kind", "icechunk", "../raw"]), @"");
    assert_snapshot!(dir.tether(["add", "--kind", "file"]), @"");
    assert_snapshot!(dir.tether(["add", "k", "--kind", "git", "../code", "--set", "ref"]), @"");
    assert_eq!(dir.files(), before);
}

/// P004: `--at "$UNSET"` would mean the branch head.
#[test]
fn add_refuses_a_blank_state() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    let before = dir.files();
    assert_snapshot!(dir.tether(["add", "code", "--kind", "git", "../code", "--at", ""]), @"");
    dir.tether(["add", "code", "--kind", "git", "../code", "--at", "  "])
        .exits(1);
    assert_eq!(dir.files(), before);
}

/// Surprise 12, P022: keys that leave their place, or that some file system cannot hold.
#[test]
fn add_refuses_keys_that_are_not_safe() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    let before = dir.files();
    assert_snapshot!(dir.tether(["add", "--kind", "file", "--", "../up", "../raw"]), @"");
    let long = "k".repeat(300);
    for key in [
        "/abs", "a//b", "a/../b", ".", "..", "a/", "", " ", "a\\b", "C:x", "a\nb", &long,
    ] {
        let output = dir
            .tether(["add", "--kind", "file", "--", key, "../raw"])
            .exits(1);
        assert!(output.stderr.starts_with("Error: "), "{key:?}: {output}");
        assert!(!output.stderr.contains("a\nb"), "{key:?}: {output}");
    }
    assert_eq!(dir.files(), before);
}

/// P012, E52: a key or a value that looks like an option is refused or taken as a value, never as an option.
#[test]
fn values_that_look_like_options_stay_values() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    let target = env.root().join("PWN");
    let output = format!("--output={}", target.display());
    dir.tether(["add", "c2", "--kind", "git", "../code", "--at", &output])
        .exits(2);
    for line in [
        vec![
            "add",
            "c2",
            "--kind",
            "git",
            "../code",
            "--set",
            &format!("at={output}"),
        ],
        vec![
            "add",
            "c2",
            "--kind",
            "git",
            "../code",
            &format!("--at={output}"),
        ],
        vec!["add", "c3", "--kind", "git", &output],
        vec!["add", "c3", "--kind", "git", "--", &output],
    ] {
        let answer = dir.tether(&line);
        assert_ne!(answer.code, 0, "{line:?}: {answer}");
    }
    assert_eq!(
        std::fs::read_dir(dir.path().join(".tether"))
            .unwrap()
            .filter(|entry| { entry.as_ref().unwrap().file_name() == "objects" })
            .count(),
        0,
        "nothing was registered"
    );
    assert!(!target.exists());
}
