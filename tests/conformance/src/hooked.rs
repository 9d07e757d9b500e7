//! A backend with something around each of its asynchronous calls.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tether_engine::backend::{
    Address, Backend, Capabilities, Effect, Expected, HistoryEntry, Maturity, Merge, Move,
    ObjectDiff, Source, Store, Target, VerifyReport,
};
use tether_engine::id::{DatasetId, PinId};
use tether_engine::manifest::Pin;
use tether_engine::name::NativeRef;
use tether_engine::state::{Identity, Locator, State};
use tether_engine::{Error, Result};

/// An asynchronous method of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the backend's method of that name")]
pub enum Method {
    BaseRef,
    Fingerprint,
    Head,
    Listing,
    CheckQuiescence,
    Pin,
    Unpin,
    ListPins,
    Verify,
    VerifyMany,
    Fork,
    ListWorkingRefs,
    WorkingRefBlockers,
    DeleteWorkingRef,
    Promote,
    Merge,
    AncestorOf,
    History,
    Diff,
    Open,
    Create,
    Owner,
    IsRefEmpty,
    DeleteStore,
}

impl Method {
    /// Whether the method may write to the store.
    pub fn writes(self) -> bool {
        matches!(
            self,
            Self::Pin
                | Self::Unpin
                | Self::Fork
                | Self::DeleteWorkingRef
                | Self::Promote
                | Self::Merge
                | Self::Create
                | Self::DeleteStore
        )
    }
}

/// What to do with the answer of a call.
#[derive(Debug)]
pub enum After {
    /// Give it to the caller.
    Answer,
    /// Give the caller this error instead.
    Fail(Error),
    /// Make the call again and give the caller the second answer.
    Again,
}

/// What runs around each call.
#[async_trait]
pub trait Hook: Send + Sync + 'static {
    /// What [`Hook::before`] hands to [`Hook::after`] of the same call.
    type Token: Send;

    /// Before the call; an error is the answer, and the call is not made.
    async fn before(&self, method: Method) -> Result<Self::Token>;

    /// After the call took effect.
    async fn after(&self, method: Method, token: Self::Token) -> After;
}

/// `inner` with a hook around each asynchronous call; what needs no store is answered by `inner` alone.
pub struct Hooked<H> {
    inner: Arc<dyn Backend>,
    pub(crate) hook: H,
}

impl<H> std::fmt::Debug for Hooked<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Hooked").field(&self.inner.kind()).finish()
    }
}

impl<H: Hook> Hooked<H> {
    /// `inner` with `hook` around its calls.
    pub fn new(inner: Arc<dyn Backend>, hook: H) -> Self {
        Self { inner, hook }
    }
}

/// One hooked call. The call expression is evaluated once more for [`After::Again`].
macro_rules! hooked {
    ($self:ident, $method:ident, $call:expr) => {{
        let token = $self.hook.before(Method::$method).await?;
        // A call that failed by itself took no effect that its reply could tell of.
        let answer = $call.await?;
        match $self.hook.after(Method::$method, token).await {
            After::Answer => Ok(answer),
            After::Fail(error) => Err(error),
            After::Again => $call.await,
        }
    }};
}

impl<H: Hook> Hooked<H> {
    async fn verify_all(
        &self,
        store: &Store,
        states: &[(State, Option<Pin>)],
        deep: bool,
    ) -> Result<Vec<Result<VerifyReport>>> {
        let call = async || Ok(self.inner.verify_many(store, states, deep).await);
        hooked!(self, VerifyMany, call())
    }
}

#[async_trait]
impl<H: Hook> Backend for Hooked<H> {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn maturity(&self) -> Maturity {
        self.inner.maturity()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn effective(&self, store: &Store) -> Capabilities {
        self.inner.effective(store)
    }

    fn volatile_keys(&self) -> &'static [&'static str] {
        self.inner.volatile_keys()
    }

