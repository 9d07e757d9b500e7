//! The view store: operations, views, and the write-ahead journal (DESIGN, 'The view store').
//!
//! `<shared dir>/tether/` holds immutable views (`views/`), operation records (`ops/`), journals of running operations
//! (`journal/`), and under plain git one head per checkout (`heads/`). [`OpLog`] is where a checkout's head is kept: a file under
//! git, an anchor inside jj's own View under jj.

mod follow;
mod heads;
mod journal;
mod step;
mod store;

pub use follow::follow;
pub use heads::FileHeads;
pub use journal::{Journal, Progress, Unfinished};
pub use step::step;
pub use store::{OpStore, OpSummary};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Result;
use crate::id::{CommitId, OpId, ViewId, WorkspaceId};

/// A finished operation. Immutable once written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// Its id.
    pub id: OpId,
    /// The checkout's operation before it; `None` for the first.
    pub previous: Option<OpId>,
    /// When it was applied: ISO 8601.
    pub at: String,
    /// `add`, `remove`, `set`, `commit`, `new`, `fork`, `import-view`, ...
    pub command: String,
    /// The checkout.
    pub workspace: WorkspaceId,
    /// The view it left.
    pub view: ViewId,
    /// The plan it applied, as saved.
    pub plan: Option<Value>,
    /// What it did.
    pub result: Value,
    /// What undo needs: what it replaced.
    pub pre: Value,
    /// The dataset commit it made.
    pub commit: Option<CommitId>,
    /// For an undo: what it reversed.
    pub undoes: Option<OpId>,
    /// The operation it is a step of.
    pub step_of: Option<OpId>,
    /// Its finished steps, from the journal.
    pub progress: Vec<Value>,
}

/// A checkout's place in the operation log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The newest operation.
    pub operation: OpId,
    /// The view it left.
    pub view: ViewId,
}

/// Where a checkout's head is kept, and how it moves.
pub trait OpLog: Send + Sync {
    /// This checkout's head; `None` before the first operation.
    fn head(&self) -> Result<Option<Head>>;

    /// Makes `operation` (already in the [`OpStore`]) the head, when the head still is `expected`. This is the commit point of an
    /// operation that makes no commit. A head that moved is a `StalePlan` error; a head that is `operation` already is success.
    fn publish(&self, operation: &Operation, expected: Option<&Head>) -> Result<()>;

    /// Called with the locks held before a writing command observes: what the user changed in the working copy is recorded as the
    /// user's, so that it is not part of the operation (jj: a snapshot). Does nothing under git.
    fn begin(&self) -> Result<()> {
        Ok(())
    }

    /// Whether `operation` was ever published in this checkout, also when it was undone since.
    fn published(&self, operation: &OpId) -> Result<bool>;

    /// Whether the repository's own undo moves the head (jj). A checkout without a head is then at its start: there is no operation
    /// that was not undone.
    fn moves_with_vcs(&self) -> bool {
        false
    }

    /// Publishes `undo` by taking the whole repository back to before `undone`, when nothing but undone operations happened since.
    /// `false`: other things happened since, and nothing was done; or this log cannot do that (git).
    ///
    /// The working copy is as it was before `undone` afterwards. `undo` is the head afterwards.
    fn rewind(&self, undo: &Operation, undone: &OpId, expected: Option<&Head>) -> Result<bool> {
        let _ = (undo, undone, expected);
        Ok(false)
    }

    /// The newest `limit` operations of this checkout that the repository's own log holds and that are not among the head's ancestors:
    /// those its own undo took back. Newest first.
    fn taken_back(&self, limit: usize) -> Result<Vec<OpId>> {
        let _ = limit;
        Ok(Vec::new())
    }
}
