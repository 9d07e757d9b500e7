//! What a commit did to the datasets in its repository: the manifests it adds, removes and changes relative to its parents.
//!
//! A dataset may be in any folder of the repository. A manifest is `<folder>/.tether/objects/<key>.toml`.

use std::collections::BTreeMap;
use std::fmt;

use futures::StreamExt as _;
use jj_lib::backend::{BackendResult, MergedTreeValue};
use jj_lib::commit::Commit;
use jj_lib::fileset::{FilePattern, FilePatternParseError, FilesetExpression};
use jj_lib::matchers::Matcher;
use jj_lib::repo::Repo;
use jj_lib::repo_path::RepoPath;
use jj_lib::tree_merge::resolve_file_values;
use tether_engine::key::ObjectKey;

const OBJECTS: &str = ".tether/objects/";
const SUFFIX: &str = ".toml";

/// How many keys [`Changes`] spells out.
const SHOWN: usize = 6;

/// Every manifest of every dataset.
pub(crate) fn every_manifest() -> Result<FilesetExpression, FilePatternParseError> {
    files("**/?*")
}

/// The manifest of an object, in whichever datasets have one of that key.
pub(crate) fn manifest_of(key: &ObjectKey) -> Result<FilesetExpression, FilePatternParseError> {
    files(&literal(key.as_str()))
}

/// The manifests of every object below a prefix, which is given without its last `/`.
pub(crate) fn manifests_below(
    prefix: &ObjectKey,
) -> Result<FilesetExpression, FilePatternParseError> {
    files(&format!("{}/**/?*", literal(prefix.as_str())))
}

fn files(keys: &str) -> Result<FilesetExpression, FilePatternParseError> {
    let pattern = FilePattern::root_file_glob(format!("**/{OBJECTS}{keys}{SUFFIX}"))?;
    Ok(FilesetExpression::pattern(pattern))
}

/// A glob that matches exactly `text`.
fn literal(text: &str) -> String {
    let mut glob = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '?' | '*' | '[' | ']' | '{' | '}') {
            glob.extend(['[', c, ']']);
        } else {
            glob.push(c);
        }
    }
    glob
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Added,
    Removed,
    Changed,
    Conflicted,
}

/// What happened to the manifests: folder of the dataset (`""` for the root) to key to change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes(BTreeMap<String, BTreeMap<String, Kind>>);

impl Changes {
    /// What `commit` did relative to its merged parents. A conflict is a change, never an error.
    pub(crate) async fn of(
        repo: &dyn Repo,
        commit: &Commit,
        manifests: &dyn Matcher,
    ) -> BackendResult<Self> {
        let mut changes = Self::default();
        let before = commit.parent_tree_no_resolve(repo).await?;
        let after = commit.tree();
        if before.tree_ids() == after.tree_ids() {
            return Ok(changes);
        }
        let mut diff = before.diff_stream(&after, manifests);
        while let Some(entry) = diff.next().await {
            let values = entry.values?;
            let before = resolve_file_values(repo.store(), &entry.path, values.before).await?;
            if let Some(kind) = kind(&before, &values.after)
                && let Some((folder, key)) = place(&entry.path)
            {
                let keys = changes.0.entry(folder.to_owned()).or_default();
                keys.insert(key.to_owned(), kind);
            }
        }
        Ok(changes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// `None` when nothing happened: the parents' sides merge to what is there.
fn kind(before: &MergedTreeValue, after: &MergedTreeValue) -> Option<Kind> {
    if before == after {
        None
    } else if !after.is_resolved() {
        Some(Kind::Conflicted)
    } else if after.is_absent() {
        Some(Kind::Removed)
    } else if before.is_absent() {
        Some(Kind::Added)
    } else {
        Some(Kind::Changed)
    }
}

/// The dataset's folder and the object's key.
fn place(path: &RepoPath) -> Option<(&str, &str)> {
    let path = path.as_internal_file_string().strip_suffix(SUFFIX)?;
    let (folder, key) = if let Some(key) = path.strip_prefix(OBJECTS) {
        ("", key)
    } else {
        let at = path.find("/.tether/objects/")?;
        (&path[..at], &path[at + 1 + OBJECTS.len()..])
    };
    (!key.is_empty()).then_some((folder, key))
}

/// `+zarr/imaging, db, -old`; below a folder `sub: db`; several datasets are separated by `; `.
impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count: usize = self.0.values().map(BTreeMap::len).sum();
        // A remainder of one is as long as the words for it.
        let mut room = if count <= SHOWN + 1 { count } else { SHOWN };
        let hidden = count - room;
        let mut datasets = "";
        for (folder, keys) in &self.0 {
            if room == 0 {
                break;
            }
            f.write_str(datasets)?;
            datasets = "; ";
            if !folder.is_empty() {
                write!(f, "{}: ", quoted(folder))?;
            }
            let mut comma = "";
            for (key, kind) in keys.iter().take(room) {
                let (before, after) = match kind {
                    Kind::Added => ("+", ""),
                    Kind::Removed => ("-", ""),
                    Kind::Changed => ("", ""),
                    Kind::Conflicted => ("", " (conflict)"),
                };
                write!(f, "{comma}{before}{}{after}", quoted(key))?;
                comma = ", ";
            }
            room = room.saturating_sub(keys.len());
        }
        if hidden > 0 {
            write!(f, " and {hidden} more")?;
        }
        Ok(())
    }
}

/// `text` itself, or quoted where it could be taken for something else or do something to a terminal.
fn quoted(text: &str) -> String {
    let escaped = format!("{text:?}");
    let plain = escaped.len() == text.len() + 2
        && !text.starts_with(['+', '-', ' '])
        && !text.ends_with(' ')
        && !text.contains([',', ';', ':', '(']);
    if plain { text.to_owned() } else { escaped }
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
