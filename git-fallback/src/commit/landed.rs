//! Finding the commit of an interrupted run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::objs::{CommitRefIter, Kind};
use tether_engine::Result;
use tether_engine::id::CommitId;
use tether_engine::vcs::CommitRequest;

use super::index::Index;
use super::{Job, Staged, hooked, message};
use crate::position::position;
use crate::{commit_id, failed, object_id};
use tether_gitkit::trees::{EntryKind, Reader};

/// How far behind the head the commit is looked for: the user may have committed on top of it.
const DEPTH: usize = 256;

/// What a commit is made of.
pub(super) struct Parts {
    pub(super) root: ObjectId,
    pub(super) parents: Vec<ObjectId>,
    message: String,
}

/// Reads a commit.
pub(super) fn read(repo: &gix::Repository, id: ObjectId) -> Result<Parts> {
    let mut reader = Reader::new(repo);
    let data = reader.read(id, Kind::Commit)?;
    let unreadable = |error| failed(format!("cannot read commit {id}"), error);
    let mut iter = CommitRefIter::from_bytes(data, repo.object_hash());
    Ok(Parts {
        root: iter.tree_id().map_err(unreadable)?,
        parents: iter.parent_ids().collect(),
        message: iter.message().map_err(unreadable)?.to_string(),
    })
}

/// The commit of `request`: on the branch, on the expected head, changing exactly its paths to its contents, with its message (which
/// hooks may have edited). A commit that hides behind another head than the expected one is none.
///
/// When the run was killed before it brought git's index up to the commit, that is done now.
pub(crate) fn find_landed(
    repo: &gix::Repository,
    workdir: &Path,
    request: &CommitRequest,
) -> Result<Option<CommitId>> {
    let branch = format!("refs/heads/{}", request.bookmark);
    let expected = request.expected_head.as_ref().map(object_id).transpose()?;
    let mut at = tether_gitkit::refs::target(repo, &branch)?;
    for _ in 0..DEPTH {
        let Some(id) = at.filter(|id| Some(*id) != expected) else {
            return Ok(None);
        };
        let parts = read(repo, id)?;
        if parts.parents.len() <= 1 && parts.parents.first().copied() == expected {
            if !says(repo, &parts, request) || !holds(repo, &parts, expected, request)? {
                return Ok(None);
            }
            if let Err(error) = heal(repo, workdir, id, &parts, expected, request) {
                super::report_stale_index(id, &error);
            }
            return Ok(Some(commit_id(id)));
        }
        at = parts.parents.first().copied();
    }
    Ok(None)
}

fn says(repo: &gix::Repository, parts: &Parts, request: &CommitRequest) -> bool {
    message::clean(&request.message).is_ok_and(|message| message == parts.message)
        || hooked::may_edit_messages(repo)
}

/// Brings the index up to the commit where it still has what the parent had, as long as the commit is what is checked out.
fn heal(
    repo: &gix::Repository,
    workdir: &Path,
    id: ObjectId,
    parts: &Parts,
    parent: Option<ObjectId>,
    request: &CommitRequest,
) -> Result<()> {
    let here = position(repo)?;
    if here.head != Some(commit_id(id)) || here.bookmarks.first() != Some(&request.bookmark) {
        return Ok(());
    }
    let index = repo
        .index_or_empty()
        .map_err(|error| failed("cannot read git's index", error))?;
    let before = match parent {
        Some(parent) => Some(Reader::new(repo).root(parent)?),
        None => None,
    };
    let mut staged = Vec::new();
    for change in &request.changes {
        let entry = index.entry_by_path(change.path.as_bytes().as_bstr());
        let indexed = entry.map(|entry| entry.id);
        let committed = file_at(repo, Some(parts.root), &change.path)?;
        if indexed == committed || indexed != file_at(repo, before, &change.path)? {
            continue;
        }
        let bytes = change.content.as_deref().unwrap_or_default();
        staged.push(Staged {
            path: &change.path,
            content: committed.map(|id| (id, bytes)),
        });
    }
    if staged.is_empty() {
        return Ok(());
    }
    let job = Job {
        repo,
        workdir,
        parent,
        tree: parts.root,
        message: String::new(),
        staged,
    };
    Index::lock(repo)?.update(&job, id)
}

/// What a tree has at a path.
fn file_at(repo: &gix::Repository, root: Option<ObjectId>, path: &str) -> Result<Option<ObjectId>> {
    let mut reader = Reader::new(repo);
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let tree = match root {
        Some(root) => reader.descend(root, folder)?,
        None => None,
    };
    match tree {
        Some(tree) => Ok(reader.entry(tree, name)?.map(|(id, _)| id)),
        None => Ok(None),
    }
}

/// Whether the commit differs from its parent by exactly the request's changes.
fn holds(
    repo: &gix::Repository,
    parts: &Parts,
    parent: Option<ObjectId>,
    request: &CommitRequest,
) -> Result<bool> {
    let mut reader = Reader::new(repo);
    let before = match parent {
        Some(parent) => Some(reader.root(parent)?),
        None => None,
    };
    let mut changed = BTreeSet::new();
    compare(&mut reader, before, Some(parts.root), "", &mut changed)?;
    for change in &request.changes {
        let there = file_at(repo, Some(parts.root), &change.path)?;
        let wanted = match &change.content {
            None => None,
            Some(bytes) => Some(
                gix::objs::compute_hash(repo.object_hash(), Kind::Blob, bytes)
                    .map_err(|error| failed("cannot hash a file", error))?,
            ),
        };
        if there != wanted {
            return Ok(false);
        }
        changed.remove(&change.path);
    }
    Ok(changed.is_empty())
}

/// Collects the paths at which two trees differ.
pub(super) fn compare(
    reader: &mut Reader<'_>,
    before: Option<ObjectId>,
    after: Option<ObjectId>,
    folder: &str,
    changed: &mut BTreeSet<String>,
) -> Result<()> {
    if before == after {
        return Ok(());
    }
    let mut sides: BTreeMap<String, [Option<(ObjectId, EntryKind)>; 2]> = BTreeMap::new();
    for (side, tree) in [before, after].into_iter().enumerate() {
        let Some(tree) = tree else {
            continue;
        };
        for (name, id, kind) in reader.entries(tree)? {
            if let Some(slot) = sides.entry(name).or_default().get_mut(side) {
                *slot = Some((id, kind));
            }
        }
    }
    for (name, [old, new]) in sides {
        if old == new {
            continue;
        }
        let path = format!("{folder}{name}");
        let tree = |entry: Option<(ObjectId, EntryKind)>| {
            entry
                .filter(|(_, kind)| *kind == EntryKind::Folder)
                .map(|(id, _)| id)
        };
        compare(reader, tree(old), tree(new), &format!("{path}/"), changed)?;
        let is_file = |entry: Option<(ObjectId, EntryKind)>| {
            entry.is_some_and(|(_, kind)| kind != EntryKind::Folder)
        };
        if is_file(old) || is_file(new) {
            changed.insert(path);
        }
    }
    Ok(())
}
