//! `init`, `add`, `set`, `remove`: what is tracked. Manifests only, logged; `add --create` makes a store first.

use std::path::Path;
use std::sync::Arc;

use crate::backend::Registry;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::id::DatasetId;
use crate::key::{ObjectKey, Selection};
use crate::manifest::{FileMode, PinMode};
use crate::oplog::OpLog;
use crate::report::{AddReport, InitReport, SetReport};
use crate::state::Locator;
use crate::vcs::Vcs;

/// Makes a dataset at `root`, whole or not at all: nothing stays behind when it fails.
pub fn init(
    root: &Path,
    vcs: &Arc<dyn Vcs>,
    oplog: &Arc<dyn OpLog>,
    id: Option<DatasetId>,
) -> Result<InitReport> {
    let _ = (root, vcs, oplog, id);
    todo!("register owner")
}

/// What the user asked `add` for.
#[derive(Clone, Debug, Default)]
pub struct AddOptions {
    /// KEY as typed, when it was given.
    pub key: Option<String>,
    /// LOCATOR as typed (or the lone positional).
    pub locator: Option<String>,
    /// `--kind`.
    pub kind: String,
    /// Named locator options and `--set`, in the order given.
    pub fields: Locator,
    /// `--file`.
    pub file: Option<FileMode>,
    /// `--pin`.
    pub pin: Option<PinMode>,
    /// `--create`.
    pub create: bool,
}

/// Registers an object. Relative local paths are resolved against `cwd`.
pub async fn add(dataset: &Dataset, cwd: &Path, options: &AddOptions) -> Result<AddReport> {
    let _ = (dataset, cwd, options);
    todo!("register owner")
}

/// Changes policies in place.
pub fn set(
    dataset: &Dataset,
    keys: &Selection,
    file: Option<FileMode>,
    pin: Option<PinMode>,
) -> Result<SetReport> {
    let _ = (dataset, keys, file, pin);
    todo!("register owner")
}

/// Unregisters an object; its store is not touched.
pub fn remove(dataset: &Dataset, key: &ObjectKey) -> Result<()> {
    let _ = (dataset, key);
    todo!("register owner")
}

/// The store and backend an `add` (or a `log --kind`) would register: locator resolved, validated, key derived.
#[must_use]
pub fn registry_kinds(registry: &Registry) -> Vec<String> {
    registry
        .iter()
        .map(|backend| backend.kind().to_owned())
        .collect()
}
