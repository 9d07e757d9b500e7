//! `tether undo`.

use tether_engine::Result;
use tether_engine::apply::undo::{self, UndoOptions};

use super::Outcome;
use crate::context::Context;
use crate::render;

/// Reverse an operation where the stores still allow it
///
/// Without OP_ID the newest operation that is neither an undo nor undone. `commit`: uncommits it (its manifests become changes of the
/// working tree again, the pins stay). `add`, `set`, `remove`: puts the manifests back; a store that `add --create` made is removed
/// while it is empty. An older operation, named by its id, gets back only the fields of workspace.toml that no later operation changed
/// again; the rest is listed as skipped. Exit code 3 when part of it could not be reversed; the rest was.
#[derive(Debug, clap::Args)]
pub struct UndoArgs {
    /// The operation: its id, or the beginning of it
    #[arg(value_name = "OP_ID")]
    operation: Option<String>,
    /// Give up what was edited or written since
    #[arg(long)]
    discard: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, args: &UndoArgs) -> Result<Outcome> {
    let options = UndoOptions {
        operation: args.operation.clone(),
        discard: args.discard,
    };
    let dataset = context.dataset()?;
    let console = context.console;
    let mut waiting = |line: &str| console.note(line);
    let undo = undo::run(&dataset, &options, &mut waiting);
    let report = context.wait("tether undo", undo)?;
    for note in &report.notes {
        console.note(&format!("note: {note}"));
    }
    if !args.json {
        for line in render::undo::irreversible(&report) {
            console.note(&line);
        }
    }
    console.answer(args.json, &report, |paint| {
        render::undo::text(&report, paint)
    })?;
    Ok(if report.is_whole() {
        Outcome::Fine
    } else {
        Outcome::Partly
    })
}
