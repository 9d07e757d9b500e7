//! Finishing or rolling back an undo that was killed.

use serde_json::Value;

use super::steps::{self, UNCOMMIT};
use crate::apply::publish;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::id::{CommitId, OpId};
use crate::oplog::{Journal, Operation, Unfinished};
use crate::register;
use crate::vcs::UncommitRequest;

/// Ends an interrupted undo: one that was published, or whose commit is taken back, is finished; any other is rolled back. What
/// happened, in a line. Call with both locks held.
pub(crate) async fn recover(dataset: &Dataset, unfinished: &Unfinished) -> Result<String> {
    let id = &unfinished.operation;
    let journal = Journal::resume(unfinished);
    let stands = dataset.oplog.published(id)? || publish_uncommitted(dataset, unfinished)?;
    if !stands {
        register::roll_back(dataset, unfinished)?;
        journal.rolled_back()?;
        return Ok(format!("rolled back the interrupted undo {id}"));
    }
    let undone: Option<OpId> = read(&unfinished.pre, "undoes");
    let workspace = dataset.workspace()?;
    match undone {
        Some(undone) => {
            let target = dataset.op_store().operation(&undone)?;
            let discard = read(&unfinished.pre, "discard").unwrap_or_default();
            steps::finish(dataset, journal, &workspace, &target, discard).await?;
        }
        None => journal.done()?,
    }
    Ok(format!("finished the interrupted undo {id}"))
}

/// Publishes the undo whose dataset commit was taken back before it could be published. Whether there was one.
fn publish_uncommitted(dataset: &Dataset, unfinished: &Unfinished) -> Result<bool> {
    let announced = unfinished
        .progress
        .iter()
        .find(|step| step.action == UNCOMMIT);
    let Some(request) = announced.and_then(|step| request(&step.detail)) else {
        return Ok(false);
    };
    let parent: Option<CommitId> = read(&unfinished.pre, "parent");
    let position = dataset.vcs.position()?;
    let is_back = position.head == parent && position.bookmarks.contains(&request.bookmark);
    if !is_back {
        return Ok(false);
    }
    let operation: Operation = dataset.op_store().operation(&unfinished.operation)?;
    if dataset.vcs.carries_operations() {
        // Git was told (a colocated repository), and jj took it from there.
        let commit = std::slice::from_ref(&request.commit);
        if dataset.vcs.visible(commit)? != [false] {
            return Ok(false);
        }
    } else {
        // What a kill left of it (git's index) is completed.
        dataset.vcs.uncommit(&request, &operation)?;
    }
    let head = dataset.oplog.head()?;
    dataset.oplog.publish(&operation, head.as_ref())?;
    let mut workspace = dataset.workspace()?;
    publish::published(&mut workspace, operation);
    Ok(true)
}

fn request(detail: &Value) -> Option<UncommitRequest> {
    Some(UncommitRequest {
        commit: read(detail, "commit")?,
        bookmark: read(detail, "bookmark")?,
    })
}

fn read<T: serde::de::DeserializeOwned>(value: &Value, field: &str) -> Option<T> {
    let value = value.get(field).filter(|value| !value.is_null())?;
    serde_json::from_value(value.clone()).ok()
}
