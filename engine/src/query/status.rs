//! `tether status`.

use crate::dataset::Dataset;
use crate::error::Result;
use crate::key::Selection;
use crate::report::StatusReport;

/// Classifies objects. `snapshot`: `Some(true)` fingerprints now, `Some(false)` never, `None` as `[snapshot] auto` says; a checkout
/// without a snapshot takes one unless told not to.
pub async fn status(
    dataset: &Dataset,
    keys: &Selection,
    snapshot: Option<bool>,
) -> Result<StatusReport> {
    let _ = (dataset, keys, snapshot);
    todo!("query owner")
}
