//! What is refused, or worth a note, before anything is written.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::locator::local_path;
use crate::backend::{Backend, Capability, Maturity, Store};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::key::ObjectKey;
use crate::query::FILE_KIND;

/// Refuses a key that an object has, here or on a file system that does not tell cases apart, and one whose manifest would need a
/// directory where another's file is.
pub(super) fn key_is_free(dataset: &Dataset, key: &ObjectKey, derived: bool) -> Result<()> {
    let (manifests, broken) = dataset.manifests_tolerant()?;
    let broken = broken.iter().filter_map(|(key, _)| key.as_ref());
    let known: BTreeSet<&ObjectKey> = manifests.keys().chain(broken).collect();
    if known.contains(key) {
        let error = Error::user(format!("there is an object {key} already"));
        return Err(if derived {
            error.with_hint("give this one a key of its own: `tether add KEY LOCATOR --kind KIND`")
        } else {
            error.with_hint(format!(
                "choose another key; `tether set {key}` changes its policy, `tether remove {key}` frees the key"
            ))
        });
    }
    let folded = key.as_str().to_lowercase();
    if let Some(twin) = known
        .iter()
        .find(|other| other.as_str().to_lowercase() == folded)
    {
        return Err(Error::user(format!(
            "{key} and the object {twin} differ only in case, and many file systems take them for one"
        ))
        .with_hint("choose another key"));
    }
    let collides = known
        .iter()
        .find(|other| in_the_way(key, other) || in_the_way(other, key));
    if let Some(other) = collides {
        return Err(Error::user(format!(
            "the manifests of {key} and of the object {other} cannot both exist: one is a file where the other needs a directory"
        ))
        .with_hint("choose another key"));
    }
    left_out(dataset, key)
}

/// Whether the manifest file of `file` is a directory on the way to that of `key`.
fn in_the_way(key: &ObjectKey, file: &ObjectKey) -> bool {
    key.as_str()
        .strip_prefix(file.as_str())
        .is_some_and(|rest| rest.starts_with(".toml/"))
}

/// A committed object whose manifest a sparse checkout leaves out still has its key.
fn left_out(dataset: &Dataset, key: &ObjectKey) -> Result<()> {
    let path = dataset.manifest_repo_path(key);
    if dataset
        .vcs
        .left_out(std::slice::from_ref(&path))?
        .is_empty()
    {
        return Ok(());
    }
    Err(Error::user(format!(
        "there is an object {key} already, which this sparse checkout leaves out"
    ))
    .with_hint(format!(
        "`{}` brings it in",
        dataset.vcs.kind().unsparse(&dataset.repo_path(".tether"))
    )))
}

/// P046: a manifest that an ignore rule covers would never be committed.
pub(super) fn can_be_committed(dataset: &Dataset, key: &ObjectKey) -> Result<()> {
    let path = dataset.manifest_repo_path(key);
    if dataset.vcs.ignored(std::slice::from_ref(&path))?.is_empty() {
        return Ok(());
    }
    Err(Error::vcs(format!(
        "an ignore rule of the repository covers {path}, so no commit could hold the object"
    ))
    .with_hint(format!(
        "`git check-ignore -v {path}` names the rule; take {} out of it",
        dataset.repo_path(".tether")
    )))
}

/// Refuses a position where the kind has none, and local paths that are in the checkout: those files came with the clone, and `new`
/// changes them.
pub(super) fn locator(dataset: &Dataset, backend: &dyn Backend, store: &Store) -> Result<()> {
    if store.locator.get("at").is_some() && !backend.capabilities().has(Capability::History) {
        let kind = backend.kind();
        return Err(Error::capability(format!(
            "a {kind} object has no history to start in, so `at` means nothing"
        ))
        .with_hint("leave --at out"));
    }
    for path in local_paths(backend, store) {
        let real = real_path(path);
        if real.starts_with(dataset.vcs.workdir()) || real.starts_with(&dataset.root) {
            return Err(Error::user(format!(
                "{} is inside the dataset's own checkout ({}), whose files the repository versions",
                path.display(),
                dataset.vcs.workdir().display()
            ))
            .with_hint("move it out of the checkout, and `tether add` it there"));
        }
        if backend.kind() == FILE_KIND && dataset.root.starts_with(&real) {
            return Err(Error::user(format!(
                "{} contains the dataset itself, which changes with every commit",
                path.display()
            ))
            .with_hint("add the directories that hold the data"));
        }
    }
    Ok(())
}

