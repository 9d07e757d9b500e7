//! A commit of exactly some paths.
//!
//! The new tree is the head's with the request's files put in, from memory: nothing that is staged or changed elsewhere gets into it,
//! and no filter touches the bytes. Then one of two ways:
//!
//! ```text
//!   native   commit object, `prepared`, index.lock, HEAD moved by compare-and-swap, the index entries of our paths
//!   hooked   `git commit` on an index file of its own that holds exactly the new tree, so that the user's hooks run as for
//!            `git commit --only`; then index.lock and the index entries of our paths
//! ```
//!
//! In both the user's index is written after the commit stands and only for our paths, so a refused commit leaves nothing staged.
//! `index.lock` is held for the moves alone: a run that is killed while a hook, a signer or the caller works leaves no lock behind.

mod back;
mod hooked;
mod index;
mod landed;
mod message;
mod native;
mod sign;

use std::path::Path;

use gix::ObjectId;
use gix::actor::Signature;
use gix::objs::tree::EntryKind;
use gix::state::InProgress;
use tether_engine::id::CommitId;
use tether_engine::oplog::Operation;
use tether_engine::vcs::{CommitRequest, PathChange};
use tether_engine::{Error, ErrorKind, Result};

use crate::position::{branch_ref, position};
use crate::{commit_id, failed};

pub(crate) use back::{check as check_can_uncommit, uncommit};
pub(crate) use landed::find_landed;

use index::Index;

/// A file of the request, as it will be in the commit.
#[derive(Clone, Debug)]
struct Staged<'r> {
    path: &'r str,
    /// Its blob and bytes; `None` removes it.
    content: Option<(ObjectId, &'r [u8])>,
}

/// Everything a commit is made from.
struct Job<'r> {
    repo: &'r gix::Repository,
    workdir: &'r Path,
    parent: Option<ObjectId>,
    tree: ObjectId,
    message: String,
    staged: Vec<Staged<'r>>,
}

/// Refuses what would make a commit fail or go elsewhere: an operation in progress, a detached HEAD, no identity.
pub(crate) fn check(repo: &gix::Repository) -> Result<()> {
    if let Some(state) = repo.state() {
        let (what, hint) = in_progress(state);
        return Err(Error::vcs(format!("git is in the middle of {what}")).with_hint(hint));
    }
    if repo.head().is_ok_and(|head| head.is_detached()) {
        return Err(
            Error::vcs("HEAD is detached: a dataset commit needs a branch to move")
                .with_hint("git switch BRANCH, or tether new -b NAME"),
        );
    }
    author(repo)?;
    committer(repo)?;
    Ok(())
}

fn in_progress(state: InProgress) -> (&'static str, &'static str) {
    match state {
        InProgress::ApplyMailbox | InProgress::ApplyMailboxRebase => {
            ("applying patches", "git am --continue, or git am --abort")
        }
        InProgress::Bisect => ("a bisection", "git bisect reset"),
        InProgress::CherryPick | InProgress::CherryPickSequence => (
            "a cherry-pick",
            "git cherry-pick --continue, or git cherry-pick --abort",
        ),
        InProgress::Merge => ("a merge", "git merge --continue, or git merge --abort"),
        InProgress::Rebase | InProgress::RebaseInteractive => {
            ("a rebase", "git rebase --continue, or git rebase --abort")
        }
        InProgress::Revert | InProgress::RevertSequence => {
            ("a revert", "git revert --continue, or git revert --abort")
        }
    }
}

/// The author of a commit made now.
fn author(repo: &gix::Repository) -> Result<Signature> {
    identity(repo, repo.author(), "author")
}

/// The committer of a commit made now.
fn committer(repo: &gix::Repository) -> Result<Signature> {
    identity(repo, repo.committer(), "committer")
}

fn identity(
    repo: &gix::Repository,
    configured: Option<std::result::Result<gix::actor::SignatureRef<'_>, gix::config::time::Error>>,
    who: &str,
) -> Result<Signature> {
    let unknown = || {
        Error::vcs(format!("git does not know who the {who} of a commit is")).with_hint(
            "git config --global user.name NAME && git config --global user.email ADDRESS",
        )
    };
    let signature = configured
        .ok_or_else(unknown)?
        .map_err(|error| failed(format!("the date of the {who} cannot be read"), error))?;
    let signature = signature.trim();
    if signature.name.is_empty() || signature.email.is_empty() {
        return Err(unknown());
    }
    let mut owned = signature
        .to_owned()
        .map_err(|error| failed(format!("the date of the {who} cannot be read"), error))?;
    let fixed = repo
        .config_snapshot()
        .string(format!("gitoxide.commit.{who}Date").as_str());
    if fixed.is_none() {
        owned.time = gix::date::Time::now_local_or_utc();
    }
    Ok(owned)
}

