//! The manifests of many commits.
//!
//! Level by level, each level's objects once and in the order they lie in their packs: a delta's base is then decoded before it.

use std::collections::HashMap;
use std::sync::Arc;

use gix::ObjectId;
use gix::hashtable::{HashMap as IdMap, HashSet as IdSet};
use gix::objs::Kind;
use gix::odb::pack::Find as _;
use tether_engine::Result;
use tether_engine::vcs::{Blob, Tree};

use super::cache::{Cache, Known};
use super::walk::Walk;
use crate::trees::{EntryKind, Reader, objects_path};

/// How the names begin of what stands in the root tree of a commit that jj made of a conflict: one root tree per side and base, beside
/// the files of the first side.
const CONFLICT: &[u8] = b".jjconflict-";

/// For each commit of the walk the trees with its manifests: none or one, and those of every side and base of a conflict.
pub(crate) fn objects_of(
    repo: &gix::Repository,
    cache: &mut Cache,
    walked: &Walk,
    prefix: &str,
) -> Result<Vec<Vec<ObjectId>>> {
    let path = objects_path(prefix);
    let known: Vec<Known> = walked
        .commits
        .iter()
        .map(|commit| cache.objects(prefix, &commit.root))
        .collect();
    let unknown: IdSet<ObjectId> = walked
        .commits
        .iter()
        .zip(&known)
        .filter(|(_, known)| **known == Known::No)
        .map(|(commit, _)| commit.root)
        .collect();
    let mut below = descend(repo, unknown, &path)?;
    // A conflict has no one tree that could be kept.
    for (root, objects) in &below.reached {
        if !below.sides.contains_key(root) {
            cache.learn_objects(prefix, *root, *objects);
        }
    }
    // A side may have been committed by git with the parts of an older conflict in it.
    let mut sides: IdSet<ObjectId> = below.sides.values().flatten().copied().collect();
    loop {
        sides.retain(|side| !below.reached.contains_key(side));
        if sides.is_empty() {
            break;
        }
        let deeper = descend(repo, sides, &path)?;
        sides = deeper.sides.values().flatten().copied().collect();
        below.reached.extend(deeper.reached);
        below.sides.extend(deeper.sides);
    }
    let found = walked
        .commits
        .iter()
        .zip(known)
        .map(|(commit, known)| match known {
            Known::Is(objects) => objects.into_iter().collect(),
            Known::No => below.all(commit.root),
        });
    Ok(found.collect())
}

/// What is below root trees.
struct Below {
    /// Root tree to the tree at the path; `None` when it has none.
    reached: IdMap<ObjectId, Option<ObjectId>>,
    /// Root trees of conflicts, with the root trees of their sides and bases.
    sides: IdMap<ObjectId, Vec<ObjectId>>,
}

impl Below {
    /// The distinct trees at the path, of a root and of every side below it. What git committed on top of a conflict may be none of
    /// the sides.
    fn all(&self, root: ObjectId) -> Vec<ObjectId> {
        let mut objects = Vec::new();
        let mut seen = IdSet::default();
        let mut next = vec![root];
        while let Some(root) = next.pop() {
            if seen.insert(root) {
                objects.extend(self.reached.get(&root).copied().flatten());
                next.extend(self.sides.get(&root).into_iter().flatten());
            }
        }
        objects.sort_unstable();
        objects.dedup();
        objects
    }
}

/// Goes down `path` from each of `roots`.
fn descend(repo: &gix::Repository, roots: IdSet<ObjectId>, path: &str) -> Result<Below> {
    let mut reader = Reader::new(repo);
    let mut sides = IdMap::default();
    let mut reached: IdMap<ObjectId, Option<ObjectId>> =
        roots.iter().map(|root| (*root, Some(*root))).collect();
    for (depth, part) in path.split('/').enumerate() {
        let level: IdSet<ObjectId> = reached.values().flatten().copied().collect();
        let mut next: IdMap<ObjectId, Option<ObjectId>> = IdMap::default();
        for id in in_pack_order(repo, level) {
            let (found, parts) = if depth == 0 {
                reader.entry_and_folders(id, part, CONFLICT)?
            } else {
                (reader.entry(id, part)?, Vec::new())
            };
            if !parts.is_empty() {
                sides.insert(id, parts);
            }
            let folder = match found {
                Some((folder, EntryKind::Folder)) => Some(folder),
                _ => None,
            };
            next.insert(id, folder);
        }
        for reached in reached.values_mut() {
            *reached = reached.and_then(|id| next.get(&id).copied().flatten());
        }
    }
    Ok(Below { reached, sides })
}

/// Reads each distinct tree and each distinct file in them once.
pub(crate) fn read(
    repo: &gix::Repository,
    objects: &[Vec<ObjectId>],
) -> Result<HashMap<String, Arc<Tree>>> {
    let roots: IdSet<ObjectId> = objects.iter().flatten().copied().collect();
    let mut reader = Reader::new(repo);
    let mut listed: IdMap<ObjectId, Vec<(String, ObjectId, EntryKind)>> = IdMap::default();
    let mut level = roots.clone();
    let mut files: IdSet<ObjectId> = IdSet::default();
    while !level.is_empty() {
        let mut next = IdSet::default();
        for id in in_pack_order(repo, level) {
            let entries = reader.entries(id)?;
            for (_, entry, kind) in &entries {
                match kind {
                    EntryKind::Folder if !listed.contains_key(entry) => drop(next.insert(*entry)),
                    EntryKind::File => drop(files.insert(*entry)),
                    EntryKind::Folder | EntryKind::Submodule => {}
                }
            }
            listed.insert(id, entries);
        }
        next.retain(|id| !listed.contains_key(id));
        level = next;
    }
    let mut blobs: IdMap<ObjectId, Blob> = IdMap::default();
    for id in in_pack_order(repo, files) {
        let data = Arc::from(reader.read(id, Kind::Blob)?);
        blobs.insert(
            id,
            Blob {
                id: id.to_string(),
                data,
            },
        );
    }
    Ok(roots
        .into_iter()
        .map(|root| {
            let mut objects = Vec::new();
            flatten(&listed, &blobs, root, "", &mut objects);
            objects.sort_by(|a, b| a.0.cmp(&b.0));
            let key = root.to_string();
            let tree = Tree {
                objects_id: Some(key.clone()),
                objects,
            };
            (key, Arc::new(tree))
        })
        .collect())
}

fn flatten(
    listed: &IdMap<ObjectId, Vec<(String, ObjectId, EntryKind)>>,
    blobs: &IdMap<ObjectId, Blob>,
    tree: ObjectId,
    folder: &str,
    out: &mut Vec<(String, Blob)>,
) {
    for (name, id, kind) in listed.get(&tree).into_iter().flatten() {
        match kind {
            EntryKind::Folder => flatten(listed, blobs, *id, &format!("{folder}{name}/"), out),
            EntryKind::File => out.extend(
                blobs
                    .get(id)
                    .map(|blob| (format!("{folder}{name}"), blob.clone())),
            ),
            EntryKind::Submodule => {}
        }
    }
}

/// The ids by pack and offset; loose ones first.
fn in_pack_order(repo: &gix::Repository, ids: IdSet<ObjectId>) -> Vec<ObjectId> {
    let mut buffer = Vec::new();
    let mut located: Vec<_> = ids
        .into_iter()
        .map(|id| {
            let location = repo.objects.location_by_oid(&id, &mut buffer);
            (location.map(|at| (at.pack_id, at.pack_offset)), id)
        })
        .collect();
    located.sort_unstable();
    located.into_iter().map(|(_, id)| id).collect()
}
