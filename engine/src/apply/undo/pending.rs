//! The store half of what was undone and is not settled.
//!
//! The repository's own undo (jj) moves a checkout's head back, and knows nothing of stores. The operations between the one that
//! `workspace.toml` materialises and the head it follows to are undone; those that made something in stores are *pending* until they
//! are settled. While the file still names the old operation they follow from it; once it is rewritten they are in
//! `<shared dir>/tether/pending/<checkout>.json`. An operation that is in the head's chain again (`jj redo`) is not pending.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::named;
use super::settle::{self, Settled};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::fsutil;
use crate::id::{OpId, WorkspaceId};
use crate::oplog::{OpStore, OpSummary};
use crate::workspace::Workspace;

/// `<shared dir>/tether/pending/<checkout>.json`.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Stored {
    /// Newest first.
    operations: Vec<OpId>,
}

/// The undone operations of this checkout whose store half is not settled, newest first. Nothing is written.
pub(crate) fn read(dataset: &Dataset) -> Result<Vec<OpId>> {
    let Some(file) = on_disk(dataset)? else {
        return Ok(Vec::new());
    };
    let mut pending = moved_past(dataset, &file)?;
    let known = stored(dataset, &file.id)?;
    if !known.is_empty() {
        let standing = standing(dataset, &known)?;
        let known = known.into_iter().filter(|id| !standing.contains(id));
        for id in known {
            if !pending.contains(&id) {
                pending.push(id);
            }
        }
    }
    Ok(pending)
}

/// A sentence per pending operation.
pub(crate) fn warnings(dataset: &Dataset) -> Result<Vec<String>> {
    let store = dataset.op_store();
    let mut warnings = Vec::new();
    for id in read(dataset)? {
        let Some(operation) = store.summary(&id)? else {
            continue;
        };
        warnings.push(format!(
            "operation {} was undone, and what it made in stores is still there: `tether undo` takes it back",
            named(&operation.id, &operation.command, &operation.result)
        ));
    }
    Ok(warnings)
}

/// Called before `workspace.toml` is rewritten: what the old one says is pending is recorded.
pub(crate) fn before_rewrite(dataset: &Dataset) -> Result<()> {
    if !dataset.oplog.moves_with_vcs() {
        return Ok(());
    }
    match on_disk(dataset)? {
        Some(file) => add(dataset, &file.id, &moved_past(dataset, &file)?),
        None => Ok(()),
    }
}

/// Whether `workspace.toml` is behind the log, or anything is pending.
pub(crate) fn is_due(dataset: &Dataset) -> Result<bool> {
    let Some(file) = on_disk(dataset)? else {
        return Ok(false);
    };
    let head = dataset.oplog.head()?.map(|head| head.operation);
    let here = file.materialised.map(|(operation, _)| operation);
    Ok(head != here || path(dataset, &file.id).exists())
}

/// Writes `workspace.toml` as `workspace` has it, when it follows the log and the file is behind. Call with the checkout's lock held.
pub(crate) fn follow(dataset: &Dataset, workspace: &Workspace) -> Result<()> {
    let Some(file) = on_disk(dataset)? else {
        return Ok(());
    };
    // A file that something else wrote stays as it is: the next writing command records it.
    let foreign = workspace.materialised.is_none() && dataset.oplog.head()?.is_some();
    if foreign || file.materialised == workspace.materialised {
        return Ok(());
    }
    dataset.write_workspace(workspace)
}

/// Records operations as pending.
pub(crate) fn add(dataset: &Dataset, workspace: &WorkspaceId, operations: &[OpId]) -> Result<()> {
    if operations.is_empty() {
        return Ok(());
    }
    let mut all = operations.to_vec();
    let known = stored(dataset, workspace)?;
    all.extend(known.into_iter().filter(|id| !operations.contains(id)));
    write(dataset, workspace, all)
}

/// Records that only `open` is pending.
pub(crate) fn keep(dataset: &Dataset, workspace: &WorkspaceId, open: &[OpId]) -> Result<()> {
    if stored(dataset, workspace)? == open {
        return Ok(());
    }
    write(dataset, workspace, open.to_vec())
}

/// What settling came to.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) settled: Settled,
    /// What could not be reached.
    pub(crate) error: Option<Error>,
    open: Vec<OpId>,
}

impl Outcome {
    /// One line per thing that happened or did not.
    pub(crate) fn lines(&self) -> Vec<String> {
        let settled = &self.settled;
        let restored = settled
            .restored
            .iter()
            .map(|line| format!("restored {line}"));
        let irreversible = settled.irreversible.iter();
        let irreversible = irreversible.map(|line| format!("IRREVERSIBLE {line}"));
        let kept = settled.kept.iter().map(|line| format!("skipped {line}"));
        let written = settled.written.iter();
        let written =
            written.map(|line| format!("kept {line}; `tether undo --discard` deletes it"));
        let mut lines: Vec<String> = restored
            .chain(irreversible)
            .chain(kept)
            .chain(written)
            .collect();
        lines.extend(self.error.as_ref().map(|error| {
            format!(
                "what was undone is still in stores ({}); `tether undo` tries again",
                error.one_line()
            )
        }));
        lines
    }

    /// Brings `workspace.toml` and the pending file up to it. Call with the checkout's lock held.
    pub(crate) fn follow(&self, dataset: &Dataset) -> Result<()> {
        let workspace = dataset.workspace()?;
        follow(dataset, &workspace)?;
        keep(dataset, &workspace.id, &self.open)
    }
}

