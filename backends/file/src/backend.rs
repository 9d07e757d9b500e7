//! The contract of a backend, for local paths.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tether_engine::backend::{
    Address, Backend, Capabilities, Capability, ObjectDiff, Store, Target, Verdict, VerifyReport,
};
use tether_engine::id::DatasetId;
use tether_engine::manifest::{FileMode, Pin};
use tether_engine::name::NativeRef;
use tether_engine::state::{Identity, Locator, State};
use tether_engine::{Error, Result};

use crate::cache::Cache;
use crate::locator::{self, Place};
use crate::scan::error::Failure;
use crate::scans::{Read, Scans};
use crate::{diff, store};

/// The `file` backend.
///
/// A directory counts by its files: paths and contents, not times or permissions. A link to a file is read through; any other link
/// counts by its target. FIFOs, sockets and devices are refused with their path, as is whatever cannot be read; neither is ever
/// left out silently. `.tether-owner` at the root does not count.
#[derive(Debug)]
pub struct FileBackend {
    scans: Arc<Scans>,
    checkout: Mutex<Option<(PathBuf, PathBuf)>>,
}

impl FileBackend {
    /// A backend that keeps file hashes in `cache_dir`, a dataset's `.tether/cache`; `None` keeps them for this process only.
    ///
    /// The directory is made when there is something to keep, if the directory above it exists.
    pub fn new(cache_dir: Option<PathBuf>) -> Self {
        Self {
            scans: Arc::new(Scans::new(cache_dir.map(Cache::new))),
            checkout: Mutex::new(None),
        }
    }

    /// The real path of the dataset's checkout: one for all of its objects, so it is resolved once.
    fn real_checkout(&self, checkout: &Path) -> PathBuf {
        let mut known = self.checkout.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((given, real)) if given == checkout => real.clone(),
            _ => {
                let real = locator::real_path(checkout);
                *known = Some((checkout.to_owned(), real.clone()));
                real
            }
        }
    }

    /// Runs `work` with the scans and the object's real path, where it may block.
    async fn blocking<T: Send + 'static>(
        &self,
        locator: &Locator,
        work: impl FnOnce(&Scans, &Path) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let scans = Arc::clone(&self.scans);
        let locator = locator.clone();
        let run = move || work(&scans, &locator::real(&locator)?);
        match tokio::task::spawn_blocking(run).await {
            Ok(result) => result,
            Err(error) => Err(Error::internal("a scan ended unexpectedly").with_source(error)),
        }
    }

    async fn look(&self, store: &Store, deep: bool) -> Result<Found> {
        let read = if deep {
            Read::Everything
        } else {
            Read::Changed
        };
        let look = move |scans: &Scans, root: &Path| match scans.state(root, read) {
            Ok(state) => Ok(Ok(state)),
            Err(Failure::Missing(path)) => Ok(Err(path)),
            Err(Failure::Other(error)) => Err(error),
        };
        self.blocking(&store.locator, look).await
    }
}

/// What is at a path: its state, or the path where nothing is.
type Found = std::result::Result<State, PathBuf>;

/// What `store` can be at best: only a single versioned remote object can be read back.
fn is_addressable(store: &Store) -> bool {
    match locator::place(&store.locator) {
        Ok(Place::Remote(uri)) => store.policy.file == FileMode::Versioned && !uri.ends_with('/'),
        _ => false,
    }
}

/// A position in a history, which files do not have.
fn refuse_positions(locator: &Locator) -> Result<()> {
    for key in ["at", "ref", "branch"] {
        if locator.get(key).is_some() {
            return Err(Error::capability(format!(
                "a file object has no history, so it takes no `{key}`"
            ))
            .with_hint("`tether add KEY PATH --kind file` without it"));
        }
    }
    Ok(())
}

/// Refuses an object that would hold what every commit of it changes.
fn refuse_own_dataset(root: &Path, checkout: &Path) -> Result<()> {
    if checkout.starts_with(root) {
        return Err(Error::user(format!(
            "{} holds the dataset itself, so every commit would change the object",
            root.display()
        ))
        .with_hint("register the directory that holds the data alone"));
    }
    if root.starts_with(checkout.join(".tether")) {
        return Err(Error::user(format!(
            "{} is tether's own, and its commands write there",
            root.display()
        ))
        .with_hint("keep data outside `.tether`"));
    }
    Ok(())
}

