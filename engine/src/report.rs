//! What commands answer, as data: each type's JSON is the user guide's 'JSON output' table, field for field.
//!
//! Rendering as text belongs to the package `tether`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::backend::{Maturity, ObjectDiff, Tier, VerifyReport};
use crate::id::{CommitId, DatasetId, OpId};
use crate::key::ObjectKey;
use crate::manifest::Origin;
use crate::name::BookmarkName;
use crate::state::State;

/// `init`.
#[derive(Clone, Debug, Serialize)]
pub struct InitReport {
    /// The dataset's root.
    pub root: String,
    /// Its id.
    pub dataset_id: DatasetId,
}

/// `backends`: one row per kind.
#[derive(Clone, Debug, Serialize)]
pub struct BackendRow {
    /// The kind.
    pub kind: String,
    /// Whether this build has it.
    pub installed: bool,
    /// Its maturity, when installed.
    pub maturity: Option<Maturity>,
    /// The tier of its capabilities, when installed.
    pub tier: Option<Tier>,
    /// Capability names.
    pub capabilities: Vec<&'static str>,
    /// Why it is not installed, or what to know.
    pub note: Option<String>,
}

/// How an object stands against its committed manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// Never committed.
    New,
    /// Its branch differs from the commit.
    Modified,
    /// As committed.
    Clean,
    /// On the trunk: a branch-less or `--at` object whose system moved past its pin.
    Behind,
    /// Its store could not be read, now or by the last snapshot.
    Error,
}

impl Label {
    /// The word in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Modified => "modified",
            Self::Clean => "clean",
            Self::Behind => "behind",
            Self::Error => "error",
        }
    }
}

/// One object in `status`.
#[derive(Clone, Debug, Serialize)]
pub struct ObjectStatus {
    /// The key.
    pub key: ObjectKey,
    /// The backend kind.
    pub kind: String,
    /// The object's tier.
    pub tier: Tier,
    /// How it stands.
    pub state: Label,
    /// Whether the manifest names a pin.
    pub pinned: bool,
    /// Whether the committed state can be read back.
    pub recoverable: bool,
    /// Whether tether made the store.
    pub origin: Origin,
    /// `[verify] on_status`: the verdict's word.
    pub verify: Option<String>,
    /// Why `state` is `error`.
    pub error: Option<String>,
}

/// A dataset commit that left history without tether.
#[derive(Clone, Debug, Serialize)]
pub struct VcsDrift {
    /// The operation that made it.
    pub op: OpId,
    /// The commit.
    pub commit: CommitId,
    /// Key to whether the working tree's manifest still names the pin that commit made.
    pub referenced: BTreeMap<ObjectKey, bool>,
}

/// `status`.
#[derive(Clone, Debug, Serialize)]
pub struct StatusReport {
    /// Over the working tree's manifests.
    pub manifest_hash: String,
    /// Whether any object is stale.
    pub stale: bool,
    /// Which.
    pub stale_keys: Vec<ObjectKey>,
    /// False when a cached snapshot is shown.
    pub fresh: bool,
    /// When the snapshot ran.
    pub snapshot_at: Option<String>,
    /// The bookmark this checkout works on.
    pub bookmark: Option<BookmarkName>,
    /// Whether that is the trunk.
    pub trunk: bool,
    /// Warnings about a bookmark that the VCS moved, renamed, deleted or left.
    pub bookmark_drift: Vec<String>,
    /// Dataset commits that left history.
    pub vcs_drift: Vec<VcsDrift>,
    /// The objects, by key.
    pub objects: Vec<ObjectStatus>,
    /// Further warnings for stderr (unfinished operations, sparse checkout, ...), not part of the JSON.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// `set`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SetReport {
    /// Key to field to what it was and is.
    pub changed: BTreeMap<ObjectKey, BTreeMap<String, FieldChange>>,
    /// Keys that had these values.
    pub unchanged: Vec<ObjectKey>,
}

/// A field's old and new value.
#[derive(Clone, Debug, Serialize)]
pub struct FieldChange {
    /// The old value.
    pub from: String,
    /// The new value.
    pub to: String,
}

/// `add`.
#[derive(Clone, Debug)]
pub struct AddReport {
    /// The key.
    pub key: ObjectKey,
    /// The backend kind.
    pub kind: String,
    /// Whether the key was derived from the locator.
    pub derived: bool,
    /// Where a store was created, with `--create`.
    pub created: Option<String>,
    /// Things to know (an experimental backend, a git store that is a jj repository, ...).
    pub notes: Vec<String>,
}

