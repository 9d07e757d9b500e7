//! The command line of tether: what a user types, and what is printed back. Rules live in `tether-engine`.
//!
//! ```text
//!   bin/tether -> main -> cli       what can be typed (commands/*: one file per command, its help and its `run`)
//!                          |
//!                        context    the console, the runtime, and the dataset that `discover` finds
//!                          |            backends: the one list of store kinds in this build
//!                        engine     plans, applies, answers with a report
//!                          |
//!                        render     a report as text; JSON comes from the report itself
//!                          |
//!                        console    standard output and standard error, colour, closed pipes
//! ```
//!
//! Every command ends in [`commands::Outcome`] or a [`tether_engine::Error`]; `error` prints the latter and the error's kind is the
//! exit code. No panic reaches the user: `panics` turns one into an internal error.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use tether_engine::Error;

pub mod backends;
pub mod cli;
pub mod commands;
pub mod console;
pub mod context;
pub mod discover;
pub mod error;
pub mod jj;
mod panics;
pub mod render;

/// Runs the program: environment first, then the command line, then the command. Returns its exit code.
pub fn main() -> ExitCode {
    panics::install();
    let console = console::Console::from_process();
    let run = AssertUnwindSafe(|| run(console, std::env::args_os().collect()));
    let code = catch_unwind(run).unwrap_or_else(|_| console.error(&panics::error()));
    ExitCode::from(code)
}

fn run(console: console::Console, args: Vec<OsString>) -> u8 {
    if let Err(error) = tether_gitkit::env::scrub() {
        return console.error(&not_scrubbed(error));
    }
    panics::on_request();
    let outcome = match cli::parse(args) {
        Ok(command) => context::Context::here(console).and_then(|context| command.run(&context)),
        Err(cli::Refusal::Usage(error)) => return console.usage(&error),
        Err(cli::Refusal::Error(error)) => Err(error),
    };
    match outcome {
        Ok(outcome) => outcome.exit_code(),
        Err(error) => console.error(&error),
    }
}

fn not_scrubbed(error: std::io::Error) -> Error {
    Error::internal("cannot run again without git's environment variables")
        .with_source(error)
        .with_hint("unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE")
}
