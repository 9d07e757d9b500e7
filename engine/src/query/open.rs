//! `tether open`.

use crate::dataset::Dataset;
use crate::error::Result;
use crate::report::OpenReport;

/// What the user asked `open` for.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// `-r`, else `TETHER_REV`.
    pub rev: Option<String>,
    /// `Some(true)`: `--writable`; `Some(false)`: `--read-only`.
    pub writable: Option<bool>,
}

/// The native address of an object.
pub async fn open(dataset: &Dataset, key: &str, options: &OpenOptions) -> Result<OpenReport> {
    let _ = (dataset, key, options);
    todo!("query owner")
}
