//! `tether verify`.

use crate::dataset::Dataset;
use crate::error::Result;
use crate::key::Selection;
use crate::report::VerifyResult;

/// What the user asked `verify` for.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// `KEY...`.
    pub keys: Selection,
    /// `-r`.
    pub rev: Option<String>,
    /// `--all-history`.
    pub all_history: bool,
    /// `--deep`.
    pub deep: bool,
}

/// Checks recorded states and pins. The second value are warnings (cut history, unknown kinds, ...).
pub async fn verify(
    dataset: &Dataset,
    options: &VerifyOptions,
) -> Result<(VerifyResult, Vec<String>)> {
    let _ = (dataset, options);
    todo!("query owner")
}
