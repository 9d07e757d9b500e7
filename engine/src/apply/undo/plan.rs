//! What an undo does, decided from what was seen: pure.

use std::collections::{BTreeMap, BTreeSet};

use super::settle::Settled;
use crate::error::{Error, ErrorKind, Result};
use crate::id::OpId;
use crate::key::ObjectKey;
use crate::oplog::Operation;
use crate::state::State;
use crate::vcs::UncommitRequest;
use crate::workspace::View;

/// Everything the decision depends on.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The operation to reverse.
    pub(crate) target: Operation,
    /// The manifests it replaced.
    pub(crate) files: Vec<FileSeen>,
    /// The dataset commit it made.
    pub(crate) uncommit: Option<UncommitRequest>,
    /// The checkout's view now.
    pub(crate) now: View,
    /// The view that the operation left.
    pub(crate) left: View,
    /// The view before it.
    pub(crate) before: View,
    /// What taking the store half back will do.
    pub(crate) stores: Settled,
}

/// A manifest the operation replaced.
#[derive(Clone, Debug)]
pub(crate) struct FileSeen {
    pub(crate) key: ObjectKey,
    /// What it replaced; `None`: there was no file.
    pub(crate) old: Option<String>,
    /// What is there now.
    pub(crate) now: Option<String>,
    /// Who wrote what is there now.
    pub(crate) by: Writer,
}

/// Who wrote a file's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    /// The operation itself, or one that was undone since.
    Undone,
    /// A later operation that stands.
    Later(OpId, String),
    /// Nobody tether knows of.
    Unknown,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UndoPlan {
    /// The manifests to put back: what is there, and what will be.
    pub(crate) files: Vec<(ObjectKey, Option<String>, Option<String>)>,
    /// The dataset commit to take back.
    pub(crate) uncommit: Option<UncommitRequest>,
    /// The view afterwards.
    pub(crate) view: View,
    /// Whether that is exactly the view before the operation.
    pub(crate) exact: bool,
    /// The manifests and the commit, one line each.
    content: Vec<String>,
    /// What taking the store half back will do.
    pub(crate) stores: Settled,
    /// The fields of the view that come back.
    fields: Option<String>,
    /// The fields that do not.
    lost: Option<String>,
}

impl UndoPlan {
    /// What is taken back, one line each, when the store half goes like this.
    pub(crate) fn restored(&self, stores: &Settled) -> Vec<String> {
        let content = self.content.iter().chain(&stores.restored);
        content.chain(&self.fields).cloned().collect()
    }

    /// What stays as it is, one line each.
    pub(crate) fn skipped(&self, stores: &Settled) -> Vec<String> {
        let lost = self.lost.iter().chain(&stores.kept);
        lost.chain(&stores.written).cloned().collect()
    }
}

/// Decides. `discard` gives up edits and writes that were made since.
pub(crate) fn plan(seen: &Seen, discard: bool) -> Result<UndoPlan> {
    if !discard {
        refuse_edited(seen)?;
        refuse_written(seen)?;
    }
    let view = View::merged(&seen.left, &seen.now, &seen.before);
    let mut plan = UndoPlan {
        files: Vec::new(),
        uncommit: seen.uncommit.clone(),
        exact: view == seen.before,
        content: Vec::new(),
        stores: seen.stores.clone(),
        fields: None,
        lost: None,
        view,
    };
    for file in &seen.files {
        let what = if file.old.is_none() {
            "removed again"
        } else {
            "restored"
        };
        plan.content.push(format!("{}: manifest {what}", file.key));
        if file.now != file.old {
            let change = (file.key.clone(), file.now.clone(), file.old.clone());
            plan.files.push(change);
        }
    }
    plan.content.extend(seen.uncommit.as_ref().map(|request| {
        format!(
            "uncommitted {}; its manifests are working-tree changes again (pins kept)",
            request.commit.short()
        )
    }));
    let fields = Fields::between(&seen.now, &plan.view);
    if !fields.is_empty() {
        plan.fields = Some(format!("workspace.toml restored ({})", fields.text()));
    }
    // What the operation changed, and what of it did not come back.
    let changed = Fields::between(&seen.left, &seen.before);
    let lost = Fields::between(&plan.view, &seen.before).and(&changed);
    if !lost.is_empty() {
        plan.lost = Some(format!(
            "workspace.toml keeps what changed again since ({})",
            lost.text()
        ));
    }
    Ok(plan)
}

