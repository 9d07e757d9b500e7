//! The contract of a backend: tether's operations in the words of one class of system.
//!
//! [`Backend`] is the trait, its documentation is the contract, and the crate `tether-conformance` runs every sentence of
//! it that can be tested. `capability` says what a system can do, `report` what it answers, `registry` which kinds a build has.
//! `backends/memory` is the smallest complete example.

mod capability;
mod registry;
mod report;

use async_trait::async_trait;

pub use capability::{Capabilities, Capability, Maturity, Tier};
pub use registry::Registry;
pub use report::{Address, Change, DiffEntry, HistoryEntry, ObjectDiff, Verdict, VerifyReport};

use crate::error::{Error, ErrorKind, Result};
use crate::id::{DatasetId, PinId};
use crate::json::Map;
use crate::manifest::{Pin, PinMode, Policy};
use crate::name::NativeRef;
use crate::state::{Identity, Locator, State};

/// One object's store as a backend is called with it: the locator, the object's policy, and the options that
/// `tether.toml` (allowlisted keys) and the secrets file give it. Options never reach a manifest, a plan, a log or a message.
#[derive(Clone, Debug, Default)]
pub struct Store {
    /// Where the object is.
    pub locator: Locator,
    /// The object's policy.
    pub policy: Policy,
    /// Merged options; secret.
    pub options: Options,
}

/// Options of one object; `Debug` shows the names only.
#[derive(Clone, Default)]
pub struct Options(pub Map);

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// What a fork, promote or merge starts from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A pin and the state the manifest records for it. The pin must resolve to that state (`PinDrift` otherwise).
    Pinned(Pin, State),
    /// A recorded state, for objects without a pin. `Store` error when it is no longer reachable.
    State(State),
    /// A working ref's head, whatever it is.
    Ref(NativeRef),
}

/// The head a caller reviewed before it asks for a move.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// Move whatever is there.
    Any,
    /// Move only when the ref does not exist.
    Absent,
    /// Move only when the ref's content state is this one.
    At(State),
}

/// What a write did to the ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The ref did not exist and does now.
    Created,
    /// The ref stood there already; nothing was written.
    Found,
    /// The ref existed and was moved.
    Changed,
}

/// The answer of a conditional write. Finding the ref elsewhere is an ordinary answer, not an error.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Move<T> {
    /// The ref is where it should be.
    Done {
        /// What the write returns.
        value: T,
        /// What it did.
        effect: Effect,
    },
    /// The ref was not where `expected` said; nothing was written.
    Moved {
        /// Where it is; `None` when it does not exist.
        observed: Option<State>,
    },
}

/// The answer of a merge.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Merge {
    /// As [`Move`]; the value is the base's new state.
    Base(Move<State>),
    /// The merge stopped; the base is untouched. The units the system reported (paths, tables, arrays).
    Conflict(Vec<String>),
}

/// What a read opens.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// The upstream branch (or the object itself), at `locator.at` when that is set.
    Base,
    /// A working ref.
    Ref(NativeRef),
    /// A pin, with the state the manifest records.
    Pinned(Pin, State),
    /// A recorded state.
    State(State),
}

