//! `tether set`.

use std::fmt::Write as _;

use clap::ValueEnum;
use tether_engine::key::Selection;
use tether_engine::manifest::{FileMode, PinMode};
use tether_engine::report::SetReport;
use tether_engine::{Error, Result, register};

use super::Outcome;
use crate::context::Context;
use crate::render::clean;

/// Change an object's policy in place
///
/// Manifest-only and logged. Commit afterwards to record the policy.
#[derive(Debug, clap::Args)]
pub struct SetArgs {
    /// Objects to change
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    /// Every registered object
    #[arg(long, conflicts_with = "keys")]
    all: bool,
    /// What a changed local file means (file objects)
    #[arg(long)]
    file: Option<FileArg>,
    /// native: a native ref per commit; record: the state alone
    #[arg(long)]
    pin: Option<PinArg>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `--file`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum FileArg {
    /// Any change of the bytes is an error
    Immutable,
    /// A change is news
    Versioned,
}

/// `--pin`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum PinArg {
    /// A native ref per commit
    Native,
    /// The state alone
    Record,
}

impl From<FileArg> for FileMode {
    fn from(arg: FileArg) -> Self {
        match arg {
            FileArg::Immutable => Self::Immutable,
            FileArg::Versioned => Self::Versioned,
        }
    }
}

impl From<PinArg> for PinMode {
    fn from(arg: PinArg) -> Self {
        match arg {
            PinArg::Native => Self::Native,
            PinArg::Record => Self::Record,
        }
    }
}

pub(super) fn run(context: &Context, args: &SetArgs) -> Result<Outcome> {
    if args.keys.is_empty() && !args.all {
        return Err(Error::user("give one or more KEY, or --all")
            .with_hint("tether set --all --pin record"));
    }
    if args.file.is_none() && args.pin.is_none() {
        return Err(Error::user("nothing to set: give --file or --pin")
            .with_hint("tether set --pin record KEY"));
    }
    let dataset = context.dataset()?;
    let keys = Selection(args.keys.clone());
    let (file, pin) = (args.file.map(FileMode::from), args.pin.map(PinMode::from));
    let console = context.console;
    let mut waiting = |line: &str| console.note(line);
    let set = register::set(&dataset, &keys, file, pin, &mut waiting);
    let report = context.wait("tether set", set)?;
    context
        .console
        .answer(args.json, &report, |_| text(&report))?;
    Ok(Outcome::Fine)
}

fn text(report: &SetReport) -> String {
    let mut out = String::new();
    for (key, fields) in &report.changed {
        let key = clean(key.as_str());
        for (field, change) in fields {
            let _ = writeln!(out, "  set {key}  {field} {} -> {}", change.from, change.to);
        }
    }
    for key in &report.unchanged {
        let _ = writeln!(out, "  unchanged {}", clean(key.as_str()));
    }
    if !report.changed.is_empty() {
        out.push_str("commit to record the policy\n");
    }
    out
}
