//! The facade that commands call: one opened dataset with its repository, its backends, and its files.
//!
//! Opening reads `tether.toml` and checks the trust boundary before `secrets.toml` is read. Manifests, `workspace.toml` and secrets are
//! read when asked for. Reads are in `query`, writes in `apply`; this file holds what both share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::backend::{Backend, Registry, Store};
use crate::config::Config;
use crate::error::Result;
use crate::id::CommitId;
use crate::key::ObjectKey;
use crate::manifest::{Manifest, Manifests};
use crate::oplog::OpLog;
use crate::secrets::Secrets;
use crate::state::State;
use crate::vcs::Vcs;
use crate::workspace::Workspace;

/// What opening a dataset needs from outside.
pub struct Parts {
    /// The directory that holds `tether.toml`.
    pub root: PathBuf,
    /// The enclosing repository.
    pub vcs: Arc<dyn Vcs>,
    /// Where this checkout's head of the operation log is kept.
    pub oplog: Arc<dyn OpLog>,
    /// The backends of this build.
    pub registry: Registry,
}

/// One opened dataset.
pub struct Dataset {
    /// The directory that holds `tether.toml`.
    pub root: PathBuf,
    /// The dataset's place below [`Vcs::workdir`], `/`-separated, `""` when it is the root itself.
    pub prefix: String,
    /// The enclosing repository.
    pub vcs: Arc<dyn Vcs>,
    /// Where this checkout's head of the operation log is kept.
    pub oplog: Arc<dyn OpLog>,
    /// The backends of this build.
    pub registry: Registry,
    /// `tether.toml`.
    pub config: Config,
    /// `.tether/secrets.toml`.
    pub secrets: Secrets,
    /// Warnings found while opening (readable secrets, ...), for stderr.
    pub warnings: Vec<String>,
}

impl Dataset {
    /// Opens the dataset at `parts.root`.
    pub fn open(parts: Parts) -> Result<Self> {
        let _ = parts;
        todo!("commit owner")
    }

    /// `.tether/<name>`.
    pub fn tether_path(&self, name: &str) -> PathBuf {
        self.root.join(".tether").join(name)
    }

    /// A path below the dataset's root as the repository has it.
    pub fn repo_path(&self, below_root: &str) -> String {
        if self.prefix.is_empty() {
            below_root.to_owned()
        } else {
            format!("{}/{below_root}", self.prefix)
        }
    }

    /// The working tree's manifests. One that does not parse is an error that names it; unreadable directories are errors.
    pub fn manifests(&self) -> Result<Manifests> {
        todo!("commit owner")
    }

    /// The manifests at a commit.
    pub fn manifests_at(&self, commit: &CommitId) -> Result<Manifests> {
        let _ = commit;
        todo!("commit owner")
    }

    /// `.tether/workspace.toml`; a fresh one (not written) when absent. Refused while the VCS tracks it.
    pub fn workspace(&self) -> Result<Workspace> {
        todo!("commit owner")
    }

    /// Writes `.tether/workspace.toml`, atomically.
    pub fn write_workspace(&self, workspace: &Workspace) -> Result<()> {
        let _ = workspace;
        todo!("commit owner")
    }

    /// The backend and the store of an object, after [`Backend::validate`].
    pub fn store_of(&self, manifest: &Manifest) -> Result<(Arc<dyn Backend>, Store)> {
        let _ = manifest;
        todo!("commit owner")
    }

    /// The path of the listing of a state, below `.tether/`.
    pub fn listing_path(&self, manifest: &Manifest, state: &State) -> Result<PathBuf> {
        let _ = (manifest, state);
        todo!("commit owner")
    }

    /// Whether this checkout works on the trunk bookmark.
    pub fn on_trunk(&self, workspace: &Workspace) -> bool {
        workspace.view.bookmark.as_ref() == Some(&self.config.trunk)
    }

    /// Keys whose committed state is another than this checkout's working refs correspond to.
    pub fn stale_keys(&self, manifests: &Manifests, workspace: &Workspace) -> Vec<ObjectKey> {
        let _ = (manifests, workspace);
        todo!("commit owner")
    }

    /// The root.
    pub fn root(&self) -> &Path {
        &self.root
    }
}
