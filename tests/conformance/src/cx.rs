//! What every check works with: the backend, stores from the harness, and the words to judge answers in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use tether_engine::backend::{
    Backend, Capabilities, Capability, Effect, Expected, Merge, Move, Source, Store,
};
use tether_engine::error::ErrorKind;
use tether_engine::id::{DatasetId, PinId};
use tether_engine::manifest::Pin;
use tether_engine::name::{NativeRef, working_ref};
use tether_engine::state::{State, pin_id};
use tether_engine::{Error, Result};
use tokio::sync::Barrier;

use crate::harness::Harness;
use crate::report::Failure;

/// Why a check ended early.
#[derive(Debug)]
pub(crate) enum Stop {
    Failed(Failure),
    Skipped(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}

pub(crate) type Verdict<T = ()> = std::result::Result<T, Stop>;

/// One check: its name, what a store must be able to do for it, and the check itself.
pub(crate) struct Entry {
    pub name: &'static str,
    /// The first one is the one it belongs to.
    pub needs: &'static [Capability],
    pub run: for<'a> fn(&'a Cx<'a>) -> BoxFuture<'a, Verdict>,
}

/// Lists checks: `checks! { [Pin]: name, name; [Pin, AtomicRef]: name }`.
macro_rules! checks {
    ($($needs:tt: $($name:ident),+ $(,)?);+ $(;)?) => {
        pub(crate) const CHECKS: &[$crate::cx::Entry] = &[$($(
            $crate::cx::Entry {
                name: stringify!($name),
                needs: $crate::cx::needs!($needs),
                run: |cx| Box::pin($name(cx)),
            },
        )+)+];
    };
}

macro_rules! needs {
    ([$($need:ident),+]) => {
        &[$(tether_engine::backend::Capability::$need),+]
    };
}
pub(crate) use checks;
pub(crate) use needs;

/// Ends the check as failed unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            return Err($crate::cx::failed(format!($($text)+)));
        }
    };
}
pub(crate) use ensure;

pub(crate) fn failed(text: impl Into<String>) -> Stop {
    Stop::Failed(Failure(text.into()))
}

pub(crate) fn skipped(text: impl Into<String>) -> Stop {
    Stop::Skipped(text.into())
}

pub(crate) struct Cx<'a> {
    pub harness: &'a dyn Harness,
    pub backend: Arc<dyn Backend>,
    pub capabilities: Capabilities,
    names: AtomicUsize,
}

impl<'a> Cx<'a> {
    pub(crate) fn new(harness: &'a dyn Harness, capabilities: Capabilities) -> Self {
        Self {
            harness,
            backend: harness.backend(),
            capabilities,
            names: AtomicUsize::new(0),
        }
    }

    pub(crate) fn has(&self, capability: Capability) -> bool {
        self.capabilities.has(capability)
    }

    pub(crate) async fn store(&self) -> Result<Store> {
        self.harness.new_store().await
    }

    /// What `working_ref`, or the base, is now.
    pub(crate) async fn now(
        &self,
        store: &Store,
        working_ref: Option<&NativeRef>,
    ) -> Result<State> {
        self.backend.fingerprint(store, working_ref).await
    }

    /// Writes at `working_ref`, or at the base, and answers what it is then.
    pub(crate) async fn mutate(
        &self,
        store: &Store,
        working_ref: Option<&NativeRef>,
    ) -> Result<State> {
        self.harness.mutate(store, working_ref).await?;
        self.now(store, working_ref).await
    }

    /// Whether two states say the same about the content.
    pub(crate) fn same(&self, a: &State, b: &State) -> bool {
        a.same_content(b, self.backend.volatile_keys())
    }

    pub(crate) fn pin_id(
        &self,
        dataset: &DatasetId,
        store: &Store,
        state: &State,
    ) -> Result<PinId> {
        let identity = self.backend.identity(&store.locator)?;
        let content = state.content(self.backend.volatile_keys());
        Ok(pin_id(dataset, self.backend.kind(), &identity, &content))
    }

    /// Pins `state` for a new dataset.
    pub(crate) async fn pinned(&self, store: &Store, state: &State) -> Verdict<Pin> {
        let id = self.pin_id(&DatasetId::random()?, store, state)?;
        let answer = self.backend.pin(store, state, &id).await?;
        done(answer, Effect::Created, "a first pin")
    }

    /// A name for a working branch that no other has.
    pub(crate) fn name(&self, dataset: &DatasetId) -> Result<NativeRef> {
        let number = self.names.fetch_add(1, Ordering::Relaxed);
        Ok(working_ref(dataset, &format!("check{number}").parse()?))
    }

    /// A new branch from the base's head, the way the engine makes one for this kind: from a pin where there are pins.
    pub(crate) async fn forked(&self, store: &Store) -> Verdict<NativeRef> {
        let state = self.now(store, None).await?;
        let source = self.source(store, &state).await?;
        let name = self.name(&DatasetId::random()?)?;
        let answer = self
            .backend
            .fork(store, &source, &name, &Expected::Absent)
            .await?;
        done(answer, Effect::Created, "a first fork")
    }

