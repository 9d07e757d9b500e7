//! What becomes of each object: pinned, recorded, or left alone.

use std::collections::BTreeMap;

use crate::backend::{Capability, Verdict};
use crate::error::{Error, Result};
use crate::id::PinId;
use crate::key::ObjectKey;
use crate::manifest::{Manifest, PinMode};
use crate::state::{self, State};
use crate::world::{Facts, World};

/// What a commit does with one object.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Its state is as recorded.
    Unchanged,
    /// A native ref is made at `state`, unless it is there already.
    Pin {
        /// The state.
        state: State,
        /// The content address of the ref.
        pin: PinId,
        /// The manifest names this pin already and the store lost it: the manifest stays as it is.
        missing: bool,
    },
    /// The state alone is recorded.
    Record {
        /// The state.
        state: State,
        /// Whether it can be read back.
        recoverable: bool,
        /// Whether `pin = "record"` decides that, and not what the system can do.
        by_policy: bool,
    },
}

impl Decision {
    /// Whether the object's manifest gets another content.
    pub fn changes_manifest(&self) -> bool {
        match self {
            Self::Unchanged | Self::Pin { missing: true, .. } => false,
            Self::Pin { missing: false, .. } | Self::Record { .. } => true,
        }
    }
}

/// Decides every selected object that has a manifest. Objects that could not be read are one error, each named.
pub(super) fn all(world: &World, selected: &[ObjectKey]) -> Result<BTreeMap<ObjectKey, Decision>> {
    let mut decisions = BTreeMap::new();
    let mut errors = Vec::new();
    for key in selected {
        let Some(manifest) = world.manifests.get(key) else {
            continue;
        };
        match one(world, manifest) {
            Ok(decision) => {
                decisions.insert(key.clone(), decision);
            }
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(unreadable(errors, selected.len()));
    }
    share_pins(&mut decisions);
    Ok(decisions)
}

fn one(world: &World, manifest: &Manifest) -> Result<Decision> {
    let Some(state) = observed(world, manifest)? else {
        return Ok(Decision::Unchanged);
    };
    let Some(facts) = world.objects.get(&manifest.key) else {
        // A kind this build does not have: nothing was read, and nothing changes.
        return Ok(Decision::Unchanged);
    };
    let same = manifest
        .state
        .as_ref()
        .is_some_and(|committed| committed.same_content(state, facts.volatile));
    if facts.capabilities.has(Capability::Pin) {
        return Ok(pinned(world, manifest, facts, state, same));
    }
    let by_policy =
        manifest.policy.pin == PinMode::Record && facts.kind_capabilities.has(Capability::Pin);
    // A store that cannot pin just now is no reason to forget a pin; a policy is.
    let forgets_pin = by_policy && manifest.pin.is_some();
    if same && !forgets_pin {
        return Ok(Decision::Unchanged);
    }
    let recoverable = facts.capabilities.has(Capability::Addressable) && facts.addressable;
    Ok(Decision::Record {
        state: state.clone(),
        recoverable,
        by_policy,
    })
}

fn pinned(
    world: &World,
    manifest: &Manifest,
    facts: &Facts,
    state: &State,
    same: bool,
) -> Decision {
    let content = state.content(facts.volatile);
    let pin = state::pin_id(
        &world.config.dataset,
        &manifest.kind,
        &facts.identity,
        &content,
    );
    let Some(recorded) = manifest.pin.as_ref().filter(|_| same) else {
        return Decision::Pin {
            state: state.clone(),
            pin,
            missing: false,
        };
    };
    if recorded.id != pin && moved_home(world, manifest) {
        return Decision::Pin {
            state: state.clone(),
            pin,
            missing: false,
        };
    }
    let missing = matches!(
        world.pins.get(&manifest.key),
        Some(Ok(report)) if report.status == Verdict::Missing
    );
    match &manifest.state {
        Some(committed) if missing => Decision::Pin {
            state: committed.clone(),
            pin: recorded.id.clone(),
            missing: true,
        },
        _ => Decision::Unchanged,
    }
}

/// Whether the recorded pin is another store's or another dataset's: the locator, or the dataset's id, was edited since.
fn moved_home(world: &World, manifest: &Manifest) -> bool {
    let other_dataset = manifest
        .pin
        .as_ref()
        .is_some_and(|pin| pin.id.dataset() != world.config.dataset.as_str());
    let other_store = world
        .committed
        .get(&manifest.key)
        .is_some_and(|committed| committed.locator != manifest.locator);
    other_dataset || other_store
}

/// The state a decision is about: as read, else as committed. `None`: neither.
fn observed<'a>(world: &'a World, manifest: &'a Manifest) -> Result<Option<&'a State>> {
    match world.states.get(&manifest.key) {
        Some(Ok(state)) => Ok(Some(state)),
        Some(Err(error)) => Err(again(error, manifest)),
        None => Ok(manifest.state.as_ref()),
    }
}

/// The same error once more: the world keeps its own.
fn again(error: &Error, manifest: &Manifest) -> Error {
    let mut text = error.message().to_owned();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    let copy = Error::new(error.kind(), text).for_object(&manifest.key, &manifest.kind);
    match error.hint() {
        Some(hint) => copy.with_hint(hint),
        None => copy,
    }
}

fn unreadable(errors: Vec<Error>, selected: usize) -> Error {
    let all = errors.len() == selected;
    let bare = errors.len() > 1 || errors.iter().all(|error| error.hint().is_none());
    let error = Error::several(errors);
    if bare && !all {
        error.with_hint(
            "nothing was committed; `tether commit KEY... -m MESSAGE` commits the others",
        )
    } else {
        error
    }
}

/// Objects that are one system at one state share one pin, and are recorded at the state it was taken at: the first one's.
fn share_pins(decisions: &mut BTreeMap<ObjectKey, Decision>) {
    let mut taken: BTreeMap<PinId, State> = BTreeMap::new();
    for decision in decisions.values_mut() {
        let Decision::Pin {
            state,
            pin,
            missing: false,
        } = decision
        else {
            continue;
        };
        *state = taken
            .entry(pin.clone())
            .or_insert_with(|| state.clone())
            .clone();
    }
}
