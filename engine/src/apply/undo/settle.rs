//! The store half of an undo: taking back what an operation made in stores, where nobody wrote to it since.
//!
//! What an operation made is in its record and never guessed:
//!
//! - `result.created` with `result.key` (and `result.fork`): a store that `add --create` made, with its first branch.
//! - `progress` lines with the action `fork`: `key`, `kind`, `locator`, `ref`, and `effect`: `created` (with `state`, the state it was
//!   made at), `reset` (with `was`, its head before), or anything else, which was there before and stays.
//!
//! Every step can be done again: what is gone already counts as taken back, so an interrupted undo just settles once more. Pins stay.

mod branch;
mod store;

use serde_json::Value;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::key::ObjectKey;
use crate::manifest::{Manifest, Policy};
use crate::name::NativeRef;
use crate::oplog::Operation;
use crate::state::{Locator, State};
use crate::world::brief;

/// The progress lines that are about branches.
pub(crate) const FORK: &str = "fork";

/// What became of the store half, one line each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// What is taken back.
    pub restored: Vec<String>,
    /// What cannot be taken back.
    pub irreversible: Vec<String>,
    /// What stays, and why.
    pub kept: Vec<String>,
    /// What stays because somebody wrote to it, unless it is given up.
    pub written: Vec<String>,
}

impl Settled {
    /// Whether nothing waits for a decision any more.
    pub fn is_settled(&self) -> bool {
        self.written.is_empty()
    }
}

/// Something an operation did in a store.
#[derive(Clone, Debug, PartialEq)]
enum Effect {
    /// It made a store.
    Store {
        manifest: Manifest,
        /// The branch it made in it, and at which state.
        fork: Option<(NativeRef, Option<State>)>,
    },
    /// It made a branch.
    Branch {
        manifest: Manifest,
        native: NativeRef,
        at: Option<State>,
    },
    /// It moved a branch that was there.
    Reset {
        key: ObjectKey,
        native: String,
        was: Option<State>,
    },
}

/// Whether to look, or to take back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Look,
    TakeBack,
}

/// Whether the operation did anything in a store that an undo has to take back.
pub(crate) fn has_effects(operation: &Operation) -> bool {
    !effects(operation, &|_| None).is_empty()
}

/// What [`settle`] would do, and what is in its way. Nothing is written.
pub async fn look(dataset: &Dataset, operation: &Operation, discard: bool) -> Result<Settled> {
    each(dataset, operation, discard, Mode::Look).await
}

/// Takes back what `operation` made in stores. `discard` also deletes branches that somebody wrote to since.
pub async fn settle(dataset: &Dataset, operation: &Operation, discard: bool) -> Result<Settled> {
    each(dataset, operation, discard, Mode::TakeBack).await
}

async fn each(
    dataset: &Dataset,
    operation: &Operation,
    discard: bool,
    mode: Mode,
) -> Result<Settled> {
    let view = dataset.op_store().view(&operation.view);
    let fork_point = |key: &ObjectKey| view.as_ref().ok()?.fork_points.get(key).cloned();
    let mut settled = Settled::default();
    let mut errors = Vec::new();
    for effect in effects(operation, &fork_point) {
        let done = match &effect {
            Effect::Store { manifest, fork } => {
                let made = store::Made::new(dataset, manifest, fork.as_ref());
                let taken = match made {
                    Ok(made) => made.take_back(discard, mode, &mut settled).await,
                    Err(error) => Err(error),
                };
                taken.map_err(|error| error.for_object(&manifest.key, &manifest.kind))
            }
            Effect::Branch {
                manifest,
                native,
                at,
            } => branch::take_back(
                dataset,
                manifest,
                native,
                at.as_ref(),
                discard,
                mode,
                &mut settled,
            )
            .await
            .map_err(|error| error.for_object(&manifest.key, &manifest.kind)),
            Effect::Reset { key, native, was } => {
                settled.irreversible.push(reset(key, native, was.as_ref()));
                Ok(())
            }
        };
        errors.extend(done.err());
    }
    if errors.is_empty() {
        Ok(settled)
    } else {
        Err(Error::several(errors))
    }
}

fn reset(key: &ObjectKey, native: &str, was: Option<&State>) -> String {
    let was = was.map_or_else(String::new, |was| format!(" (was {})", brief(was)));
    format!(
        "{key}: {native} was reset{was}; `tether restore {key} --from REV` or `tether new --discard` puts it where you want"
    )
}

/// What the record says. `fork_point` is what the operation's view says of an object.
fn effects(operation: &Operation, fork_point: &dyn Fn(&ObjectKey) -> Option<State>) -> Vec<Effect> {
    let mut effects: Vec<Effect> = operation
        .progress
        .iter()
        .filter(|line| line.get("action").and_then(Value::as_str) == Some(FORK))
        .filter_map(branch_effect)
        .collect();
    effects.extend(store_effect(&operation.result, fork_point));
    effects
}

fn branch_effect(line: &Value) -> Option<Effect> {
    let key: ObjectKey = read(line, "key")?;
    let native = line.get("ref")?.as_str()?;
    match line.get("effect")?.as_str()? {
        "created" => Some(Effect::Branch {
            manifest: manifest(&key, line)?,
            native: native.parse().ok()?,
            at: read(line, "state"),
        }),
        "reset" => Some(Effect::Reset {
            key,
            native: native.to_owned(),
            was: read(line, "was"),
        }),
        _ => None,
    }
}

fn store_effect(
    result: &Value,
    fork_point: &dyn Fn(&ObjectKey) -> Option<State>,
) -> Option<Effect> {
    let created = result
        .get("created")
        .filter(|created| created.is_object())?;
    let key: ObjectKey = read(result, "key")?;
    let fork: Option<NativeRef> = read(result, "fork");
    Some(Effect::Store {
        manifest: manifest(&key, created)?,
        fork: fork.map(|native| (native, fork_point(&key))),
    })
}

/// The object as far as reaching its store goes.
fn manifest(key: &ObjectKey, value: &Value) -> Option<Manifest> {
    let locator: Locator = read(value, "locator")?;
    let policy: Policy = read(value, "policy").unwrap_or_default();
    let kind = value.get("kind")?.as_str()?;
    Some(Manifest::new(key.clone(), kind, locator, policy))
}

fn read<T: serde::de::DeserializeOwned>(value: &Value, field: &str) -> Option<T> {
    let value = value.get(field).filter(|value| !value.is_null())?;
    serde_json::from_value(value.clone()).ok()
}
