//! Moving refs conditionally.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gix::ObjectId;
use gix::actor::{Signature, SignatureRef};
use gix::bstr::ByteSlice;
use gix::refs::file::transaction::prepare;
use gix::refs::transaction::{Change, LogChange, PreviousValue, RefEdit, RefLog};
use gix::refs::{FullName, Target};
use tether_engine::{Error, ErrorKind, Result};

use crate::worktree;

/// What must be there before the move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Old {
    /// Anything or nothing.
    Any,
    /// Nothing.
    Absent,
    /// This object.
    Is(ObjectId),
}

/// What a move did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The ref was made.
    Created,
    /// It stood there already; nothing was written.
    Found,
    /// It was moved from there.
    Changed(ObjectId),
    /// It was elsewhere (or absent); nothing was written.
    Elsewhere(Option<ObjectId>),
}

/// How often a move is tried again when its ref changes shape under it (a directory made or removed, `pack-refs` running).
const ATTEMPTS: u32 = 8;

/// How long another process's lock on a ref is waited for in all, over what a single attempt waits.
const PATIENCE: Duration = Duration::from_secs(4);

/// From this age on, a lock on a pin is one that a killed process left.
const STALE_LOCK: Duration = Duration::from_secs(3);

/// Sets the full ref name `name` to `new` under `old`, in one atomic step, with a reflog message. Guards D/F conflicts against loose and
/// packed refs, retries while a lock file of another process is in the way and names the lock file when it gives up.
///
/// Symbolic refs (`HEAD`) are written through. A ref that stands at `new` already is `Found` whatever `old` says.
pub fn set(
    repo: &gix::Repository,
    name: &str,
    new: ObjectId,
    old: Old,
    message: &str,
) -> Result<Outcome> {
    let full = full_name(name)?;
    let edit = |expected| RefEdit {
        change: Change::Update {
            log: LogChange {
                mode: RefLog::AndReference,
                force_create_reflog: false,
                message: message.into(),
            },
            expected,
            new: Target::Object(new),
        },
        name: full.clone(),
        deref: true,
    };
    let expected = match old {
        Old::Any => PreviousValue::Any,
        Old::Absent => PreviousValue::MustNotExist,
        Old::Is(id) => PreviousValue::MustExistAndMatch(Target::Object(id)),
    };
    retrying(repo, name, || {
        let now = target(repo, name)?;
        if now == Some(new) {
            return Ok(Step::Done(Outcome::Found));
        }
        if now.is_none() {
            if matches!(old, Old::Is(_)) {
                return Ok(Step::Done(Outcome::Elsewhere(None)));
            }
            refuse_nested(repo, &leaf(repo, &full))?;
        }
        Ok(match apply(repo, edit(expected.clone())) {
            Ok(previous) => Step::Done(match previous {
                None => Outcome::Created,
                Some(id) if id == new => Outcome::Found,
                Some(id) => Outcome::Changed(id),
            }),
            Err(error) => refused(repo, name, error, |actual| match actual {
                Some(id) if id == new => Outcome::Found,
                actual => Outcome::Elsewhere(actual),
            }),
        })
    })
}

/// Deletes the full ref name `name` under `old`. Absent: `Found`; deleted: `Changed`. [`Old::Absent`] deletes nothing.
///
/// Symbolic refs are not written through.
pub fn delete(repo: &gix::Repository, name: &str, old: Old) -> Result<Outcome> {
    let full = full_name(name)?;
    retrying(repo, name, || {
        let Some(now) = target(repo, name)? else {
            return Ok(Step::Done(Outcome::Found));
        };
        let expected = match old {
            Old::Absent => return Ok(Step::Done(Outcome::Elsewhere(Some(now)))),
            Old::Any => PreviousValue::MustExistAndMatch(Target::Object(now)),
            Old::Is(id) => PreviousValue::MustExistAndMatch(Target::Object(id)),
        };
        let edit = RefEdit {
            change: Change::Delete {
                expected,
                log: RefLog::AndReference,
            },
            name: full.clone(),
            deref: false,
        };
        Ok(match apply(repo, edit) {
            Ok(previous) => Step::Done(Outcome::Changed(previous.unwrap_or(now))),
            Err(error) => match refused(repo, name, error, Outcome::Elsewhere) {
                Step::Done(Outcome::Elsewhere(None)) => Step::Done(Outcome::Found),
                Step::Done(Outcome::Elsewhere(_)) if old == Old::Any => Step::Again(None),
                step => step,
            },
        })
    })
}

