//! `tether backends`.

use crate::backend::Registry;
use crate::report::BackendRow;

/// One row per kind, installed or not, by name.
pub fn backends(registry: &Registry) -> Vec<BackendRow> {
    let _ = registry;
    todo!("query owner")
}
