//! What git tracks, ignores, or left out of the working copy.

use std::path::Path;

use gix::bstr::{BStr, ByteSlice};
use gix::index::entry::{Flags, Mode};
use gix::worktree::stack::state::ignore::Source;
use tether_engine::Result;

use crate::failed;

/// Which of `paths` are in the index (any stage) or in the head commit, or lie behind something there that is no directory: a tracked
/// symlink or submodule in the place of one of its folders brings the file with a clone as well.
pub(crate) fn tracked(repo: &gix::Repository, paths: &[String]) -> Result<Vec<String>> {
    let index = repo
        .index_or_empty()
        .map_err(|error| failed("cannot read git's index", error))?;
    let head = head_tree(repo)?;
    let fold = repo.config_snapshot().boolean("core.ignoreCase") == Some(true);
    let mut found = Vec::new();
    for path in paths {
        let mut is_tracked = false;
        for part in with_folders(path) {
            is_tracked |= if fold {
                index
                    .entries()
                    .iter()
                    .any(|entry| entry.path(&index).eq_ignore_ascii_case(part.as_bytes()))
            } else {
                index.entry_by_path(part.as_bytes().as_bstr()).is_some()
            };
        }
        if let (false, Some(tree)) = (is_tracked, &head) {
            is_tracked = in_tree(tree.clone(), path, fold)?;
        }
        if is_tracked {
            found.push(path.clone());
        }
    }
    Ok(found)
}

/// Which of `paths` an ignore rule covers and nothing tracks.
pub(crate) fn ignored(repo: &gix::Repository, paths: &[String]) -> Result<Vec<String>> {
    let index = repo
        .index_or_empty()
        .map_err(|error| failed("cannot read git's index", error))?;
    let mut stack = repo
        .excludes(&index, None, Source::WorktreeThenIdMappingIfNotSkipped)
        .map_err(|error| failed("cannot read git's ignore rules", error))?;
    let mut covered = Vec::new();
    for path in paths {
        let platform = stack
            .at_entry(path.as_bytes().as_bstr(), Some(Mode::FILE))
            .map_err(|error| failed(format!("cannot read git's ignore rules for {path}"), error))?;
        if platform.is_excluded() {
            covered.push(path.clone());
        }
    }
    let kept = tracked(repo, &covered)?;
    covered.retain(|path| !kept.contains(path));
    Ok(covered)
}

/// Which of `paths` are not in the working copy because git was told to leave them out.
pub(crate) fn left_out(
    repo: &gix::Repository,
    workdir: &Path,
    paths: &[String],
) -> Result<Vec<String>> {
    let index = repo
        .index_or_empty()
        .map_err(|error| failed("cannot read git's index", error))?;
    let left_out = |path: &String| {
        if std::fs::symlink_metadata(workdir.join(path)).is_ok() {
            return false;
        }
        let skipped = index
            .entry_by_path(path.as_bytes().as_bstr())
            .is_some_and(|entry| entry.flags.contains(Flags::SKIP_WORKTREE));
        skipped || in_sparse_folder(&index, path)
    };
    Ok(paths
        .iter()
        .filter(|path| left_out(path))
        .cloned()
        .collect())
}

/// Whether a sparse index holds one of the folders of `path` as a single entry.
pub(crate) fn in_sparse_folder(index: &gix::index::State, path: &str) -> bool {
    index.is_sparse()
        && path.match_indices('/').any(|(at, _)| {
            let folder = path.get(..=at).unwrap_or_default();
            index
                .entry_by_path(folder.as_bytes().as_bstr())
                .is_some_and(|entry| entry.mode == Mode::DIR)
        })
}

/// `a`, `a/b`, `a/b/c` for `a/b/c`.
fn with_folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/')
        .map(|(at, _)| path.get(..at).unwrap_or_default())
        .chain([path])
}

fn head_tree(repo: &gix::Repository) -> Result<Option<gix::Tree<'_>>> {
    if repo.head().is_ok_and(|head| head.is_unborn()) {
        return Ok(None);
    }
    repo.head_tree()
        .map(Some)
        .map_err(|error| failed("cannot read the head commit", error))
}

/// Whether the tree has the path, or something that is no directory in the place of one of its folders.
fn in_tree(mut tree: gix::Tree<'_>, path: &str, fold: bool) -> Result<bool> {
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        let same = |name: &BStr| {
            if fold {
                name.eq_ignore_ascii_case(part.as_bytes())
            } else {
                name == part
            }
        };
        let next = tree
            .iter()
            .filter_map(std::result::Result::ok)
            .find(|entry| same(entry.filename()))
            .map(|entry| (entry.mode().is_tree(), entry.object_id()));
        match next {
            None => return Ok(false),
            Some((false, _)) => return Ok(true),
            Some((true, _)) if parts.peek().is_none() => return Ok(false),
            Some((true, id)) => {
                tree = tree
                    .repo
                    .find_tree(id)
                    .map_err(|error| failed("cannot read the head commit", error))?;
            }
        }
    }
    Ok(false)
}
