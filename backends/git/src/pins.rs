//! Pins: refs that keep a commit alive, lightweight, unsigned, made if absent.
//!
//! A pin is `refs/tags/tether.<id>`, or `refs/tether/tether.<id>` where jj manages the repository: jj makes tagged commits immutable
//! and abandons what only a deleted tag reached. Reading accepts both places.

use std::collections::HashMap;

use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use tether_engine::backend::{Effect, Move, Verdict, VerifyReport};
use tether_engine::error::{Error, ErrorKind, Result};
use tether_engine::id::PinId;
use tether_engine::manifest::Pin;
use tether_engine::name::{ParsedRef, REF_PREFIX, parse_ref};
use tether_engine::state::State;
use tether_gitkit::refs::{self, Old, Outcome};

use crate::locator::PinSpace;
use crate::push::{Pushed, Remote};
use crate::repos::Opened;
use crate::{error, revision, state};

/// From how many pins on [`verify_many`] reads all pins at once.
const MANY: usize = 16;

const TAGS: &str = "refs/tags/";
const HIDDEN: &str = "refs/tether/";

/// A pin's ref as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The ref's full name.
    pub(crate) full: String,
    /// The name as manifests have it.
    pub(crate) shown: String,
    /// The commit it leads to.
    pub(crate) commit: ObjectId,
}

fn place(space: PinSpace) -> &'static str {
    match space {
        PinSpace::Tags => TAGS,
        PinSpace::Hidden => HIDDEN,
    }
}

/// The name a manifest records: without `refs/tags/`, but with `refs/tether/`.
fn shown(full: &str) -> &str {
    full.strip_prefix(TAGS).unwrap_or(full)
}

/// The full names a pin may have, the one its manifest names first. A name that is not the pin's own is refused.
fn names(pin: &Pin) -> Result<[String; 2]> {
    let plain = format!("{REF_PREFIX}{}", pin.id);
    let (tag, hidden) = (format!("{TAGS}{plain}"), format!("{HIDDEN}{plain}"));
    let recorded = pin.native.as_str();
    if recorded == plain || recorded == tag {
        Ok([tag, hidden])
    } else if recorded == hidden {
        Ok([hidden, tag])
    } else {
        Err(Error::config(format!(
            "{recorded:?} is not the ref of pin {}",
            pin.id
        )))
    }
}

/// Where a pin stands.
pub(crate) fn find(at: &Opened, pin: &Pin) -> Result<Option<Found>> {
    for full in names(pin)? {
        if let Some(commit) = revision::commit_of(&at.repo, &full)? {
            return Ok(Some(Found {
                shown: shown(&full).to_owned(),
                full,
                commit,
            }));
        }
    }
    Ok(None)
}

/// The error for a pin that is not where its manifest says.
pub(crate) fn drift(name: &str, is: ObjectId, wanted: ObjectId) -> Error {
    Error::new(
        ErrorKind::PinDrift,
        format!("pin {name} is at {is}, the manifest records {wanted}"),
    )
    .with_hint("move the ref back, or delete it and run `tether repair`")
}

