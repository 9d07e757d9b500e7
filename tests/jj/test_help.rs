//! Help, completion and the alias that stock jj users have.

use crate::common::{TestEnvironment, WorkDir};

/// What a shell is offered for `WORDS...`, of which the last is being typed.
fn offered(dir: &WorkDir<'_>, words: &[&str]) -> Vec<String> {
    let script = format!(
        "COMPLETE=bash _CLAP_COMPLETE_INDEX={} _CLAP_IFS=$'\\n' jj -- {}",
        words.len() - 1,
        words
            .iter()
            .map(|word| format!("'{word}'"))
            .collect::<Vec<_>>()
            .join(" ")
    );
    let output = dir.shell(&script).success();
    output.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn help_of_jj_has_tether_and_keeps_its_own() {
    let env = TestEnvironment::new();
    let dir = env.work_dir(".");
    for args in [&["help"][..], &["--help"], &["-h"]] {
        let help = dir.jj(args).success().stdout;
        assert!(help.contains("\n  tether "), "{help}");
        assert!(help.contains("\n  rebase "), "{help}");
    }
    let usage = |args: &[&str], usage: &str| {
        let help = dir.jj(args).success().stdout;
        assert!(help.contains(usage), "{help}");
    };
    usage(
        &["tether", "--help"],
        "Usage: jj tether [OPTIONS] <COMMAND>",
    );
    usage(&["help", "tether"], "Usage: jj tether [OPTIONS] <COMMAND>");
    usage(
        &["tether", "commit", "--help"],
        "Usage: jj tether commit [OPTIONS] [KEY]...",
    );
    usage(
        &["help", "tether", "commit"],
        "Usage: jj tether commit [OPTIONS] [KEY]...",
    );
    for topic in ["revsets", "templates", "config"] {
        let args = ["help", "-k", topic];
        assert_eq!(
            dir.jj(args).success().stdout,
            dir.stock_jj(args).success().stdout
        );
    }
    dir.jj(["tether", "nosuch"]).exits(2);
}

/// The options of jj's that every command takes do not clash with those of a command of tether's.
#[test]
fn every_command_of_tether_has_its_help_below_jj() {
    let env = TestEnvironment::new();
    let dir = env.work_dir(".");
    let parser = tether::cli::parser();
    let shown = parser.get_subcommands().filter(|it| !it.is_hide_set());
    let mut count = 0;
    for command in shown {
        let name = command.get_name();
        let help = dir.jj(["tether", name, "--help"]).success().stdout;
        assert!(help.contains(&format!("Usage: jj tether {name}")), "{help}");
        count += 1;
    }
    assert!(count > 10);
}

/// `jj --color` and `ui.color` hold for `jj tether` too, but never for JSON.
#[test]
fn colour_is_what_jj_was_told() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("ds");
    env.code("code");
    dir.tether(["init"]).success();
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    let coloured = |args: &[&str]| dir.jj(args).success().stdout.contains('\u{1b}');
    assert!(!coloured(&["tether", "status"]));
    assert!(coloured(&["tether", "status", "--color", "always"]));
    assert!(!coloured(&[
        "tether", "status", "--color", "always", "--json"
    ]));
    env.jj_config("[ui]\ncolor = \"always\"\n");
    assert!(coloured(&["tether", "status"]));
    assert!(!coloured(&["--color", "never", "tether", "status"]));
    assert!(!dir.tether(["status"]).success().stdout.contains('\u{1b}'));
}

#[test]
fn shells_complete_commands_of_tether() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("ds");
    assert_eq!(offered(&dir, &["jj", "teth"]), ["tether"]);
    let commands = offered(&dir, &["jj", "tether", ""]);
    for command in ["init", "commit", "status", "ops"] {
        assert!(commands.iter().any(|c| c == command), "{commands:?}");
    }
    assert_eq!(offered(&dir, &["jj", "tether", "comm"]), ["commit"]);
    assert_eq!(
        offered(&dir, &["jj", "tether", "commit", "--mess"]),
        ["--message"]
    );
    // What jj completes itself still is.
    dir.jj(["bookmark", "create", "mine"]).success();
    let bookmarks = offered(&dir, &["jj", "log", "-r", "mi"]);
    assert!(bookmarks.iter().any(|name| name == "mine"), "{bookmarks:?}");
    for shell in ["bash", "zsh", "fish"] {
        let script = dir.jj(["util", "completion", shell]).success().stdout;
        assert!(script.contains("tether"), "{shell}");
    }
}

/// Users of stock jj reach tether through an alias; this build has the command, says so, and runs it.
#[test]
fn the_alias_of_stock_jj_users_does_no_harm() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("ds");
    env.jj_config("[aliases]\ntether = [\"util\", \"exec\", \"--\", \"tether\"]\n");
    let through = dir
        .shell("stock-jj tether init && stock-jj tether status --json")
        .success();
    assert!(through.stdout.contains("initialized"), "{through}");
    let ours = dir.jj(["tether", "status", "--json"]).success();
    ours.json();
    assert!(
        ours.stderr
            .contains("Cannot define an alias that overrides the built-in command 'tether'"),
        "{ours}"
    );
    let refused = dir.shell("stock-jj tether commit -m x nosuch").exits(1);
    assert!(refused.stderr.contains("nosuch"), "{refused}");
}
