//! What an undo looks at before it decides.

use std::collections::BTreeMap;

use serde_json::Value;

use super::choose::Log;
use super::plan::{FileSeen, Seen, Writer};
use super::settle;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::json;
use crate::key::ObjectKey;
use crate::oplog::{OpSummary, Operation};
use crate::vcs::UncommitRequest;
use crate::workspace::{View, Workspace};

/// The field of an operation's `pre` with a fingerprint of each manifest it left; null where it left none.
pub(crate) const LEFT: &str = "left";

/// A manifest's content as [`LEFT`] has it.
pub(crate) fn fingerprint(text: &[u8]) -> String {
    json::hash(16, [text])
}

/// Looks at everything that reversing `chosen` depends on. A dataset commit that cannot be taken back is an error.
pub(super) async fn see(
    dataset: &Dataset,
    workspace: &Workspace,
    log: &Log,
    chosen: &OpSummary,
    discard: bool,
) -> Result<Seen> {
    let store = dataset.op_store();
    let target = store.operation(&chosen.id)?;
    let left = store.view(&target.view)?;
    let before = match &target.previous {
        Some(previous) => store.view(&store.operation(previous)?.view)?,
        None => View::default(),
    };
    let uncommit = uncommit(dataset, &target, &left)?;
    let files = if uncommit.is_some() {
        Vec::new()
    } else {
        files(dataset, log, &target)?
    };
    let stores = settle::look(dataset, &target, discard).await?;
    Ok(Seen {
        files,
        uncommit,
        now: workspace.view.clone(),
        left,
        before,
        stores,
        target,
    })
}

fn uncommit(dataset: &Dataset, target: &Operation, left: &View) -> Result<Option<UncommitRequest>> {
    let Some(commit) = &target.commit else {
        return Ok(None);
    };
    let bookmark = left.bookmark.clone().ok_or_else(|| {
        Error::internal(format!(
            "operation {} made a commit on no bookmark",
            target.id
        ))
    })?;
    let request = UncommitRequest {
        commit: commit.clone(),
        bookmark,
    };
    dataset.vcs.check_can_uncommit(&request).map_err(|error| {
        let message = format!(
            "cannot undo {} ({}): {}",
            target.id,
            target.command,
            error.message()
        );
        let hint = error.hint().unwrap_or("`tether ops` lists the operations");
        Error::new(error.kind(), message).with_hint(hint)
    })?;
    Ok(Some(request))
}

/// The manifests that `target` replaced, and who wrote what is there now.
fn files(dataset: &Dataset, log: &Log, target: &Operation) -> Result<Vec<FileSeen>> {
    let mut files = Vec::new();
    for (key, old) in replaced(&target.pre) {
        let now = dataset.manifest_bytes(&key)?;
        let by = writer(dataset, log, target, &key, now.as_deref())?;
        files.push(FileSeen {
            key,
            old,
            now: now.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            by,
        });
    }
    Ok(files)
}

/// The manifests that an operation replaced, as its `pre` has them: `objects` by key, or `files` by path.
fn replaced(pre: &Value) -> BTreeMap<ObjectKey, Option<String>> {
    let objects = pre.get("objects").and_then(Value::as_object);
    let objects = objects.into_iter().flatten();
    let files = pre.get("files").and_then(Value::as_object);
    let files = files.into_iter().flatten();
    let files = files.map(|(path, old)| (key_of(path), old));
    objects
        .map(|(key, old)| (Some(key.as_str()), old))
        .chain(files)
        .filter_map(|(key, old)| Some((key?.parse().ok()?, old.as_str().map(ToOwned::to_owned))))
        .collect()
}

fn key_of(path: &str) -> Option<&str> {
    path.strip_prefix(".tether/objects/")?.strip_suffix(".toml")
}

/// The newest operation, from `target` on, that left what is there now.
fn writer(
    dataset: &Dataset,
    log: &Log,
    target: &Operation,
    key: &ObjectKey,
    now: Option<&[u8]>,
) -> Result<Writer> {
    let store = dataset.op_store();
    for (entry, undone) in log.after(&target.id) {
        let operation = store.operation(&entry.id)?;
        if leaves(dataset, &operation, key, now) {
            return Ok(if undone || operation.undoes.is_some() {
                Writer::Undone
            } else {
                Writer::Later(operation.id, operation.command)
            });
        }
    }
    Ok(if leaves(dataset, target, key, now) {
        Writer::Undone
    } else {
        Writer::Unknown
    })
}

/// Whether `operation` wrote the manifest of `key` as it is now.
fn leaves(dataset: &Dataset, operation: &Operation, key: &ObjectKey, now: Option<&[u8]>) -> bool {
    if let Some(left) = operation
        .pre
        .get(LEFT)
        .and_then(|left| left.get(key.as_str()))
    {
        let now = now.map(fingerprint);
        return left.as_str() == now.as_deref();
    }
    let (Some(commit), Some(now)) = (&operation.commit, now) else {
        return false;
    };
    let path = dataset.manifest_repo_path(key);
    // A commit that is not there any more says nothing.
    let there = dataset.vcs.read_at(commit, &path).unwrap_or_default();
    let before = match operation.pre.get("head").and_then(Value::as_str) {
        Some(head) => dataset
            .vcs
            .read_at(&crate::id::CommitId::new(head), &path)
            .unwrap_or_default(),
        None => None,
    };
    there.as_deref() == Some(now) && there != before
}
