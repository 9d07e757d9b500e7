//! Finding the commit of an interrupted run.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;
use gix::objs::{CommitRefIter, Kind};
use tether_engine::Result;
use tether_engine::id::CommitId;
use tether_engine::vcs::CommitRequest;

use super::{hooked, message};
use crate::trees::{EntryKind, Reader};
use crate::{commit_id, failed, object_id};

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
pub(crate) fn find_landed(
    repo: &gix::Repository,
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
            let found = says(repo, &parts, request) && holds(repo, &parts, expected, request)?;
            return Ok(found.then(|| commit_id(id)));
        }
        at = parts.parents.first().copied();
    }
    Ok(None)
}

fn says(repo: &gix::Repository, parts: &Parts, request: &CommitRequest) -> bool {
    message::clean(&request.message).is_ok_and(|message| message == parts.message)
        || hooked::may_edit_messages(repo)
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
        let (folder, name) = change.path.rsplit_once('/').unwrap_or(("", &change.path));
        let there = match reader.descend(parts.root, folder)? {
            Some(tree) => reader.entry(tree, name)?.map(|(id, _)| id),
            None => None,
        };
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
fn compare(
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
