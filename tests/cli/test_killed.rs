//! E12: a commit that is killed at any of its steps, and what the next commit makes of it.

use std::collections::BTreeMap;

use crate::common::{TestEnvironment, WorkDir};

fn fixture(env: &TestEnvironment) -> WorkDir<'_> {
    let dir = env.committed();
    dir.tether(["add", "more/raw", "--kind", "file", "../raw/sub"])
        .success();
    dir.tether(["remove", "raw"]).success();
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    dir
}

/// What must hold whenever no commit runs: every pin a manifest of history names is there, and nothing is damaged.
fn is_sound(dir: &WorkDir<'_>, when: &str) {
    let fsck = dir.shell("git fsck --strict --no-dangling 2>&1");
    assert_eq!(fsck.code, 0, "{when}: {fsck}");
    let verify = dir.tether(["verify", "--all-history"]);
    assert_eq!(verify.code, 0, "{when}: {verify}");
    let subjects = dir.git(["log", "--format=%s"]);
    assert!(
        ["first", "second\nfirst"].contains(&subjects.as_str()),
        "{when}: {subjects}"
    );
}

#[test]
fn a_commit_killed_at_any_step_loses_nothing_and_the_next_one_completes_it() {
    // The steps of a commit that is left alone.
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    let trace = env.root().join("trace");
    let mut command = dir.command(["commit", "-m", "second"]);
    command.env("TETHER_TEST_TRACE_STEPS", &trace);
    dir.run(command).success();
    is_sound(&dir, "left alone");
    let expected_tags = env.work_dir("code").git(["tag"]).lines().count();
    let steps = std::fs::read_to_string(&trace).unwrap();
    let mut counts = BTreeMap::new();
    let mut points = Vec::new();
    for step in steps.lines() {
        let count = counts.entry(step).or_insert(0);
        *count += 1;
        points.push(format!("{step}#{count}"));
    }
    assert!(points.len() > 5, "{points:?}");

    for point in points {
        let env = TestEnvironment::new();
        let dir = fixture(&env);
        let mut command = dir.command(["commit", "-m", "second"]);
        command.env("TETHER_TEST_KILL_AT", &point);
        let killed = dir.run(command);
        assert_ne!(killed.code, 0, "{point} killed nothing: {killed}");
        is_sound(&dir, &format!("killed at {point}"));
        // The next commit finishes or rolls back. Git's own lock may be left, as git itself leaves it, and the hint says what to do.
        let mut again = dir.tether(["commit", "-m", "second"]);
        let lock = dir.path().join(".git/index.lock");
        if lock.exists() {
            let hint = format!("rm {}\n", lock.display());
            assert!(
                again.code == 1 && again.stderr.ends_with(&hint),
                "{point}: {again}"
            );
            std::fs::remove_file(&lock).unwrap();
            again = dir.tether(["commit", "-m", "second"]);
        }
        assert_eq!(again.code, 0, "{point}: {again}");
        is_sound(&dir, &format!("after {point}"));
        assert_eq!(dir.git(["log", "--format=%s"]), "second\nfirst", "{point}");
        assert_eq!(dir.git_status(), "", "{point}");
        assert_eq!(
            env.work_dir("code").git(["tag"]).lines().count(),
            expected_tags,
            "{point}"
        );
        let ops = dir.tether(["ops"]).success();
        assert!(!ops.stdout.contains("INCOMPLETE"), "{point}: {ops}");
        let last = dir.tether(["commit", "-m", "third"]).success();
        assert!(last.stdout.contains("nothing to commit"), "{point}: {last}");
    }
}

#[test]
fn an_unfinished_commit_is_told_by_ops_and_status() {
    let env = TestEnvironment::new();
    let dir = fixture(&env);
    let trace = env.root().join("trace");
    let mut command = dir.command(["commit", "-m", "second", "--dry-run"]);
    command.env("TETHER_TEST_TRACE_STEPS", &trace);
    dir.run(command).success();
    assert!(!trace.exists(), "a dry run takes no step");
    let mut command = dir.command(["commit", "-m", "second"]);
    command.env("TETHER_TEST_KILL_AT", "did.pin");
    let killed = dir.run(command);
    assert_ne!(killed.code, 0, "{killed}");
    let ops = dir.tether(["ops", "-n", "1"]).success();
    assert!(ops.stdout.contains("INCOMPLETE"), "{ops}");
    assert_eq!(
        dir.tether(["ops", "-n", "1", "--json"]).json()[0]["status"],
        "started"
    );
    let status = dir.tether(["status"]).success();
    assert!(status.stderr.starts_with("Warning: "), "{status}");
}