#[async_trait]
impl Backend for FileBackend {
    fn kind(&self) -> &'static str {
        "file"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::of(&[
            Capability::Fingerprint,
            Capability::Addressable,
            Capability::CheapFingerprint,
            Capability::Diff,
            Capability::Create,
        ])
    }

    fn effective(&self, store: &Store) -> Capabilities {
        let all = self.capabilities();
        if is_addressable(store) {
            all.without(Capability::Create)
        } else {
            all.without(Capability::Addressable)
        }
    }

    fn local_path_keys(&self) -> &'static [&'static str] {
        locator::KEYS
    }

    fn locator_keys(&self) -> &'static [&'static str] {
        &["uri", "path", "region"]
    }

    fn promote_hint(&self) -> &'static str {
        "files have no branches: write them in place, then `tether pull`"
    }

    fn validate(&self, store: &Store, checkout: &Path) -> Result<()> {
        refuse_positions(&store.locator)?;
        let root = locator::real(&store.locator)?;
        locator::text_of(&root)?;
        refuse_own_dataset(&root, &self.real_checkout(checkout))
    }

    fn identity(&self, locator: &Locator) -> Result<Identity> {
        locator::identity(locator)
    }

    fn state_addressable(&self, _locator: &Locator, state: &State) -> bool {
        state.get("version_id").is_some()
    }

    async fn fingerprint(&self, store: &Store, working_ref: Option<&NativeRef>) -> Result<State> {
        if working_ref.is_some() {
            return Err(self.unsupported("has no branches"));
        }
        refuse_positions(&store.locator)?;
        self.blocking(&store.locator, |scans, root| {
            scans
                .state(root, Read::Changed)
                .map_err(Failure::into_error)
        })
        .await
    }

    async fn listing(&self, store: &Store, state: &State) -> Result<Option<Vec<u8>>> {
        if state.str("type") != Some("dir") {
            return Ok(None);
        }
        let state = state.clone();
        self.blocking(&store.locator, move |scans, root| {
            match scans.listing(root, &state) {
                Err(Failure::Missing(_)) => Ok(None),
                found => found.map_err(Failure::into_error),
            }
        })
        .await
    }

    /// Compares the path's content with `state`; `deep` reads every byte again instead of trusting the cache.
    async fn verify(
        &self,
        store: &Store,
        state: &State,
        _pin: Option<&Pin>,
        deep: bool,
    ) -> Result<VerifyReport> {
        let found = self.look(store, deep).await?;
        Ok(compared(&found, state))
    }

    async fn verify_many(
        &self,
        store: &Store,
        states: &[(State, Option<Pin>)],
        deep: bool,
    ) -> Vec<Result<VerifyReport>> {
        match self.look(store, deep).await {
            Ok(found) => {
                let compare = |(state, _): &(State, Option<Pin>)| Ok(compared(&found, state));
                states.iter().map(compare).collect()
            }
            Err(error) => {
                let again = |_| Err(Error::new(error.kind(), error.one_line()));
                states.iter().map(again).collect()
            }
        }
    }

    async fn diff(
        &self,
        store: &Store,
        a: &State,
        b: &State,
        listings: (Option<&[u8]>, Option<&[u8]>),
    ) -> Result<ObjectDiff> {
        diff::diff(locator::text(&store.locator)?, a, b, listings)
    }

    async fn open(&self, store: &Store, target: &Target, writable: bool) -> Result<Address> {
        let uri = locator::text(&store.locator)?;
        if writable {
            return Err(self.unsupported("is opened for reading only"));
        }
        let address = match target {
            Target::Base => uri.to_owned(),
            Target::State(state) | Target::Pinned(_, state) => match state.str("version_id") {
                Some(version) => format!("{uri}#{version}"),
                None => {
                    return Err(Error::capability(
                        "a file object has only its present content; a recorded state cannot be read back",
                    )
                    .with_hint("open it without a revision: `tether open KEY`"));
                }
            },
            Target::Ref(_) => return Err(self.unsupported("has no branches")),
        };
        Ok(Address {
            handle: "FileHandle",
            address,
            secret_address: None,
            read_only: true,
        })
    }

    async fn create(&self, store: &Store, owner: &DatasetId) -> Result<State> {
        let owner = owner.clone();
        self.blocking(&store.locator, move |scans, root| {
            store::create(root, &owner)?;
            scans
                .state(root, Read::Changed)
                .map_err(Failure::into_error)
        })
        .await
    }

    async fn owner(&self, store: &Store) -> Result<Option<DatasetId>> {
        self.blocking(&store.locator, |_, root| store::owner(root))
            .await
    }

    async fn is_ref_empty(&self, store: &Store, _ignoring: &[NativeRef]) -> Result<Option<bool>> {
        self.blocking(&store.locator, |_, root| Ok(store::is_empty(root)))
            .await
    }

    async fn delete_store(&self, store: &Store, owner: &DatasetId) -> Result<()> {
        let owner = owner.clone();
        self.blocking(&store.locator, move |_, root| store::delete(root, &owner))
            .await
    }
}

/// The verdict on what is where `recorded` was.
fn compared(found: &Found, recorded: &State) -> VerifyReport {
    match found {
        Ok(state) if state == recorded => VerifyReport::new(Verdict::Ok, ""),
        Ok(_) => VerifyReport::new(Verdict::Drifted, "content changed since commit"),
        Err(path) => VerifyReport::new(
            Verdict::Missing,
            format!("[file] path does not exist: {}", path.display()),
        ),
    }
}
