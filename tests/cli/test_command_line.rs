//! The command line itself: help, versions, and mistakes, which end with exit code 2 and change nothing.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn tether_alone_prints_its_help_on_standard_error() {
    let env = TestEnvironment::new();
    let output = env.work_dir(".").tether::<_, &str>([]).exits(2);
    assert_eq!(output.stdout, "");
    assert!(
        output.stderr.contains("Usage: tether <COMMAND>"),
        "{output}"
    );
    assert!(
        output.stderr.contains("  commit    Pin objects"),
        "{output}"
    );
}

#[test]
fn version_and_help_are_answers() {
    let env = TestEnvironment::new();
    let dir = env.work_dir(".");
    assert_snapshot!(dir.tether(["--version"]), @"tether 0.1.0");
    let help = dir.tether(["status", "--help"]).success();
    assert!(
        help.stdout
            .starts_with("Classify every object against its committed manifest\n")
    );
    assert_eq!(help.stderr, "");
    assert_eq!(dir.tether(["help", "status"]).success().stdout, help.stdout);
}

#[test]
fn mistakes_say_what_is_wrong_and_how_the_command_is_used() {
    let env = TestEnvironment::new();
    let dir = env.work_dir(".");
    assert_snapshot!(dir.tether(["nosuch"]), @r"
    ------- stderr -------
    Error: unrecognized subcommand 'nosuch'

    Usage: tether <COMMAND>

    For more information, try '--help'.
    [exit status: 2]
    ");
    assert_snapshot!(dir.tether(["statsu"]), @r"
    ------- stderr -------
    Error: unrecognized subcommand 'statsu'

      tip: a similar subcommand exists: 'status'

    Usage: tether <COMMAND>

    For more information, try '--help'.
    [exit status: 2]
    ");
    assert_snapshot!(dir.tether(["status", "--bogus"]), @r"
    ------- stderr -------
    Error: unexpected argument '--bogus' found

      tip: to pass '--bogus' as a value, use '-- --bogus'

    Usage: tether status [OPTIONS] [KEY]...

    For more information, try '--help'.
    [exit status: 2]
    ");
    assert_snapshot!(dir.tether(["add", "k"]), @r"
    ------- stderr -------
    Error: the following required arguments were not provided:
      --kind <KIND>

    Usage: tether add --kind <KIND> <KEY> [LOCATOR]

    For more information, try '--help'.
    [exit status: 2]
    ");
    assert_snapshot!(dir.tether(["open"]), @r"
    ------- stderr -------
    Error: the following required arguments were not provided:
      <KEY>

    Usage: tether open <KEY>

    For more information, try '--help'.
    [exit status: 2]
    ");
    assert_snapshot!(dir.tether(["diff", "a", "b", "c"]), @r"
    ------- stderr -------
    Error: unexpected argument 'c' found

    Usage: tether diff [OPTIONS] [REV_A] [REV_B]

    For more information, try '--help'.
    [exit status: 2]
    ");
    assert_snapshot!(dir.tether(["commit", "--from-plan"]), @r"
    ------- stderr -------
    Error: a value is required for '--from-plan <FILE>' but none was supplied

    For more information, try '--help'.
    [exit status: 2]
    ");
    assert_snapshot!(dir.tether(["set", "k", "--pin", "bogus"]), @r"
    ------- stderr -------
    Error: invalid value 'bogus' for '--pin <PIN>'
      [possible values: native, record]

    For more information, try '--help'.
    [exit status: 2]
    ");
    assert_snapshot!(dir.tether(["log", "k", "-n", "0"]), @r"
    ------- stderr -------
    Error: invalid value '0' for '--limit <N>': a whole number of at least 1 is needed

    For more information, try '--help'.
    [exit status: 2]
    ");
    assert_snapshot!(dir.tether(["log", "k", "-n", "-1"]), @r"
    ------- stderr -------
    Error: invalid value '-1' for '--limit <N>': a whole number of at least 1 is needed

    For more information, try '--help'.
    [exit status: 2]
    ");
}

/// Surprise 8, P054: the last one does not win.
#[test]
fn flags_that_contradict_each_other_are_refused() {
    let env = TestEnvironment::new();
    let dir = env.dataset();
    let before = dir.files();
    for line in [
        "status --snapshot --no-snapshot",
        "set --all k --pin record",
        "commit -m x --dry-run --from-plan p",
        "commit --from-plan p --dry-run",
        "commit --from-plan p --plan q",
        "commit --from-plan p --strict",
        "commit --from-plan p --no-snapshot",
        "open k --writable --read-only",
        "open k -r HEAD --writable",
        "verify -r HEAD --all-history",
        "add k --kind git /x --at a --pick",
        "log k -n 0",
        "log k --limit 0",
        "ops -n 0",
        "ops -n -1",
        "log k --branch b",
        "log k --set a=b",
    ] {
        let output = dir.tether(line.split(' ')).exits(2);
        assert_eq!(output.stdout, "", "{line}");
        assert!(output.stderr.starts_with("Error: "), "{line}: {output}");
    }
    assert_eq!(dir.files(), before);
}

/// Surprise 29: the message is looked at before anything else, so also where there is no dataset.
#[test]
fn commit_asks_for_a_message_before_it_looks_at_anything() {
    let env = TestEnvironment::new();
    let dir = env.work_dir("nowhere");
    assert_snapshot!(dir.tether(["commit"]), @r"
    ------- stderr -------
    Error: a message is required: -m/--message
    Hint: tether commit -m MESSAGE
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["commit", "--dry-run"]), @r"
    ------- stderr -------
    Error: a message is required: -m/--message
    Hint: tether commit -m MESSAGE
    [exit status: 1]
    ");
}

#[test]
fn arguments_that_are_not_text_are_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let env = TestEnvironment::new();
    let dir = env.dataset();
    let odd = std::ffi::OsStr::from_bytes(b"\xff");
    let output = dir.tether([std::ffi::OsStr::new("open"), odd]).exits(2);
    assert!(output.stderr.contains("invalid UTF-8"), "{output}");
}