    fn local_path_keys(&self) -> &'static [&'static str] {
        self.inner.local_path_keys()
    }

    fn positional_key(&self) -> Option<&'static str> {
        self.inner.positional_key()
    }

    fn promote_hint(&self) -> &'static str {
        self.inner.promote_hint()
    }

    fn validate(&self, store: &Store, checkout: &Path) -> Result<()> {
        self.inner.validate(store, checkout)
    }

    fn identity(&self, locator: &Locator) -> Result<Identity> {
        self.inner.identity(locator)
    }

    fn branch_scope(&self, locator: &Locator) -> Result<Option<String>> {
        self.inner.branch_scope(locator)
    }

    fn ref_namespace(&self, locator: &Locator) -> Result<String> {
        self.inner.ref_namespace(locator)
    }

    fn state_addressable(&self, locator: &Locator, state: &State) -> bool {
        self.inner.state_addressable(locator, state)
    }

    async fn base_ref(&self, store: &Store) -> Result<Option<NativeRef>> {
        hooked!(self, BaseRef, self.inner.base_ref(store))
    }

    async fn fingerprint(&self, store: &Store, working_ref: Option<&NativeRef>) -> Result<State> {
        hooked!(
            self,
            Fingerprint,
            self.inner.fingerprint(store, working_ref)
        )
    }

    async fn head(&self, store: &Store, native: &NativeRef) -> Result<Option<State>> {
        hooked!(self, Head, self.inner.head(store, native))
    }

    async fn listing(&self, store: &Store, state: &State) -> Result<Option<Vec<u8>>> {
        hooked!(self, Listing, self.inner.listing(store, state))
    }

    async fn check_quiescence(&self, store: &Store, working_ref: Option<&NativeRef>) -> Result<()> {
        hooked!(
            self,
            CheckQuiescence,
            self.inner.check_quiescence(store, working_ref)
        )
    }

    async fn pin(&self, store: &Store, state: &State, pin: &PinId) -> Result<Move<Pin>> {
        hooked!(self, Pin, self.inner.pin(store, state, pin))
    }

    async fn unpin(&self, store: &Store, pin: &Pin) -> Result<Effect> {
        hooked!(self, Unpin, self.inner.unpin(store, pin))
    }

    async fn list_pins(&self, store: &Store) -> Result<Vec<PinId>> {
        hooked!(self, ListPins, self.inner.list_pins(store))
    }

    async fn verify(
        &self,
        store: &Store,
        state: &State,
        pin: Option<&Pin>,
        deep: bool,
    ) -> Result<VerifyReport> {
        hooked!(self, Verify, self.inner.verify(store, state, pin, deep))
    }

    async fn verify_many(
        &self,
        store: &Store,
        states: &[(State, Option<Pin>)],
        deep: bool,
    ) -> Vec<Result<VerifyReport>> {
        match self.verify_all(store, states, deep).await {
            Ok(reports) => reports,
            // The whole call failed, and with it each state.
            Err(error) => {
                let failed = || Error::new(error.kind(), error.message());
                states.iter().map(|_| Err(failed())).collect()
            }
        }
    }

    async fn fork(
        &self,
        store: &Store,
        source: &Source,
        name: &NativeRef,
        expected: &Expected,
    ) -> Result<Move<NativeRef>> {
        hooked!(self, Fork, self.inner.fork(store, source, name, expected))
    }

    async fn list_working_refs(&self, store: &Store) -> Result<Vec<NativeRef>> {
        hooked!(self, ListWorkingRefs, self.inner.list_working_refs(store))
    }

    async fn working_ref_blockers(
        &self,
        store: &Store,
        native: &NativeRef,
    ) -> Result<Option<String>> {
        hooked!(
            self,
            WorkingRefBlockers,
            self.inner.working_ref_blockers(store, native)
        )
    }

    async fn delete_working_ref(
        &self,
        store: &Store,
        native: &NativeRef,
        expected: &Expected,
    ) -> Result<Move<()>> {
        hooked!(
            self,
            DeleteWorkingRef,
            self.inner.delete_working_ref(store, native, expected)
        )
    }

    async fn promote(
        &self,
        store: &Store,
        source: &Source,
        expected: &Expected,
    ) -> Result<Move<State>> {
        hooked!(self, Promote, self.inner.promote(store, source, expected))
    }

    async fn merge(
        &self,
        store: &Store,
        source: &Source,
        message: &str,
        expected: &Expected,
    ) -> Result<Merge> {
        hooked!(
            self,
            Merge,
            self.inner.merge(store, source, message, expected)
        )
    }

    async fn ancestor_of(
        &self,
        store: &Store,
        ancestor: &State,
        descendant: &State,
    ) -> Result<Option<bool>> {
        hooked!(
            self,
            AncestorOf,
            self.inner.ancestor_of(store, ancestor, descendant)
        )
    }

    async fn history(
        &self,
        store: &Store,
        from: Option<&str>,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>> {
        hooked!(self, History, self.inner.history(store, from, limit))
    }

    async fn diff(
        &self,
        store: &Store,
        a: &State,
        b: &State,
        listings: (Option<&[u8]>, Option<&[u8]>),
    ) -> Result<ObjectDiff> {
        hooked!(self, Diff, self.inner.diff(store, a, b, listings))
    }

    async fn open(&self, store: &Store, target: &Target, writable: bool) -> Result<Address> {
        hooked!(self, Open, self.inner.open(store, target, writable))
    }

    async fn create(&self, store: &Store, owner: &DatasetId) -> Result<State> {
        hooked!(self, Create, self.inner.create(store, owner))
    }

    async fn owner(&self, store: &Store) -> Result<Option<DatasetId>> {
        hooked!(self, Owner, self.inner.owner(store))
    }

    async fn is_ref_empty(&self, store: &Store, ignoring: &[NativeRef]) -> Result<Option<bool>> {
        hooked!(self, IsRefEmpty, self.inner.is_ref_empty(store, ignoring))
    }

    async fn delete_store(&self, store: &Store, owner: &DatasetId) -> Result<()> {
        hooked!(self, DeleteStore, self.inner.delete_store(store, owner))
    }
}
