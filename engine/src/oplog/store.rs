//! Views and operation records on disk: immutable files, written once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Operation, step};
use crate::error::{Error, Result};
use crate::fsutil;
use crate::id::{CommitId, OpId, ViewId, WorkspaceId};
use crate::json;
use crate::workspace::View;

/// What an operation record says beside its plan and what it replaced, which can be long.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct OpSummary {
    /// The operation.
    pub id: OpId,
    /// The checkout's operation before it.
    pub previous: Option<OpId>,
    /// Its command.
    pub command: String,
    /// The checkout.
    pub workspace: WorkspaceId,
    /// What it did.
    pub result: serde_json::Value,
    /// The dataset commit it made.
    pub commit: Option<CommitId>,
    /// For an undo: what it reversed.
    pub undoes: Option<OpId>,
    /// The operation it is a step of.
    pub step_of: Option<OpId>,
}

/// `<shared dir>/tether/{views,ops}`.
#[derive(Clone, Debug)]
pub struct OpStore {
    dir: PathBuf,
}

impl OpStore {
    /// The store below `shared_dir`; nothing is created until the first write.
    pub fn new(shared_dir: &Path) -> Self {
        Self {
            dir: shared_dir.join("tether"),
        }
    }

    /// `<shared dir>/tether`.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The id of a view: BLAKE2b (16 bytes) of its canonical JSON.
    pub fn view_id(view: &View) -> ViewId {
        id_of(view.canonical().as_bytes())
    }

    /// Writes a view, durably. The same view is the same file.
    pub fn put_view(&self, view: &View) -> Result<ViewId> {
        let content = view.canonical();
        let id = id_of(content.as_bytes());
        let path = self.view_path(&id);
        // A file with other content under this name is damaged, and this mends it.
        if fsutil::read_regular(&path)?.as_deref() != Some(content.as_bytes()) {
            fsutil::write_atomic(&path, content.as_bytes())?;
        }
        step("view.written");
        Ok(id)
    }

    /// Reads a view and checks its content against its name.
    pub fn view(&self, id: &ViewId) -> Result<View> {
        let path = self.view_path(id);
        let content = fsutil::read_regular(&path)?.ok_or_else(|| {
            lost(
                &format!("view {id} of this checkout is not in the view store"),
                &path,
            )
        })?;
        let damaged = || lost(&format!("view {id} of this checkout is damaged"), &path);
        if id_of(&content) != *id {
            return Err(damaged());
        }
        let text = std::str::from_utf8(&content).map_err(|_| damaged())?;
        View::from_canonical(text).map_err(|error| damaged().with_source(error))
    }

    /// Writes an operation record, durably; an id that is there already must hold the same.
    pub fn put_operation(&self, operation: &Operation) -> Result<()> {
        let path = self.operation_path(&operation.id);
        if fsutil::read_regular(&path)?.is_some() {
            if self.operation(&operation.id)? == *operation {
                return Ok(());
            }
            return Err(Error::internal(format!(
                "operation {} is on record already, with other content",
                operation.id
            )));
        }
        let mut content = serde_json::to_vec_pretty(operation)
            .map_err(|error| Error::internal("an operation has no JSON form").with_source(error))?;
        content.push(b'\n');
        fsutil::write_atomic(&path, &content)?;
        step("operation.written");
        Ok(())
    }

    /// Reads an operation record.
    pub fn operation(&self, id: &OpId) -> Result<Operation> {
        let path = self.operation_path(id);
        self.find(id)?.ok_or_else(|| {
            lost(
                &format!("operation {id} is not in the operation log"),
                &path,
            )
        })
    }

    /// Reads the short half of an operation record; `None` when there is no such record.
    pub fn summary(&self, id: &OpId) -> Result<Option<OpSummary>> {
        let path = self.operation_path(id);
        let Some(content) = fsutil::read_regular(&path)? else {
            return Ok(None);
        };
        let summary: Option<OpSummary> = serde_json::from_slice(&content).ok();
        summary
            .filter(|summary| summary.id == *id)
            .map(Some)
            .ok_or_else(|| lost(&format!("the record of operation {id} is damaged"), &path))
    }

    /// The chain from `head`, newest first, at most `limit`. A missing record ends the chain.
    pub fn chain(&self, head: &OpId, limit: usize) -> Result<Vec<Operation>> {
        let mut chain = Vec::new();
        let mut seen = BTreeSet::new();
        let mut next = Some(head.clone());
        while let Some(id) = next
            && chain.len() < limit
            && let Some(operation) = self.find(&id)?
            && seen.insert(id)
        {
            chain.push(operation);
            next = chain.last().and_then(|last| last.previous.clone());
        }
        Ok(chain)
    }

    fn find(&self, id: &OpId) -> Result<Option<Operation>> {
        let path = self.operation_path(id);
        let Some(content) = fsutil::read_regular(&path)? else {
            return Ok(None);
        };
        let operation: Option<Operation> = serde_json::from_slice(&content).ok();
        operation
            .filter(|operation| operation.id == *id)
            .map(Some)
            .ok_or_else(|| lost(&format!("the record of operation {id} is damaged"), &path))
    }

    fn view_path(&self, id: &ViewId) -> PathBuf {
        self.dir.join("views").join(id.as_str())
    }

    fn operation_path(&self, id: &OpId) -> PathBuf {
        self.dir.join("ops").join(format!("{id}.json"))
    }
}

fn id_of(content: &[u8]) -> ViewId {
    let mut hasher = json::Hasher::new(ViewId::DIGITS / 2);
    hasher.raw(content);
    hasher
        .finish()
        .parse()
        .unwrap_or_else(|_| unreachable!("16 bytes are 32 hexadecimal digits"))
}

fn lost(message: &str, path: &Path) -> Error {
    Error::config(message).with_hint(format!(
        "restore {} from a backup, or start from the committed state with `tether new BOOKMARK`",
        path.display()
    ))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
