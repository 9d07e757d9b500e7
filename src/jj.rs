//! The `jj` command: stock jj with `jj tether`, which is every command of `tether`, and with tether following what jj does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, Command};
use tether_engine::apply::undo;
use tether_jj::{After, Options};

use crate::{cli, console, context, panics};

/// `jj tether ...` as jj's parser hands it over.
struct Tether(ArgMatches);

/// The name below `jj`.
const NAME: &str = "tether";

impl clap::FromArgMatches for Tether {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        match matches.subcommand() {
            Some((NAME, matches)) => Ok(Self(matches.clone())),
            _ => Err(clap::Error::new(clap::error::ErrorKind::InvalidSubcommand)),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Subcommand for Tether {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommand(cli::parser().name(NAME))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        name == NAME
    }
}

/// Runs `jj`. Returns its exit code.
pub fn main() -> ExitCode {
    let console = console::Console::from_process();
    if std::env::args_os().any(|arg| arg == NAME)
        && let Err(error) = tether_gitkit::env::scrub()
    {
        return ExitCode::from(console.error(&crate::not_scrubbed(error)));
    }
    ExitCode::from(tether_jj::run::<Tether>(
        |directory, options, tether| {
            panics::install();
            let console = console.with_colour(options.colour());
            let run = AssertUnwindSafe(|| run(console, directory, options, &tether.0));
            catch_unwind(run).unwrap_or_else(|_| console.error(&panics::error()))
        },
        |after| {
            let follow = AssertUnwindSafe(|| follow(console, &after));
            if catch_unwind(follow).is_err() {
                console.warn(&panics::error().one_line());
            }
        },
    ))
}

/// After a command of jj's own: tether's record of the checkout follows the operation log, and what `jj undo` and its like took back is
/// taken back in the stores too. The command itself is done: nothing here changes how it ends.
fn follow(console: console::Console, after: &After) {
    let here = std::env::current_dir().unwrap_or_default();
    let place = if here.starts_with(&after.workspace) {
        here
    } else {
        after.workspace.clone()
    };
    let context = context::Context::new(console, place, Options::default());
    // Most repositories with tether's folder in them are no dataset at some revision.
    let Ok(dataset) = context.dataset() else {
        return;
    };
    let followed = context.wait("tether", undo::after_vcs(&dataset, after.undoing));
    match followed {
        Ok(lines) => lines.iter().for_each(|line| console.note(line)),
        Err(error) => console.warn(&format!(
            "jj's command is done, and tether could not follow it: {}",
            error.one_line()
        )),
    }
}

/// Stock jj, for tests.
pub fn stock() -> ExitCode {
    ExitCode::from(tether_jj::stock())
}

fn run(console: console::Console, directory: &Path, options: Options, matches: &ArgMatches) -> u8 {
    let outcome = cli::command(matches).and_then(|command| {
        let context = context::Context::new(console, directory.to_owned(), options);
        command.run(&context)
    });
    match outcome {
        Ok(outcome) => outcome.exit_code(),
        Err(error) => console.error(&error),
    }
}