/// Refuses a store on this machine that is not there, or is not what its kind needs. Costs no more than a look: files are not hashed.
pub(super) async fn store_is_there(backend: &dyn Backend, store: &Store) -> Result<()> {
    let paths = local_paths(backend, store);
    for path in &paths {
        look(backend, path)?;
    }
    let kind = backend.kind();
    let cheap = backend.capabilities().has(Capability::CheapFingerprint) && kind != FILE_KIND;
    if !paths.is_empty() && cheap {
        backend.fingerprint(store, None).await?;
    }
    Ok(())
}

fn look(backend: &dyn Backend, path: &Path) -> Result<()> {
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let missing = Error::store(format!("there is nothing at {}", path.display()));
            let hint = if backend.capabilities().has(Capability::Create) {
                "check the path; `--create` makes an empty store there"
            } else {
                "check the path"
            };
            return Err(missing.with_hint(hint));
        }
        Err(error) => return Err(Error::io("look at", path, error)),
    };
    if meta.is_file() || meta.is_dir() {
        return Ok(());
    }
    Err(Error::store(format!(
        "{} is neither a file nor a directory",
        path.display()
    ))
    .with_hint("a pipe, socket or device has no content to track"))
}

/// Things to know about the object.
pub(super) fn notes(backend: &dyn Backend, store: &Store, create: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let kind = backend.kind();
    if backend.maturity() == Maturity::Experimental {
        notes.push(format!(
            "the {kind} backend is experimental: tested against a stand-in of the service, not the service itself (`tether backends`)"
        ));
    }
    notes.extend(unread_fields(backend, store));
    let jj = local_paths(backend, store)
        .into_iter()
        .find(|path| path.join(".jj").exists());
    if let Some(path) = jj.filter(|_| kind == "git") {
        notes.push(format!(
            "{} is a jj repository: jj would make tagged commits immutable and give up what only a deleted tag held, so pins are hidden refs there (`refs/tether/...`; the locator field `pins = \"tags\"` overrides)",
            path.display()
        ));
    }
    if create {
        notes.push(
            "the store lifecycle (`--create`, `gc --delete-stores`) is experimental: a deleted store cannot be repaired".to_owned(),
        );
    }
    notes
}

/// A field the kind does not read is kept, since the package of the same format keeps it, but not without a word.
fn unread_fields(backend: &dyn Backend, store: &Store) -> Option<String> {
    let known = backend.locator_keys();
    let unread = store.locator.0.keys();
    let unread: Vec<&str> = unread
        .map(String::as_str)
        .filter(|field| !known.contains(field))
        .collect();
    (!known.is_empty() && !unread.is_empty()).then(|| {
        format!(
            "a {} object does not read {}; the fields it reads are {} (`tether remove`, then `tether add` with `--set FIELD=VALUE`)",
            backend.kind(),
            unread.join(", "),
            known.join(", ")
        )
    })
}

fn local_paths<'a>(backend: &dyn Backend, store: &'a Store) -> Vec<&'a Path> {
    backend
        .local_path_keys()
        .iter()
        .filter_map(|field| local_path(store.locator.str(field)?))
        .collect()
}

/// The real path of what exists of `path`.
fn real_path(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut existing = path;
    loop {
        if let Ok(real) = existing.canonicalize() {
            return missing
                .iter()
                .rev()
                .fold(real, |path, name| path.join(name));
        }
        let (Some(name), Some(parent)) = (existing.file_name(), existing.parent()) else {
            return path.to_owned();
        };
        missing.push(name.to_owned());
        existing = parent;
    }
}