fn refuse_edited(seen: &Seen) -> Result<()> {
    let (id, command) = (&seen.target.id, &seen.target.command);
    let changed = seen.files.iter().filter(|file| file.now != file.old);
    let mut errors = Vec::new();
    for file in changed {
        let key = &file.key;
        let what = match &file.by {
            Writer::Undone => continue,
            Writer::Later(later, by) => {
                format!(
                    "cannot undo {id} ({command}): {by} {later} changed the manifest of {key} since"
                )
            }
            Writer::Unknown => {
                format!("cannot undo {id} ({command}): the manifest of {key} was edited since")
            }
        };
        errors.push(Error::user(what).with_hint(format!(
            "`tether undo {id} --discard` gives up what is in .tether/{} now",
            key.manifest_path()
        )));
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Error::several(errors))
    }
}

fn refuse_written(seen: &Seen) -> Result<()> {
    if seen.stores.written.is_empty() {
        return Ok(());
    }
    let (id, command) = (&seen.target.id, &seen.target.command);
    Err(Error::new(
        ErrorKind::Unpinned,
        format!(
            "cannot undo {id} ({command}): {}",
            seen.stores.written.join("; ")
        ),
    )
    .with_hint(format!(
        "`tether commit -m MESSAGE` keeps the writes, `tether undo {id} --discard` deletes them"
    )))
}

/// Which fields of a view differ: the bookmark, and per table the objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Fields {
    bookmark: bool,
    tables: BTreeMap<&'static str, BTreeSet<ObjectKey>>,
}

impl Fields {
    fn between(a: &View, b: &View) -> Self {
        let mut fields = Self {
            bookmark: a.bookmark != b.bookmark,
            tables: BTreeMap::new(),
        };
        let states =
            |a: &BTreeMap<ObjectKey, State>, b: &BTreeMap<ObjectKey, State>| differing(a, b);
        for (name, keys) in [
            ("working_refs", differing(&a.working_refs, &b.working_refs)),
            (
                "pending_forks",
                differing(&a.pending_forks, &b.pending_forks),
            ),
            (
                "pending_resets",
                states(&a.pending_resets, &b.pending_resets),
            ),
            ("fork_points", states(&a.fork_points, &b.fork_points)),
            ("base_states", states(&a.base_states, &b.base_states)),
        ] {
            if !keys.is_empty() {
                fields.tables.insert(name, keys);
            }
        }
        fields
    }

    fn and(&self, other: &Self) -> Self {
        let mut both = Self {
            bookmark: self.bookmark && other.bookmark,
            tables: BTreeMap::new(),
        };
        for (name, keys) in &self.tables {
            let keys: BTreeSet<ObjectKey> = match other.tables.get(name) {
                Some(others) => keys.intersection(others).cloned().collect(),
                None => continue,
            };
            if !keys.is_empty() {
                both.tables.insert(name, keys);
            }
        }
        both
    }

    fn is_empty(&self) -> bool {
        !self.bookmark && self.tables.is_empty()
    }

    /// `bookmark; working_refs, fork_points of a, b`.
    fn text(&self) -> String {
        let mut parts = Vec::new();
        if self.bookmark {
            parts.push("bookmark".to_owned());
        }
        if !self.tables.is_empty() {
            let names: Vec<&str> = self.tables.keys().copied().collect();
            let keys: BTreeSet<&str> = self
                .tables
                .values()
                .flatten()
                .map(ObjectKey::as_str)
                .collect();
            let keys: Vec<&str> = keys.into_iter().collect();
            parts.push(format!("{} of {}", names.join(", "), keys.join(", ")));
        }
        parts.join("; ")
    }
}

fn differing<V: PartialEq>(
    a: &BTreeMap<ObjectKey, V>,
    b: &BTreeMap<ObjectKey, V>,
) -> BTreeSet<ObjectKey> {
    let keys = a.keys().chain(b.keys());
    keys.filter(|key| a.get(*key) != b.get(*key))
        .cloned()
        .collect()
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
