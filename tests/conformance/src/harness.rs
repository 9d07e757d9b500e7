//! What a backend's tests provide: stores to run the checks on, and a way to write to them past the backend.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use tether_engine::Result;
use tether_engine::backend::{Backend, Capabilities, Store};
use tether_engine::name::NativeRef;
use tether_engine::state::State;

/// Stores of one kind, for [`crate::run`].
///
/// Everything but [`Harness::backend`] goes to the system with its own tools, past the backend. Stores live at least as long as the
/// harness. Checks run one after the other, each on stores of its own.
#[async_trait]
pub trait Harness: Send + Sync {
    /// The backend under test.
    fn backend(&self) -> Arc<dyn Backend>;

    /// A new store with some content: branches where the kind has them, no pin, no working branch, no owner marker.
    async fn new_store(&self) -> Result<Store>;

    /// Writes something new at `working_ref`, or at the base (the object itself). Two calls never write the same, and never into the same
    /// unit (path, table, array), so that diverged branches merge without conflicts.
    async fn mutate(&self, store: &Store, working_ref: Option<&NativeRef>) -> Result<()>;

    /// A store that does not exist yet ([`tether_engine::backend::Capability::Create`] only).
    async fn fresh_store(&self) -> Result<Option<Store>> {
        Ok(None)
    }

    /// What to check; a harness may narrow it to exercise one tier of a kind that has several.
    fn capabilities(&self, store: &Store) -> Capabilities {
        self.backend().effective(store)
    }

    /// The same store in other words (`file:///p` for `/p`), which must have the same identity.
    fn respelled(&self, store: &Store) -> Option<Store> {
        let _ = store;
        None
    }

    /// A state of the right form that the store never had.
    fn unreachable(&self, store: &Store, state: &State) -> Option<State> {
        let _ = (store, state);
        None
    }

    /// Every ref of the store with its target, in the store's own words. `None`: cannot be listed.
    async fn refs(&self, store: &Store) -> Result<Option<BTreeMap<String, String>>> {
        let _ = store;
        Ok(None)
    }

    /// Moves a pin's ref or a branch to a state of the store, or deletes it (`None`). False: the harness cannot.
    async fn set_ref(&self, store: &Store, native: &NativeRef, to: Option<&State>) -> Result<bool> {
        let _ = (store, native, to);
        Ok(false)
    }

    /// Writes to one unit differently on the base and on `working_ref`, so that a merge conflicts. False: the harness cannot.
    async fn diverge(&self, store: &Store, working_ref: &NativeRef) -> Result<bool> {
        let _ = (store, working_ref);
        Ok(false)
    }

    /// Starts a writer that has not finished while the answer lives ([`tether_engine::backend::Capability::NeedsQuiescence`] only).
    async fn busy(&self, store: &Store) -> Result<Option<Box<dyn Any + Send>>> {
        let _ = store;
        Ok(None)
    }

    /// How often each race is run. More rounds find narrower windows.
    fn rounds(&self) -> usize {
        8
    }
}

/// A harness whose backend is decorated.
pub struct Decorated<'a> {
    inner: &'a dyn Harness,
    backend: Arc<dyn Backend>,
}

impl<'a> Decorated<'a> {
    /// `inner`, with its backend in `decorate`.
    pub fn new(
        inner: &'a dyn Harness,
        decorate: impl FnOnce(Arc<dyn Backend>) -> Arc<dyn Backend>,
    ) -> Self {
        let backend = decorate(inner.backend());
        Self { inner, backend }
    }
}

#[async_trait]
impl Harness for Decorated<'_> {
    fn backend(&self) -> Arc<dyn Backend> {
        self.backend.clone()
    }

    async fn new_store(&self) -> Result<Store> {
        self.inner.new_store().await
    }

    async fn mutate(&self, store: &Store, working_ref: Option<&NativeRef>) -> Result<()> {
        self.inner.mutate(store, working_ref).await
    }

    async fn fresh_store(&self) -> Result<Option<Store>> {
        self.inner.fresh_store().await
    }

    fn respelled(&self, store: &Store) -> Option<Store> {
        self.inner.respelled(store)
    }

    fn unreachable(&self, store: &Store, state: &State) -> Option<State> {
        self.inner.unreachable(store, state)
    }

    async fn refs(&self, store: &Store) -> Result<Option<BTreeMap<String, String>>> {
        self.inner.refs(store).await
    }

    async fn set_ref(&self, store: &Store, native: &NativeRef, to: Option<&State>) -> Result<bool> {
        self.inner.set_ref(store, native, to).await
    }

    async fn diverge(&self, store: &Store, working_ref: &NativeRef) -> Result<bool> {
        self.inner.diverge(store, working_ref).await
    }

    async fn busy(&self, store: &Store) -> Result<Option<Box<dyn Any + Send>>> {
        self.inner.busy(store).await
    }

    fn rounds(&self) -> usize {
        self.inner.rounds()
    }
}
