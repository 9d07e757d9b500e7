//! The operations of this checkout since its newest dataset commit that is still visible.
//!
//! What came before that commit was judged when it was made, so `status` neither reads nor reports it.

use std::collections::BTreeSet;

use crate::dataset::Dataset;
use crate::error::Result;
use crate::id::{CommitId, OpId};
use crate::oplog::{OpStore, OpSummary};

/// The most records looked at: a log that long without a visible commit says nothing more.
const LIMIT: usize = 200;

/// The operations, newest first, and the dataset commits among them that left history.
#[derive(Debug, Default)]
pub(super) struct Recent {
    /// Without the visible commit that ends them.
    pub(super) operations: Vec<OpSummary>,
    /// Operations whose dataset commit is not visible, and that neither tether undid nor gave up.
    pub(super) gone: Vec<(OpId, CommitId)>,
}

impl Recent {
    pub(super) fn read(dataset: &Dataset) -> Result<Self> {
        let mut recent = Self::default();
        let mut given_up = BTreeSet::new();
        let store = dataset.op_store();
        let mut next = dataset.oplog.head()?.map(|head| head.operation);
        for _ in 0..LIMIT {
            let Some(operation) = find(&store, next.as_ref())? else {
                break;
            };
            next.clone_from(&operation.previous);
            // `gc` released what the commits before it had lost, and said so.
            if operation.command == "gc" {
                break;
            }
            given_up.extend(operation.undoes.iter().map(|id| id.as_str().to_owned()));
            given_up.extend(abandoned(&operation));
            if let Some(commit) = &operation.commit {
                if dataset.vcs.visible(std::slice::from_ref(commit))? == [true] {
                    break;
                }
                let known =
                    given_up.contains(operation.id.as_str()) || given_up.contains(commit.as_str());
                if !known {
                    recent.gone.push((operation.id.clone(), commit.clone()));
                }
            }
            recent.operations.push(operation);
        }
        Ok(recent)
    }

    /// The keys that `remove` took away.
    pub(super) fn removed(&self) -> BTreeSet<&str> {
        self.operations
            .iter()
            .filter(|operation| operation.command == "remove")
            .filter_map(|operation| operation.result.get("key")?.as_str())
            .collect()
    }
}

fn find(store: &OpStore, id: Option<&OpId>) -> Result<Option<OpSummary>> {
    id.map_or(Ok(None), |id| store.summary(id))
}

/// The commits that `abandon` and `drop` took out of history on purpose.
fn abandoned(operation: &OpSummary) -> impl Iterator<Item = String> {
    let ids = operation
        .result
        .get("abandoned")
        .and_then(serde_json::Value::as_array)
        .cloned()
        .unwrap_or_default();
    ids.into_iter()
        .filter_map(|id| id.as_str().map(str::to_owned))
}
