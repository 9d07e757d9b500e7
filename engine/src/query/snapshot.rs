//! `tether snapshot`, and the fan-out that `status --snapshot`, `commit` and `verify` share.

use std::collections::BTreeMap;

use crate::dataset::Dataset;
use crate::error::Result;
use crate::key::{ObjectKey, Selection};
use crate::manifest::Manifests;
use crate::report::SnapshotReport;
use crate::state::State;
use crate::workspace::Workspace;

/// Fingerprints objects concurrently at their position in this checkout, each failure kept with its object.
///
/// `only_movable`: leave out objects that this checkout cannot have moved (the guide's 'Positions'), as `commit` does.
pub async fn observe(
    dataset: &Dataset,
    manifests: &Manifests,
    workspace: &Workspace,
    keys: &[ObjectKey],
    only_movable: bool,
) -> BTreeMap<ObjectKey, Result<State>> {
    let _ = (dataset, manifests, workspace, keys, only_movable);
    todo!("query owner")
}

/// Fingerprints and caches in `workspace.toml`.
pub async fn snapshot(dataset: &Dataset, keys: &Selection) -> Result<SnapshotReport> {
    let _ = (dataset, keys);
    todo!("query owner")
}
