//! Manifests written as one journalled operation.
//!
//! Journal -> manifests -> operation published (the commit point) -> `workspace.toml` -> journal closed. What is interrupted before
//! the commit point is rolled back from the journal by [`roll_back`], what is interrupted after it stands.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::Waiting;
use crate::apply::publish::{self, Record};
use crate::apply::recover;
use crate::apply::session::Session;
use crate::apply::undo::fingerprint;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::fsutil;
use crate::key::ObjectKey;
use crate::manifest::Manifest;
use crate::oplog::{Journal, Unfinished};
use crate::workspace::Workspace;

/// The action of a written or removed manifest in the journal.
pub(crate) const MANIFEST: &str = "manifest";

/// One manifest file before and after.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    key: ObjectKey,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

impl Edit {
    /// The file is to hold `manifest`.
    pub(super) fn write(dataset: &Dataset, manifest: &Manifest) -> Result<Self> {
        Ok(Self {
            before: fsutil::read_regular(&path(dataset, &manifest.key))?,
            after: Some(manifest.to_toml().into_bytes()),
            key: manifest.key.clone(),
        })
    }

    /// The file is to be gone; `None` when it is.
    pub(super) fn remove(dataset: &Dataset, key: &ObjectKey) -> Result<Option<Self>> {
        let before = fsutil::read_regular(&path(dataset, key))?;
        Ok(before.map(|before| Self {
            key: key.clone(),
            before: Some(before),
            after: None,
        }))
    }
}

/// What an edit writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// This checkout's files.
    Checkout,
    /// Stores as well.
    Stores,
}

/// A writing command that holds its locks.
pub(super) struct Editor<'a> {
    pub(super) dataset: &'a Dataset,
    pub(super) workspace: Workspace,
    command: &'static str,
    _session: Session,
}

impl<'a> Editor<'a> {
    /// Takes the locks, finishes or rolls back what an interrupted command left, and reads the checkout's state.
    pub(super) async fn begin(
        dataset: &'a Dataset,
        command: &'static str,
        reach: Reach,
        waiting: Waiting<'_>,
    ) -> Result<Self> {
        let mut session = match reach {
            Reach::Checkout => Session::checkout(dataset, command, waiting)?,
            Reach::Stores => Session::repository(dataset, command, waiting)?,
        };
        dataset.oplog.begin()?;
        if interrupted(dataset)? {
            if reach == Reach::Checkout {
                // The repository's lock comes first.
                drop(session);
                session = Session::repository(dataset, command, waiting)?;
            }
            recover::recover(dataset).await?;
        }
        Ok(Self {
            dataset,
            workspace: dataset.workspace()?,
            command,
            _session: session,
        })
    }

    /// Opens the journal of an operation that replaces what `edits` replace.
    pub(super) fn journal(&mut self, record: &mut Record, edits: &[Edit]) -> Result<Journal> {
        publish::adopt_foreign(self.dataset, &mut self.workspace)?;
        record.pre = pre(edits, &self.workspace);
        Journal::begin(
            self.dataset.vcs.shared_dir(),
            record.id.clone(),
            &self.workspace.id,
            self.command,
            None,
            record.pre.clone(),
        )
    }

    /// Writes `edits` as one operation; `change` says what else of the checkout's state it changes. After an error nothing is changed.
    pub(super) fn apply(
        &mut self,
        edits: Vec<Edit>,
        result: Value,
        change: impl FnOnce(&mut Workspace),
    ) -> Result<()> {
        let mut record = Record::new(self.command)?;
        record.result = result;
        let mut journal = self.journal(&mut record, &edits)?;
        let finished = self.finish(&mut journal, record, &edits, change);
        if let Err(error) = finished {
            // What could not be put back stays in the journal; the next command tries again.
            if undo(self.dataset, &edits).is_ok() {
                journal.rolled_back()?;
            }
            return Err(error);
        }
        journal.done()
    }

