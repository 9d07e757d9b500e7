//! The `git` kind: other git repositories (and jj repositories through their `.git`), pinned by refs, forked by branches.
//!
//! Everything is read, and every ref moved, in process through gix; nothing a repository's own configuration names is run.
//! The `git` executable is called for three things: pushing a pin, fast-forwarding a checkout, confirming a merge conflict.
//!
//! ```text
//!   locator    what a manifest says, checked        layout    where a repository's directories are, without opening it
//!   repos      repositories opened once per process  state     {sha, dirty, change_id}
//!   revision   names to commits                      base      the upstream branch, detached HEAD included
//!   pins       refs that keep a commit alive         push      the same refs on a remote, from a neutral repository
//!   branches   fork and delete                       promote   fast-forward and merge
//!   checkout   moving a branch that is checked out   history, diff, open, store: the rest of the contract
//! ```

mod base;
mod branches;
mod checkout;
mod config;
mod diff;
mod error;
mod history;
mod layout;
mod locator;
mod open;
mod pins;
mod promote;
mod push;
mod repos;
mod revision;
mod state;
mod store;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tether_engine::backend::Effect;
use tether_engine::backend::{
    Address, Backend, Capabilities, Capability, Expected, HistoryEntry, Merge, Move, ObjectDiff,
    Source, Store, Target, VerifyReport,
};
use tether_engine::id::{DatasetId, PinId};
use tether_engine::manifest::Pin;
use tether_engine::name::NativeRef;
use tether_engine::state::{Identity, Locator, State};
use tether_engine::{Error, Result};

use crate::repos::{Core, Opened};

/// The id of the one empty commit every store that tether creates starts with.
pub const EMPTY_ROOT_SHA: &str = "5a2cfa770badaceb6c6de5171fdf82c871fa40de";

/// The `git` backend. Cheap to clone; opened repositories are shared.
#[derive(Clone, Debug)]
pub struct GitBackend {
    core: Arc<Core>,
}

impl GitBackend {
    /// A backend that runs `git_path` where it needs the `git` executable; `None`: `TETHER_GIT`, then `PATH`.
    pub fn new(git_path: Option<PathBuf>) -> Self {
        Self {
            core: Arc::new(Core::new(git_path)),
        }
    }

    /// Runs `work` on a blocking thread with the store's repository.
    async fn with<T, F>(&self, store: &Store, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Opened) -> Result<T> + Send + 'static,
    {
        let core = Arc::clone(&self.core);
        let store = store.clone();
        blocking(move || work(&Opened::new(core, &store)?)).await
    }
}

async fn blocking<T, F>(work: F) -> Result<T>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T> + Send + 'static,
{
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::internal("work on a git repository stopped").with_source(error))?
}

#[async_trait]
impl Backend for GitBackend {
    fn kind(&self) -> &'static str {
        "git"
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

