//! The [`Vcs`](tether_engine::vcs::Vcs) over gix, for plain git repositories.

use std::path::{Path, PathBuf};

use tether_engine::Result;

/// A plain git repository.
pub struct GitVcs {
    _private: (),
}

impl GitVcs {
    /// Opens the checkout whose working tree is at `workdir`. `git` is the configured executable, if any.
    pub fn open(workdir: &Path, git: Option<PathBuf>) -> Result<Self> {
        let _ = (workdir, git);
        todo!("git-fallback owner")
    }
}
