//! Taking a dataset commit back: HEAD's branch at the parent again, the files as they are, nothing of the commit staged.
//!
//! The branch moves by compare-and-swap under `index.lock`, with the new index written beside the old one before and put in its place
//! after. No hook runs: git runs none for `git reset --soft` either, but for those on references.

use std::collections::BTreeSet;

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::index::entry::Mode;
use tether_engine::oplog::Operation;
use tether_engine::vcs::{PathChange, UncommitRequest};
use tether_engine::{Error, ErrorKind, Result};
use tether_gitkit::refs::{self, Old, Outcome};
use tether_gitkit::trees::Reader;

use super::index::Index;
use super::{in_progress, landed};
use crate::position::{branch_ref, position};
use crate::{commit_id, failed, object_id};

/// The commit to take back, read.
struct Undone {
    id: ObjectId,
    parent: Option<ObjectId>,
    /// What it changed, with whether the parent has the file.
    changes: Vec<PathChange>,
}

/// An index entry as it will be.
pub(super) struct Before {
    pub(super) path: String,
    /// The commit's blob; an entry that names another one is the user's.
    pub(super) committed: Option<ObjectId>,
    /// The parent's.
    pub(super) blob: Option<(ObjectId, Mode)>,
}

/// Why [`uncommit`] would refuse.
pub(crate) fn check(repo: &gix::Repository, request: &UncommitRequest) -> Result<()> {
    check_position(repo, request)?;
    let undone = read(repo, request)?;
    check_files(repo, &undone)
}

/// Takes the commit back. One that is taken back already, by a run that was killed, is success, and git's index is brought up to it.
pub(crate) fn uncommit(
    repo: &gix::Repository,
    request: &UncommitRequest,
    operation: &Operation,
) -> Result<()> {
    let undone = read(repo, request)?;
    if is_back(repo, request, &undone)? {
        return Index::lock(repo)?
            .put_back(&before(repo, &undone)?)?
            .replace(repo);
    }
    let index = Index::lock(repo)?;
    check_position(repo, request)?;
    check_files(repo, &undone)?;
    let index = index.put_back(&before(repo, &undone)?)?;
    let why = format!("tether undo {}: moving to the parent", operation.id);
    let outcome = match undone.parent {
        Some(parent) => refs::set(repo, "HEAD", parent, Old::Is(undone.id), &why)?,
        None => refs::delete(
            repo,
            branch_ref(&request.bookmark)?
                .as_bstr()
                .to_str_lossy()
                .as_ref(),
            Old::Is(undone.id),
        )?,
    };
    if let Outcome::Elsewhere(_) = outcome {
        return Err(moved(request));
    }
    // The commit is taken back, whatever happens to the index.
    if let Err(error) = index.replace(repo) {
        tracing::warn!(
            commit = %undone.id,
            error = %error.one_line(),
            "the commit is taken back, but git's index could not be brought up to it; its files are staged until `git reset -q`"
        );
    }
    Ok(())
}

fn moved(request: &UncommitRequest) -> Error {
    let what = format!(
        "the branch {} moved meanwhile; nothing was taken back",
        request.bookmark
    );
    Error::new(ErrorKind::StalePlan, what).with_hint("run the command again")
}

/// HEAD must be on the branch, and the branch at the commit.
fn check_position(repo: &gix::Repository, request: &UncommitRequest) -> Result<()> {
    let commit = request.commit.short();
    let bookmark = &request.bookmark;
    if let Some(state) = repo.state() {
        let (what, hint) = in_progress(state);
        return Err(Error::vcs(format!("git is in the middle of {what}")).with_hint(hint));
    }
    let now = position(repo)?;
    if now.bookmarks.first() != Some(bookmark) {
        let on = now
            .bookmarks
            .first()
            .map_or_else(|| "no branch".to_owned(), ToString::to_string);
        return Err(Error::vcs(format!(
            "the dataset commit {commit} was made on {bookmark}, and HEAD is on {on}"
        ))
        .with_hint(format!("git switch {bookmark}")));
    }
    let Some(head) = now.head else {
        return Err(gone(request));
    };
    if head == request.commit {
        return Ok(());
    }
    let behind = is_behind(repo, object_id(&head)?, object_id(&request.commit)?)?;
    if !behind {
        return Err(gone(request));
    }
    Err(Error::vcs(format!(
        "other commits were made on top of the dataset commit {commit}: {bookmark} is at {} now",
        head.short()
    ))
    .with_hint(format!(
        "git revert {commit} makes a commit that takes it back"
    )))
}

