//! Read-only answers: nothing here writes an operation, a ref or a commit.
//!
//! ```text
//! snapshot   observe: the fan-out over the stores; the cache of what it found
//! status  -> snapshot, verify, drift (what the VCS did behind tether's back), absent (manifests that are not there)
//! verify  -> history (every visible commit's recorded states, each distinct one once)
//! diff open log ops backends
//! ```

mod absent;
pub mod backends;
pub mod diff;
mod drift;
mod history;
pub mod log;
pub mod open;
pub mod ops;
mod recent;
pub mod snapshot;
pub mod status;
pub mod summary;
pub mod verify;

pub(crate) use drift::conflicted as conflicted_bookmark;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::fsutil;
use crate::key::ObjectKey;
use crate::manifest::{Manifest, Manifests};

/// The kind whose objects are bytes in files: the only one that `[policy] file` is about.
pub(crate) const FILE_KIND: &str = "file";

/// The error for a key that no manifest has.
pub(crate) fn no_object(key: &str) -> Error {
    Error::user(format!("no object {key:?}"))
        .with_hint("`tether status` lists the objects of this dataset")
}

/// One manifest of the working tree, without reading the others. One that a sparse checkout leaves out is as committed.
pub(crate) fn manifest_of(dataset: &Dataset, key: &str) -> Result<Manifest> {
    // What is no key is no object's name either.
    let key: ObjectKey = key.parse().map_err(|_| no_object(key))?;
    let path = dataset.tether_path(&key.manifest_path());
    if let Some(text) = fsutil::read_regular(&path)? {
        return Manifest::parse(&key, &text);
    }
    let left_out = absent::left_out(dataset, [&key])?.contains(&key);
    let head = dataset.vcs.position()?.head.filter(|_| left_out);
    let committed = head.map(|head| manifest_at(dataset, &head, &key));
    committed
        .transpose()?
        .flatten()
        .ok_or_else(|| no_object(key.as_str()))
}

/// The commit a revision names; an empty one is refused, for `-r "$UNSET"` must not mean anything.
pub(crate) fn resolve(dataset: &Dataset, rev: &str) -> Result<crate::id::CommitId> {
    if rev.trim().is_empty() {
        return Err(Error::user("a revision is needed, and this one is empty")
            .with_hint("name a branch, a tag or a commit, such as `main`"));
    }
    dataset.vcs.resolve(rev)
}

/// One manifest of a commit; `None` when the commit has none.
pub(crate) fn manifest_at(
    dataset: &Dataset,
    commit: &crate::id::CommitId,
    key: &ObjectKey,
) -> Result<Option<Manifest>> {
    let text = dataset
        .vcs
        .read_at(commit, &dataset.manifest_repo_path(key))?;
    text.map(|text| Manifest::parse(key, &text)).transpose()
}

/// An error in one line for a field that stands beside the object's name: message, causes, and the way out in brackets.
pub(crate) fn reason(error: &Error) -> String {
    let parts = error.parts();
    if !parts.is_empty() {
        return parts.iter().map(reason).collect::<Vec<_>>().join("; ");
    }
    let mut text = error.message().to_owned();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    if let Some(hint) = error.hint() {
        text.push_str(" (");
        text.push_str(hint);
        text.push(')');
    }
    text.replace(['\n', '\r'], " ")
}

/// The manifests of kinds this build does not have are left out, with one warning per kind.
pub(crate) fn skipped_kinds<'a>(
    dataset: &Dataset,
    manifests: impl IntoIterator<Item = &'a Manifest>,
    what: &str,
) -> Vec<String> {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for manifest in manifests {
        if dataset.registry.get(&manifest.kind).is_err() {
            *counts.entry(&manifest.kind).or_default() += 1;
        }
    }
    counts
        .into_iter()
        .map(|(kind, count)| {
            format!("{count} manifest(s) of kind {kind:?} skipped: this build has no {kind:?} backend; {what}")
        })
        .collect()
}

/// The content of a changed immutable file differs from what is committed; `None` when it is as committed or may change.
pub(crate) fn immutable_drift(
    manifest: &Manifest,
    state: &crate::state::State,
    volatile: &[&str],
) -> Option<Error> {
    let committed = manifest.state.as_ref()?;
    let may_change = manifest.kind != FILE_KIND
        || manifest.policy.file != crate::manifest::FileMode::Immutable
        || committed.same_content(state, volatile);
    if may_change {
        return None;
    }
    let key = &manifest.key;
    Some(
        Error::new(
            crate::error::ErrorKind::ImmutableModified,
            "the immutable object changed since it was committed",
        )
        .with_hint(format!(
            "to accept the change, `tether remove {key}`, `tether add {key}` again and commit; `tether set {key} --file versioned` if it may change"
        )),
    )
}

/// The selected keys among `manifests`, in key order.
pub(crate) fn selected(
    keys: &crate::key::Selection,
    manifests: &Manifests,
) -> Result<Vec<ObjectKey>> {
    keys.resolve(manifests.keys())
}
