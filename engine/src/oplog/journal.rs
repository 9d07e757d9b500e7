//! The write-ahead journal: what a running operation set out to do, and how far it got.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Result;
use crate::id::{OpId, WorkspaceId};

/// An open journal: one file, one JSON object a line, each synced before the effect it announces.
#[derive(Debug)]
#[must_use = "a journal that is dropped without `done` or `rolled_back` is an interrupted operation"]
pub struct Journal {
    path: PathBuf,
    /// The operation.
    pub operation: OpId,
}

/// A line of progress: what is about to happen or has happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// `pin`, `manifest`, `listing`, `vcs-commit`, ...
    pub action: String,
    /// `intent` before the effect, `done` after it.
    pub phase: String,
    /// What is needed to finish it or roll it back.
    pub detail: Value,
}

/// A journal whose operation never ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfinished {
    /// The operation.
    pub operation: OpId,
    /// Its checkout.
    pub workspace: WorkspaceId,
    /// When it began.
    pub at: String,
    /// Its command.
    pub command: String,
    /// Its plan.
    pub plan: Option<Value>,
    /// What it would have replaced.
    pub pre: Value,
    /// How far it got.
    pub progress: Vec<Progress>,
    pub(crate) path: PathBuf,
}

impl Journal {
    /// Begins a journal: plan and `pre` are on disk before this returns.
    pub fn begin(
        shared_dir: &Path,
        operation: OpId,
        workspace: &WorkspaceId,
        command: &str,
        plan: Option<Value>,
        pre: Value,
    ) -> Result<Self> {
        let _ = (shared_dir, operation, workspace, command, plan, pre);
        todo!("oplog owner")
    }

    /// Announces an effect; synced before this returns.
    pub fn intent(&mut self, action: &str, detail: Value) -> Result<()> {
        let _ = (action, detail);
        todo!("oplog owner")
    }

    /// Records that an effect landed; synced before this returns.
    pub fn did(&mut self, action: &str, detail: Value) -> Result<()> {
        let _ = (action, detail);
        todo!("oplog owner")
    }

    /// Ends the journal of an operation that was published: removes the file.
    pub fn done(self) -> Result<()> {
        let _ = &self.path;
        todo!("oplog owner")
    }

    /// Ends the journal of an operation that was rolled back whole: removes the file.
    pub fn rolled_back(self) -> Result<()> {
        todo!("oplog owner")
    }

    /// Journals left by operations that never ended, every checkout's, oldest first. Torn last lines are skipped. A journal whose
    /// process still runs (it holds the locks) is listed too: callers look only while they hold the repository lock.
    pub fn unfinished(shared_dir: &Path) -> Result<Vec<Unfinished>> {
        let _ = shared_dir;
        todo!("oplog owner")
    }

    /// Takes an unfinished journal up again, to finish it or to roll it back.
    pub fn resume(unfinished: &Unfinished) -> Self {
        Self {
            path: unfinished.path.clone(),
            operation: unfinished.operation.clone(),
        }
    }
}
