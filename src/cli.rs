//! What can be typed: the parser, and what it says about commands that exist elsewhere but not here yet.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, CommandFactory as _, FromArgMatches as _, Parser};
use tether_engine::{Error, ErrorKind};

use crate::commands::Command;

/// Version control for datasets that live in several systems at once
#[derive(Debug, Parser)]
#[command(
    name = "tether",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
#[command(after_help = "\
Exit codes: 0 success, 1 an error (`verify`, `status`: something is not right), 2 a mistake on the command line, \
3 part of the work was done.

KEY names one object; KEY ending in '/' names every object below it. Options end with `--`: `tether status -- -odd-key`.")]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// Commands of tether that this build does not have.
pub const NOT_YET: &[&str] = &[
    "abandon",
    "drop",
    "export",
    "forget-workspace",
    "gc",
    "import",
    "new",
    "promote",
    "publish",
    "pull",
    "recover",
    "repair",
    "restore",
    "upgrade",
];

/// Why a command line is not acted on.
#[derive(Debug)]
pub enum Refusal {
    /// The parser's answer: a mistake, the help, or the version.
    Usage(clap::Error),
    /// An error to print like any other.
    Error(Error),
}

/// The parser, with hidden entries for the commands of [`NOT_YET`].
pub fn parser() -> clap::Command {
    let rest = || {
        Arg::new("rest")
            .action(ArgAction::Append)
            .trailing_var_arg(true)
            .allow_hyphen_values(true)
            .value_parser(clap::value_parser!(OsString))
    };
    NOT_YET.iter().fold(Cli::command(), |parser, name| {
        let absent = clap::Command::new(*name)
            .hide(true)
            .disable_help_flag(true)
            .about("Not in this build yet")
            .arg(rest());
        parser.subcommand(absent)
    })
}

/// Reads the command line.
pub fn parse(args: Vec<OsString>) -> Result<Command, Refusal> {
    let matches = parser()
        .try_get_matches_from(args)
        .map_err(Refusal::Usage)?;
    command(&matches).map_err(Refusal::Error)
}

/// The command that a parsed command line names.
pub fn command(matches: &ArgMatches) -> tether_engine::Result<Command> {
    if let Some(name) = matches
        .subcommand_name()
        .filter(|name| NOT_YET.contains(name))
    {
        let error = Error::new(
            ErrorKind::Capability,
            format!("`tether {name}` is not in this build yet; nothing was done"),
        );
        return Err(error.with_hint("`tether --help` lists the commands of this build"));
    }
    let cli = Cli::from_arg_matches(matches).map_err(|error| {
        Error::internal("the command line was parsed and cannot be read").with_source(error)
    })?;
    Ok(cli.command)
}

/// The value of `-n`: a whole number of at least one.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("a whole number of at least 1 is needed".to_owned()),
        Ok(number) => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parser_is_consistent() {
        parser().debug_assert();
    }

    #[test]
    fn no_command_is_both_here_and_not_here() {
        let here: Vec<_> = Cli::command()
            .get_subcommands()
            .map(|command| command.get_name().to_owned())
            .collect();
        assert!(
            NOT_YET
                .iter()
                .all(|name| !here.contains(&(*name).to_owned()))
        );
    }
}
