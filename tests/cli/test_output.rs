//! How answers are written: plain without a terminal, whole, and quiet when nobody reads them (E54).

use std::process::Stdio;

use crate::common::{TestEnvironment, WorkDir};

fn with_many_operations(env: &TestEnvironment) -> WorkDir<'_> {
    let dir = env.committed();
    for _ in 0..3 {
        dir.tether(["set", "raw", "--file", "immutable"]).success();
        dir.tether(["set", "raw", "--file", "versioned"]).success();
    }
    dir
}

/// E54: a reader that goes away is no error.
#[test]
fn a_closed_pipe_ends_quietly() {
    let env = TestEnvironment::new();
    let dir = with_many_operations(&env);
    for line in [
        "ops --json",
        "status",
        "diff --content",
        "--help",
        "backends",
    ] {
        let script = format!(
            "for i in 1 2 3 4 5; do tether {line} | true; [ ${{PIPESTATUS[0]}} = 0 ] || echo bad; done"
        );
        assert_eq!(dir.shell(&script).to_string(), "", "{line}");
    }
    // Nor when the pipe is closed before the command starts.
    let output = dir.shell("exec 3> >(exec true); sleep 0.2; tether ops --json >&3; echo $?");
    assert_eq!(output.to_string(), "0\n");
}

/// E54: a writing command finishes although nobody reads what it says.
#[test]
fn a_writing_command_finishes_although_nobody_reads() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    let output =
        dir.shell("exec 3> >(exec true); sleep 0.2; tether commit -m second >&3 2>&3; echo $?");
    assert_eq!(output.to_string(), "0\n");
    assert_eq!(dir.git(["log", "--format=%s"]), "second\nfirst");
    dir.tether(["verify", "code"]).success();
}

/// E54: an answer that cannot be written is an error; what was done stays done.
#[test]
fn a_full_device_is_an_error() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    for line in [
        "status",
        "ops --json",
        "--help",
        "--version",
        "commit -m second",
    ] {
        let mut command = dir.command(line.split(' '));
        command.stdout(
            std::fs::OpenOptions::new()
                .write(true)
                .open("/dev/full")
                .unwrap(),
        );
        let output = dir.run(command).exits(1);
        assert!(
            output
                .stderr
                .contains("cannot write the answer to standard output"),
            "{line}: {output}"
        );
        assert!(
            output.stderr.contains("No space left on device"),
            "{line}: {output}"
        );
    }
    assert_eq!(dir.git(["log", "--format=%s"]), "second\nfirst");
}

#[test]
fn closed_streams_do_no_harm() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    assert_eq!(
        dir.shell("tether status >&- 2>&- <&-; echo $?").stdout,
        "0\n"
    );
    assert_eq!(dir.shell("tether nosuch >&- 2>&-; echo $?").stdout, "2\n");
}

/// Colour on a terminal, and only there; `NO_COLOR` and `TERM=dumb` turn it off.
#[test]
fn colour_is_for_terminals() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let on_terminal = |variables: &str| {
        let script = format!(
            "env {variables} script -qec 'tether add nosuch --kind nosuch x; tether status' /dev/null </dev/null"
        );
        dir.shell(&script).stdout
    };
    let coloured = on_terminal("TERM=xterm");
    assert!(coloured.contains("\x1b[1;31mError:\x1b[0m"), "{coloured:?}");
    assert!(coloured.contains("\x1b[1;36mHint:\x1b[0m"), "{coloured:?}");
    for variables in ["TERM=xterm NO_COLOR=1", "TERM=dumb"] {
        let plain = on_terminal(variables);
        assert!(
            plain.contains("Error: ") && !plain.contains("\x1b[1"),
            "{plain:?}"
        );
    }
    let piped = dir
        .tether(["add", "nosuch", "--kind", "nosuch", "x"])
        .exits(1);
    assert!(!piped.stderr.contains('\x1b'), "{piped}");
}

/// Surprise 1: `--json` is JSON and nothing else, on every command that has it.
#[test]
fn json_answers_hold_nothing_else() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    for line in [
        "backends --json",
        "status --json",
        "status --snapshot --json",
        "snapshot --json",
        "verify --json",
        "verify --all-history --json",
        "diff --json",
        "diff --content --json",
        "log code --json",
        "open code --json",
        "ops --json",
        "set code --pin native --json",
        "commit -m x --dry-run --json",
        "commit -m x --json",
    ] {
        let output = dir.tether(line.split(' ')).success();
        let value = output.json();
        assert!(value.is_object() || value.is_array(), "{line}");
        assert!(
            output.stdout.ends_with('\n') && output.stdout.is_ascii(),
            "{line}"
        );
        assert_eq!(output.stderr, "", "{line}");
    }
}

/// A bug is one sentence and exit code 1, never a bare panic with exit code 101.
#[test]
fn a_bug_is_one_sentence() {
    let env = TestEnvironment::new();
    let dir = env.dataset();
    let mut command = dir.command(["status"]);
    command
        .env("TETHER_TEST_PANIC", "s3cr3t")
        .stderr(Stdio::piped());
    let output = dir.run(command).exits(1);
    assert_eq!(output.stdout, "");
    let lines: Vec<_> = output.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{output}");
    assert!(
        lines[0].starts_with("Error: tether has a bug and stopped at src/"),
        "{output}"
    );
    assert!(lines[1].starts_with("Hint: "), "{output}");
}
