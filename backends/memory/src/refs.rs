//! Pins, forks and conditional moves. Each function is one atomic step: its caller holds the lock.

use tether_engine::backend::{Effect, Expected, Merge, Move, Source};
use tether_engine::id::PinId;
use tether_engine::manifest::Pin;
use tether_engine::name::{NativeRef, ParsedRef, parse_ref, pin_ref};
use tether_engine::state::State;
use tether_engine::{Error, Result};

use crate::{System, branch_head, pin_drift, snapshot_of, state};

/// Creates the tag if absent; a tag that is there is only looked at.
pub(crate) fn pin(system: &mut System, state: &State, id: &PinId) -> Result<Move<Pin>> {
    let wanted = snapshot_of(system, state)?;
    let native = pin_ref(id, 1);
    let effect = match system.tags.get(native.as_str()) {
        Some(there) if *there != wanted => {
            return Ok(Move::Moved {
                observed: Some(crate::state(there)),
            });
        }
        Some(_) => Effect::Found,
        None => {
            system.tags.insert(native.to_string(), wanted);
            Effect::Created
        }
    };
    let value = Pin {
        id: id.clone(),
        native,
    };
    Ok(Move::Done { value, effect })
}

/// Deletes the tag, with whatever generations another version of tether made of it.
pub(crate) fn unpin(system: &mut System, id: &PinId) -> Effect {
    let before = system.tags.len();
    system
        .tags
        .retain(|name, _| !matches!(parse_ref(name), ParsedRef::Pin { pin, .. } if pin == *id));
    if system.tags.len() < before {
        Effect::Changed
    } else {
        Effect::Found
    }
}

pub(crate) fn drifted(pin: &Pin, how: &str) -> Error {
    pin_drift(format!(
        "pin {} {how}, not at its recorded state",
        pin.native
    ))
}

/// The snapshot a write starts from.
fn resolve(system: &System, source: &Source) -> Result<String> {
    match source {
        Source::Pinned(pin, recorded) => match system.tags.get(pin.native.as_str()) {
            Some(id) if Some(id.as_str()) == recorded.str("snapshot_id") => Ok(id.clone()),
            Some(id) => Err(drifted(pin, &format!("is at snapshot {id}"))),
            None => Err(drifted(pin, "is gone")),
        },
        Source::State(recorded) => snapshot_of(system, recorded),
        Source::Ref(native) => branch_head(system, native.as_str()),
    }
}

/// Whether a ref may be moved: it is where the caller reviewed it.
fn as_expected(current: Option<&str>, expected: &Expected) -> bool {
    match expected {
        Expected::Any => true,
        Expected::Absent => current.is_none(),
        Expected::At(reviewed) => current.is_some() && current == reviewed.str("snapshot_id"),
    }
}

fn moved<T>(current: Option<&str>) -> Move<T> {
    Move::Moved {
        observed: current.map(state),
    }
}

pub(crate) fn fork(
    system: &mut System,
    source: &Source,
    name: &NativeRef,
    expected: &Expected,
) -> Result<Move<NativeRef>> {
    let wanted = resolve(system, source)?;
    let current = system.branches.get(name.as_str()).map(String::as_str);
    let effect = match current {
        // Found where this call wants it, the reply to an earlier call was lost or somebody did the same: success. Whoever wants to make
        // the branch itself, though, must hear that somebody was first.
        Some(there) if there == wanted && *expected != Expected::Absent => Effect::Found,
        _ if !as_expected(current, expected) => return Ok(moved(current)),
        Some(_) => Effect::Changed,
        None => Effect::Created,
    };
    system.branches.insert(name.to_string(), wanted);
    Ok(Move::Done {
        value: name.clone(),
        effect,
    })
}

pub(crate) fn delete(system: &mut System, native: &NativeRef, expected: &Expected) -> Move<()> {
    let current = system.branches.get(native.as_str()).map(String::as_str);
    let effect = match current {
        None => Effect::Found,
        Some(_) if !as_expected(current, expected) => return moved(current),
        Some(_) => Effect::Changed,
    };
    system.branches.remove(native.as_str());
    Move::Done { value: (), effect }
}

pub(crate) fn promote(
    system: &mut System,
    base: &str,
    source: &Source,
    expected: &Expected,
) -> Result<Move<State>> {
    let wanted = resolve(system, source)?;
    let current = branch_head(system, base)?;
    let value = state(&wanted);
    if current == wanted {
        let effect = Effect::Found;
        return Ok(Move::Done { value, effect });
    }
    if !as_expected(Some(&current), expected) {
        return Ok(moved(Some(&current)));
    }
    if !system.ancestors(&wanted).contains(current.as_str()) {
        let message =
            format!("branch {base:?} has moved on since the fork, so it cannot be fast-forwarded");
        return Err(Error::user(message).with_hint("`tether promote --strategy merge`"));
    }
    system.branches.insert(base.to_owned(), wanted);
    let effect = Effect::Changed;
    Ok(Move::Done { value, effect })
}

pub(crate) fn merge(
    system: &mut System,
    base: &str,
    source: &Source,
    message: &str,
    expected: &Expected,
) -> Result<Merge> {
    let theirs = resolve(system, source)?;
    let ours = branch_head(system, base)?;
    if system.ancestors(&ours).contains(theirs.as_str()) {
        let (value, effect) = (state(&ours), Effect::Found);
        return Ok(Merge::Base(Move::Done { value, effect }));
    }
    if !as_expected(Some(&ours), expected) {
        return Ok(Merge::Base(moved(Some(&ours))));
    }
    let merged = match system.merge(&ours, &theirs, message) {
        Ok(merged) => merged,
        Err(units) => return Ok(Merge::Conflict(units)),
    };
    let (value, effect) = (state(&merged), Effect::Changed);
    system.branches.insert(base.to_owned(), merged);
    Ok(Merge::Base(Move::Done { value, effect }))
}
