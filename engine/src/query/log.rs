//! `tether log`: an object's native history.

use std::path::Path;

use super::manifest_of;
use crate::backend::{Backend, Capability, HistoryEntry, Store};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::register::{self, AddOptions};

/// Of a registered object, from `from`, else from its working ref, else from its position.
pub async fn log(
    dataset: &Dataset,
    key: &str,
    from: Option<&str>,
    limit: usize,
) -> Result<Vec<HistoryEntry>> {
    let manifest = manifest_of(dataset, key)?;
    let named = |error: Error| error.for_object(&manifest.key, &manifest.kind);
    let (backend, store) = dataset.store_of(&manifest)?;
    let workspace = dataset.workspace()?;
    let working_ref = workspace.view.working_refs.get(&manifest.key);
    let from = match from {
        Some(from) => Some(checked(from)?),
        None => working_ref.map(crate::name::NativeRef::as_str),
    };
    history(&*backend, &store, from, limit).await.map_err(named)
}

/// Of an object that is not registered (`--kind`), or about to be (`add --pick`).
pub async fn log_locator(
    dataset: &Dataset,
    cwd: &Path,
    object: &AddOptions,
    from: Option<&str>,
    limit: usize,
) -> Result<Vec<HistoryEntry>> {
    let manifest = register::unregistered(dataset, cwd, object)?;
    let (backend, store) = dataset.store_of(&manifest)?;
    let from = from.map(checked).transpose()?;
    let history = history(&*backend, &store, from, limit).await;
    history.map_err(|error| error.for_object(&manifest.key, &manifest.kind))
}

async fn history(
    backend: &dyn Backend,
    store: &Store,
    from: Option<&str>,
    limit: usize,
) -> Result<Vec<HistoryEntry>> {
    if !backend.effective(store).has(Capability::History) {
        return Err(backend.unsupported("keeps no history"));
    }
    backend.history(store, from, limit).await
}

/// A ref that cannot be taken for an option or for none.
fn checked(from: &str) -> Result<&str> {
    let usable =
        !from.trim().is_empty() && !from.starts_with('-') && !from.chars().any(char::is_control);
    if usable {
        Ok(from)
    } else {
        Err(Error::user(format!("{from:?} is not a name of a ref"))
            .with_hint("`tether log` without --ref shows the ids and refs there are"))
    }
}
