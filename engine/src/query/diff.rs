//! `tether diff`.

use crate::dataset::Dataset;
use crate::error::Result;
use crate::key::Selection;
use crate::report::DiffRow;

/// What the user asked `diff` for.
#[derive(Clone, Debug, Default)]
pub struct DiffOptions {
    /// The earlier side; `None`: the last commit.
    pub rev_a: Option<String>,
    /// The later side; `None`: the working tree.
    pub rev_b: Option<String>,
    /// `--key`.
    pub keys: Selection,
    /// `--content`.
    pub content: bool,
}

/// Compares manifests, and with `content` the objects' insides.
pub async fn diff(dataset: &Dataset, options: &DiffOptions) -> Result<Vec<DiffRow>> {
    let _ = (dataset, options);
    todo!("query owner")
}
