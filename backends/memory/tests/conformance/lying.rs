//! A memory backend that breaks one sentence of the contract.

use std::time::Duration;

use async_trait::async_trait;
use tether_backend_memory::Memory;
use tether_engine::backend::{
    Address, Backend, Capabilities, Capability, Effect, Expected, HistoryEntry, Merge, Move,
    ObjectDiff, Source, Store, Target, Verdict, VerifyReport,
};
use tether_engine::id::{DatasetId, PinId};
use tether_engine::manifest::Pin;
use tether_engine::name::{NativeRef, pin_ref};
use tether_engine::state::{Identity, Locator, State};
use tether_engine::{Error, Result};

/// What the backend does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    /// Declares the capability and answers as a kind without it.
    Cannot(Capability),
    /// Declares a capability that memory has not.
    Declares(Capability),
    /// Panics.
    Panics,
    /// Never sees a change.
    FingerprintIsConstant,
    /// Sees a change where there is none.
    FingerprintIsRandom,
    /// Reads a missing branch as the base.
    MissingBranchIsBase,
    /// Puts the branch into the identity.
    IdentityHasPosition,
    /// A read that writes.
    FingerprintMakesARef,
    /// Opens whatever there is now for a recorded state.
    StateOpensTheBase,
    /// Says that it made a pin and makes none.
    PinIsNotMade,
    /// Moves a pin that is at another state.
    PinMoves,
    /// Looks for the pin first and makes it later.
    PinLooksThenMakes,
    /// Says `ok` without looking.
    VerifyIsAlwaysOk,
    /// Deletes nothing and says so.
    UnpinDoesNothing,
    /// Lists no pin.
    PinsAreNotListed,
    /// Starts forks at the base's head, whatever the source.
    ForkStartsAtTheBase,
    /// Leaves an existing fork where it is.
    ForkIsNotReset,
    /// Ignores `expected`.
    ExpectedIsIgnored,
    /// Compares first and moves later.
    CompareThenMove,
    /// Says `Moved` when its own earlier call made the branch.
    LostReplyIsMoved,
    /// Says `Created` or `Changed` every time.
    EffectIsNeverFound,
    /// Deletes the base when told to.
    BaseCanBeDeleted,
    /// Forces the base onto a fork.
    PromoteForces,
    /// Says that it promoted.
    PromoteDoesNothing,
    /// Makes a second merge commit for the second call.
    MergeAnswersChangedAgain,
    /// Reports a conflict as an error.
    ConflictIsAnError,
    /// Answers `ancestor_of` the wrong way round.
    AncestorsAreReversed,
    /// Ignores the limit.
    HistoryIsUnbounded,
    /// Lists the oldest entry first.
    HistoryIsOldestFirst,
    /// Never sees a difference.
    DiffIsEmpty,
    /// Counts what it does not list.
    DiffCountsAreWrong,
    /// Adopts what is there.
    CreateAdopts,
    /// Deletes for whoever asks.
    DeleteIgnoresTheOwner,
    /// Puts an option's value into a message.
    ErrorsTellSecrets,
}

/// [`Memory`] with one [`Lie`].
pub(crate) struct Lying(pub(crate) Lie);

impl Lying {
    fn cannot(&self, capability: Capability) -> Result<()> {
        if self.0 == Lie::Cannot(capability) {
            return Err(self.unsupported("cannot do that"));
        }
        Ok(())
    }

    /// `expected`, unless the lie is to ignore it or to look at it too early.
    async fn expectation<'a>(
        &self,
        store: &Store,
        native: &NativeRef,
        expected: &'a Expected,
    ) -> Result<std::result::Result<&'a Expected, Option<State>>> {
        match self.0 {
            Lie::ExpectedIsIgnored => Ok(Ok(&Expected::Any)),
            Lie::CompareThenMove => {
                let head = Memory.head(store, native).await?;
                let matches = match expected {
                    Expected::Any => true,
                    Expected::Absent => head.is_none(),
                    Expected::At(state) => head.as_ref() == Some(state),
                };
                tokio::time::sleep(Duration::from_millis(1)).await;
                Ok(if matches {
                    Ok(&Expected::Any)
                } else {
                    Err(head)
                })
            }
            _ => Ok(Ok(expected)),
        }
    }

    /// The answer's effect, unless the lie is about it.
    fn told<T>(&self, answer: Move<T>) -> Move<T> {
        match answer {
            Move::Done {
                value,
                effect: Effect::Found,
            } if self.0 == Lie::EffectIsNeverFound => Move::Done {
                value,
                effect: Effect::Changed,
            },
            other => other,
        }
    }
}

