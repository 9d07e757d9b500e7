//! `tether undo`: reversing an operation where the repository and the stores still allow it.
//!
//! ```text
//! choose   which operation: the newest that is neither an undo nor undone, or the one that is named
//! see      what there is now: the manifests it replaced, the commit it made, the view, the stores
//! plan     what comes back, what stays, and what is refused (pure)
//! steps    journal -> publish -> stores -> workspace.toml -> journal closed
//! settle   the store half: what the operation made, unless somebody wrote to it since
//! pending  the store half of what the repository's own undo took back
//! recover  an undo that was killed
//! ```
//!
//! A refused undo writes nothing. An undo is an operation itself, with what it reversed in `undoes`; the log stays linear. Where the
//! repository's own undo can do the work (jj), it does: one operation of its log, which its own `undo` and `redo` understand.

mod after;
mod choose;
pub(crate) mod pending;
mod plan;
pub(crate) mod recover;
mod see;
pub mod settle;
mod steps;

use serde_json::Value;

use super::recover as interrupted;
use super::session::Session;
use crate::dataset::Dataset;
use crate::error::{Error, ErrorKind, Result};
use crate::id::OpId;
use crate::query::summary::summary;
use crate::report::UndoReport;
use choose::Log;
pub(crate) use see::{LEFT, fingerprint};

pub use after::after_vcs;

/// What the user asked `undo` for.
#[derive(Clone, Debug, Default)]
pub struct UndoOptions {
    /// The operation, by its id or the beginning of it; the newest one when `None`.
    pub operation: Option<String>,
    /// Gives up edits and writes that were made since.
    pub discard: bool,
}

/// Takes the locks, ends what was interrupted, and reverses one operation.
///
/// What the repository's own undo left to do in stores comes first; when no operation is named, that is all that is done.
pub async fn run(
    dataset: &Dataset,
    options: &UndoOptions,
    waiting: &mut (dyn FnMut(&str) + Send),
) -> Result<UndoReport> {
    let _session = Session::repository(dataset, "tether undo", waiting)?;
    dataset.oplog.begin()?;
    let mut notes = interrupted::recover(dataset).await?;
    if let Some(report) = finish_pending(dataset, options, &mut notes).await? {
        return Ok(report);
    }
    let workspace = dataset.workspace()?;
    let wanted = options.operation.as_deref();
    let log = Log::read(dataset, &workspace.id, wanted.is_none())?;
    let chosen = log.choose(wanted)?;
    let seen = see::see(dataset, &workspace, &log, chosen, options.discard).await?;
    let plan = plan::plan(&seen, options.discard)?;
    let mut report = steps::apply(dataset, workspace, &seen.target, plan, options.discard).await?;
    notes.append(&mut report.notes);
    report.notes = notes;
    Ok(report)
}

/// Settles what is pending. The report, when that is what was asked for.
async fn finish_pending(
    dataset: &Dataset,
    options: &UndoOptions,
    notes: &mut Vec<String>,
) -> Result<Option<UndoReport>> {
    let pending = pending::read(dataset)?;
    let Some(newest) = pending.first() else {
        return Ok(None);
    };
    let asked = options.operation.is_none();
    if !asked {
        for line in pending::settle(dataset, &pending, false).await.lines() {
            notes.push(line);
        }
        return Ok(None);
    }
    let operation = dataset.op_store().operation(newest)?;
    let outcome = pending::settle(dataset, &pending, options.discard).await;
    outcome.follow(dataset)?;
    if let Some(error) = outcome.error {
        return Err(error);
    }
    if !outcome.settled.written.is_empty() {
        return Err(Error::new(
            ErrorKind::Unpinned,
            format!(
                "the repository's undo took operations back, and not all they made is deleted: {}",
                outcome.settled.written.join("; ")
            ),
        )
        .with_hint(
            "`tether undo --discard` deletes it, `tether undo ID` undoes another operation",
        ));
    }
    Ok(Some(UndoReport {
        undone: operation.id.clone(),
        summary: summary(&operation.command, &operation.result),
        command: operation.command,
        undo_id: None,
        restored: outcome.settled.restored,
        irreversible: outcome.settled.irreversible,
        skipped: outcome.settled.kept,
        notes: Vec::new(),
    }))
}

/// `commit pinned zarr; vcs c2371d89ea14`.
fn words(command: &str, result: &Value) -> String {
    let words = summary(command, result);
    format!("{command} {words}").trim_end().to_owned()
}

/// What an operation says in a message: `3f1c9a2b7d4e (add zarr)`.
fn named(id: &OpId, command: &str, result: &Value) -> String {
    format!("{id} ({})", words(command, result))
}