/// The object a full ref name points at, symbolic refs followed, tags not peeled; `None` when absent.
pub fn target(repo: &gix::Repository, name: &str) -> Result<Option<ObjectId>> {
    let mut name = full_name(name)?;
    for _ in 0..8 {
        match find(repo, &name)? {
            None => return Ok(None),
            Some(Target::Object(id)) => return Ok(Some(id)),
            Some(Target::Symbolic(next)) => name = next,
        }
    }
    Err(Error::store(format!(
        "the ref {} leads through too many symbolic refs",
        shown(&name)
    )))
}

/// The branches (full names) that worktrees hold: checked out, being rebased or bisected there, with the worktrees' paths.
///
/// A worktree whose directory is gone holds nothing, unless it is locked.
pub fn held_branches(repo: &gix::Repository) -> Result<HashMap<String, Vec<PathBuf>>> {
    let mut held: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for tree in worktree::list(repo)? {
        if !tree.readable() && !tree.locked {
            continue;
        }
        for name in worktree::branches_in_use(&tree.git_dir) {
            let name = match full_name(&name) {
                Ok(full) => leaf(repo, &full).as_bstr().to_string(),
                Err(_) => name,
            };
            let paths = held.entry(name).or_default();
            if !paths.contains(&tree.path) {
                paths.push(tree.path.clone());
            }
        }
    }
    Ok(held)
}

/// Who a reflog line is by: the configured committer at this moment, or tether where nobody is configured.
pub fn committer(repo: &gix::Repository) -> Signature {
    let configured = repo
        .committer()
        .and_then(std::result::Result::ok)
        .and_then(|signature| signature.to_owned().ok());
    let mut signature = configured.unwrap_or_else(|| Signature {
        name: "tether".into(),
        email: "tether@localhost".into(),
        time: gix::date::Time::default(),
    });
    let fixed = repo
        .config_snapshot()
        .string("gitoxide.commit.committerDate")
        .is_some();
    if !fixed || signature.time == gix::date::Time::default() {
        signature.time = gix::date::Time::now_local_or_utc();
    }
    signature
}

/// What one attempt came to.
enum Step {
    Done(Outcome),
    /// Try again, because of this (the last attempt's error is the answer).
    Again(Option<Error>),
}

fn retrying(
    repo: &gix::Repository,
    name: &str,
    mut attempt: impl FnMut() -> Result<Step>,
) -> Result<Outcome> {
    let end = Instant::now() + PATIENCE;
    let mut pause = Duration::from_millis(2);
    let mut left = ATTEMPTS;
    let mut broke = false;
    loop {
        let reason = match attempt()? {
            Step::Done(outcome) => return Ok(outcome),
            Step::Again(reason) => reason,
        };
        left = left.saturating_sub(1);
        let gives_up = left == 0 || Instant::now() >= end;
        if gives_up && !broke && break_own_lock(repo, name) {
            broke = true;
            continue;
        }
        if gives_up {
            return Err(reason.unwrap_or_else(|| {
                Error::store(format!(
                    "the ref {name} of {} keeps changing",
                    repo.git_dir().display()
                ))
            }));
        }
        std::thread::sleep(pause);
        pause *= 2;
    }
}

/// Removes the lock file that a killed tether left on a pin. Nobody but tether writes pins, and writing one takes milliseconds, so a
/// lock that is seconds old is nobody's; without this a kill would ask for a clean-up by hand.
fn break_own_lock(repo: &gix::Repository, name: &str) -> bool {
    let pins = ["refs/tags/tether.", "refs/tether/tether."];
    if !pins.iter().any(|pin| name.starts_with(pin)) {
        return false;
    }
    let lock = repo.common_dir().join(format!("{name}.lock"));
    let age = std::fs::symlink_metadata(&lock)
        .and_then(|meta| meta.modified())
        .ok()
        .and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age >= STALE_LOCK) && std::fs::remove_file(&lock).is_ok()
}

/// Applies one edit; the object that was there before.
fn apply(
    repo: &gix::Repository,
    edit: RefEdit,
) -> std::result::Result<Option<ObjectId>, gix::reference::edit::Error> {
    let by = committer(repo);
    let mut time = gix::date::parse::TimeBuf::default();
    let by: SignatureRef<'_> = by.to_ref(&mut time);
    let edits = repo.edit_references_as([edit], Some(by))?;
    // Writing through a symbolic ref makes one edit more per link; the last is the ref that moved.
    let previous = edits.last().and_then(|edit| match &edit.change {
        Change::Update { expected, .. } | Change::Delete { expected, .. } => match expected {
            PreviousValue::MustExistAndMatch(Target::Object(id)) => Some(*id),
            _ => None,
        },
    });
    Ok(previous)
}

