//! A branch that an operation made.

use super::{Mode, Settled};
use crate::backend::{Backend, Expected, Move, Store};
use crate::dataset::Dataset;
use crate::error::Result;
use crate::key::ObjectKey;
use crate::manifest::Manifest;
use crate::name::NativeRef;
use crate::state::State;
use crate::world::brief;

/// Deletes the branch `native` of an object, unless somebody wrote to it since it was made `at` a state.
pub(super) async fn take_back(
    dataset: &Dataset,
    manifest: &Manifest,
    native: &NativeRef,
    at: Option<&State>,
    discard: bool,
    mode: Mode,
    settled: &mut Settled,
) -> Result<()> {
    let (backend, store) = dataset.store_of(manifest)?;
    let branch = Branch {
        backend: &*backend,
        store: &store,
        key: &manifest.key,
        native,
    };
    if branch.delete(at, discard, mode, settled).await? {
        settled
            .restored
            .push(format!("{}: deleted {native}", manifest.key));
    }
    Ok(())
}

/// A branch in a store.
pub(super) struct Branch<'a> {
    pub(super) backend: &'a dyn Backend,
    pub(super) store: &'a Store,
    pub(super) key: &'a ObjectKey,
    pub(super) native: &'a NativeRef,
}

impl Branch<'_> {
    /// Whether the branch is gone (or can go), when nobody wrote to it since it was made `at` a state. A state that is not on record
    /// counts as written to.
    pub(super) async fn delete(
        &self,
        at: Option<&State>,
        discard: bool,
        mode: Mode,
        settled: &mut Settled,
    ) -> Result<bool> {
        let Some(head) = self.backend.head(self.store, self.native).await? else {
            return Ok(true);
        };
        let volatile = self.backend.volatile_keys();
        let as_made = at.is_some_and(|at| at.same_content(&head, volatile));
        if !as_made && !discard {
            settled.written.push(self.has_writes(&head));
            return Ok(false);
        }
        let blocked = self.backend.working_ref_blockers(self.store, self.native);
        if let Some(reason) = blocked.await? {
            settled
                .kept
                .push(format!("{}: kept {}: {reason}", self.key, self.native));
            return Ok(false);
        }
        if mode == Mode::Look {
            return Ok(true);
        }
        let expected = Expected::At(head);
        let moved = self
            .backend
            .delete_working_ref(self.store, self.native, &expected);
        match moved.await? {
            Move::Done { .. } | Move::Moved { observed: None } => Ok(true),
            Move::Moved {
                observed: Some(head),
            } => {
                settled.written.push(self.has_writes(&head));
                Ok(false)
            }
        }
    }

    fn has_writes(&self, head: &State) -> String {
        format!(
            "{}: {} has writes since ({})",
            self.key,
            self.native,
            brief(head)
        )
    }
}
