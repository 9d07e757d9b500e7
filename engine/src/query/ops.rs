//! `tether ops`.

use crate::dataset::Dataset;
use crate::error::Result;
use crate::report::OpRow;

/// The newest operations of this checkout, newest first, unfinished ones included.
pub fn ops(dataset: &Dataset, limit: usize) -> Result<Vec<OpRow>> {
    let _ = (dataset, limit);
    todo!("query owner")
}
