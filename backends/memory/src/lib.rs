//! The reference backend: every capability, in memory. The smallest complete example of [`Backend`].
//!
//! | tether | here |
//! | --- | --- |
//! | locator | `{system, branch}`: the system's name, and the base branch (`main` when it is left out) |
//! | identity | `{system}` |
//! | state | `{snapshot_id}` |
//! | pin | a tag `tether.<pin id>` |
//! | fork | a branch |
//! | owner marker | [`System::marker`] |
//!
//! Every method is one step under one lock (see [`system`]), so pins are created if absent, and compare and move are one step. The
//! systems live as long as the process. Tests make one with [`new_system`] and write to it, past the backend, through [`system::with`].
//!
//! To write a backend of your own: copy this file, replace the body of each method by your system's words, declare only the
//! capabilities that hold, and run `tether-conformance` on it as `tests/conformance` here does.

mod refs;
pub mod system;

use async_trait::async_trait;
use tether_engine::backend::{
    Address, Backend, Capabilities, Capability, Change, Effect, Expected, HistoryEntry, Merge,
    Move, ObjectDiff, Source, Store, Target, Verdict, VerifyReport,
};
use tether_engine::id::{DatasetId, PinId};
use tether_engine::manifest::Pin;
use tether_engine::name::{NativeRef, ParsedRef, WORKING_REF_PREFIX, parse_ref};
use tether_engine::state::{Identity, Locator, State};
use tether_engine::{Error, ErrorKind, Result};

pub use system::System;

/// The backend. It has no fields: the systems are the process's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory;

/// Makes an empty system, or empties the one of that name, and returns the locator of its branch `main`.
pub fn new_system(name: &str) -> Locator {
    system::with(|systems| systems.insert(name.to_owned(), System::new("main")));
    Locator::default()
        .with("system", name)
        .with("branch", "main")
}

/// One call's view of the locator.
struct Place<'a> {
    system: &'a str,
    branch: &'a str,
    at: Option<&'a str>,
}

impl<'a> Place<'a> {
    fn of(locator: &'a Locator) -> Result<Self> {
        let system = locator.str("system").filter(|name| !name.is_empty());
        Ok(Self {
            system: system.ok_or_else(|| {
                Error::config("the locator of a memory object names a system")
                    .with_hint("`tether add KEY --kind memory --set system=NAME`")
            })?,
            branch: locator.str("branch").unwrap_or("main"),
            at: locator.str("at"),
        })
    }

    /// Does one atomic step on the system.
    fn step<T>(&self, step: impl FnOnce(&mut System) -> Result<T>) -> Result<T> {
        system::with(|systems| match systems.get_mut(self.system) {
            Some(system) => step(system),
            None => Err(
                Error::store(format!("there is no memory system {:?}", self.system))
                    .with_hint("memory systems live as long as the process that made them"),
            ),
        })
    }
}

fn state(id: &str) -> State {
    State::default().with("snapshot_id", id)
}

/// The snapshot a recorded state names, which the system must still have.
fn snapshot_of(system: &System, state: &State) -> Result<String> {
    let id = state.str("snapshot_id").unwrap_or_default();
    match system.snapshot(id) {
        Some(_) => Ok(id.to_owned()),
        None => Err(Error::store(format!(
            "snapshot {id:?} is not in the system any more"
        ))),
    }
}

fn branch_head(system: &System, branch: &str) -> Result<String> {
    let head = system.branches.get(branch).cloned();
    head.ok_or_else(|| Error::store(format!("there is no branch {branch:?}")))
}