/// Tether's operations in the words of one class of system. One instance serves every object of its kind.
///
/// # What is required
///
/// `kind`, `capabilities`, `identity`, `fingerprint`, `verify` and `open` are required. The other methods have defaults that answer
/// `Capability` errors; a backend overrides those whose flag it declares, and the conformance suite fails a flag that is
/// declared and not honoured.
///
/// # What holds for every method
///
/// - Nothing is written by a method that does not say so.
/// - A write is idempotent: called again with the same arguments it finds what it made and says [`Effect::Found`].
/// - A write whose reply may have been lost is re-read before it is judged: a ref that stands where this call wanted it is success,
///   never `Moved` and never an error.
/// - `expected` compares *content* states (volatile keys ignored). With [`Capability::ConditionalRef`] compare and move are one
///   atomic step of the store; otherwise the compare comes immediately before the move.
/// - Errors carry no key (the engine adds it with [`Error::for_object`]), no secret, and a hint where the store has its own way out.
/// - Methods may be called concurrently from many tasks. Blocking work goes to `spawn_blocking`.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// The kind's name, as in manifests.
    fn kind(&self) -> &'static str;

    /// Whether the full lifecycle is tested against the real system.
    fn maturity(&self) -> Maturity {
        Maturity::Stable
    }

    /// What systems of this kind can do at best (what `tether backends` lists).
    fn capabilities(&self) -> Capabilities;

    /// What this object can do: its locator, its policy, and what its store turned out to support.
    ///
    /// The default takes [`Capability::Pin`] from `pin = "record"` objects; overrides must do so as well.
    fn effective(&self, store: &Store) -> Capabilities {
        let all = self.capabilities();
        if store.policy.pin == PinMode::Record {
            all.without(Capability::Pin)
        } else {
            all
        }
    }

    /// State keys that address but do not identify.
    fn volatile_keys(&self) -> &'static [&'static str] {
        &[]
    }

    /// Locator keys that may hold a local path; a relative one is made absolute by `add`.
    fn local_path_keys(&self) -> &'static [&'static str] {
        &[]
    }

    /// The locator field the positional LOCATOR of `add` is stored in; `None` when the kind takes none.
    fn positional_key(&self) -> Option<&'static str> {
        Some("uri")
    }

    /// Every locator field the kind reads, in the order people give them; `add` remarks on others. Empty: not known, no remark.
    fn locator_keys(&self) -> &'static [&'static str] {
        &[]
    }

    /// The sentence `promote` shows when it refuses: what to do with the system's own tools.
    fn promote_hint(&self) -> &'static str {
        "use the system's own tools, then `tether pull`"
    }

    /// Checks what can be checked without contacting the store: value grammar, forbidden combinations. Called by `add` and
    /// whenever a manifest is about to be used. `checkout` is the dataset's checkout root.
    fn validate(&self, store: &Store, checkout: &std::path::Path) -> Result<()> {
        let _ = (store, checkout);
        Ok(())
    }

    /// The part of the locator that names the system, canonical: two spellings of one system are one identity.
    fn identity(&self, locator: &Locator) -> Result<Identity>;

    /// The resource that owns branches, when it is wider than one object; objects of one scope share a branch per bookmark.
    /// `None` for kinds without branches. Default: the canonical identity for kinds that can fork.
    fn branch_scope(&self, locator: &Locator) -> Result<Option<String>> {
        if self.capabilities().has(Capability::Fork) {
            Ok(Some(self.identity(locator)?.canonical()))
        } else {
            Ok(None)
        }
    }

    /// The resource whose pins [`Backend::list_pins`] returns. Default: the canonical identity.
    fn ref_namespace(&self, locator: &Locator) -> Result<String> {
        Ok(self.identity(locator)?.canonical())
    }

    /// Whether `state` has a coordinate to be read back by. Default true.
    fn state_addressable(&self, locator: &Locator, state: &State) -> bool {
        let _ = (locator, state);
        true
    }

    /// The upstream branch in the store's words, which the trunk bookmark stands for; `None` for kinds without branches.
    async fn base_ref(&self, store: &Store) -> Result<Option<NativeRef>> {
        let _ = store;
        Ok(None)
    }

    /// The current state at `working_ref`, or at `locator.at`, or at the upstream branch.
    ///
    /// Content keys are stable while nothing changed and different after any change. A missing working ref is an error, never
    /// read as the base.
    async fn fingerprint(&self, store: &Store, working_ref: Option<&NativeRef>) -> Result<State>;

    /// The head of a ref, `None` when it does not exist.
    async fn head(&self, store: &Store, native: &NativeRef) -> Result<Option<State>> {
        let _ = (store, native);
        Err(self.unsupported("has no branches"))
    }

    /// A detailed description of `state` for later diffs (a per-file listing), when `state` still is the current one.
    /// `None`: nothing more to say, or the object has moved on.
    async fn listing(&self, store: &Store, state: &State) -> Result<Option<Vec<u8>>> {
        let _ = (store, state);
        Ok(None)
    }

    /// Refuses while writers are active ([`Capability::NeedsQuiescence`]).
    async fn check_quiescence(&self, store: &Store, working_ref: Option<&NativeRef>) -> Result<()> {
        let _ = (store, working_ref);
        Ok(())
    }

    /// Makes the native ref of `pin` at `state`, if absent.
    ///
    /// Found at the same content state: `Done { effect: Found }`. Found elsewhere: `Moved`. State not reachable: a `Store` error.
    /// The returned [`Pin`] names the live generation.
    async fn pin(&self, store: &Store, state: &State, pin: &PinId) -> Result<Move<Pin>> {
        let _ = (store, state, pin);
        Err(self.unsupported("cannot pin"))
    }

    /// Deletes the pin's ref (every generation). Already gone is success; still there afterwards is an error.
    async fn unpin(&self, store: &Store, pin: &Pin) -> Result<Effect> {
        let _ = (store, pin);
        Err(self.unsupported("cannot pin"))
    }

    /// Every pin that exists natively, every dataset's included.
    async fn list_pins(&self, store: &Store) -> Result<Vec<PinId>> {
        let _ = store;
        Ok(Vec::new())
    }

    /// Whether `state` is still what it was: with a pin `ok`, `drifted` or `missing`; without one `unknown` unless `deep`, which opens it.
    /// An object that is not addressable is compared with what is there now, without `deep` as well where that is cheap.
    async fn verify(
        &self,
        store: &Store,
        state: &State,
        pin: Option<&Pin>,
        deep: bool,
    ) -> Result<VerifyReport>;

    /// [`Backend::verify`] of many states of one store, in order. Override to open the store once.
    async fn verify_many(
        &self,
        store: &Store,
        states: &[(State, Option<Pin>)],
        deep: bool,
    ) -> Vec<Result<VerifyReport>> {
        let mut reports = Vec::with_capacity(states.len());
        for (state, pin) in states {
            reports.push(self.verify(store, state, pin.as_ref(), deep).await);
        }
        reports
    }

    /// Makes branch `name` at `source`, or moves an existing one back onto it (a reset), under `expected`.
    ///
    /// Already there with the same content: `Found`, unless `expected` is `Absent`: then `Moved`. The value is the ref to use from now
    /// on (a store that cannot reset in place may pick a further generation).
    async fn fork(
        &self,
        store: &Store,
        source: &Source,
        name: &NativeRef,
        expected: &Expected,
    ) -> Result<Move<NativeRef>> {
        let _ = (store, source, name, expected);
        Err(self.unsupported("cannot fork"))
    }

    /// Native branches named `tether.ws.*`, every dataset's included.
    async fn list_working_refs(&self, store: &Store) -> Result<Vec<NativeRef>> {
        let _ = store;
        Ok(Vec::new())
    }

    /// Why `native` cannot be deleted right now; `None` when it can.
    async fn working_ref_blockers(
        &self,
        store: &Store,
        native: &NativeRef,
    ) -> Result<Option<String>> {
        let _ = (store, native);
        Ok(None)
    }

    /// Deletes a branch that fork made, under `expected`; never the base. Already gone is `Done { effect: Found }`.
    async fn delete_working_ref(
        &self,
        store: &Store,
        native: &NativeRef,
        expected: &Expected,
    ) -> Result<Move<()>> {
        let _ = (store, native, expected);
        Err(self.unsupported("cannot fork"))
    }

    /// Fast-forwards the base branch to `source`, under `expected`. Refuses (`User` error) when the base is not an ancestor.
    /// Already there: `Found`. The value is the base's new state.
    async fn promote(
        &self,
        store: &Store,
        source: &Source,
        expected: &Expected,
    ) -> Result<Move<State>> {
        let _ = (store, source, expected);
        Err(self.unsupported("cannot promote"))
    }

    /// Three-way merges `source` into the base, under `expected`.
    async fn merge(
        &self,
        store: &Store,
        source: &Source,
        message: &str,
        expected: &Expected,
    ) -> Result<Merge> {
        let _ = (store, source, message, expected);
        Err(self.unsupported("cannot merge"))
    }

    /// Whether `ancestor` is in `descendant`'s history (a state is its own ancestor); `None` when unknown.
    async fn ancestor_of(
        &self,
        store: &Store,
        ancestor: &State,
        descendant: &State,
    ) -> Result<Option<bool>> {
        let _ = (store, ancestor, descendant);
        Ok(None)
    }

    /// The system's own history from `from` (or the position), newest first, at most `limit` entries. Each id is valid as `locator.at`.
    async fn history(
        &self,
        store: &Store,
        from: Option<&str>,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>> {
        let _ = (store, from, limit);
        Err(self.unsupported("has no history"))
    }

    /// What changed from `a` to `b`, from metadata only. `listings` are both sides' listings, where stored.
    async fn diff(
        &self,
        store: &Store,
        a: &State,
        b: &State,
        listings: (Option<&[u8]>, Option<&[u8]>),
    ) -> Result<ObjectDiff> {
        let _ = (store, a, b, listings);
        Err(self.unsupported("has no content diff"))
    }

    /// The native address of `target`. A pin is checked against its recorded state first: gone falls back to the state where it is
    /// addressable, elsewhere is a `PinDrift` error.
    async fn open(&self, store: &Store, target: &Target, writable: bool) -> Result<Address>;

    /// Makes an empty store with an owner marker and returns its state. Anything already there: a `User` error.
    async fn create(&self, store: &Store, owner: &DatasetId) -> Result<State> {
        let _ = (store, owner);
        Err(self.unsupported("cannot create a store"))
    }

    /// The dataset id in the owner marker; `None` when tether wrote none or the store is gone.
    async fn owner(&self, store: &Store) -> Result<Option<DatasetId>> {
        let _ = store;
        Ok(None)
    }

    /// Whether nothing remains but the base at its initial state, the marker and the refs in `ignoring`, with no content outside
    /// refs either. `None`: cannot tell, which means keep.
    async fn is_ref_empty(&self, store: &Store, ignoring: &[NativeRef]) -> Result<Option<bool>> {
        let _ = (store, ignoring);
        Ok(None)
    }

    /// Removes the store, after checking owner and emptiness again itself; only what the store's layout accounts for. Already gone is
    /// success.
    async fn delete_store(&self, store: &Store, owner: &DatasetId) -> Result<()> {
        let _ = (store, owner);
        Err(self.unsupported("cannot delete a store"))
    }

    /// A `Capability` error: "a KIND object WHAT".
    fn unsupported(&self, what: &str) -> Error {
        Error::new(
            ErrorKind::Capability,
            format!("a {} object {what}", self.kind()),
        )
        .with_hint("`tether backends` lists what each kind can do")
    }
}