/// Makes the pin `id` at `recorded`.
pub(crate) fn pin(at: &Opened, recorded: &State, id: &PinId) -> Result<Move<Pin>> {
    refuse_dirty(at, recorded)?;
    let commit = state::existing(at, recorded)?;
    let remote = Remote::of(at)?;
    let space = at.pin_space();
    let full = format!("{}{REF_PREFIX}{id}", place(space));
    let value = Pin {
        id: id.clone(),
        native: shown(&full).parse()?,
    };
    // A pin from before the other place was used is as good.
    let (full, value, local) = match find(at, &value)? {
        Some(found) if found.commit == commit => {
            let native = found.shown.parse()?;
            (found.full, Pin { native, ..value }, Effect::Found)
        }
        Some(found) => {
            return Ok(Move::Moved {
                observed: Some(state::of(found.commit)),
            });
        }
        None => match refs::set(&at.repo, &full, commit, Old::Absent, "tether: pin")? {
            Outcome::Created => (full, value, Effect::Created),
            Outcome::Found | Outcome::Changed(_) => (full, value, Effect::Found),
            Outcome::Elsewhere(_) => {
                let observed = revision::commit_of(&at.repo, &full)?;
                if observed != Some(commit) {
                    return Ok(Move::Moved {
                        observed: observed.map(state::of),
                    });
                }
                (full, value, Effect::Found)
            }
        },
    };
    let Some(remote) = remote else {
        return Ok(Move::Done {
            value,
            effect: local,
        });
    };
    let undo = || match local {
        Effect::Created => refs::delete(&at.repo, &full, Old::Is(commit)).map(drop),
        Effect::Found | Effect::Changed => Ok(()),
    };
    match remote.create(at, &full, commit) {
        // On the remote before: another clone's pin, which a rollback of ours must not delete.
        Ok(Pushed::Found) => Ok(Move::Done {
            value,
            effect: Effect::Found,
        }),
        Ok(Pushed::Created) => Ok(Move::Done {
            value,
            effect: local,
        }),
        Ok(Pushed::Elsewhere(observed)) => {
            undo()?;
            Ok(Move::Moved {
                observed: observed.map(state::of),
            })
        }
        Err(failure) => {
            undo()?;
            Err(failure)
        }
    }
}

fn refuse_dirty(at: &Opened, recorded: &State) -> Result<()> {
    let dirty = recorded
        .get("dirty")
        .is_some_and(|dirty| dirty.as_bool() == Some(true));
    if !dirty || at.site.allow_dirty {
        return Ok(());
    }
    let changed = state::changes(at, 100)?;
    let paths = if changed.is_empty() {
        String::new()
    } else {
        format!(": {}", error::some_of(&changed))
    };
    let hint = if at.is_jj() {
        format!("`jj -R {} commit`", at.shown())
    } else {
        format!(
            "commit or stash in {}, or put `allow_dirty = true` in the object's [locator]",
            at.shown()
        )
    };
    Err(Error::store(format!(
        "the working tree at {} has changes that a pin would not hold{paths}",
        at.shown()
    ))
    .with_hint(hint))
}

/// Deletes the pin, on the remote first.
pub(crate) fn unpin(at: &Opened, pin: &Pin) -> Result<Effect> {
    let mut effect = Effect::Found;
    let names = names(pin)?;
    if let Some(remote) = Remote::of(at)?
        && remote.delete(at, &names)?
    {
        effect = Effect::Changed;
    }
    for full in &names {
        match refs::delete(&at.repo, full, Old::Any)? {
            Outcome::Changed(_) | Outcome::Created => effect = Effect::Changed,
            Outcome::Found | Outcome::Elsewhere(_) => {}
        }
        if refs::target(&at.repo, full)?.is_some() {
            return Err(
                Error::store(format!("{} is still there after its deletion", shown(full)))
                    .with_hint("another process made it again: run the command once more"),
            );
        }
    }
    Ok(effect)
}

