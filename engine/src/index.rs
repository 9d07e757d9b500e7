//! The clone's three indexes beside the VCS's shared directory: memories, not authority (FORMAT, 'Clone indexes').
//!
//! One JSON object a line, appended in one write and synced. A torn last line is skipped and never extended.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::id::{DatasetId, PinId};
use crate::name::BookmarkName;
use crate::state::{Identity, Locator};

/// A pin this clone made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PinnedEntry {
    /// The dataset.
    pub dataset_id: DatasetId,
    /// The pin.
    pub pin_id: PinId,
    /// The backend kind.
    pub kind: String,
    /// The object that first used it.
    pub key: String,
    /// When.
    pub at: String,
}

/// A store this clone pinned or forked in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoreEntry {
    /// The dataset.
    pub dataset_id: DatasetId,
    /// The backend kind.
    pub kind: String,
    /// The system.
    pub identity: Identity,
    /// How to reach it.
    pub locator: Locator,
    /// The object.
    pub key: String,
    /// `tether-created.jsonl` only: the bookmark it was created on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bookmark: Option<BookmarkName>,
    /// When.
    pub at: String,
}

/// The three files of one clone.
#[derive(Clone, Debug)]
pub struct Indexes {
    dir: PathBuf,
}

impl Indexes {
    /// The indexes in `shared_dir`.
    pub fn new(shared_dir: &Path) -> Self {
        Self {
            dir: shared_dir.to_owned(),
        }
    }

    /// The pins on record for a dataset.
    pub fn pinned(&self, dataset: &DatasetId) -> Result<Vec<PinnedEntry>> {
        let _ = (&self.dir, dataset);
        todo!("oplog owner")
    }

    /// Records pins; one on record already is not written again. Creates the file even for none.
    pub fn add_pinned(&self, entries: &[PinnedEntry]) -> Result<()> {
        let _ = entries;
        todo!("oplog owner")
    }

    /// Forgets pins that were released.
    pub fn remove_pinned(&self, dataset: &DatasetId, pins: &[PinId]) -> Result<()> {
        let _ = (dataset, pins);
        todo!("oplog owner")
    }

    /// The stores on record for a dataset.
    pub fn touched(&self, dataset: &DatasetId) -> Result<Vec<StoreEntry>> {
        let _ = dataset;
        todo!("oplog owner")
    }

    /// Records a store; an identity on record already is not written again.
    pub fn add_touched(&self, entry: &StoreEntry) -> Result<()> {
        let _ = entry;
        todo!("oplog owner")
    }

    /// The created stores on record for a dataset.
    pub fn created(&self, dataset: &DatasetId) -> Result<Vec<StoreEntry>> {
        let _ = dataset;
        todo!("oplog owner")
    }

    /// Records a created store.
    pub fn add_created(&self, entry: &StoreEntry) -> Result<()> {
        let _ = entry;
        todo!("oplog owner")
    }

    /// Forgets a created store.
    pub fn remove_created(&self, dataset: &DatasetId, identity: &Identity) -> Result<()> {
        let _ = (dataset, identity);
        todo!("oplog owner")
    }
}
