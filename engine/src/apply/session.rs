//! What every writing command holds while it runs: its locks.

use crate::dataset::Dataset;
use crate::error::Result;
use crate::lock::{Lock, LockKind};

/// The locks of one writing command, released on drop.
#[derive(Debug)]
#[must_use = "the locks are held only while this value lives"]
pub struct Session {
    // Fields drop in order: the checkout's lock first, as it was taken last.
    _checkout: Lock,
    _repository: Option<Lock>,
}

impl Session {
    /// For commands that write manifests and `workspace.toml` only (`add`, `remove`, `set`, `snapshot`).
    pub fn checkout(
        dataset: &Dataset,
        command: &str,
        waiting: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        Ok(Self {
            _checkout: checkout_lock(dataset, command, waiting)?,
            _repository: None,
        })
    }

    /// For commands that write to stores or to history: repository first, then checkout.
    pub fn repository(
        dataset: &Dataset,
        command: &str,
        waiting: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        let path = dataset.vcs.shared_dir().join("tether.lock");
        let repository = Lock::acquire(&path, LockKind::Repository, command, waiting)?;
        Ok(Self {
            _checkout: checkout_lock(dataset, command, waiting)?,
            _repository: Some(repository),
        })
    }
}

fn checkout_lock(dataset: &Dataset, command: &str, waiting: &mut dyn FnMut(&str)) -> Result<Lock> {
    let path = dataset.tether_path("lock");
    Lock::acquire(&path, LockKind::Checkout, command, waiting)
}
