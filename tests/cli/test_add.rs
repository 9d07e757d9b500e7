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
    assert_snapshot!(dir.tether(["add", "raw/plate1", "--kind", "file", "../raw"]), @"added raw/plate1 (file)");
    let manifest = dir.read(".tether/objects/raw/plate1.toml");
    assert_snapshot!(manifest.replace(env.root().to_str().unwrap(), "$TEST_ENV"), @r#"
    key = "raw/plate1"
    kind = "file"
    recoverable = true

    [locator]
    uri = "$TEST_ENV/raw"

    [policy]
    file = "immutable"
    pin = "native"
    "#);
    assert_snapshot!(dir.tether(["status", "--no-snapshot"]), @r"
    dataset O1; on trunk bookmark main
            new  raw/plate1  [file/observed]
    ");
}

#[test]
fn add_takes_the_key_from_the_locator() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    assert_snapshot!(dir.tether(["add", "../code", "--kind", "git"]), @"added code (git, key from the locator)");
    assert_snapshot!(dir.tether(["add", "--kind", "file", "--set", "path=../raw"]), @r"
    ------- stderr -------
    Error: there is neither a key nor a locator
    Hint: `tether add KEY LOCATOR --kind file`
    [exit status: 1]
    ");
    // A derived key that is taken is refused.
    assert_snapshot!(dir.tether(["add", "../code", "--kind", "git"]), @r"
    ------- stderr -------
    Error: there is an object code already
    Hint: give this one a key of its own: `tether add KEY LOCATOR --kind KIND`
    [exit status: 1]
    ");
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
    dir.tether(line.split(' ')).exits(0);
    let manifest = dir.read(".tether/objects/code.toml");
    let locator = manifest.split("[locator]\n").nth(1).unwrap();
    let fields: Vec<_> = locator
        .lines()
        .take(4)
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(fields, ["uri", "branch", "ref", "at"]);
}

/// Surprise 11's kind: nothing is registered that means nothing, without a word.
#[test]
fn add_remarks_on_a_field_the_kind_does_not_read() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    let answer = dir.tether([
        "add", "code", "--kind", "git", "../code", "--branch", "main",
    ]);
    assert_eq!(answer.code, 0, "{answer}");
    assert!(
        answer.to_string().contains(
            "a git object does not read branch; the fields it reads are path, uri, ref, at, remote, allow_dirty, pins"
        ),
        "{answer}"
    );
    let answer = dir.tether([
        "add", "fine", "--kind", "git", "../code", "--set", "ref=main",
    ]);
    assert!(!answer.to_string().contains("does not read"), "{answer}");
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
    assert_snapshot!(dir.tether(["add", "made", "--kind", "git", "../made", "--create"]), @r"
    created an empty store at $TEST_ENV/made
    added made (git)
    ------- stderr -------
    note: the store lifecycle (`--create`, `gc --delete-stores`) is experimental: a deleted store cannot be repaired
    ");
    assert!(env.root().join("made/.git").exists());
    assert_snapshot!(dir.tether(["status", "--no-snapshot"]), @r"
    dataset O1; on trunk bookmark main
            new  made  [git/forkable] (created)
    ");
    // Not over something that is there.
    assert_snapshot!(dir.tether(["add", "again", "--kind", "git", "../code", "--create"]), @r"
    ------- stderr -------
    Error: again (git): $TEST_ENV/code exists already, tether adopts nothing it did not make
    Hint: name a path that does not exist, or leave out `--create`
    [exit status: 1]
    ");
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
    assert_snapshot!(pick("picked", "2\n"), @r"
    added picked (git) at C1
    ------- stderr -------
      1.  C2  2026-03-01 12:00  second code  [main]
      2.  C1  2026-03-01 12:00  first code
    Pick an entry (number or id) [1]:
    ");
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
    assert_snapshot!(pick("bad", "9\n"), @r#"
    ------- stderr -------
      1.  C2  2026-03-01 12:00  second code  [main]
      2.  C1  2026-03-01 12:00  first code
    Pick an entry (number or id) [1]: Error: no entry matches "9"; nothing was added
    Hint: answer with a number of the list, or an id
    [exit status: 1]
    "#);
    assert_snapshot!(pick("bad", ""), @r"
    ------- stderr -------
      1.  C2  2026-03-01 12:00  second code  [main]
      2.  C1  2026-03-01 12:00  first code
    Pick an entry (number or id) [1]: 
    Error: nothing was picked: standard input ended
    Hint: tether add --at STATE takes the state without asking
    [exit status: 1]
    ");
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
    assert_snapshot!(dir.tether(["add", "raw", "--kind", "file", "../raw"]), @r"
    ------- stderr -------
    Error: there is an object raw already
    Hint: choose another key; `tether set raw` changes its policy, `tether remove raw` frees the key
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["add", "gone", "--kind", "file", "../gone"]), @r"
    ------- stderr -------
    Error: gone (file): there is nothing at $TEST_ENV/gone
    Hint: check the path; `--create` makes an empty store there
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["add", "gone", "--kind", "git", "../gone"]), @r"
    ------- stderr -------
    Error: gone (git): there is nothing at $TEST_ENV/gone
    Hint: check the path; `--create` makes an empty store there
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["add", "plain", "--kind", "git", "../raw"]), @r"
    ------- stderr -------
    Error: plain (git): $TEST_ENV/raw is not a git repository
    Hint: `git -C $TEST_ENV/raw init`, or register another path
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["add", "web", "--kind", "file", "https://example.org/x"]), @r"
    ------- stderr -------
    Error: web (file): this build reads local paths only
    Hint: mount the bucket or copy the data, then `tether add KEY PATH --kind file`
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["add", "self", "--kind", "file", "."]), @r"
    ------- stderr -------
    Error: self (file): $TEST_ENV/ds holds the dataset itself, so every commit would change the object
    Hint: register the directory that holds the data alone
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["add", "at", "--kind", "file", "../raw", "--at", "1"]), @r"
    ------- stderr -------
    Error: at (file): a file object has no history, so it takes no `at`
    Hint: `tether add KEY PATH --kind file` without it
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["add", "at", "--kind", "git", "../code", "--at", "nosuch"]), @r#"
    ------- stderr -------
    Error: at (git): $TEST_ENV/code has no branch, tag or commit "nosuch"
    Hint: `git -C $TEST_ENV/code branch --all` lists the branches
    [exit status: 1]
    "#);
    assert_snapshot!(dir.tether(["add", "br", "--kind", "git", "../code", "--set", "ref=nosuch"]), @r#"
    ------- stderr -------
    Error: br (git): $TEST_ENV/code has no branch, tag or commit "nosuch"
    Hint: `git -C $TEST_ENV/code branch --all` lists the branches
    [exit status: 1]
    "#);
    assert_snapshot!(dir.tether(["add", "k", "--kind", "nosuch", "../raw"]), @r#"
    ------- stderr -------
    Error: there is no backend kind "nosuch"
    Hint: `tether backends` lists the kinds of this build
    [exit status: 1]
    "#);
    assert_snapshot!(dir.tether(["add", "k", "--kind", "icechunk", "../raw"]), @r"
    ------- stderr -------
    Error: this build has no icechunk backend: it comes in a later build
    Hint: `tether backends` lists the kinds of this build
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["add", "--kind", "file"]), @r"
    ------- stderr -------
    Error: there is neither a key nor a locator
    Hint: `tether add KEY LOCATOR --kind file`
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["add", "k", "--kind", "git", "../code", "--set", "ref"]), @r#"
    ------- stderr -------
    Error: --set expects FIELD=VALUE, not "ref"
    Hint: tether add --kind git --set ref=main KEY LOCATOR
    [exit status: 1]
    "#);
    assert_eq!(dir.files(), before);
}

/// P004: `--at "$UNSET"` would mean the branch head.
#[test]
fn add_refuses_a_blank_state() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    let before = dir.files();
    assert_snapshot!(dir.tether(["add", "code", "--kind", "git", "../code", "--at", ""]), @r"
    ------- stderr -------
    Error: --at needs a native state (a snapshot id, version, commit or tag); an empty one would mean the branch head
    Hint: leave --at out to start at the branch head
    [exit status: 1]
    ");
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
    assert_snapshot!(dir.tether(["add", "--kind", "file", "--", "../up", "../raw"]), @r#"
    ------- stderr -------
    Error: "../up" cannot be a key: `.` and `..` are not names
    Hint: use names separated by `/`, such as `tether add raw/plate1 LOCATOR`
    [exit status: 1]
    "#);
    let long = "k".repeat(300);
    for key in [
        "/abs", "a//b", "a/../b", ".", "..", "a/", "", "a\\b", "C:x", "a\nb", &long,
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
    let status = dir.tether(["status", "--json"]).success().json();
    assert_eq!(status["objects"], serde_json::json!([]));
    assert!(!target.exists());
}