/// Sorts a refused edit into an outcome, a reason to try again, or an error.
fn refused(
    repo: &gix::Repository,
    name: &str,
    error: gix::reference::edit::Error,
    elsewhere: impl Fn(Option<ObjectId>) -> Outcome,
) -> Step {
    use gix::reference::edit::Error as Edit;
    let id = |target: &Target| match target {
        Target::Object(id) => Some(*id),
        Target::Symbolic(_) => None,
    };
    match error {
        Edit::FileTransactionPrepare(
            prepare::Error::ReferenceOutOfDate { actual, .. }
            | prepare::Error::MustNotExist { actual, .. },
        ) => Step::Done(elsewhere(id(&actual))),
        Edit::FileTransactionPrepare(
            prepare::Error::MustExist { .. } | prepare::Error::DeleteReferenceMustExist { .. },
        ) => Step::Done(elsewhere(None)),
        Edit::FileTransactionPrepare(
            prepare::Error::LockAcquire { source, .. }
            | prepare::Error::PackedTransactionAcquire(source),
        ) => Step::Again(Some(lock_error(repo, name, source))),
        error => {
            let error = Error::store(format!(
                "cannot move the ref {name} of {}",
                repo.git_dir().display()
            ))
            .with_source(error);
            // A directory in the way may be an emptied one that another process is removing.
            Step::Again(Some(error))
        }
    }
}

fn lock_error(repo: &gix::Repository, name: &str, source: gix::lock::acquire::Error) -> Error {
    let resource = match &source {
        gix::lock::acquire::Error::PermanentlyLocked { resource_path, .. } => resource_path.clone(),
        gix::lock::acquire::Error::Io(_) => {
            return Error::store(format!(
                "cannot lock the ref {name} of {}",
                repo.git_dir().display()
            ))
            .with_source(source);
        }
    };
    let mut lock = resource.into_os_string();
    lock.push(".lock");
    locked(Path::new(&lock))
}

/// The error for a lock file of git's that does not go away. tether deletes none but those on pins, which are its own.
pub fn locked(lock: &Path) -> Error {
    let age = std::fs::metadata(lock)
        .and_then(|meta| meta.modified())
        .ok()
        .and_then(|at| at.elapsed().ok())
        .map_or_else(String::new, |age| format!(", {} s old", age.as_secs()));
    Error::new(
        ErrorKind::Locked,
        format!("another git process holds {}{age}", lock.display()),
    )
    .with_hint(format!(
        "wait for it; when no git process runs any more, rm {}",
        lock.display()
    ))
}

/// Refuses a new ref below or above an existing one: git cannot hold both, and gix looks only at loose refs.
fn refuse_nested(repo: &gix::Repository, name: &FullName) -> Result<()> {
    let text = shown(name);
    let clash = |other: String| {
        Error::store(format!("the ref {text} cannot be made beside {other}"))
            .with_hint("choose a name that is not a folder of another branch, or delete that one")
    };
    for (at, _) in text.match_indices('/') {
        let prefix = text.get(..at).unwrap_or_default();
        // `refs` and `refs/heads` are no refs.
        if prefix.matches('/').count() < 2 {
            continue;
        }
        if find(repo, &full_name(prefix)?)?.is_some() {
            return Err(clash(prefix.to_owned()));
        }
    }
    let below = format!("{text}/");
    let broken = |error: Box<dyn std::error::Error + Send + Sync>| {
        Error::store("cannot list refs").with_source(error)
    };
    let platform = repo.references().map_err(|error| broken(error.into()))?;
    let mut nested = platform
        .prefixed(below.as_str())
        .map_err(|error| broken(error.into()))?;
    match nested.next() {
        None => Ok(()),
        Some(Ok(reference)) => Err(clash(reference.name().as_bstr().to_string())),
        Some(Err(error)) => Err(broken(error)),
    }
}

/// Where writing through `name` ends.
fn leaf(repo: &gix::Repository, name: &FullName) -> FullName {
    let mut name = name.clone();
    for _ in 0..8 {
        match find(repo, &name) {
            Ok(Some(Target::Symbolic(next))) => name = next,
            _ => break,
        }
    }
    name
}

/// Exactly this ref (not one git's lookup rules would find instead).
fn find(repo: &gix::Repository, name: &FullName) -> Result<Option<Target>> {
    let found = repo.refs.try_find(name.as_ref()).map_err(|error| {
        Error::store(format!("cannot read the ref {}", shown(name))).with_source(error)
    })?;
    Ok(found
        .filter(|found| found.name == *name)
        .map(|found| found.target))
}

fn full_name(name: &str) -> Result<FullName> {
    FullName::try_from(name).map_err(|error| {
        Error::store(format!("{name:?} is not a name of a ref")).with_source(error)
    })
}

fn shown(name: &FullName) -> String {
    name.as_bstr().to_str_lossy().into_owned()
}
