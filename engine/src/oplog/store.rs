//! Views and operation records on disk: immutable files, written once.

use std::path::{Path, PathBuf};

use super::Operation;
use crate::error::Result;
use crate::id::{OpId, ViewId};
use crate::workspace::View;

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
        let _ = view;
        todo!("oplog owner")
    }

    /// Writes a view, durably. The same view is the same file.
    pub fn put_view(&self, view: &View) -> Result<ViewId> {
        let _ = view;
        todo!("oplog owner")
    }

    /// Reads a view and checks its content against its name.
    pub fn view(&self, id: &ViewId) -> Result<View> {
        let _ = id;
        todo!("oplog owner")
    }

    /// Writes an operation record, durably; an id that is there already must hold the same.
    pub fn put_operation(&self, operation: &Operation) -> Result<()> {
        let _ = operation;
        todo!("oplog owner")
    }

    /// Reads an operation record.
    pub fn operation(&self, id: &OpId) -> Result<Operation> {
        let _ = id;
        todo!("oplog owner")
    }

    /// The chain from `head`, newest first, at most `limit`. A missing record ends the chain.
    pub fn chain(&self, head: &OpId, limit: usize) -> Result<Vec<Operation>> {
        let _ = (head, limit);
        todo!("oplog owner")
    }
}