fn gone(request: &UncommitRequest) -> Error {
    Error::vcs(format!(
        "the dataset commit {} is not on {} any more",
        request.commit.short(),
        request.bookmark
    ))
    .with_hint(
        "git reflog shows where it went; `tether status` says what that means for the dataset",
    )
}

fn is_behind(repo: &gix::Repository, head: ObjectId, commit: ObjectId) -> Result<bool> {
    let mut ancestors = repo
        .rev_walk([head])
        .all()
        .map_err(|error| failed("cannot walk history", error))?;
    // A history that is cut off does not hold it, as far as can be seen.
    Ok(ancestors.any(|one| one.is_ok_and(|one| one.id == commit)))
}

fn read(repo: &gix::Repository, request: &UncommitRequest) -> Result<Undone> {
    let id = object_id(&request.commit)?;
    let parts = landed::read(repo, id)?;
    if parts.parents.len() > 1 {
        return Err(Error::vcs(format!(
            "{} is a merge, which tether did not make",
            request.commit.short()
        ))
        .with_hint("git reset --merge HEAD~ takes a merge back"));
    }
    let parent = parts.parents.first().copied();
    let mut reader = Reader::new(repo);
    let before = parent.map(|parent| reader.root(parent)).transpose()?;
    let mut paths = BTreeSet::new();
    landed::compare(&mut reader, before, Some(parts.root), "", &mut paths)?;
    let mut changes = Vec::new();
    for path in paths {
        let there = file(repo, before, &path)?.is_some();
        changes.push(PathChange {
            path,
            content: there.then(Vec::new),
        });
    }
    Ok(Undone {
        id,
        parent,
        changes,
    })
}

fn check_files(repo: &gix::Repository, undone: &Undone) -> Result<()> {
    let index = Index::read(repo)?;
    super::index::check(&index, &undone.changes)?;
    let left_out = undone.changes.iter().find(|change| {
        let entry = index.entry_by_path(change.path.as_bytes().as_bstr());
        entry.is_some_and(|entry| {
            entry
                .flags
                .contains(gix::index::entry::Flags::SKIP_WORKTREE)
        })
    });
    match left_out {
        None => Ok(()),
        Some(change) => Err(Error::vcs(format!(
            "{} is left out of this sparse checkout, so its change cannot become an edit again",
            change.path
        ))
        .with_hint("git sparse-checkout disable, or git sparse-checkout add its folder")),
    }
}

/// Whether the branch is at the commit's parent already.
fn is_back(repo: &gix::Repository, request: &UncommitRequest, undone: &Undone) -> Result<bool> {
    let now = position(repo)?;
    Ok(
        now.bookmarks.first() == Some(&request.bookmark)
            && now.head == undone.parent.map(commit_id),
    )
}

/// What the index is to hold for the commit's paths.
fn before(repo: &gix::Repository, undone: &Undone) -> Result<Vec<Before>> {
    let mut reader = Reader::new(repo);
    let committed = Some(reader.root(undone.id)?);
    let parent = undone
        .parent
        .map(|parent| reader.root(parent))
        .transpose()?;
    let mut entries = Vec::new();
    for change in &undone.changes {
        entries.push(Before {
            path: change.path.clone(),
            committed: file(repo, committed, &change.path)?.map(|(id, _)| id),
            blob: file(repo, parent, &change.path)?,
        });
    }
    Ok(entries)
}

/// A file at a path of a tree, as an index has it.
fn file(
    repo: &gix::Repository,
    root: Option<ObjectId>,
    path: &str,
) -> Result<Option<(ObjectId, Mode)>> {
    let Some(root) = root else {
        return Ok(None);
    };
    let unreadable = |error: Box<dyn std::error::Error + Send + Sync>| {
        failed(format!("cannot read git tree {root}"), error)
    };
    let tree = repo
        .find_tree(root)
        .map_err(|error| unreadable(error.into()))?;
    let entry = tree
        .lookup_entry_by_path(path)
        .map_err(|error| unreadable(error.into()))?;
    Ok(entry.and_then(|entry| {
        let mode = entry.mode();
        let known = if mode.is_link() {
            Mode::SYMLINK
        } else if mode.is_executable() {
            Mode::FILE_EXECUTABLE
        } else if mode.is_commit() {
            Mode::COMMIT
        } else if mode.is_tree() {
            return None;
        } else {
            Mode::FILE
        };
        Some((entry.object_id(), known))
    }))
}
