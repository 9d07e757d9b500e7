//! The custom `jj`: stock jj, `jj tether`, and a look at the operation log after every command.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use jj_cli::cli_util::CliRunner;

use crate::templates::{CommitMethods, OperationMethods};
use crate::{Options, config, revsets};

/// The version of jj this build links, as the workspace's manifest pins it.
pub const JJ_VERSION: &str = "0.45.1";

const OUR_VERSION: &str = concat!("0.45.1 (tether ", env!("CARGO_PKG_VERSION"), ")");

/// A stock command that moved jj's operation log in a repository where tether was used.
#[derive(Debug)]
pub struct After {
    /// The root of the workspace it ran in.
    pub workspace: PathBuf,
    /// Whether it was an `undo`, a `redo`, an `op restore` or an `op revert`: what they took back in jj, tether takes back in the stores.
    pub undoing: bool,
}

/// Runs `jj`: its own commands, and `C` (`jj tether`) with the directory it runs in. `after` runs when a command of jj's own moved the
/// operation log of a repository that holds operations of tether's. Returns the exit code.
pub fn run<C: clap::Subcommand>(
    tether: impl FnOnce(&Path, Options, C) -> u8,
    after: impl FnOnce(After),
) -> u8 {
    let code = Rc::new(Cell::new(None));
    let told = Rc::clone(&code);
    let runner = extended(CliRunner::init())
        .version(OUR_VERSION)
        .add_subcommand(async move |_ui, command, args: C| {
            let directory = match &command.global_args().repository {
                Some(path) => command.cwd().join(path),
                None => command.cwd().to_owned(),
            };
            told.set(Some(tether(&directory, Options::of(command), args)));
            Ok(())
        })
        .add_dispatch_hook(async move |ui, command, inner| {
            let place = command.workspace_loader().ok().map(|loader| {
                let repository = loader.repo_path().to_owned();
                (loader.workspace_root().to_owned(), repository)
            });
            let Some((workspace, repository)) = place.filter(|(_, repository)| uses(repository))
            else {
                return inner.call(ui, command).await;
            };
            let before = heads(&repository);
            let undoing = undoes(command.matches());
            let outcome = inner.call(ui, command).await;
            let is_tether = command.matches().subcommand_name() == Some("tether");
            if !is_tether && heads(&repository) != before {
                after(After { workspace, undoing });
            }
            outcome
        });
    let status = runner.run();
    code.get().unwrap_or(status)
}

/// What `jj log` and `jj op log` show of tether, and how revsets ask for it.
fn extended(runner: CliRunner<'_>) -> CliRunner<'_> {
    let mut runner = runner
        .add_commit_template_extension(Box::new(CommitMethods))
        .add_operation_template_extension(Box::new(OperationMethods));
    for (name, function) in revsets::FUNCTIONS {
        runner = runner.add_revset_function_extension(name, function);
    }
    match config::defaults() {
        Ok(layer) => runner.add_extra_config(layer),
        Err(_) => runner,
    }
}

/// Stock jj, for tests that mix both.
pub fn stock() -> u8 {
    CliRunner::init().version(JJ_VERSION).run()
}

/// Whether tether was used in the repository.
fn uses(repository: &Path) -> bool {
    repository.join("tether").is_dir()
}

/// The heads of jj's operation log, by name.
fn heads(repository: &Path) -> Vec<std::ffi::OsString> {
    let Ok(entries) = std::fs::read_dir(repository.join("op_heads/heads")) else {
        return Vec::new();
    };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    names
}

fn undoes(matches: &clap::ArgMatches) -> bool {
    match matches.subcommand() {
        Some(("undo" | "redo", _)) => true,
        Some(("operation", matches)) => {
            matches!(matches.subcommand_name(), Some("restore" | "revert"))
        }
        _ => false,
    }
}