#[async_trait]
impl Backend for Memory {
    fn kind(&self) -> &'static str {
        "memory"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::of(&[
            Capability::Fingerprint,
            Capability::Addressable,
            Capability::Pin,
            Capability::Fork,
            Capability::CheapFingerprint,
            Capability::AtomicRef,
            Capability::Diff,
            Capability::History,
            Capability::Promote,
            Capability::Merge,
            Capability::Create,
            Capability::ConditionalRef,
        ])
    }

    fn positional_key(&self) -> Option<&'static str> {
        Some("system")
    }

    fn locator_keys(&self) -> &'static [&'static str] {
        &["system", "branch", "at"]
    }

    fn identity(&self, locator: &Locator) -> Result<Identity> {
        Ok(Identity::default().with("system", Place::of(locator)?.system))
    }

    async fn base_ref(&self, store: &Store) -> Result<Option<NativeRef>> {
        Ok(Some(Place::of(&store.locator)?.branch.parse()?))
    }

    async fn fingerprint(&self, store: &Store, working_ref: Option<&NativeRef>) -> Result<State> {
        let place = Place::of(&store.locator)?;
        place.step(|system| match (working_ref, place.at) {
            (Some(native), _) => Ok(state(&branch_head(system, native.as_str())?)),
            (None, Some(at)) => system
                .resolve(at)
                .map(state)
                .ok_or_else(|| Error::store(format!("nothing in the system is called {at:?}"))),
            (None, None) => Ok(state(&branch_head(system, place.branch)?)),
        })
    }

    async fn head(&self, store: &Store, native: &NativeRef) -> Result<Option<State>> {
        let place = Place::of(&store.locator)?;
        place.step(|system| Ok(system.branches.get(native.as_str()).map(|id| state(id))))
    }

    async fn pin(&self, store: &Store, state: &State, pin: &PinId) -> Result<Move<Pin>> {
        Place::of(&store.locator)?.step(|system| refs::pin(system, state, pin))
    }

    async fn unpin(&self, store: &Store, pin: &Pin) -> Result<Effect> {
        Place::of(&store.locator)?.step(|system| Ok(refs::unpin(system, &pin.id)))
    }

    async fn list_pins(&self, store: &Store) -> Result<Vec<PinId>> {
        Place::of(&store.locator)?.step(|system| {
            let pins = system.tags.keys().filter_map(|name| match parse_ref(name) {
                ParsedRef::Pin { pin, .. } => Some(pin),
                _ => None,
            });
            Ok(pins.collect())
        })
    }

    async fn verify(
        &self,
        store: &Store,
        state: &State,
        pin: Option<&Pin>,
        deep: bool,
    ) -> Result<VerifyReport> {
        Place::of(&store.locator)?.step(|system| {
            let recorded = state.str("snapshot_id").unwrap_or_default();
            let (status, message) = match pin {
                Some(pin) => match system.tags.get(pin.native.as_str()) {
                    None => (Verdict::Missing, format!("tag {} is gone", pin.native)),
                    Some(id) if id != recorded => (
                        Verdict::Drifted,
                        format!("tag {} is at snapshot {id}", pin.native),
                    ),
                    Some(_) => (Verdict::Ok, String::new()),
                },
                None if !deep => (Verdict::Unknown, String::new()),
                None if system.snapshot(recorded).is_none() => {
                    (Verdict::Missing, format!("snapshot {recorded} is gone"))
                }
                None => (Verdict::Ok, String::new()),
            };
            Ok(VerifyReport::new(status, message))
        })
    }

    async fn fork(
        &self,
        store: &Store,
        source: &Source,
        name: &NativeRef,
        expected: &Expected,
    ) -> Result<Move<NativeRef>> {
        Place::of(&store.locator)?.step(|system| refs::fork(system, source, name, expected))
    }

    async fn list_working_refs(&self, store: &Store) -> Result<Vec<NativeRef>> {
        Place::of(&store.locator)?.step(|system| {
            let names = system.branches.keys();
            names
                .filter(|name| name.starts_with(WORKING_REF_PREFIX))
                .map(|name| name.parse())
                .collect()
        })
    }

    async fn delete_working_ref(
        &self,
        store: &Store,
        native: &NativeRef,
        expected: &Expected,
    ) -> Result<Move<()>> {
        let place = Place::of(&store.locator)?;
        if native.as_str() == place.branch {
            return Err(Error::user(format!(
                "{native} is the base branch, which stays"
            )));
        }
        place.step(|system| Ok(refs::delete(system, native, expected)))
    }

    async fn promote(
        &self,
        store: &Store,
        source: &Source,
        expected: &Expected,
    ) -> Result<Move<State>> {
        let place = Place::of(&store.locator)?;
        place.step(|system| refs::promote(system, place.branch, source, expected))
    }

    async fn merge(
        &self,
        store: &Store,
        source: &Source,
        message: &str,
        expected: &Expected,
    ) -> Result<Merge> {
        let place = Place::of(&store.locator)?;
        place.step(|system| refs::merge(system, place.branch, source, message, expected))
    }

    async fn ancestor_of(
        &self,
        store: &Store,
        ancestor: &State,
        descendant: &State,
    ) -> Result<Option<bool>> {
        Place::of(&store.locator)?.step(|system| {
            let ids = (
                snapshot_of(system, ancestor),
                snapshot_of(system, descendant),
            );
            Ok(match ids {
                (Ok(old), Ok(new)) => Some(system.ancestors(&new).contains(old.as_str())),
                _ => None,
            })
        })
    }

    async fn history(
        &self,
        store: &Store,
        from: Option<&str>,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>> {
        let place = Place::of(&store.locator)?;
        let from = from.or(place.at).unwrap_or(place.branch);
        place.step(|system| {
            if system.resolve(from).is_none() {
                return Err(Error::store(format!(
                    "nothing in the system is called {from:?}"
                )));
            }
            let ids = system.history(from).into_iter().take(limit);
            let refs = || system.branches.iter().chain(&system.tags);
            let entries = ids.map(|id| HistoryEntry {
                id: id.to_owned(),
                when: String::new(),
                message: system
                    .snapshot(id)
                    .map(|one| one.message.clone())
                    .unwrap_or_default(),
                refs: refs()
                    .filter(|(_, at)| *at == id)
                    .map(|(name, _)| name.clone())
                    .collect(),
            });
            Ok(entries.collect())
        })
    }

    async fn diff(
        &self,
        store: &Store,
        a: &State,
        b: &State,
        _listings: (Option<&[u8]>, Option<&[u8]>),
    ) -> Result<ObjectDiff> {
        Place::of(&store.locator)?.step(|system| {
            let content = |state| {
                let id = snapshot_of(system, state)?;
                Ok(system
                    .snapshot(&id)
                    .map(|one| one.content.clone())
                    .unwrap_or_default())
            };
            let (a, b): (system::Content, system::Content) = (content(a)?, content(b)?);
            let mut diff = ObjectDiff::new("keys");
            for (unit, payload) in &b {
                match a.get(unit) {
                    None => diff.add(unit, Change::Added, format!("+{} B", payload.len())),
                    Some(old) if old != payload => diff.add(unit, Change::Modified, ""),
                    Some(_) => {}
                }
            }
            for (unit, payload) in a.iter().filter(|(unit, _)| !b.contains_key(*unit)) {
                diff.add(unit, Change::Removed, format!("-{} B", payload.len()));
            }
            Ok(diff.summarised())
        })
    }

    async fn open(&self, store: &Store, target: &Target, writable: bool) -> Result<Address> {
        let place = Place::of(&store.locator)?;
        let (name, read_only) = place.step(|system| match (target, place.at) {
            (Target::Base, Some(at)) => match system.resolve(at) {
                Some(id) => Ok((id.to_owned(), true)),
                None => Err(Error::store(format!(
                    "nothing in the system is called {at:?}"
                ))),
            },
            (Target::Base, None) => {
                branch_head(system, place.branch)?;
                Ok((place.branch.to_owned(), !writable))
            }
            (Target::Ref(native), _) => {
                branch_head(system, native.as_str())?;
                Ok((native.to_string(), !writable))
            }
            (Target::Pinned(pin, state), _) => {
                let recorded = snapshot_of(system, state);
                match system.tags.get(pin.native.as_str()) {
                    Some(id) if Some(id.as_str()) == state.str("snapshot_id") => {
                        Ok((pin.native.to_string(), true))
                    }
                    Some(id) => Err(refs::drifted(pin, &format!("is at snapshot {id}"))),
                    // The pin is gone, but while the snapshot is there it is what the manifest recorded.
                    None => Ok((recorded?, true)),
                }
            }
            (Target::State(state), _) => Ok((snapshot_of(system, state)?, true)),
        })?;
        Ok(Address {
            handle: "MemoryHandle",
            address: format!("memory:{}@{name}", place.system),
            secret_address: None,
            read_only,
        })
    }

    async fn create(&self, store: &Store, owner: &DatasetId) -> Result<State> {
        let place = Place::of(&store.locator)?;
        system::with(|systems| {
            if systems.contains_key(place.system) {
                return Err(Error::user(format!(
                    "there is a memory system {:?} already",
                    place.system
                )));
            }
            let mut system = System::new(place.branch);
            system.marker = Some(owner.to_string());
            let created = state(&branch_head(&system, place.branch)?);
            systems.insert(place.system.to_owned(), system);
            Ok(created)
        })
    }

    async fn owner(&self, store: &Store) -> Result<Option<DatasetId>> {
        let place = Place::of(&store.locator)?;
        system::with(|systems| {
            let marker = systems
                .get(place.system)
                .and_then(|system| system.marker.as_ref());
            marker.map(|id| id.parse()).transpose()
        })
    }

    async fn is_ref_empty(&self, store: &Store, ignoring: &[NativeRef]) -> Result<Option<bool>> {
        let place = Place::of(&store.locator)?;
        system::with(|systems| {
            let system = systems.get(place.system);
            Ok(system.map(|system| is_empty(system, place.branch, ignoring)))
        })
    }

    async fn delete_store(&self, store: &Store, owner: &DatasetId) -> Result<()> {
        let place = Place::of(&store.locator)?;
        // Owner and emptiness are checked in the very step that removes.
        system::with(|systems| {
            let Some(system) = systems.get(place.system) else {
                return Ok(());
            };
            if system.marker.as_deref() != Some(owner.as_str()) {
                return Err(Error::user(format!(
                    "dataset {owner} did not make this store"
                )));
            }
            if !is_empty(system, place.branch, &[]) {
                return Err(Error::user("the store is not empty"));
            }
            systems.remove(place.system);
            Ok(())
        })
    }
}

fn is_empty(system: &System, base: &str, ignoring: &[NativeRef]) -> bool {
    let mut refs = system.branches.iter().chain(&system.tags);
    refs.all(|(name, id)| {
        let is_base = name == base && Some(id.as_str()) == system.first();
        is_base || ignoring.iter().any(|ignored| ignored.as_str() == name)
    })
}

/// An error of a pin that is not where the manifest says.
fn pin_drift(message: String) -> Error {
    Error::new(ErrorKind::PinDrift, message)
        .with_hint("`tether verify` lists every such pin; `tether repair` makes lost ones again")
}
