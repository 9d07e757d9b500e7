//! A store that `add --create` made.

use std::sync::Arc;

use super::branch::Branch;
use super::{Mode, Settled};
use crate::backend::{Backend, Store};
use crate::dataset::{Dataset, files};
use crate::error::Result;
use crate::id::DatasetId;
use crate::index::Indexes;
use crate::manifest::Manifest;
use crate::name::NativeRef;
use crate::state::{Identity, State};

/// The store, and the branch that was made in it.
pub(super) struct Made<'a> {
    dataset: &'a Dataset,
    manifest: &'a Manifest,
    backend: Arc<dyn Backend>,
    store: Store,
    identity: Identity,
    fork: Option<&'a (NativeRef, Option<State>)>,
}

impl<'a> Made<'a> {
    pub(super) fn new(
        dataset: &'a Dataset,
        manifest: &'a Manifest,
        fork: Option<&'a (NativeRef, Option<State>)>,
    ) -> Result<Self> {
        let (backend, store) = dataset.store_of(manifest)?;
        Ok(Self {
            identity: backend.identity(&store.locator)?,
            dataset,
            manifest,
            backend,
            store,
            fork,
        })
    }

    /// Removes the store when it is still as it was made; otherwise says why it stays.
    pub(super) async fn take_back(
        &self,
        discard: bool,
        mode: Mode,
        settled: &mut Settled,
    ) -> Result<()> {
        let place = self.place();
        let key = &self.manifest.key;
        let removed = format!("{key}: removed the empty store at {place}");
        let owner = self.backend.owner(&self.store).await?;
        if owner.is_none() && self.is_gone().await {
            // Nothing can be said about why, so the clone's record of it stays for `gc`.
            settled
                .restored
                .push(format!("{key}: the store at {place} is gone"));
            return Ok(());
        }
        if let Some(reason) = self.stays(owner.as_ref())? {
            settled
                .kept
                .push(format!("{key}: kept the store at {place}: {reason}"));
            return Ok(());
        }
        if let Some((native, at)) = self.fork {
            let branch = Branch {
                backend: &*self.backend,
                store: &self.store,
                key,
                native,
            };
            if !branch.delete(at.as_ref(), discard, mode, settled).await? {
                return Ok(());
            }
        }
        let ours: Vec<NativeRef> = match (self.fork, mode) {
            (Some((native, _)), Mode::Look) => vec![native.clone()],
            _ => Vec::new(),
        };
        let empty = self.backend.is_ref_empty(&self.store, &ours).await?;
        if empty != Some(true) {
            let reason = match empty {
                None => "whether it is empty cannot be told",
                _ => "it has content now",
            };
            settled
                .kept
                .push(format!("{key}: kept the store at {place}: {reason}"));
            return Ok(());
        }
        if mode == Mode::TakeBack {
            let owner = &self.dataset.config.dataset;
            self.backend.delete_store(&self.store, owner).await?;
            self.forget()?;
        }
        settled.restored.push(removed);
        Ok(())
    }

    /// Whether the store without an owner is not there at all.
    async fn is_gone(&self) -> bool {
        self.backend.fingerprint(&self.store, None).await.is_err()
    }

    /// Why the store stays whatever is in it.
    fn stays(&self, owner: Option<&DatasetId>) -> Result<Option<String>> {
        let ours = &self.dataset.config.dataset;
        match owner {
            Some(owner) if owner == ours => {}
            Some(owner) => return Ok(Some(format!("dataset {owner} owns it now"))),
            None => return Ok(Some("its owner's mark is gone".to_owned())),
        }
        let (manifests, _) = self.dataset.manifests_tolerant()?;
        let other = manifests
            .values()
            .find(|other| other.key != self.manifest.key && self.is_in(other));
        if let Some(other) = other {
            return Ok(Some(format!("object {} is in it too", other.key)));
        }
        let history = self.dataset.vcs.history(&self.dataset.prefix)?;
        let committed = history.trees.values().any(|tree| {
            let manifests = files::readable(tree);
            manifests.values().any(|manifest| self.is_in(manifest))
        });
        Ok(committed.then(|| "commits record states of it".to_owned()))
    }

    fn is_in(&self, manifest: &Manifest) -> bool {
        manifest.kind == self.manifest.kind
            && self
                .backend
                .identity(&manifest.locator)
                .is_ok_and(|identity| identity == self.identity)
    }

    fn forget(&self) -> Result<()> {
        let indexes = Indexes::new(self.dataset.vcs.shared_dir());
        let owner = &self.dataset.config.dataset;
        indexes.remove_created(owner, &self.identity)
    }

    fn place(&self) -> String {
        let text = ["uri", "path"]
            .iter()
            .find_map(|field| self.store.locator.str(field));
        text.map_or_else(|| self.store.locator.canonical(), str::to_owned)
    }
}
