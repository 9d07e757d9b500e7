//! Moving refs conditionally.

use std::collections::HashMap;
use std::path::PathBuf;

use gix::ObjectId;
use tether_engine::Result;

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

/// Sets the full ref name `name` to `new` under `old`, in one atomic step, with a reflog message. Guards D/F conflicts against loose and
/// packed refs, retries while a lock file of another process is in the way and names the lock file when it gives up.
pub fn set(
    repo: &gix::Repository,
    name: &str,
    new: ObjectId,
    old: Old,
    message: &str,
) -> Result<Outcome> {
    let _ = (repo, name, new, old, message);
    todo!("git-fallback owner")
}

/// Deletes the full ref name `name` under `old`. Absent: `Found`; deleted: `Changed`.
pub fn delete(repo: &gix::Repository, name: &str, old: Old) -> Result<Outcome> {
    let _ = (repo, name, old);
    todo!("git-fallback owner")
}

/// The object a full ref name points at, symbolic refs followed, tags not peeled; `None` when absent.
pub fn target(repo: &gix::Repository, name: &str) -> Result<Option<ObjectId>> {
    let _ = (repo, name);
    todo!("git-fallback owner")
}

/// The branches (full names) that worktrees hold: checked out, being rebased or bisected there, with the worktrees' paths.
pub fn held_branches(repo: &gix::Repository) -> Result<HashMap<String, Vec<PathBuf>>> {
    let _ = repo;
    todo!("git-fallback owner")
}
