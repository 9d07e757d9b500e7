//! Finishing or rolling back what a killed command left, from its journal.

use crate::dataset::Dataset;
use crate::error::Result;

/// Finishes or rolls back every unfinished operation of this checkout. Call with both locks held. Returns one line per operation.
pub async fn recover(dataset: &Dataset) -> Result<Vec<String>> {
    let _ = dataset;
    todo!("commit owner")
}
