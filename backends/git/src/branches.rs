//! Working branches: made and moved by one compare-and-swap each, never while a worktree holds them.

use std::path::PathBuf;

use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use tether_engine::backend::{Effect, Expected, Move, Source};
use tether_engine::error::{Error, ErrorKind, Result};
use tether_engine::name::{NativeRef, WORKING_REF_PREFIX};
use tether_engine::state::State;
use tether_gitkit::refs::{self, Old, Outcome};

use crate::base::{self, Base};
use crate::repos::Opened;
use crate::{config, error, pins, revision, state};

/// How often a move that expects nothing is tried against writers that keep moving the branch.
const ATTEMPTS: usize = 8;

/// A branch's full name.
pub(crate) fn full(native: &NativeRef) -> Result<String> {
    let name = native.as_str();
    let full = format!("refs/heads/{name}");
    let valid = !name.starts_with("refs/")
        && gix::validate::reference::branch_name(full.as_str().into()).is_ok();
    if valid {
        Ok(full)
    } else {
        Err(Error::config(format!(
            "{name:?} is not a name of a git branch"
        )))
    }
}

/// A branch's name without `refs/heads/`.
pub(crate) fn short(full: &str) -> Result<NativeRef> {
    full.strip_prefix("refs/heads/").unwrap_or(full).parse()
}

/// The commit a branch is at.
pub(crate) fn commit(at: &Opened, full: &str) -> Result<Option<ObjectId>> {
    revision::commit_of(&at.repo, full)
}

/// The error for a branch that does not exist.
pub(crate) fn missing(at: &Opened, native: &NativeRef) -> Error {
    Error::store(format!("branch {native} does not exist in {}", at.shown())).with_hint(
        "`tether repair` makes a bookmark's missing branch again; `tether new` forks again",
    )
}

/// The head of a branch.
pub(crate) fn head(at: &Opened, native: &NativeRef) -> Result<Option<State>> {
    Ok(commit(at, &full(native)?)?.map(state::of))
}

/// The commit a fork, promote or merge starts from.
pub(crate) fn source(at: &Opened, source: &Source) -> Result<ObjectId> {
    match source {
        Source::State(recorded) => state::existing(at, recorded),
        Source::Ref(native) => commit(at, &full(native)?)?.ok_or_else(|| missing(at, native)),
        Source::Pinned(pin, recorded) => {
            let wanted = state::commit_id(&at.repo, recorded)?;
            match pins::find(at, pin)? {
                Some(found) if found.commit == wanted => state::existing(at, recorded),
                Some(found) => Err(pins::drift(&found.shown, found.commit, wanted)),
                None => Err(Error::new(
                    ErrorKind::PinDrift,
                    format!("pin {} is gone from {}", pin.native, at.shown()),
                )
                .with_hint("`tether repair` makes it again")),
            }
        }
    }
}

/// The commit an expectation names, when it names one.
pub(crate) enum Wanted {
    Any,
    Absent,
    At(ObjectId),
}

impl Wanted {
    pub(crate) fn new(at: &Opened, expected: &Expected) -> Result<Self> {
        Ok(match expected {
            Expected::Any => Self::Any,
            Expected::Absent => Self::Absent,
            Expected::At(recorded) => Self::At(state::commit_id(&at.repo, recorded)?),
        })
    }
}

/// Makes branch `native` at `source`, or moves it there.
pub(crate) fn fork(
    at: &Opened,
    source: &Source,
    native: &NativeRef,
    expected: &Expected,
) -> Result<Move<NativeRef>> {
    let name = full(native)?;
    let target = self::source(at, source)?;
    let wanted = Wanted::new(at, expected)?;
    let done = |effect| Move::Done {
        value: native.clone(),
        effect,
    };
    let now = commit(at, &name)?;
    if now == Some(target) && !matches!(wanted, Wanted::Absent) {
        return Ok(done(Effect::Found));
    }
    if !fits(&wanted, now) {
        return Ok(Move::Moved {
            observed: now.map(state::of),
        });
    }
    refuse_base(at, &name, native)?;
    refuse_held(at, &name, native)?;
    let log = format!("tether: fork at {target}");
    for _ in 0..ATTEMPTS {
        let old = match (&wanted, commit(at, &name)?) {
            (Wanted::Absent, _) | (Wanted::Any, None) => Old::Absent,
            (Wanted::At(id), _) => Old::Is(*id),
            (Wanted::Any, Some(now)) => Old::Is(now),
        };
        match refs::set(&at.repo, &name, target, old, &log)? {
            Outcome::Created => return Ok(done(Effect::Created)),
            Outcome::Changed(_) => return Ok(done(Effect::Changed)),
            Outcome::Found if matches!(wanted, Wanted::Absent) => {
                return Ok(Move::Moved {
                    observed: Some(state::of(target)),
                });
            }
            Outcome::Found => return Ok(done(Effect::Found)),
            Outcome::Elsewhere(_) if matches!(wanted, Wanted::Any) => {}
            Outcome::Elsewhere(observed) => {
                return Ok(Move::Moved {
                    observed: observed.map(state::of),
                });
            }
        }
    }
    Err(keeps_moving(native))
}