/// Makes the commit.
pub(crate) fn commit(
    repo: &gix::Repository,
    workdir: &Path,
    git: Option<&Path>,
    request: &CommitRequest,
    prepared: &mut dyn FnMut(&CommitId) -> Result<Option<Operation>>,
) -> Result<CommitId> {
    check(repo)?;
    let message = message::clean(&request.message)?;
    for change in &request.changes {
        check_path(&change.path)?;
    }
    Index::lock(repo)?.check(&request.changes)?;
    let parent = check_position(repo, request)?;
    let staged = write_blobs(repo, &request.changes)?;
    let tree = write_tree(repo, parent, &staged)?;
    let job = Job {
        repo,
        workdir,
        parent,
        tree,
        message,
        staged,
    };
    let (id, updated) = if let Some(hooks) = hooked::needed(repo, workdir) {
        let id = hooked::commit(&job, git, &hooks, request)?;
        let updated = Index::lock(repo).and_then(|index| index.update(&job, id));
        (id, updated)
    } else {
        let id = native::write(&job)?;
        prepared(&commit_id(id))?;
        let index = Index::lock(repo)?;
        index.check(&request.changes)?;
        check_position(repo, request)?;
        native::move_head(&job, id, request)?;
        (id, index.update(&job, id))
    };
    // The commit stands, whatever happened to the index.
    if let Err(error) = updated {
        report_stale_index(id, &error);
    }
    Ok(commit_id(id))
}

fn report_stale_index(id: ObjectId, error: &Error) {
    tracing::warn!(
        commit = %id,
        error = %error.one_line(),
        "the commit stands, but git's index could not be brought up to it; git status shows its files as staged until `git reset -q -- FILE`"
    );
}

/// The head to go on top of, when HEAD is where the request says.
fn check_position(repo: &gix::Repository, request: &CommitRequest) -> Result<Option<ObjectId>> {
    branch_ref(&request.bookmark)?;
    let now = position(repo)?;
    let stale = |message: String| {
        Error::new(ErrorKind::StalePlan, message).with_hint("run the command again")
    };
    if now.bookmarks.first() != Some(&request.bookmark) {
        let on = now
            .bookmarks
            .first()
            .map_or_else(|| "no branch".to_owned(), ToString::to_string);
        return Err(stale(format!(
            "HEAD is on {on}, no longer on {}",
            request.bookmark
        )));
    }
    if now.head != request.expected_head {
        let at = now
            .head
            .map_or_else(|| "no commit".to_owned(), |id| id.short().to_owned());
        return Err(stale(format!(
            "the branch {} has moved: it is at {at} now",
            request.bookmark
        )));
    }
    now.head.as_ref().map(crate::object_id).transpose()
}

/// Paths come from keys that were checked; this guards against a caller's mistake, since a tree can name anything.
fn check_path(path: &str) -> Result<()> {
    let bad = |part: &str| {
        matches!(part, "" | "." | "..") || part.eq_ignore_ascii_case(".git") || part.contains('\0')
    };
    if path.split('/').any(bad) {
        return Err(Error::internal(format!(
            "{path:?} is not a path in a working tree"
        )));
    }
    Ok(())
}

fn write_blobs<'r>(repo: &gix::Repository, changes: &'r [PathChange]) -> Result<Vec<Staged<'r>>> {
    changes
        .iter()
        .map(|change| {
            let content = match &change.content {
                None => None,
                Some(bytes) => {
                    let id = repo.write_blob(bytes).map_err(|error| {
                        failed(format!("cannot write {} to git", change.path), error)
                    })?;
                    Some((id.detach(), bytes.as_slice()))
                }
            };
            Ok(Staged {
                path: &change.path,
                content,
            })
        })
        .collect()
}

/// The parent's tree with the files put in.
fn write_tree(
    repo: &gix::Repository,
    parent: Option<ObjectId>,
    staged: &[Staged<'_>],
) -> Result<ObjectId> {
    let cannot = |error: Box<dyn std::error::Error + Send + Sync>| {
        failed("cannot write the tree of the commit", error)
    };
    let base = match parent {
        Some(parent) => tether_gitkit::trees::Reader::new(repo).root(parent)?,
        None => repo.empty_tree().id,
    };
    let tree = match parent {
        Some(_) => repo.find_tree(base).map_err(|error| cannot(error.into()))?,
        None => repo.empty_tree(),
    };
    let mut editor = tree.edit().map_err(|error| cannot(error.into()))?;
    // Removals first: a folder may take the place of a file that goes.
    for file in staged.iter().filter(|file| file.content.is_none()) {
        editor
            .remove_leaf(file.path)
            .map_err(|error| cannot(error.into()))?;
    }
    for file in staged {
        if let Some((id, _)) = file.content {
            editor
                .upsert(file.path, EntryKind::Blob, id)
                .map_err(|error| cannot(error.into()))?;
        }
    }
    let id = editor.write().map_err(|error| cannot(error.into()))?;
    Ok(id.detach())
}
