//! Two commands at once: the second says whom it waits for, and gives up in the end.

use crate::common::TestEnvironment;

/// Surprise 30.
#[test]
fn a_waiting_command_says_so_and_goes_on_when_the_lock_is_free() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    let output =
        dir.shell("flock .git/tether.lock sleep 2.5 & sleep 0.3; tether commit -m second; wait");
    assert_eq!(output.code, 0, "{output}");
    assert!(output.stderr.contains("wait"), "{output}");
    assert_eq!(dir.git(["log", "--format=%s"]), "second\nfirst");
}

/// Surprise 30.
#[test]
fn a_command_gives_up_in_the_end_and_names_the_lock() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    let before = dir.files();
    let script = "flock .git/tether.lock sleep 3 & sleep 0.3; TETHER_TEST_LOCK_WAIT_MS=500 tether commit -m second; code=$?; wait; exit $code";
    let output = dir.shell(script).exits(1);
    let error = output.stderr.split("Error: ").nth(1).unwrap();
    assert!(
        error.contains("(flock) holds the lock of this repository"),
        "{output}"
    );
    assert!(error.contains(".git/tether.lock"), "{output}");
    assert!(error.contains("Hint: "), "{output}");
    assert_eq!(dir.files(), before);
}

#[test]
fn reading_commands_do_not_wait() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let script = "flock .git/tether.lock flock .tether/lock sleep 3 & sleep 0.3; \
        export TETHER_TEST_LOCK_WAIT_MS=200; \
        for c in 'status' 'verify' 'diff' 'ops' 'open raw' 'log code'; do tether $c >/dev/null || exit 1; done; wait";
    let output = dir.shell(script);
    assert_eq!(output.to_string(), "");
}

/// Commits of several processes at once: each is whole, none is lost.
#[test]
fn commits_at_once_follow_each_other() {
    let env = TestEnvironment::new();
    let dir = env.dataset();
    for n in 0..4 {
        env.code(&format!("code{n}"));
        dir.tether([
            "add",
            &format!("code{n}"),
            "--kind",
            "git",
            &format!("../code{n}"),
        ])
        .success();
    }
    let output =
        dir.shell("for n in 0 1 2 3; do tether commit code$n -m c$n >/dev/null & done; wait");
    assert!(!output.stderr.contains("Error"), "{output}");
    let mut subjects: Vec<_> = dir
        .git(["log", "--format=%s"])
        .lines()
        .map(str::to_owned)
        .collect();
    subjects.sort();
    assert_eq!(subjects, ["c0", "c1", "c2", "c3"]);
    assert_eq!(dir.git_status(), "");
    dir.tether(["verify", "--all-history"]).success();
    assert_eq!(
        dir.tether(["ops", "--json"])
            .success()
            .json()
            .as_array()
            .unwrap()
            .len(),
        8
    );
}
