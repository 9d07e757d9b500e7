//! One file per command: its arguments (their comments are the help), and a `run` that asks the engine and prints the answer.

mod add;
mod backends;
mod commit;
mod diff;
mod init;
mod log;
mod open;
mod ops;
mod remove;
mod set;
mod snapshot;
mod status;
mod undo;
mod verify;

use clap::Subcommand;
use tether_engine::Result;

use crate::context::Context;

/// How a command that printed its answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// Exit code 0.
    Fine,
    /// The answer is that something is not right: exit code 1.
    NotFine,
    /// Part of the work was done: exit code 3.
    Partly,
}

impl Outcome {
    /// [`Outcome::Fine`] when `fine`.
    pub fn of(fine: bool) -> Self {
        if fine { Self::Fine } else { Self::NotFine }
    }

    /// 0, 1 or 3.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::NotFine => 1,
            Self::Partly => 3,
        }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[expect(missing_docs, reason = "the arguments' own comment is the help")]
    Init(init::InitArgs),
    #[expect(missing_docs, reason = "the arguments' own comment is the help")]
    Add(add::AddArgs),
    #[expect(missing_docs, reason = "the arguments' own comment is the help")]
    Set(set::SetArgs),
    #[expect(missing_docs, reason = "the arguments' own comment is the help")]
    Remove(remove::RemoveArgs),
    #[expect(missing_docs, reason = "the arguments' own comment is the help")]
    Status(status::StatusArgs),
    #[expect(missing_docs, reason = "the arguments' own comment is the help")]
    Snapshot(snapshot::SnapshotArgs),
    #[expect(missing_docs, reason = "the arguments' own comment is the help")]
    Commit(commit::CommitArgs),
    #[expect(missing_docs, reason = "the arguments' own comment is the help")]
    Open(open::OpenArgs),
    #[expect(missing_docs, reason = "the arguments' own comment is the help")]
    Verify(verify::VerifyArgs),
    #[expect(missing_docs, reason = "the arguments' own comment is the help")]
    Diff(diff::DiffArgs),
    #[expect(missing_docs, reason = "the arguments' own comment is the help")]
    Log(log::LogArgs),
    #[expect(missing_docs, reason = "the arguments' own comment is the help")]
    Ops(ops::OpsArgs),
    #[expect(missing_docs, reason = "the arguments' own comment is the help")]
    Undo(undo::UndoArgs),
    #[expect(missing_docs, reason = "the arguments' own comment is the help")]
    Backends(backends::BackendsArgs),
}

impl Command {
    /// Runs the command.
    pub fn run(&self, context: &Context) -> Result<Outcome> {
        match self {
            Self::Init(args) => init::run(context, args),
            Self::Add(args) => add::run(context, args),
            Self::Set(args) => set::run(context, args),
            Self::Remove(args) => remove::run(context, args),
            Self::Status(args) => status::run(context, args),
            Self::Snapshot(args) => snapshot::run(context, args),
            Self::Commit(args) => commit::run(context, args),
            Self::Open(args) => open::run(context, args),
            Self::Verify(args) => verify::run(context, args),
            Self::Diff(args) => diff::run(context, args),
            Self::Log(args) => log::run(context, args),
            Self::Ops(args) => ops::run(context, args),
            Self::Undo(args) => undo::run(context, args),
            Self::Backends(args) => backends::run(context, args),
        }
    }
}
