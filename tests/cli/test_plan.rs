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
    assert_snapshot!(dir.tether(["commit", "-m", "first", "--dry-run"]), @"");
    assert_snapshot!(dir.tether(["commit", "-m", "first", "--dry-run", "--json"]), @"");
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
    assert_snapshot!(dir.tether(["commit", "--from-plan", "../p.json"]), @"");
    assert_eq!(dir.git(["log", "--format=%s"]), "first");
    assert_snapshot!(dir.tether(["commit", "--from-plan", "../p.json"]), @"");
}

#[test]
fn a_plan_is_refused_when_the_world_moved() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    dir.tether(["commit", "-m", "first", "--plan", "../p.json"])
        .success();
    dir.tether(["remove", "raw"]).success();
    assert_snapshot!(dir.tether(["commit", "--from-plan", "../p.json"]), @"");
    assert_eq!(env.work_dir("code").git(["tag"]), "");
}

/// Surprise 9: another message is called another message.
#[test]
fn another_message_than_the_plan_s_is_refused_as_such() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    dir.tether(["commit", "-m", "first", "--plan", "../p.json"])
        .success();
    let output = dir.tether(["commit", "--from-plan", "../p.json", "-m", "other"]);
    assert!(!output.stderr.contains("edited"), "{output}");
    assert_snapshot!(output, @"");
    dir.tether(["commit", "--from-plan", "../p.json", "-m", "first"])
        .success();
}

#[test]
fn a_plan_keeps_its_selection() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    dir.tether(["commit", "code", "-m", "code", "--plan", "../p.json"])
        .success();
    assert_snapshot!(dir.tether(["commit", "raw", "--from-plan", "../p.json"]), @"");
    assert_snapshot!(dir.tether(["commit", "code", "--from-plan", "../p.json"]), @"");
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
    assert_snapshot!(refused(b""), @"");
    assert_snapshot!(refused(b"[]"), @"");
    assert_snapshot!(refused(b"{}"), @"");
    assert_snapshot!(refused(b"\xff\xfe"), @"");
    assert_snapshot!(dir.tether(["commit", "--from-plan", "../none.json"]), @"");
    assert_snapshot!(dir.tether(["commit", "--from-plan", "."]), @"");
    assert_snapshot!(dir.tether(["commit", "-m", "x", "--plan", "../none/p.json"]), @"");
}

#[test]
fn a_plan_that_was_edited_or_is_of_another_version_is_refused() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    dir.tether(["commit", "-m", "first", "--plan", "../p.json"])
        .success();
    let plan = env.work_dir(".").read("p.json");
    dir.write("../p.json", plan.replace("\"first\"", "\"second\""));
    assert_snapshot!(dir.tether(["commit", "--from-plan", "../p.json"]), @"");
    dir.write(
        "../p.json",
        plan.replace("\"tether_version\": \"", "\"tether_version\": \"9"),
    );
    assert_snapshot!(dir.tether(["commit", "--from-plan", "../p.json"]), @"");
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
    assert_snapshot!(clone.tether(["commit", "--from-plan", "../p.json"]), @"");
}
