//! `tether log`: an object's native history.

use std::path::Path;

use crate::backend::HistoryEntry;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::register::AddOptions;

/// Of a registered object.
pub async fn log(
    dataset: &Dataset,
    key: &str,
    from: Option<&str>,
    limit: usize,
) -> Result<Vec<HistoryEntry>> {
    let _ = (dataset, key, from, limit);
    todo!("query owner")
}

/// Of an object that is not registered (`--kind`), or about to be (`add --pick`).
pub async fn log_locator(
    dataset: &Dataset,
    cwd: &Path,
    object: &AddOptions,
    from: Option<&str>,
    limit: usize,
) -> Result<Vec<HistoryEntry>> {
    let _ = (dataset, cwd, object, from, limit);
    todo!("query owner")
}
