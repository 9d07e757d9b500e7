//! Files at a commit.

use std::sync::Arc;

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::objs::{Find, Kind, TreeRefIter};
use tether_engine::vcs::{Blob, Tree};
use tether_engine::{Error, Result};

use crate::failed;

/// Where manifests are, from the root of the working copy.
pub fn objects_path(prefix: &str) -> String {
    if prefix.is_empty() {
        ".tether/objects".to_owned()
    } else {
        format!("{}/.tether/objects", prefix.trim_end_matches('/'))
    }
}

/// A file (or the target of a symlink) at a commit.
pub fn read_at(repo: &gix::Repository, commit: ObjectId, path: &str) -> Result<Option<Vec<u8>>> {
    let mut reader = Reader::new(repo);
    let root = reader.root(commit)?;
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let Some(tree) = reader.descend(root, folder)? else {
        return Ok(None);
    };
    let entry = reader.entry(tree, name)?;
    match entry {
        Some((id, EntryKind::File)) => reader.read(id, Kind::Blob).map(|data| Some(data.to_vec())),
        _ => Ok(None),
    }
}

/// The manifests at a commit.
pub fn tree_at(repo: &gix::Repository, commit: ObjectId, prefix: &str) -> Result<Tree> {
    let mut reader = Reader::new(repo);
    let root = reader.root(commit)?;
    let Some(objects) = reader.descend(root, &objects_path(prefix))? else {
        return Ok(Tree::default());
    };
    let mut files = Vec::new();
    let mut folders = vec![(String::new(), objects)];
    while let Some((folder, tree)) = folders.pop() {
        for (name, id, kind) in reader.entries(tree)? {
            let path = format!("{folder}{name}");
            match kind {
                EntryKind::Folder => folders.push((format!("{path}/"), id)),
                EntryKind::File => files.push((path, id)),
                EntryKind::Submodule => {}
            }
        }
    }
    files.sort();
    let mut blobs = Vec::with_capacity(files.len());
    for (path, id) in files {
        let data = Arc::from(reader.read(id, Kind::Blob)?);
        blobs.push((
            path,
            Blob {
                id: id.to_string(),
                data,
            },
        ));
    }
    Ok(Tree {
        objects_id: Some(objects.to_string()),
        objects: blobs,
    })
}

/// What an entry of a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file or a symlink.
    File,
    /// A tree.
    Folder,
    /// A commit of another repository.
    Submodule,
}

impl EntryKind {
    fn of(mode: gix::objs::tree::EntryMode) -> Self {
        if mode.is_tree() {
            Self::Folder
        } else if mode.is_commit() {
            Self::Submodule
        } else {
            Self::File
        }
    }
}

/// What an entry of a tree holds.
pub type Entry = (ObjectId, EntryKind);

/// Reads objects into one buffer; an object that is not there is an error, never an empty answer.
pub struct Reader<'a> {
    repo: &'a gix::Repository,
    buffer: Vec<u8>,
}

impl<'a> Reader<'a> {
    /// Reads from `repo`.
    pub fn new(repo: &'a gix::Repository) -> Self {
        Self {
            repo,
            buffer: Vec::new(),
        }
    }

    /// The object's bytes.
    pub fn read(&mut self, id: ObjectId, kind: Kind) -> Result<&[u8]> {
        match self.repo.objects.try_find(&id, &mut self.buffer) {
            Ok(Some(data)) if data.kind == kind => Ok(data.data),
            Ok(Some(data)) => Err(Error::vcs(format!(
                "git object {id} is a {}, not a {kind}",
                data.kind
            ))
            .with_hint("git fsck")),
            Ok(None) => Err(missing(self.repo, id)),
            Err(error) => {
                Err(failed(format!("cannot read git object {id}"), error).with_hint("git fsck"))
            }
        }
    }

    /// A commit's root tree.
    pub fn root(&mut self, commit: ObjectId) -> Result<ObjectId> {
        let hash = self.repo.object_hash();
        gix::objs::CommitRefIter::from_bytes(self.read(commit, Kind::Commit)?, hash)
            .tree_id()
            .map_err(|error| failed(format!("cannot read commit {commit}"), error))
    }

    /// The tree at a path below a tree; `None` when there is none, or something else stands there.
    pub fn descend(&mut self, mut tree: ObjectId, path: &str) -> Result<Option<ObjectId>> {
        for part in path.split('/').filter(|part| !part.is_empty()) {
            match self.entry(tree, part)? {
                Some((id, EntryKind::Folder)) => tree = id,
                _ => return Ok(None),
            }
        }
        Ok(Some(tree))
    }

    /// One entry of a tree.
    pub fn entry(&mut self, tree: ObjectId, name: &str) -> Result<Option<(ObjectId, EntryKind)>> {
        let hash = self.repo.object_hash();
        for entry in TreeRefIter::from_bytes(self.read(tree, Kind::Tree)?, hash) {
            let entry =
                entry.map_err(|error| failed(format!("cannot read git tree {tree}"), error))?;
            if entry.filename == name {
                return Ok(Some((entry.oid.to_owned(), EntryKind::of(entry.mode))));
            }
        }
        Ok(None)
    }

    /// [`Reader::entry`], and the trees among the entries whose names begin with `start`; they come first in a root tree.
    pub fn entry_and_folders(
        &mut self,
        tree: ObjectId,
        name: &str,
        start: &[u8],
    ) -> Result<(Option<Entry>, Vec<ObjectId>)> {
        let hash = self.repo.object_hash();
        let mut folders = Vec::new();
        let mut found = None;
        for entry in TreeRefIter::from_bytes(self.read(tree, Kind::Tree)?, hash) {
            let entry =
                entry.map_err(|error| failed(format!("cannot read git tree {tree}"), error))?;
            if entry.filename == name {
                found = Some((entry.oid.to_owned(), EntryKind::of(entry.mode)));
            } else if entry.mode.is_tree() && entry.filename.starts_with(start) {
                folders.push(entry.oid.to_owned());
            }
            // Entries are in the order of their names.
            if found.is_some() && &**entry.filename > start && !entry.filename.starts_with(start) {
                break;
            }
        }
        Ok((found, folders))
    }

    /// Every entry of a tree. Names that are not UTF-8 are shown as they can be.
    pub fn entries(&mut self, tree: ObjectId) -> Result<Vec<(String, ObjectId, EntryKind)>> {
        let hash = self.repo.object_hash();
        TreeRefIter::from_bytes(self.read(tree, Kind::Tree)?, hash)
            .map(|entry| {
                let entry =
                    entry.map_err(|error| failed(format!("cannot read git tree {tree}"), error))?;
                let name = entry.filename.to_str_lossy().into_owned();
                Ok((name, entry.oid.to_owned(), EntryKind::of(entry.mode)))
            })
            .collect()
    }
}

/// The error for an object that this clone does not have.
pub fn missing(repo: &gix::Repository, id: ObjectId) -> Error {
    let hint = match crate::history::promisor(repo) {
        Some(remote) => format!("git fetch --refetch --no-filter {remote}"),
        None => "git fsck".to_owned(),
    };
    Error::vcs(format!("git object {id} is missing from this clone")).with_hint(hint)
}