/// The ids of all pins, in order.
pub(crate) fn list(at: &Opened) -> Result<Vec<PinId>> {
    let mut ids = Vec::new();
    for full in all(at)?.into_keys() {
        let name = full.strip_prefix(HIDDEN).unwrap_or_else(|| shown(&full));
        // A git pin has one generation; another name is not one this backend made.
        if let ParsedRef::Pin { pin, generation: 1 } = parse_ref(name) {
            ids.push(pin);
        }
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Every ref in both places that is named like one of tether's, with what it points at (tags not peeled).
fn all(at: &Opened) -> Result<HashMap<String, ObjectId>> {
    let failed = || format!("cannot list the pins of {}", at.shown());
    let platform = at.repo.references().map_err(error::store(failed()))?;
    let mut out = HashMap::new();
    for place in [TAGS, HIDDEN] {
        // gix takes no prefix that ends in a dot.
        let prefix = format!("{place}{}", REF_PREFIX.trim_end_matches('.'));
        for found in platform
            .prefixed(prefix.as_str())
            .map_err(error::store(failed()))?
        {
            let found = found.map_err(|broken| Error::store(failed()).with_source(broken))?;
            let full = found.name().as_bstr().to_str_lossy().into_owned();
            if full[place.len()..].starts_with(REF_PREFIX)
                && let Some(id) = found.target().try_id()
            {
                out.insert(full, id.to_owned());
            }
        }
    }
    Ok(out)
}

/// Whether `recorded` is still what it was.
pub(crate) fn verify(
    at: &Opened,
    recorded: &State,
    pin: Option<&Pin>,
    deep: bool,
) -> Result<VerifyReport> {
    let look = |full: &str, _: ObjectId| revision::commit_of(&at.repo, full);
    let remote = remote_pins(at, pin.is_some() && deep)?;
    judge(at, recorded, pin, deep, &look, remote.as_ref())
}

/// [`verify`] of many states, reading the refs once.
pub(crate) fn verify_many(
    at: &Opened,
    items: &[(State, Option<Pin>)],
    deep: bool,
) -> Result<Vec<Result<VerifyReport>>> {
    let pinned = items.iter().filter(|(_, pin)| pin.is_some()).count();
    let known = if pinned >= MANY { Some(all(at)?) } else { None };
    let look = |full: &str, wanted: ObjectId| match &known {
        None => revision::commit_of(&at.repo, full),
        Some(known) => match known.get(full) {
            None => Ok(None),
            Some(id) if *id == wanted => Ok(Some(wanted)),
            // Elsewhere, or an annotated tag.
            Some(_) => revision::commit_of(&at.repo, full),
        },
    };
    let remote = remote_pins(at, pinned > 0 && deep)?;
    Ok(items
        .iter()
        .map(|(recorded, pin)| judge(at, recorded, pin.as_ref(), deep, &look, remote.as_ref()))
        .collect())
}

/// The remote's pins, when a deep look asks for them.
fn remote_pins(at: &Opened, wanted: bool) -> Result<Option<(Remote, HashMap<String, ObjectId>)>> {
    if !wanted {
        return Ok(None);
    }
    let Some(remote) = Remote::of(at)? else {
        return Ok(None);
    };
    let pins = remote.list(
        at,
        &[
            format!("{TAGS}{REF_PREFIX}*"),
            format!("{HIDDEN}{REF_PREFIX}*"),
        ],
    )?;
    Ok(Some((remote, pins)))
}

fn judge(
    at: &Opened,
    recorded: &State,
    pin: Option<&Pin>,
    deep: bool,
    look: &dyn Fn(&str, ObjectId) -> Result<Option<ObjectId>>,
    remote: Option<&(Remote, HashMap<String, ObjectId>)>,
) -> Result<VerifyReport> {
    let report = |status, message: String| Ok(VerifyReport::new(status, message));
    let wanted = state::commit_id(&at.repo, recorded)?;
    let held = !deep || state::exists(&at.repo, wanted);
    let Some(pin) = pin else {
        return match (deep, held) {
            (false, _) => report(Verdict::Unknown, String::new()),
            (true, true) => report(Verdict::Ok, String::new()),
            (true, false) => report(Verdict::Missing, format!("commit {wanted} not found")),
        };
    };
    let names = names(pin)?;
    let mut found = None;
    for full in &names {
        if let Some(commit) = look(full, wanted)? {
            found = Some((shown(full), commit));
            break;
        }
    }
    match found {
        None => report(Verdict::Missing, format!("{} not found", pin.native)),
        Some((name, commit)) if commit != wanted => report(
            Verdict::Drifted,
            format!("{name} -> {commit}, expected {wanted}"),
        ),
        Some(_) if !held => report(Verdict::Missing, format!("commit {wanted} not found")),
        Some(_) => match remote {
            None => report(Verdict::Ok, String::new()),
            Some((remote, pins)) => match names.iter().find_map(|full| pins.get(full)) {
                Some(commit) if *commit == wanted => report(Verdict::Ok, String::new()),
                Some(commit) => report(
                    Verdict::Drifted,
                    format!(
                        "{} -> {commit} on remote {}, expected {wanted}",
                        pin.native,
                        remote.label()
                    ),
                ),
                None => report(
                    Verdict::Missing,
                    format!("{} not found on remote {}", pin.native, remote.label()),
                ),
            },
        },
    }
}