    /// The part of [`Editor::apply`] between opening and closing the journal. An error means that the operation does not exist.
    pub(super) fn finish(
        &mut self,
        journal: &mut Journal,
        record: Record,
        edits: &[Edit],
        change: impl FnOnce(&mut Workspace),
    ) -> Result<()> {
        for edit in edits {
            journal.intent(MANIFEST, json!({ "key": edit.key }))?;
            put(self.dataset, &edit.key, edit.after.as_deref())?;
            journal.did(MANIFEST, json!({ "key": edit.key }))?;
        }
        change(&mut self.workspace);
        let id = record.id.clone();
        if let Err(error) = publish::publish_head(self.dataset, &mut self.workspace, record) {
            // A reply may be lost: what counts is where the head is.
            let head = self.dataset.oplog.head()?;
            if head.is_none_or(|head| head.operation != id) {
                return Err(error);
            }
        }
        // The operation stands. A file that could not be written is brought up to the log by the next command.
        let _ = self.dataset.write_workspace(&self.workspace);
        Ok(())
    }
}

/// Whether an operation of this checkout was cut off. Call with its lock held: none is running then.
fn interrupted(dataset: &Dataset) -> Result<bool> {
    let workspace = dataset.workspace()?.id;
    let journals = Journal::unfinished(dataset.vcs.shared_dir())?;
    Ok(journals
        .iter()
        .any(|journal| journal.workspace == workspace))
}

/// What an operation replaces: the files' text, and `workspace.toml`; and what it leaves in the files, as fingerprints.
fn pre(edits: &[Edit], workspace: &Workspace) -> Value {
    let objects: Map<String, Value> = edits
        .iter()
        .map(|edit| {
            let text = edit.before.as_deref().map(String::from_utf8_lossy);
            let text = text.map_or(Value::Null, |text| Value::String(text.into_owned()));
            (edit.key.to_string(), text)
        })
        .collect();
    let left: BTreeMap<&str, Option<String>> = edits
        .iter()
        .map(|edit| (edit.key.as_str(), edit.after.as_deref().map(fingerprint)))
        .collect();
    json!({ "objects": objects, "left": left, "workspace": workspace.to_toml() })
}

/// Puts back what `edits` replaced.
pub(super) fn undo(dataset: &Dataset, edits: &[Edit]) -> Result<()> {
    for edit in edits {
        put(dataset, &edit.key, edit.before.as_deref())?;
    }
    Ok(())
}

/// Ends an interrupted `add`, `set` or `remove`: one that was published stands, any other is rolled back. What happened, in a line.
/// Call with the checkout's lock held.
///
/// A store that an interrupted `add --create` made stays on the clone's record, and the same `add --create` takes it up again.
pub(crate) fn recover(dataset: &Dataset, unfinished: &Unfinished) -> Result<String> {
    let (id, command) = (&unfinished.operation, &unfinished.command);
    let journal = Journal::resume(unfinished);
    if dataset.oplog.published(id)? {
        let workspace = dataset.workspace()?;
        if workspace.materialised.is_some() {
            dataset.write_workspace(&workspace)?;
        }
        journal.done()?;
        return Ok(format!("finished the interrupted {command} {id}"));
    }
    roll_back(dataset, unfinished)?;
    journal.rolled_back()?;
    Ok(format!("rolled back the interrupted {command} {id}"))
}

/// Puts back the manifests that the journal announced.
pub(crate) fn roll_back(dataset: &Dataset, unfinished: &Unfinished) -> Result<()> {
    let objects = unfinished.pre.get("objects").and_then(Value::as_object);
    let announced = unfinished
        .progress
        .iter()
        .filter(|step| step.action == MANIFEST)
        .filter_map(|step| step.detail.get("key")?.as_str());
    for key in announced {
        if let (Some(before), Ok(key)) = (objects.and_then(|all| all.get(key)), key.parse()) {
            put(dataset, &key, before.as_str().map(str::as_bytes))?;
        }
    }
    Ok(())
}

fn path(dataset: &Dataset, key: &ObjectKey) -> std::path::PathBuf {
    dataset.tether_path(&key.manifest_path())
}

/// Writes or removes a manifest, whole and durably.
pub(crate) fn put(dataset: &Dataset, key: &ObjectKey, text: Option<&[u8]>) -> Result<()> {
    let path = path(dataset, key);
    if let Some(text) = text {
        return fsutil::write_atomic(&path, text);
    }
    fsutil::remove_durably(&path)?;
    prune(&path, &dataset.tether_path("objects"));
    Ok(())
}

/// Removes the directories that a removed manifest leaves empty, up to `.tether/objects`.
fn prune(path: &Path, objects: &Path) {
    for dir in path.ancestors().skip(1) {
        // One that is not empty stays, and so does everything above it.
        if dir == objects || !dir.starts_with(objects) || fs::remove_dir(dir).is_err() {
            break;
        }
    }
}