/// Settles pending operations, newest first.
pub(crate) async fn settle(dataset: &Dataset, pending: &[OpId], discard: bool) -> Outcome {
    let store = dataset.op_store();
    let mut outcome = Outcome::default();
    let mut errors = Vec::new();
    for id in pending {
        let settled = match store.operation(id) {
            Ok(operation) => settle::settle(dataset, &operation, discard).await,
            Err(error) => Err(error),
        };
        match settled {
            Ok(settled) => {
                if !settled.is_settled() {
                    outcome.open.push(id.clone());
                }
                let all = &mut outcome.settled;
                all.restored.extend(settled.restored);
                all.irreversible.extend(settled.irreversible);
                all.kept.extend(settled.kept);
                all.written.extend(settled.written);
            }
            Err(error) => {
                outcome.open.push(id.clone());
                errors.push(error);
            }
        }
    }
    if !errors.is_empty() {
        outcome.error = Some(Error::several(errors));
    }
    outcome
}

/// `workspace.toml` as it is on disk.
fn on_disk(dataset: &Dataset) -> Result<Option<Workspace>> {
    let text = fsutil::read_regular(&dataset.tether_path("workspace.toml"))?;
    text.map(|text| Workspace::parse(&text)).transpose()
}

/// The operations with a store half that `file` is past, because the repository's own undo took them back.
fn moved_past(dataset: &Dataset, file: &Workspace) -> Result<Vec<OpId>> {
    let Some((old, _)) = &file.materialised else {
        return Ok(Vec::new());
    };
    if !dataset.oplog.moves_with_vcs() {
        return Ok(Vec::new());
    }
    let head = dataset.oplog.head()?.map(|head| head.operation);
    if head.as_ref() == Some(old) {
        return Ok(Vec::new());
    }
    let store = dataset.op_store();
    let undone = between(old, head.as_ref(), &|id| store.summary(id))?;
    with_store_half(&store, undone)
}

/// The operations from `old` back that are not among `new` and its ancestors, newest first, those left out that tether undid itself:
/// an undo settles what it reverses.
fn between(
    old: &OpId,
    new: Option<&OpId>,
    read: &dyn Fn(&OpId) -> Result<Option<OpSummary>>,
) -> Result<Vec<OpSummary>> {
    let mut left = Vec::new();
    let mut seen_old = BTreeSet::new();
    let mut seen_new = BTreeSet::new();
    let (mut old, mut new) = (Some(old.clone()), new.cloned());
    let mut common = None;
    // Both chains step by step: what is undone is near, however long the log is.
    while common.is_none() && (old.is_some() || new.is_some()) {
        if let Some(id) = new.take() {
            if seen_old.contains(&id) {
                common = Some(id.clone());
            }
            let previous = read(&id)?.and_then(|entry| entry.previous);
            // A chain that bites its tail ends.
            let first = seen_new.insert(id);
            new = previous.filter(|_| first);
        }
        if let Some(id) = old.take().filter(|_| common.is_none()) {
            if seen_new.contains(&id) {
                common = Some(id);
            } else if seen_old.insert(id.clone())
                && let Some(entry) = read(&id)?
            {
                old.clone_from(&entry.previous);
                left.push(entry);
            }
        }
    }
    let mut reversed = BTreeSet::new();
    let mut undone = Vec::new();
    for entry in left {
        if common.as_ref() == Some(&entry.id) {
            break;
        }
        match &entry.undoes {
            Some(other) => {
                reversed.insert(other.clone());
            }
            None if reversed.contains(&entry.id) => {}
            None => undone.push(entry),
        }
    }
    Ok(undone)
}

fn with_store_half(store: &OpStore, entries: Vec<OpSummary>) -> Result<Vec<OpId>> {
    let mut found = Vec::new();
    for entry in entries {
        if settle::has_effects(&store.operation(&entry.id)?) {
            found.push(entry.id);
        }
    }
    Ok(found)
}

/// Which of `ids` are in the head's chain and not undone there.
fn standing(dataset: &Dataset, ids: &[OpId]) -> Result<BTreeSet<OpId>> {
    let store = dataset.op_store();
    let mut standing = BTreeSet::new();
    let mut reversed = BTreeSet::new();
    let mut next = dataset.oplog.head()?.map(|head| head.operation);
    while let Some(id) = next.take() {
        let Some(entry) = store.summary(&id)? else {
            break;
        };
        if ids.contains(&id) && !reversed.contains(&id) {
            standing.insert(id);
        }
        reversed.extend(entry.undoes);
        next = entry.previous;
    }
    Ok(standing)
}

fn path(dataset: &Dataset, workspace: &WorkspaceId) -> PathBuf {
    let dir = dataset.vcs.shared_dir().join("tether/pending");
    dir.join(format!("{workspace}.json"))
}

fn stored(dataset: &Dataset, workspace: &WorkspaceId) -> Result<Vec<OpId>> {
    let path = path(dataset, workspace);
    let Some(text) = fsutil::read_regular(&path)? else {
        return Ok(Vec::new());
    };
    let stored: Stored = serde_json::from_slice(&text).map_err(|_| {
        Error::config(format!("{} cannot be read", path.display())).with_hint(format!(
            "remove it; `tether gc` finds what the operations it names left in stores: rm {}",
            path.display()
        ))
    })?;
    Ok(stored.operations)
}

fn write(dataset: &Dataset, workspace: &WorkspaceId, operations: Vec<OpId>) -> Result<()> {
    let path = path(dataset, workspace);
    if operations.is_empty() {
        return fsutil::remove_durably(&path);
    }
    let text = serde_json::to_vec(&Stored { operations }).map_err(|error| {
        Error::internal("pending operations have no JSON form").with_source(error)
    })?;
    fsutil::write_atomic(&path, &text)
}

#[cfg(test)]
#[path = "pending_tests.rs"]
mod tests;