#[async_trait]
impl Backend for Lying {
    fn kind(&self) -> &'static str {
        "memory"
    }

    fn capabilities(&self) -> Capabilities {
        match self.0 {
            Lie::Declares(capability) => Memory.capabilities().with(capability),
            _ => Memory.capabilities(),
        }
    }

    fn identity(&self, locator: &Locator) -> Result<Identity> {
        let identity = Memory.identity(locator)?;
        match locator.str("at").or_else(|| locator.str("branch")) {
            Some(at) if self.0 == Lie::IdentityHasPosition => Ok(identity.with("at", at)),
            _ => Ok(identity),
        }
    }

    async fn base_ref(&self, store: &Store) -> Result<Option<NativeRef>> {
        Memory.base_ref(store).await
    }

    async fn fingerprint(&self, store: &Store, working_ref: Option<&NativeRef>) -> Result<State> {
        match self.0 {
            #[expect(clippy::panic, reason = "that is the lie")]
            Lie::Panics => panic!("a bug in a backend"),
            Lie::FingerprintIsConstant => return Ok(State::default().with("snapshot_id", "same")),
            Lie::FingerprintIsRandom => {
                let random = DatasetId::random()?;
                return Ok(State::default().with("snapshot_id", random.as_str()));
            }
            Lie::FingerprintMakesARef => {
                let source = Source::State(Memory.fingerprint(store, None).await?);
                let _ = Memory
                    .fork(store, &source, &"seen".parse()?, &Expected::Any)
                    .await?;
            }
            _ => {}
        }
        match (Memory.fingerprint(store, working_ref).await, working_ref) {
            (Err(_), Some(_)) if self.0 == Lie::MissingBranchIsBase => {
                Memory.fingerprint(store, None).await
            }
            (Err(_), _) if self.0 == Lie::ErrorsTellSecrets => Err(Error::store(format!(
                "no such branch, {:?}",
                store.options.0
            ))),
            (answer, _) => answer,
        }
    }

    async fn head(&self, store: &Store, native: &NativeRef) -> Result<Option<State>> {
        Memory.head(store, native).await
    }

    async fn pin(&self, store: &Store, state: &State, id: &PinId) -> Result<Move<Pin>> {
        self.cannot(Capability::Pin)?;
        let native = pin_ref(id, 1);
        let value = Pin {
            id: id.clone(),
            native,
        };
        match self.0 {
            Lie::PinIsNotMade => {
                let effect = Effect::Created;
                return Ok(Move::Done { value, effect });
            }
            Lie::PinMoves => {
                Memory.unpin(store, &value).await?;
            }
            Lie::PinLooksThenMakes => {
                let there = Memory.list_pins(store).await?.contains(id);
                tokio::time::sleep(Duration::from_millis(1)).await;
                let answer = Memory.pin(store, state, id).await?;
                return Ok(match answer {
                    Move::Done { value, .. } if !there => Move::Done {
                        value,
                        effect: Effect::Created,
                    },
                    other => other,
                });
            }
            _ => {}
        }
        Ok(self.told(Memory.pin(store, state, id).await?))
    }

    async fn unpin(&self, store: &Store, pin: &Pin) -> Result<Effect> {
        match self.0 {
            Lie::UnpinDoesNothing => Ok(Effect::Changed),
            _ => Memory.unpin(store, pin).await,
        }
    }

    async fn list_pins(&self, store: &Store) -> Result<Vec<PinId>> {
        match self.0 {
            Lie::PinsAreNotListed => Ok(Vec::new()),
            _ => Memory.list_pins(store).await,
        }
    }

    async fn verify(
        &self,
        store: &Store,
        state: &State,
        pin: Option<&Pin>,
        deep: bool,
    ) -> Result<VerifyReport> {
        match self.0 {
            Lie::VerifyIsAlwaysOk => Ok(VerifyReport::new(Verdict::Ok, "")),
            _ => Memory.verify(store, state, pin, deep).await,
        }
    }

    async fn fork(
        &self,
        store: &Store,
        source: &Source,
        name: &NativeRef,
        expected: &Expected,
    ) -> Result<Move<NativeRef>> {
        self.cannot(Capability::Fork)?;
        let base = Source::Ref("main".parse()?);
        let source = if self.0 == Lie::ForkStartsAtTheBase {
            &base
        } else {
            source
        };
        if self.0 == Lie::ForkIsNotReset && Memory.head(store, name).await?.is_some() {
            let (value, effect) = (name.clone(), Effect::Found);
            return Ok(Move::Done { value, effect });
        }
        if self.0 == Lie::LostReplyIsMoved
            && let Expected::At(reviewed) = expected
        {
            let head = Memory.head(store, name).await?;
            if head.as_ref() != Some(reviewed) {
                return Ok(Move::Moved { observed: head });
            }
        }
        let expected = match self.expectation(store, name, expected).await? {
            Ok(expected) => expected,
            Err(observed) => return Ok(Move::Moved { observed }),
        };
        Ok(self.told(Memory.fork(store, source, name, expected).await?))
    }

    async fn list_working_refs(&self, store: &Store) -> Result<Vec<NativeRef>> {
        Memory.list_working_refs(store).await
    }

    async fn delete_working_ref(
        &self,
        store: &Store,
        native: &NativeRef,
        expected: &Expected,
    ) -> Result<Move<()>> {
        if self.0 == Lie::BaseCanBeDeleted && native.as_str() == "main" {
            let (value, effect) = ((), Effect::Changed);
            return Ok(Move::Done { value, effect });
        }
        let expected = match self.expectation(store, native, expected).await? {
            Ok(expected) => expected,
            Err(observed) => return Ok(Move::Moved { observed }),
        };
        Ok(self.told(Memory.delete_working_ref(store, native, expected).await?))
    }

    async fn promote(
        &self,
        store: &Store,
        source: &Source,
        expected: &Expected,
    ) -> Result<Move<State>> {
        self.cannot(Capability::Promote)?;
        let base = "main".parse()?;
        match self.0 {
            Lie::PromoteForces => {
                let answer = Memory.fork(store, source, &base, expected).await?;
                let state = Memory.fingerprint(store, None).await?;
                return Ok(match answer {
                    Move::Done { effect, .. } => Move::Done {
                        value: state,
                        effect,
                    },
                    Move::Moved { observed } => Move::Moved { observed },
                });
            }
            Lie::PromoteDoesNothing => {
                let (value, effect) = (Memory.fingerprint(store, None).await?, Effect::Changed);
                return Ok(Move::Done { value, effect });
            }
            _ => {}
        }
        let expected = match self.expectation(store, &base, expected).await? {
            Ok(expected) => expected,
            Err(observed) => return Ok(Move::Moved { observed }),
        };
        Ok(self.told(Memory.promote(store, source, expected).await?))
    }

    async fn merge(
        &self,
        store: &Store,
        source: &Source,
        message: &str,
        expected: &Expected,
    ) -> Result<Merge> {
        self.cannot(Capability::Merge)?;
        let expected = match self.0 {
            Lie::ExpectedIsIgnored => &Expected::Any,
            _ => expected,
        };
        match Memory.merge(store, source, message, expected).await? {
            Merge::Base(Move::Done { value, .. }) if self.0 == Lie::MergeAnswersChangedAgain => {
                let effect = Effect::Changed;
                Ok(Merge::Base(Move::Done { value, effect }))
            }
            Merge::Conflict(_) if self.0 == Lie::ConflictIsAnError => Err(Error::store("conflict")),
            other => Ok(other),
        }
    }

    async fn ancestor_of(
        &self,
        store: &Store,
        ancestor: &State,
        descendant: &State,
    ) -> Result<Option<bool>> {
        match self.0 {
            Lie::AncestorsAreReversed => Memory.ancestor_of(store, descendant, ancestor).await,
            _ => Memory.ancestor_of(store, ancestor, descendant).await,
        }
    }

    async fn history(
        &self,
        store: &Store,
        from: Option<&str>,
        limit: usize,
    ) -> Result<Vec<HistoryEntry>> {
        self.cannot(Capability::History)?;
        let limit = if self.0 == Lie::HistoryIsUnbounded {
            usize::MAX
        } else {
            limit
        };
        let mut entries = Memory.history(store, from, limit).await?;
        if self.0 == Lie::HistoryIsOldestFirst {
            entries.reverse();
        }
        Ok(entries)
    }

    async fn diff(
        &self,
        store: &Store,
        a: &State,
        b: &State,
        listings: (Option<&[u8]>, Option<&[u8]>),
    ) -> Result<ObjectDiff> {
        self.cannot(Capability::Diff)?;
        let mut diff = Memory.diff(store, a, b, listings).await?;
        match self.0 {
            Lie::DiffIsEmpty => diff = ObjectDiff::new("keys").summarised(),
            Lie::DiffCountsAreWrong => diff.entries.clear(),
            _ => {}
        }
        Ok(diff)
    }

    async fn open(&self, store: &Store, target: &Target, writable: bool) -> Result<Address> {
        if let Target::State(_) = target {
            self.cannot(Capability::Addressable)?;
        }
        match target {
            Target::State(_) if self.0 == Lie::StateOpensTheBase => {
                Memory.open(store, &Target::Base, writable).await
            }
            _ => Memory.open(store, target, writable).await,
        }
    }

    async fn create(&self, store: &Store, owner: &DatasetId) -> Result<State> {
        self.cannot(Capability::Create)?;
        match Memory.create(store, owner).await {
            Err(_) if self.0 == Lie::CreateAdopts => Memory.fingerprint(store, None).await,
            answer => answer,
        }
    }

    async fn owner(&self, store: &Store) -> Result<Option<DatasetId>> {
        Memory.owner(store).await
    }

    async fn is_ref_empty(&self, store: &Store, ignoring: &[NativeRef]) -> Result<Option<bool>> {
        Memory.is_ref_empty(store, ignoring).await
    }

    async fn delete_store(&self, store: &Store, owner: &DatasetId) -> Result<()> {
        self.cannot(Capability::Create)?;
        let marked = Memory.owner(store).await?;
        match (self.0, &marked) {
            (Lie::DeleteIgnoresTheOwner, Some(marked)) => Memory.delete_store(store, marked).await,
            _ => Memory.delete_store(store, owner).await,
        }
    }
}
