//! `tether commit` with `--dry-run`, `--plan` and `--from-plan`.

use insta::assert_snapshot;

use crate::common::{TestEnvironment, WorkDir};

fn fixture(env: &TestEnvironment) -> WorkDir<'_> {
    env.work_dir("raw").write("a.txt", "one\n");
    env.code("code");
    let dir = env.dataset();
    dir.tether(["add", "raw", "--kind", "file", "../raw"])
        .success();
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    dir
}

/// Surprise 23: a dry run writes nothing at all.
#[test]
fn a_dry_run_shows_the_plan_and_writes_nothing() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    dir.tether(["status"]).success();
    let before = dir.files();
    assert_snapshot!(dir.tether(["commit", "-m", "first", "--dry-run"]), @r"
    plan: commit (3 write(s))
                     pin  code  [git] tether.0a1b2c3d.P1  native ref at sha=P2…
                  record  raw   [file]  Observed: recorded, not recoverable
              vcs-commit        git commit: 'first'
    ");
    assert_snapshot!(dir.tether(["commit", "-m", "first", "--dry-run", "--json"]), @r#"
    {
      "format": 3,
      "tether_version": "0.1.0",
      "command": "commit",
      "created_at": "2026-03-01T12:00:00.000000+00:00",
      "context": {
        "message": "first",
        "manifest_hash": "H1",
        "states": {
          "code": {
            "sha": "C1",
            "dirty": false
          },
          "raw": {
            "type": "dir",
            "count": 1,
            "size": 4,
            "digest": "W1"
          }
        },
        "workspace_id": "W2",
        "pull": false
      },
      "notes": [],
      "preconditions": [
        {
          "kind": "workspace_id",
          "expected": "W2",
          "key": null,
          "params": {},
          "detail": "this commit plan was made in another checkout; plan again here"
        },
        {
          "kind": "workspace_bookmark",
          "expected": "main",
          "key": null,
          "params": {},
          "detail": "this commit plan was made on main; the checkout is on {observed} now; plan again"
        },
        {
          "kind": "manifest_hash",
          "expected": "H1",
          "key": null,
          "params": {},
          "detail": "manifests changed since the plan was made; plan again"
        }
      ],
      "actions": [
        {
          "op": "pin",
          "key": "code",
          "kind": "git",
          "target": "tether.0a1b2c3d.P1",
          "detail": "native ref at sha=P2\u2026",
          "params": {
            "state": {
              "sha": "C1",
              "dirty": false
            },
            "pin_id": "0a1b2c3d.P1"
          }
        },
        {
          "op": "record",
          "key": "raw",
          "kind": "file",
          "target": "",
          "detail": "Observed: recorded, not recoverable",
          "params": {
            "state": {
              "type": "dir",
              "count": 1,
              "size": 4,
              "digest": "W1"
            },
            "recoverable": false
          }
        },
        {
          "op": "vcs-commit",
          "key": "",
          "kind": "",
          "target": "",
          "detail": "git commit: 'first'",
          "params": {}
        }
      ],
      "digest": "H2"
    }
    "#);
    assert_eq!(dir.files(), before);
    assert_eq!(env.work_dir("code").git(["tag"]), "");
}

#[test]
fn a_saved_plan_is_applied_once() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    let saved = dir
        .tether(["commit", "-m", "first", "--plan", "../p.json"])
        .success();
    assert!(
        saved.stderr.contains("plan written to ../p.json"),
        "{saved}"
    );
    // What is saved is what is shown.
    let shown = dir
        .tether(["commit", "-m", "first", "--dry-run", "--json"])
        .success()
        .json();
    let file: serde_json::Value = serde_json::from_str(&env.work_dir(".").read("p.json")).unwrap();
    assert_eq!(file["actions"], shown["actions"]);
    assert_snapshot!(dir.tether(["commit", "--from-plan", "../p.json"]), @r"
      pinned code -> tether.0a1b2c3d.P1
      recorded raw (not recoverable)
    committed O1
    ");
    assert_eq!(dir.git(["log", "--format=%s"]), "first");
    assert_snapshot!(dir.tether(["commit", "--from-plan", "../p.json"]), @r"
    ------- stderr -------
    Error: manifests changed since the plan was made; plan again
    Hint: plan again: `tether commit ... --plan FILE`, and review it
    [exit status: 1]
    ");
}

#[test]
fn a_plan_is_refused_when_the_world_moved() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    dir.tether(["commit", "-m", "first", "--plan", "../p.json"])
        .success();
    dir.tether(["remove", "raw"]).success();
    assert_snapshot!(dir.tether(["commit", "--from-plan", "../p.json"]), @r"
    ------- stderr -------
    Error: manifests changed since the plan was made; plan again
    Hint: plan again: `tether commit ... --plan FILE`, and review it
    [exit status: 1]
    ");
    assert_eq!(env.work_dir("code").git(["tag"]), "");
}

/// Surprise 9: another message takes the place of the plan's; nothing else of the plan changes.
#[test]
fn a_plan_can_be_applied_under_another_message() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    dir.tether(["commit", "-m", "first", "--plan", "../p.json"])
        .success();
    let output = dir.tether(["commit", "--from-plan", "../p.json", "-m", "other"]);
    assert!(!output.stderr.contains("edited"), "{output}");
    assert_snapshot!(output, @r"
      pinned code -> tether.0a1b2c3d.P1
      recorded raw (not recoverable)
    committed O1
    ");
    assert_eq!(dir.git(["log", "--format=%s"]), "other");
}

#[test]
fn a_plan_keeps_its_selection() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    dir.tether(["commit", "code", "-m", "code", "--plan", "../p.json"])
        .success();
    assert_snapshot!(dir.tether(["commit", "raw", "--from-plan", "../p.json"]), @r"
    ------- stderr -------
    Error: the plan commits code, which is another selection than the keys given
    Hint: leave the keys out: `tether commit --from-plan FILE` applies what was planned
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["commit", "code", "--from-plan", "../p.json"]), @r"
      pinned code -> tether.0a1b2c3d.P1
    committed O1
    ");
}

/// Surprise 3: what is no plan is said in one sentence.
#[test]
fn files_that_are_no_plan_are_refused() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    let refused = |content: &[u8]| {
        dir.write("../p.json", content);
        dir.tether(["commit", "--from-plan", "../p.json"])
    };
    assert_snapshot!(refused(b""), @r"
    ------- stderr -------
    Error: the file does not hold a saved plan: it is not JSON
    Caused by: line 1, column 0
    Hint: `tether commit ... --plan FILE` saves one
    [exit status: 1]
    ");
    assert_snapshot!(refused(b"[]"), @r"
    ------- stderr -------
    Error: the file does not hold a saved plan: it is not a JSON object
    Hint: `tether commit ... --plan FILE` saves one
    [exit status: 1]
    ");
    assert_snapshot!(refused(b"{}"), @r"
    ------- stderr -------
    Error: the file does not hold a saved plan: it names no plan format
    Hint: `tether commit ... --plan FILE` saves one
    [exit status: 1]
    ");
    assert_snapshot!(refused(b"\xff\xfe"), @r"
    ------- stderr -------
    Error: ../p.json is not a plan: it is not text
    Hint: tether commit -m MESSAGE --plan FILE saves one
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["commit", "--from-plan", "../none.json"]), @r"
    ------- stderr -------
    Error: cannot read the plan ../none.json
    Caused by: No such file or directory (os error 2)
    Hint: tether commit -m MESSAGE --plan FILE saves one
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["commit", "--from-plan", "."]), @r"
    ------- stderr -------
    Error: cannot read the plan .
    Caused by: Is a directory (os error 21)
    Hint: tether commit -m MESSAGE --plan FILE saves one
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["commit", "-m", "x", "--plan", "../none/p.json"]), @r"
    ------- stderr -------
    Error: cannot write the plan to ../none/p.json
    Caused by: No such file or directory (os error 2)
    Hint: name a file in a directory that exists
    [exit status: 1]
    ");
}

#[test]
fn a_plan_that_was_edited_or_is_of_another_version_is_refused() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    dir.tether(["commit", "-m", "first", "--plan", "../p.json"])
        .success();
    let plan = env.work_dir(".").read("p.json");
    dir.write("../p.json", plan.replace("\"first\"", "\"second\""));
    assert_snapshot!(dir.tether(["commit", "--from-plan", "../p.json"]), @r"
    ------- stderr -------
    Error: this commit plan was edited after it was saved: its digest is not that of its content, so nothing vouches for what it would do
    Hint: plan again: `tether commit ... --plan FILE`, and review it
    [exit status: 1]
    ");
    dir.write(
        "../p.json",
        plan.replace("\"tether_version\": \"", "\"tether_version\": \"9"),
    );
    assert_snapshot!(dir.tether(["commit", "--from-plan", "../p.json"]), @r"
    ------- stderr -------
    Error: this plan was made by tether 90.1.0; this is tether 0.1.0
    Hint: plan again: `tether commit ... --plan FILE`, and review it
    [exit status: 1]
    ");
}

#[test]
fn a_plan_belongs_to_its_checkout() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    dir.tether(["commit", "-m", "first"]).success();
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    dir.tether(["commit", "-m", "second", "--plan", "../p.json"])
        .success();
    dir.git(["clone", "-q", ".", "../clone"]);
    let clone = env.work_dir("clone");
    assert_snapshot!(clone.tether(["commit", "--from-plan", "../p.json"]), @r"
    ------- stderr -------
    Error: this commit plan was made in another checkout; plan again here
    Hint: plan again: `tether commit ... --plan FILE`, and review it
    [exit status: 1]
    ");
}
