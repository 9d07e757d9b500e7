//! Memory systems for the conformance suite.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use tether_backend_memory::{Memory, System, new_system, system};
use tether_conformance::Harness;
use tether_engine::backend::{Backend, Store};
use tether_engine::name::NativeRef;
use tether_engine::state::{Locator, State};
use tether_engine::{Error, Result};

/// Numbers that no two writes and no two systems of this process share.
static NEXT: AtomicUsize = AtomicUsize::new(0);

fn next() -> usize {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Systems of this process.
pub(crate) struct MemoryHarness;

fn store(locator: Locator) -> Store {
    Store {
        locator,
        ..Store::default()
    }
}

fn in_system<T>(store: &Store, step: impl FnOnce(&mut System) -> Option<T>) -> Result<T> {
    let name = store.locator.str("system").unwrap_or_default();
    system::with(|systems| systems.get_mut(name).and_then(step))
        .ok_or_else(|| Error::internal("the harness has no such system or ref"))
}

#[async_trait]
impl Harness for MemoryHarness {
    fn backend(&self) -> Arc<dyn Backend> {
        Arc::new(Memory)
    }

    async fn new_store(&self) -> Result<Store> {
        let store = store(new_system(&format!("system{}", next())));
        in_system(&store, |system| system.write("main", "first", "content"))?;
        Ok(store)
    }

    async fn mutate(&self, store: &Store, working_ref: Option<&NativeRef>) -> Result<()> {
        let branch = working_ref.map_or("main", NativeRef::as_str);
        let unit = format!("unit{}", next());
        in_system(store, |system| system.write(branch, &unit, "content")).map(drop)
    }

    async fn fresh_store(&self) -> Result<Option<Store>> {
        let locator = Locator::default().with("system", format!("fresh{}", next()));
        Ok(Some(store(locator)))
    }

    fn respelled(&self, store: &Store) -> Option<Store> {
        // Without the branch, which is `main` then.
        let name = store.locator.str("system")?;
        let locator = Locator::default().with("system", name);
        Some(self::store(locator))
    }

    fn unreachable(&self, _store: &Store, _state: &State) -> Option<State> {
        Some(State::default().with("snapshot_id", "0123456789abcdef0123"))
    }

    async fn refs(&self, store: &Store) -> Result<Option<BTreeMap<String, String>>> {
        in_system(store, |system| {
            let refs = system.branches.iter().chain(&system.tags);
            Some(Some(
                refs.map(|(name, id)| (name.clone(), id.clone())).collect(),
            ))
        })
    }

    async fn set_ref(&self, store: &Store, native: &NativeRef, to: Option<&State>) -> Result<bool> {
        in_system(store, |system| {
            let refs = if system.branches.contains_key(native.as_str()) {
                &mut system.branches
            } else {
                &mut system.tags
            };
            match to.and_then(|state| state.str("snapshot_id")) {
                Some(id) => refs.insert(native.to_string(), id.to_owned()),
                None => refs.remove(native.as_str()),
            };
            Some(true)
        })
    }

    async fn diverge(&self, store: &Store, working_ref: &NativeRef) -> Result<bool> {
        in_system(store, |system| {
            system.write("main", "first", "theirs")?;
            system.write(working_ref.as_str(), "first", "ours")?;
            Some(true)
        })
    }

    async fn busy(&self, _store: &Store) -> Result<Option<Box<dyn Any + Send>>> {
        // Every write here is one step; a backend that declares NEEDS_QUIESCENCE would have to see this writer.
        Ok(Some(Box::new("a writer")))
    }

    fn rounds(&self) -> usize {
        50
    }
}