/// Deletes branch `native` and its configuration.
pub(crate) fn delete(at: &Opened, native: &NativeRef, expected: &Expected) -> Result<Move<()>> {
    let name = full(native)?;
    let wanted = Wanted::new(at, expected)?;
    refuse_base(at, &name, native)?;
    for _ in 0..ATTEMPTS {
        let Some(now) = commit(at, &name)? else {
            config::remove_branch(&at.repo, native.as_str())?;
            return Ok(Move::Done {
                value: (),
                effect: Effect::Found,
            });
        };
        if !fits(&wanted, Some(now)) {
            return Ok(Move::Moved {
                observed: Some(state::of(now)),
            });
        }
        refuse_held(at, &name, native)?;
        match refs::delete(&at.repo, &name, Old::Is(now))? {
            Outcome::Changed(_) | Outcome::Created => {
                config::remove_branch(&at.repo, native.as_str())?;
                return Ok(Move::Done {
                    value: (),
                    effect: Effect::Changed,
                });
            }
            Outcome::Found | Outcome::Elsewhere(_) => {}
        }
    }
    Err(keeps_moving(native))
}

/// Branches named `tether.ws.*`.
pub(crate) fn list(at: &Opened) -> Result<Vec<NativeRef>> {
    let failed = || format!("cannot list the branches of {}", at.shown());
    let platform = at.repo.references().map_err(error::store(failed()))?;
    // gix takes no prefix that ends in a dot.
    let prefix = format!("refs/heads/{}", WORKING_REF_PREFIX.trim_end_matches('.'));
    let mut names = Vec::new();
    for branch in platform
        .prefixed(prefix.as_str())
        .map_err(error::store(failed()))?
    {
        let branch = branch.map_err(|broken| Error::store(failed()).with_source(broken))?;
        if let Ok(name) = short(&branch.name().as_bstr().to_str_lossy())
            && name.as_str().starts_with(WORKING_REF_PREFIX)
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Why a branch cannot be deleted now.
pub(crate) fn blockers(at: &Opened, native: &NativeRef) -> Result<Option<String>> {
    let name = full(native)?;
    if is_base(at, &name)? {
        return Ok(Some("it is the upstream branch".into()));
    }
    if commit(at, &name)?.is_none() {
        return Ok(None);
    }
    Ok(holders(at, &name)?
        .first()
        .map(|path| format!("checked out in {}", path.display())))
}

/// The worktrees that hold a branch.
pub(crate) fn holders(at: &Opened, full: &str) -> Result<Vec<PathBuf>> {
    Ok(refs::held_branches(&at.repo)?
        .remove(full)
        .unwrap_or_default())
}

/// Whether a branch is where it is expected.
pub(crate) fn fits(wanted: &Wanted, now: Option<ObjectId>) -> bool {
    match wanted {
        Wanted::Any => true,
        Wanted::Absent => now.is_none(),
        Wanted::At(id) => now == Some(*id),
    }
}

fn is_base(at: &Opened, full: &str) -> Result<bool> {
    Ok(matches!(base::find(at)?, Base::Branch(base) if base == full))
}

fn refuse_base(at: &Opened, full: &str, native: &NativeRef) -> Result<()> {
    if is_base(at, full)? {
        return Err(Error::user(format!(
            "{native} is the upstream branch of {}, which only promote and merge move",
            at.shown()
        ))
        .with_hint(
            "check out another branch there, or register the object with `--set ref=BRANCH`",
        ));
    }
    Ok(())
}

fn refuse_held(at: &Opened, full: &str, native: &NativeRef) -> Result<()> {
    match holders(at, full)?.first() {
        None => Ok(()),
        Some(path) => Err(Error::store(format!(
            "branch {native} is checked out in {}",
            path.display()
        ))
        .with_hint(format!("`git -C {} switch --detach`", path.display()))),
    }
}

fn keeps_moving(native: &NativeRef) -> Error {
    Error::store(format!("branch {native} keeps moving"))
        .with_hint("run the command again when its writer has finished")
}