/// `commit`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CommitReport {
    /// The dataset commit; `None` with `--no-vcs` or when nothing changed.
    pub vcs_commit: Option<CommitId>,
    /// Key to the native ref of its pin; null where only the state is recorded.
    pub pinned: BTreeMap<ObjectKey, Option<String>>,
    /// Keys recorded as not recoverable.
    pub unrecoverable: Vec<ObjectKey>,
    /// Keys whose state is as committed.
    pub unchanged: Vec<ObjectKey>,
    /// Things to know (a drifted file that commit does not read, ...), not part of the JSON.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// `open`.
#[derive(Clone, Debug, Serialize)]
pub struct OpenReport {
    /// The object's key.
    pub key: ObjectKey,
    /// Whether writes are refused.
    pub read_only: bool,
    /// The address, passwords redacted.
    pub address: String,
    /// The handle's type.
    #[serde(rename = "type")]
    pub handle: &'static str,
    /// The address with its password; text output with `--with-password` only.
    #[serde(skip)]
    pub secret_address: Option<String>,
    /// The commit `-r` resolved to.
    #[serde(skip)]
    pub resolved: Option<CommitId>,
}

/// `verify`: label (`key` or `<commit12>:key`) to report, in order.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct VerifyResult {
    /// The rows.
    pub rows: indexmap::IndexMap<String, VerifyReport>,
}

/// How an object differs between two revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectChange {
    /// Only the later revision has it.
    Added,
    /// Only the earlier revision has it.
    Removed,
    /// Both have it and it differs.
    Changed,
    /// Both have it and nothing differs; the JSON lists it, text leaves it out.
    Unchanged,
}

/// One object in `diff`.
#[derive(Clone, Debug, Serialize)]
pub struct DiffRow {
    /// The key.
    pub key: ObjectKey,
    /// How it differs.
    pub change: ObjectChange,
    /// The earlier pin.
    pub a: Option<String>,
    /// The later pin.
    pub b: Option<String>,
    /// `--content`: what changed inside.
    pub detail: Option<ObjectDiff>,
    /// `--content`: why that is not known.
    pub detail_error: Option<String>,
    /// Which of `state`, `pin`, `locator`, `policy` differ.
    pub why: Vec<&'static str>,
}

/// `snapshot`.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct SnapshotReport {
    /// Key to state.
    pub states: BTreeMap<ObjectKey, State>,
}

/// `undo`.
#[derive(Clone, Debug, Serialize)]
pub struct UndoReport {
    /// The operation that was reversed.
    pub undone: OpId,
    /// Its command.
    pub command: String,
    /// What it had done, in a few words, not part of the JSON.
    #[serde(skip)]
    pub summary: String,
    /// The operation that reversed it; `None` when only stores were left to do, after the repository's own undo.
    pub undo_id: Option<OpId>,
    /// What is as before.
    pub restored: Vec<String>,
    /// What cannot be taken back.
    pub irreversible: Vec<String>,
    /// What stays as it is now.
    pub skipped: Vec<String>,
    /// Things to know, not part of the JSON.
    #[serde(skip)]
    pub notes: Vec<String>,
}

impl UndoReport {
    /// Whether everything the operation did is taken back.
    pub fn is_whole(&self) -> bool {
        self.irreversible.is_empty() && self.skipped.is_empty()
    }
}

/// `ops`: one operation.
#[derive(Clone, Debug, Serialize)]
pub struct OpRow {
    /// The operation.
    pub id: OpId,
    /// When.
    pub at: String,
    /// The command.
    pub command: String,
    /// The plan it applied.
    pub plan: Option<serde_json::Value>,
    /// What it did.
    pub result: serde_json::Value,
    /// What it replaced.
    pub pre: serde_json::Value,
    /// For an undo: what it reversed.
    pub undoes: Option<OpId>,
    /// The undo that reversed it: its id, or the name of the repository's own.
    pub undone_by: Option<String>,
    /// `done`, or `started` for an interrupted one.
    pub status: String,
    /// The operation it is a step of.
    pub parent: Option<OpId>,
    /// Finished steps.
    pub progress: Vec<serde_json::Value>,
    /// Whether the dataset commit it made has left history.
    pub vcs_commit_gone: bool,
}
