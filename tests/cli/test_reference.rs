//! `docs/cli-reference.md` is made from the parser; `UPDATE_REFERENCE=1 cargo test` writes it anew.

use std::fmt::Write as _;

fn reference() -> String {
    let mut out = String::from(
        "# Command line reference\n\n\
         Made from the parser by a test (`tests/cli/test_reference.rs`): do not edit.\n\n",
    );
    let mut parser = tether::cli::parser().term_width(100);
    parser.build();
    let help = parser.clone().render_long_help();
    let _ = write!(
        out,
        "## tether\n\n```text\n{}```\n",
        trimmed(&help.to_string())
    );
    for command in parser.get_subcommands() {
        if command.is_hide_set() || command.get_name() == "help" {
            continue;
        }
        let help = command.clone().term_width(100).render_long_help();
        let _ = write!(
            out,
            "\n## tether {}\n\n```text\n{}```\n",
            command.get_name(),
            trimmed(&help.to_string())
        );
    }
    out
}

/// `text` without spaces at the ends of lines.
fn trimmed(text: &str) -> String {
    text.lines().fold(String::new(), |mut out, line| {
        let _ = writeln!(out, "{}", line.trim_end());
        out
    })
}

#[test]
fn the_reference_is_what_the_parser_says() {
    let path = crate::common::checkout().join("docs/cli-reference.md");
    let expected = reference();
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(
        found == expected,
        "docs/cli-reference.md is out of date: UPDATE_REFERENCE=1 cargo test -p tether the_reference"
    );
}

#[test]
fn every_command_and_option_has_a_help_text() {
    let mut parser = tether::cli::parser();
    parser.build();
    for command in parser
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        assert!(command.get_about().is_some(), "{}", command.get_name());
        for argument in command.get_arguments() {
            assert!(
                argument.get_help().is_some(),
                "{} {}",
                command.get_name(),
                argument.get_id()
            );
        }
    }
}
