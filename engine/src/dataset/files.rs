//! Manifest files: the walk over `.tether/objects/`, and the same from a commit's tree.

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::fsutil;
use crate::id::CommitId;
use crate::key::ObjectKey;
use crate::manifest::{Manifest, Manifests};
use crate::vcs::Tree;

/// From this many files on, parsing is spread over the cores.
const PARALLEL_FROM: usize = 64;

/// Reads every manifest below `objects`; a directory that does not exist holds none.
pub(super) fn manifests(objects: &Path) -> Result<Manifests> {
    let mut found = Vec::new();
    walk(objects, "", &mut found)?;
    let (manifests, errors) = parse_each(&found, read_file);
    all_or_errors(
        manifests,
        errors.into_iter().map(|(_, error)| error).collect(),
    )
}

/// What [`manifests_tolerant`] finds: the readable manifests, and the files it could not read by their key, where they have one.
pub(super) type Found = (Manifests, Vec<(Option<ObjectKey>, Error)>);

/// [`manifests`], but a manifest that cannot be read does not hide the others.
pub(super) fn manifests_tolerant(objects: &Path) -> Result<Found> {
    let mut found = Vec::new();
    walk(objects, "", &mut found)?;
    let (manifests, errors) = parse_each(&found, read_file);
    let errors = errors
        .into_iter()
        .map(|(file, error)| (key_of(&file.0).ok(), error));
    Ok((manifests, errors.collect()))
}

fn read_file((below, path): &(String, PathBuf)) -> Result<Option<Manifest>> {
    let key = key_of(below)?;
    // A file that vanished since the walk was removed; the others still count.
    let Some(text) = fsutil::read_regular(path)? else {
        return Ok(None);
    };
    Manifest::parse(&key, &text).map(Some)
}

/// The bytes of the manifest at `key`'s place; `None` when there is no file.
pub(super) fn manifest_bytes(objects: &Path, key: &ObjectKey) -> Result<Option<Vec<u8>>> {
    fsutil::read_regular(&objects.join(format!("{key}.toml")))
}

/// The manifests of a commit's tree.
pub(super) fn manifests_of(tree: &Tree) -> Result<Manifests> {
    let files: Vec<_> = tree
        .objects
        .iter()
        .filter(|(below, _)| below.ends_with(".toml"))
        .collect();
    let (manifests, errors) = parse_each(&files, |(below, blob)| {
        Manifest::parse(&key_of(below)?, &blob.data).map(Some)
    });
    all_or_errors(
        manifests,
        errors.into_iter().map(|(_, error)| error).collect(),
    )
}

/// The manifests of a commit's tree that can be read.
pub(crate) fn readable(tree: &Tree) -> Manifests {
    let parsed = tree.objects.iter().filter_map(|(below, blob)| {
        let key = below.strip_suffix(".toml")?.parse().ok()?;
        Manifest::parse(&key, &blob.data).ok()
    });
    parsed.map(|it| (it.key.clone(), it)).collect()
}

/// Adds which commit a manifest was read at.
pub(super) fn at_commit(error: Error, commit: &CommitId) -> Error {
    let message = format!("the manifests at {} cannot be read", commit.short());
    Error::new(error.kind(), message).with_source(error)
}

fn parse_each<T: Sync>(
    files: &[T],
    parse: impl Fn(&T) -> Result<Option<Manifest>> + Sync,
) -> (Manifests, Vec<(&T, Error)>) {
    let parsed: Vec<Result<Option<Manifest>>> = if files.len() >= PARALLEL_FROM {
        files.par_iter().map(&parse).collect()
    } else {
        files.iter().map(&parse).collect()
    };
    let mut manifests = Manifests::new();
    let mut errors = Vec::new();
    for (file, result) in files.iter().zip(parsed) {
        match result {
            Ok(Some(manifest)) => {
                manifests.insert(manifest.key.clone(), manifest);
            }
            Ok(None) => {}
            Err(error) => errors.push((file, error)),
        }
    }
    (manifests, errors)
}

fn all_or_errors(manifests: Manifests, errors: Vec<Error>) -> Result<Manifests> {
    if errors.is_empty() {
        Ok(manifests)
    } else {
        Err(Error::several(errors))
    }
}

fn key_of(below: &str) -> Result<ObjectKey> {
    let text = below.strip_suffix(".toml").unwrap_or(below);
    text.parse().map_err(|error: Error| {
        Error::config(format!(
            "the manifest .tether/objects/{} stands at a place that is no object's",
            below.escape_debug()
        ))
        .with_source(error)
        .with_hint("rename or remove the file")
    })
}

/// Collects `(path below objects, path)` of the manifests, in no particular order. Symlinks are never followed.
fn walk(dir: &Path, below: &str, found: &mut Vec<(String, PathBuf)>) -> Result<()> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("list", dir, error)),
    };
    for entry in entries {
        let entry = entry.map_err(|error| Error::io("list", dir, error))?;
        let kind = entry
            .file_type()
            .map_err(|error| Error::io("look at", &entry.path(), error))?;
        let name = entry.file_name();
        let text = name.to_str();
        if kind.is_symlink() {
            return Err(symlink(&entry.path()));
        }
        if kind.is_dir() {
            let name = text.ok_or_else(|| odd_name(&entry.path()))?;
            walk(&entry.path(), &join(below, name), found)?;
        } else if name.as_encoded_bytes().ends_with(b".toml") {
            let name = text.ok_or_else(|| odd_name(&entry.path()))?;
            found.push((join(below, name), entry.path()));
        }
    }
    Ok(())
}

/// A link in a place that a clone brings: followed, it would have tether read and write outside the checkout.
pub(super) fn symlink(path: &Path) -> Error {
    Error::config(format!(
        "{} is a symbolic link, which tether does not follow there",
        path.display()
    ))
    .with_hint("replace the link with what it points at, or remove it")
}

fn join(below: &str, name: &str) -> String {
    if below.is_empty() {
        name.to_owned()
    } else {
        format!("{below}/{name}")
    }
}

fn odd_name(path: &Path) -> Error {
    Error::config(format!(
        "the name of {} is not UTF-8, which no key can be",
        path.display()
    ))
    .with_hint("rename or remove it")
}
