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
    /// operation that makes no commit. A head that moved is a `StalePlan` error.
    fn publish(&self, operation: &Operation, expected: Option<&Head>) -> Result<()>;
}