    /// A new branch, for kinds that have branches.
    pub(crate) async fn forked_if_it_can(&self, store: &Store) -> Verdict {
        if self.has(Capability::Fork) {
            self.forked(store).await?;
        }
        Ok(())
    }

    /// A pin of `state` as a source where there are pins, the state itself elsewhere.
    pub(crate) async fn source(&self, store: &Store, state: &State) -> Verdict<Source> {
        if self.has(Capability::Pin) {
            let pin = self.pinned(store, state).await?;
            Ok(Source::Pinned(pin, state.clone()))
        } else {
            Ok(Source::State(state.clone()))
        }
    }

    /// The base branch, which every kind that can fork has.
    pub(crate) async fn base(&self, store: &Store) -> Verdict<NativeRef> {
        let base = self.backend.base_ref(store).await?;
        base.ok_or_else(|| failed("a kind that can fork has no base_ref"))
    }

    /// Every ref of the store, as its own tools show them; empty when the harness cannot list them.
    pub(crate) async fn refs(&self, store: &Store) -> Result<BTreeMap<String, String>> {
        Ok(self.harness.refs(store).await?.unwrap_or_default())
    }

    /// A state of the right form that the store never had.
    pub(crate) async fn unreachable(&self, store: &Store) -> Verdict<State> {
        let state = self.now(store, None).await?;
        let lost = self.harness.unreachable(store, &state);
        lost.ok_or_else(|| skipped("the harness names no state that the store never had"))
    }

    /// Moves or deletes a ref past the backend.
    pub(crate) async fn set_ref(
        &self,
        store: &Store,
        native: &NativeRef,
        to: Option<&State>,
    ) -> Verdict {
        if self.harness.set_ref(store, native, to).await? {
            Ok(())
        } else {
            Err(skipped("the harness cannot move refs past the backend"))
        }
    }
}

/// What a move answered, when it was done.
pub(crate) fn finished<T>(answer: Move<T>, what: &str) -> Verdict<(T, Effect)> {
    match answer {
        Move::Done { value, effect } => Ok((value, effect)),
        Move::Moved { observed } => Err(failed(format!(
            "{what} was answered with Moved, observed {observed:?}"
        ))),
    }
}

/// The value of a move that had just this effect.
pub(crate) fn done<T>(answer: Move<T>, expected: Effect, what: &str) -> Verdict<T> {
    let (value, effect) = finished(answer, what)?;
    ensure!(
        effect == expected,
        "{what} was answered with {effect:?}, not {expected:?}"
    );
    Ok(value)
}

/// What a refused move observed.
pub(crate) fn refused<T: std::fmt::Debug>(answer: Move<T>, what: &str) -> Verdict<Option<State>> {
    match answer {
        Move::Moved { observed } => Ok(observed),
        done @ Move::Done { .. } => Err(failed(format!(
            "{what} was answered with {done:?}, not Moved"
        ))),
    }
}

/// A merge that met no conflict.
pub(crate) fn merged(answer: Merge, what: &str) -> Verdict<Move<State>> {
    match answer {
        Merge::Base(base) => Ok(base),
        Merge::Conflict(units) => Err(failed(format!(
            "{what} was answered with conflicts in {units:?}"
        ))),
    }
}

/// The error of a call that must fail.
pub(crate) fn error<T: std::fmt::Debug>(answer: Result<T>, what: &str) -> Verdict<Error> {
    match answer {
        Err(error) => Ok(error),
        Ok(value) => Err(failed(format!(
            "{what} was answered with {value:?}, not an error"
        ))),
    }
}

/// The error of a call that must fail in one way.
pub(crate) fn error_of_kind<T: std::fmt::Debug>(
    answer: Result<T>,
    kind: ErrorKind,
    what: &str,
) -> Verdict<Error> {
    let error = error(answer, what)?;
    let found = error.kind();
    ensure!(
        found == kind,
        "{what} failed as {found:?}, not {kind:?}: {}",
        error.one_line()
    );
    Ok(error)
}

/// How many run in a race.
pub(crate) const RACERS: usize = 8;

/// Runs `racer` for 0 to [`RACERS`] at the same moment, and collects the answers in that order.
pub(crate) async fn race<T, F>(racer: impl Fn(usize) -> F) -> Verdict<Vec<T>>
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    let barrier = Arc::new(Barrier::new(RACERS));
    let tasks: Vec<_> = (0..RACERS)
        .map(|number| {
            let (barrier, run) = (barrier.clone(), racer(number));
            tokio::spawn(async move {
                barrier.wait().await;
                run.await
            })
        })
        .collect();
    let mut answers = Vec::with_capacity(RACERS);
    for task in tasks {
        let answer = task
            .await
            .map_err(|error| failed(format!("a racer panicked: {error}")))?;
        answers.push(answer?);
    }
    Ok(answers)
}