    fn volatile_keys(&self) -> &'static [&'static str] {
        state::VOLATILE
    }

    fn local_path_keys(&self) -> &'static [&'static str] {
        &["path", "uri"]
    }

    fn locator_keys(&self) -> &'static [&'static str] {
        &["path", "uri", "ref", "at", "remote", "allow_dirty", "pins"]
    }

    fn promote_hint(&self) -> &'static str {
        "merge or rebase the branch with git, then `tether pull`"
    }

    fn validate(&self, store: &Store, checkout: &Path) -> Result<()> {
        locator::validate(&self.core, store, checkout)
    }

    fn identity(&self, locator: &Locator) -> Result<Identity> {
        locator::identity(&locator::path(locator)?)
    }

    /// The repository, not the checkout: linked worktrees share branches.
    fn branch_scope(&self, locator: &Locator) -> Result<Option<String>> {
        locator::repository(&locator::path(locator)?).map(Some)
    }

    /// The repository, not the checkout: linked worktrees share tags.
    fn ref_namespace(&self, locator: &Locator) -> Result<String> {
        locator::repository(&locator::path(locator)?)
    }

    async fn base_ref(&self, store: &Store) -> Result<Option<NativeRef>> {
        self.with(store, base::native).await
    }

    async fn fingerprint(&self, store: &Store, working_ref: Option<&NativeRef>) -> Result<State> {
        let working_ref = working_ref.cloned();
        self.with(store, move |at| {
            state::fingerprint(at, working_ref.as_ref())
        })
        .await
    }

    async fn head(&self, store: &Store, native: &NativeRef) -> Result<Option<State>> {
        let native = native.clone();
        self.with(store, move |at| branches::head(at, &native))
            .await
    }

    async fn pin(&self, store: &Store, state: &State, pin: &PinId) -> Result<Move<Pin>> {
        let (state, pin) = (state.clone(), pin.clone());
        self.with(store, move |at| pins::pin(at, &state, &pin))
            .await
    }

    async fn unpin(&self, store: &Store, pin: &Pin) -> Result<Effect> {
        let pin = pin.clone();
        self.with(store, move |at| pins::unpin(at, &pin)).await
    }

    async fn list_pins(&self, store: &Store) -> Result<Vec<PinId>> {
        self.with(store, pins::list).await
    }

    async fn verify(
        &self,
        store: &Store,
        state: &State,
        pin: Option<&Pin>,
        deep: bool,
    ) -> Result<VerifyReport> {
        let (state, pin) = (state.clone(), pin.cloned());
        self.with(store, move |at| {
            pins::verify(at, &state, pin.as_ref(), deep)
        })
        .await
    }

    async fn verify_many(
        &self,
        store: &Store,
        states: &[(State, Option<Pin>)],
        deep: bool,
    ) -> Vec<Result<VerifyReport>> {
        let items = states.to_vec();
        let answer = self
            .with(store, move |at| pins::verify_many(at, &items, deep))
            .await;
        match answer {
            Ok(reports) => reports,
            Err(error) => error::repeat(&error, states.len()),
        }
    }

    async fn fork(
        &self,
        store: &Store,
        source: &Source,
        name: &NativeRef,
        expected: &Expected,
    ) -> Result<Move<NativeRef>> {
        let (source, name, expected) = (source.clone(), name.clone(), expected.clone());
        self.with(store, move |at| {
            branches::fork(at, &source, &name, &expected)
        })
        .await
    }

    async fn list_working_refs(&self, store: &Store) -> Result<Vec<NativeRef>> {
        self.with(store, branches::list).await
    }

    async fn working_ref_blockers(
        &self,
        store: &Store,
        native: &NativeRef,
    ) -> Result<Option<String>> {
        let native = native.clone();
        self.with(store, move |at| branches::blockers(at, &native))
            .await
    }

    async fn delete_working_ref(
        &self,
        store: &Store,
        native: &NativeRef,
        expected: &Expected,
    ) -> Result<Move<()>> {
        let (native, expected) = (native.clone(), expected.clone());
        self.with(store, move |at| branches::delete(at, &native, &expected))
            .await
    }

    async fn promote(
        &self,
        store: &Store,
        source: &Source,
        expected: &Expected,
    ) -> Result<Move<State>> {
        let (source, expected) = (source.clone(), expected.clone());
        self.with(store, move |at| promote::promote(at, &source, &expected))
            .await
    }

    async fn merge(
        &self,
        store: &Store,
        source: &Source,
        message: &str,
        expected: &Expected,
    ) -> Result<Merge> {
        let (source, message, expected) = (source.clone(), message.to_owned(), expected.clone());
        self.with(store, move |at| {
            promote::merge(at, &source, &message, &expected)
        })
        .await
    }

    async fn ancestor_of(
        &self,
        store: &Store,
        ancestor: &State,
        descendant: &State,
    ) -> Result<Option<bool>> {
        let (ancestor, descendant) = (ancestor.clone(), descendant.clone());
        self.with(store, move |at| {
            history::ancestor_of(at, &ancestor, &descendant)
        })
        .await
    }

    async fn history(
        &self,
        store: &Store,
        from: Option<&str>,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>> {
        let from = from.map(str::to_owned);
        self.with(store, move |at| history::list(at, from.as_deref(), limit))
            .await
    }

    async fn diff(
        &self,
        store: &Store,
        a: &State,
        b: &State,
        _listings: (Option<&[u8]>, Option<&[u8]>),
    ) -> Result<ObjectDiff> {
        let (a, b) = (a.clone(), b.clone());
        self.with(store, move |at| diff::files(at, &a, &b)).await
    }

    async fn open(&self, store: &Store, target: &Target, writable: bool) -> Result<Address> {
        let target = target.clone();
        self.with(store, move |at| open::address(at, &target, writable))
            .await
    }

    async fn create(&self, store: &Store, owner: &DatasetId) -> Result<State> {
        let (store, owner) = (store.clone(), owner.clone());
        blocking(move || store::create(&store, &owner)).await
    }

    async fn owner(&self, store: &Store) -> Result<Option<DatasetId>> {
        let store = store.clone();
        blocking(move || store::owner(&store)).await
    }

    async fn is_ref_empty(&self, store: &Store, ignoring: &[NativeRef]) -> Result<Option<bool>> {
        let ignoring = ignoring.to_vec();
        self.with(store, move |at| store::is_ref_empty(at, &ignoring))
            .await
    }

    async fn delete_store(&self, store: &Store, owner: &DatasetId) -> Result<()> {
        let core = Arc::clone(&self.core);
        let (store, owner) = (store.clone(), owner.clone());
        blocking(move || store::delete(&core, &store, &owner)).await
    }
}
