//! Scans of this process: one at a time per root, each starting from what the last one or the cache knows.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tether_engine::state::State;

use crate::cache::{Cache, Known};
use crate::scan::error::ScanResult;
use crate::scan::scan;
use crate::scan::tree::Tree;
use crate::state;

/// The most entries of all roots together that stay in memory, at about a hundred bytes each.
const MOST_KEPT: u64 = 1_500_000;

/// Which hashes a scan may take from earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Those of files whose stamps are the same.
    Changed,
    /// None: every byte is read again.
    Everything,
}

/// The scans of one process.
#[derive(Debug)]
pub(crate) struct Scans {
    cache: Option<Cache>,
    roots: Mutex<HashMap<PathBuf, Arc<Root>>>,
    kept: AtomicU64,
}

type Root = Mutex<Option<Kept>>;

/// The last scan of a root.
#[derive(Clone, Debug)]
struct Kept {
    state: State,
    tree: Arc<Tree>,
}

impl Scans {
    /// Scans that keep their hashes in `cache`.
    pub(crate) fn new(cache: Option<Cache>) -> Self {
        Self {
            cache,
            roots: Mutex::default(),
            kept: AtomicU64::new(0),
        }
    }

    /// The state of the file or directory at `root`, a path without links. Reads the disk and blocks.
    pub(crate) fn state(&self, root: &Path, read: Read) -> ScanResult<State> {
        let slot = self.slot(root);
        let mut last = slot.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self.observe(root, &mut last, read)?.state)
    }

    /// The listing of the directory at `root`, when it is in `state`.
    pub(crate) fn listing(&self, root: &Path, state: &State) -> ScanResult<Option<Vec<u8>>> {
        let slot = self.slot(root);
        let mut last = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = match last.as_ref() {
            Some(kept) if kept.state == *state => kept.clone(),
            _ => self.observe(root, &mut last, Read::Changed)?,
        };
        drop(last);
        Ok((seen.state == *state).then(|| state::listing(&seen.tree)))
    }

    fn slot(&self, root: &Path) -> Arc<Root> {
        let mut roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = roots.get(root) {
            return Arc::clone(slot);
        }
        Arc::clone(roots.entry(root.to_owned()).or_default())
    }

    fn observe(&self, root: &Path, last: &mut Option<Kept>, read: Read) -> ScanResult<Kept> {
        let known = match last.take() {
            Some(kept) => {
                self.kept.fetch_sub(kept.tree.count(), Ordering::Relaxed);
                Some((kept.tree, true))
            }
            None if read == Read::Everything => None,
            None => self.load(root),
        };
        let (earlier, own) = known.map_or((None, false), |(tree, own)| (Some(tree), own));
        let earlier = earlier.filter(|_| read == Read::Changed);
        let scanned = scan(root, earlier.as_deref())?;
        drop(earlier);
        let keep = || {
            if let Some(cache) = &self.cache
                && (scanned.learnt > 0 || !own)
            {
                cache.store(root, &scanned.tree);
            }
        };
        let ((), state) = rayon::join(keep, || state::of(&scanned.tree));
        let kept = Kept {
            state,
            tree: Arc::new(scanned.tree),
        };
        let count = kept.tree.count();
        if self.kept.fetch_add(count, Ordering::Relaxed) + count <= MOST_KEPT {
            *last = Some(kept.clone());
        } else {
            self.kept.fetch_sub(count, Ordering::Relaxed);
        }
        Ok(kept)
    }

    /// What the cache knows, and whether it comes from our own file.
    fn load(&self, root: &Path) -> Option<(Arc<Tree>, bool)> {
        let Known { tree, own } = self.cache.as_ref()?.load(root)?;
        Some((Arc::new(tree), own))
    }
}
