//! Two kinds of stores: the memory backend with faults, and a shelf, which has neither branches nor pins.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tether_backend_memory::Memory;
use tether_engine::backend::{
    Address, Backend, Capabilities, Capability, Effect, Expected, Move, Source, Store, Target,
    Verdict, VerifyReport,
};
use tether_engine::id::{DatasetId, PinId};
use tether_engine::manifest::Pin;
use tether_engine::name::NativeRef;
use tether_engine::state::{Identity, Locator, State};
use tether_engine::{Error, Result};

/// What goes wrong, what was asked for, and what is on the shelves.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    failing: Mutex<BTreeSet<String>>,
    calls: Mutex<Vec<String>>,
    shelves: Mutex<BTreeMap<String, i64>>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Faults {
    /// Makes `<method> <system>` fail from now on.
    pub(crate) fn fail(&self, what: &str) {
        locked(&self.failing).insert(what.to_owned());
    }

    pub(crate) fn mend(&self) {
        locked(&self.failing).clear();
    }

    /// `<method> <system>`, in the order of the calls, since the last time.
    pub(crate) fn calls(&self) -> Vec<String> {
        std::mem::take(&mut locked(&self.calls))
    }

    pub(crate) fn shelve(&self, place: &str, version: i64) {
        locked(&self.shelves).insert(place.to_owned(), version);
    }

    fn called(&self, method: &str, system: &str) -> Result<()> {
        let call = format!("{method} {system}");
        locked(&self.calls).push(call.clone());
        if locked(&self.failing).contains(&call) {
            Err(Error::store(format!("{call} failed")).with_hint("mend it"))
        } else {
            Ok(())
        }
    }
}

/// The memory backend behind [`Faults`].
#[derive(Debug)]
pub(crate) struct Faulty {
    inner: Memory,
    faults: Arc<Faults>,
}

impl Faulty {
    pub(crate) fn new(faults: Arc<Faults>) -> Self {
        Self {
            inner: Memory,
            faults,
        }
    }

    fn called(&self, method: &str, store: &Store) -> Result<()> {
        let system = store.locator.str("system").unwrap_or_default();
        self.faults.called(method, system)
    }
}

#[async_trait]
impl Backend for Faulty {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn identity(&self, locator: &Locator) -> Result<Identity> {
        self.inner.identity(locator)
    }

    async fn fingerprint(&self, store: &Store, working_ref: Option<&NativeRef>) -> Result<State> {
        self.called("fingerprint", store)?;
        self.inner.fingerprint(store, working_ref).await
    }

    async fn pin(&self, store: &Store, state: &State, pin: &PinId) -> Result<Move<Pin>> {
        self.called("pin", store)?;
        self.inner.pin(store, state, pin).await
    }

    async fn unpin(&self, store: &Store, pin: &Pin) -> Result<Effect> {
        self.called("unpin", store)?;
        self.inner.unpin(store, pin).await
    }

    async fn verify(
        &self,
        store: &Store,
        state: &State,
        pin: Option<&Pin>,
        deep: bool,
    ) -> Result<VerifyReport> {
        self.called("verify", store)?;
        self.inner.verify(store, state, pin, deep).await
    }

    async fn head(&self, store: &Store, native: &NativeRef) -> Result<Option<State>> {
        self.called("head", store)?;
        self.inner.head(store, native).await
    }

    async fn fork(
        &self,
        store: &Store,
        source: &Source,
        name: &NativeRef,
        expected: &Expected,
    ) -> Result<Move<NativeRef>> {
        self.called("fork", store)?;
        self.inner.fork(store, source, name, expected).await
    }

    async fn delete_working_ref(
        &self,
        store: &Store,
        native: &NativeRef,
        expected: &Expected,
    ) -> Result<Move<()>> {
        self.called("delete_working_ref", store)?;
        self.inner.delete_working_ref(store, native, expected).await
    }

    async fn create(&self, store: &Store, owner: &DatasetId) -> Result<State> {
        self.called("create", store)?;
        self.inner.create(store, owner).await
    }

    async fn owner(&self, store: &Store) -> Result<Option<DatasetId>> {
        self.called("owner", store)?;
        self.inner.owner(store).await
    }

    async fn is_ref_empty(&self, store: &Store, ignoring: &[NativeRef]) -> Result<Option<bool>> {
        self.called("is_ref_empty", store)?;
        self.inner.is_ref_empty(store, ignoring).await
    }

    async fn delete_store(&self, store: &Store, owner: &DatasetId) -> Result<()> {
        self.called("delete_store", store)?;
        self.inner.delete_store(store, owner).await
    }

    async fn open(&self, store: &Store, target: &Target, writable: bool) -> Result<Address> {
        self.inner.open(store, target, writable).await
    }
}

/// A thing on a shelf: its version is seen and cannot be kept. With `kept = true` in its locator it is Addressable.
#[derive(Debug)]
pub(crate) struct Shelf {
    faults: Arc<Faults>,
}

impl Shelf {
    pub(crate) fn new(faults: Arc<Faults>) -> Self {
        Self { faults }
    }
}

#[async_trait]
impl Backend for Shelf {
    fn kind(&self) -> &'static str {
        "shelf"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::of(&[Capability::Fingerprint, Capability::Addressable])
    }

    fn effective(&self, store: &Store) -> Capabilities {
        if store.locator.get("kept").is_some() {
            self.capabilities()
        } else {
            self.capabilities().without(Capability::Addressable)
        }
    }

    fn volatile_keys(&self) -> &'static [&'static str] {
        &["seen_by"]
    }

    fn validate(&self, store: &Store, _checkout: &Path) -> Result<()> {
        match store.locator.str("place") {
            Some(_) => Ok(()),
            None => Err(Error::config("a shelf object names its place")),
        }
    }

    fn identity(&self, locator: &Locator) -> Result<Identity> {
        let place = locator.str("place").unwrap_or_default();
        Ok(Identity::default().with("place", place))
    }

    async fn fingerprint(&self, store: &Store, _working_ref: Option<&NativeRef>) -> Result<State> {
        let place = store.locator.str("place").unwrap_or_default();
        self.faults.called("fingerprint", place)?;
        let version = locked(&self.faults.shelves).get(place).copied();
        let version = version.ok_or_else(|| Error::store("there is no such shelf"))?;
        Ok(State::default().with("version", version))
    }

    async fn listing(&self, store: &Store, state: &State) -> Result<Option<Vec<u8>>> {
        let place = store.locator.str("place").unwrap_or_default();
        self.faults.called("listing", place)?;
        Ok(Some(format!("{}\n", state.canonical()).into_bytes()))
    }

    async fn verify(
        &self,
        _store: &Store,
        _state: &State,
        _pin: Option<&Pin>,
        _deep: bool,
    ) -> Result<VerifyReport> {
        Ok(VerifyReport::new(Verdict::Unknown, ""))
    }

    async fn open(&self, store: &Store, _target: &Target, _writable: bool) -> Result<Address> {
        Ok(Address {
            handle: "ShelfHandle",
            address: store.locator.canonical(),
            secret_address: None,
            read_only: true,
        })
    }
}
