//! The workspaces of a repository.

use std::path::{Path, PathBuf};

use jj_lib::ref_name::WorkspaceName;
use jj_lib::workspace_store::{SimpleWorkspaceStore, WorkspaceStore};
use tether_engine::vcs::Checkout;

use crate::repo::{Jj, real};

impl Jj {
    /// Every workspace, this one first.
    pub(crate) fn workspaces(&self) -> Vec<Checkout> {
        let store = SimpleWorkspaceStore::load(&self.repository).ok();
        let mut checkouts = vec![Checkout {
            name: self.name.as_str().to_owned(),
            path: self.root.clone(),
            current: true,
            readable: true,
        }];
        for name in self.repo().view().wc_commit_ids().keys() {
            if **name == *self.workspace_name() {
                continue;
            }
            let path = self.path_of(store.as_ref(), name);
            let readable = path.as_deref().is_some_and(is_workspace);
            checkouts.push(Checkout {
                name: name.as_str().to_owned(),
                path: path.unwrap_or_default(),
                current: false,
                readable,
            });
        }
        checkouts
    }

    /// Where a workspace is: jj's record, or for the one that owns the repository the directory around it.
    fn path_of(
        &self,
        store: Option<&SimpleWorkspaceStore>,
        name: &WorkspaceName,
    ) -> Option<PathBuf> {
        let recorded = store
            .and_then(|store| store.get_workspace_path(name).ok().flatten())
            .map(|path| real(&self.repository.join(path)));
        let owner = || {
            let owner = self.repository.parent()?.parent()?;
            let is_owner = name == WorkspaceName::DEFAULT && owner.join(".jj/repo").is_dir();
            is_owner.then(|| owner.to_owned())
        };
        recorded.filter(|path| is_workspace(path)).or_else(owner)
    }
}

fn is_workspace(path: &Path) -> bool {
    path.join(".jj/working_copy").is_dir()
}
