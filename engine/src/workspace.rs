//! `.tether/workspace.toml`: one checkout's own state, in the format the Python package shares.

mod merge;
#[cfg(test)]
mod tests;
mod text;
mod view;

use std::collections::BTreeMap;

use crate::error::Result;
use crate::id::{OpId, ViewId, WorkspaceId};
use crate::key::ObjectKey;
use crate::name::{BookmarkName, NativeRef};
use crate::state::State;
use crate::toml_text::Item;

/// An object the last snapshot could not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotError {
    /// The branch it tried; empty for upstream.
    pub native: String,
    /// The reason.
    pub error: String,
}

/// The intent of a checkout: everything of `workspace.toml` that an operation changes and undo restores.
///
/// `last_snapshot` is an observation and is not part of it (DESIGN, 'The view store', 6).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The bookmark this checkout works on; `None` is read-only.
    pub bookmark: Option<BookmarkName>,
    /// Branches that exist.
    pub working_refs: BTreeMap<ObjectKey, NativeRef>,
    /// Branches `new` decided on and has not created.
    pub pending_forks: BTreeMap<ObjectKey, NativeRef>,
    /// Heads `new` agreed to reset when a pending fork is created.
    pub pending_resets: BTreeMap<ObjectKey, State>,
    /// The state each working branch was forked from.
    pub fork_points: BTreeMap<ObjectKey, State>,
    /// The committed state each working ref corresponds to.
    pub base_states: BTreeMap<ObjectKey, State>,
}

/// `.tether/workspace.toml`.
#[derive(Clone, Debug, PartialEq)]
pub struct Workspace {
    /// The checkout's id.
    pub id: WorkspaceId,
    /// Its intent.
    pub view: View,
    /// The tether operation and the view the file materialises; `None` when another tool wrote it.
    pub materialised: Option<(OpId, ViewId)>,
    /// When the last fan-out ran: ISO 8601.
    pub last_snapshot_at: Option<String>,
    /// What it found.
    pub last_snapshot: BTreeMap<ObjectKey, State>,
    /// What it could not read.
    pub last_snapshot_errors: BTreeMap<ObjectKey, SnapshotError>,
    /// Unknown keys, kept on rewrite.
    pub extra: Extra,
}

/// Keys and tables of `workspace.toml` that this version does not know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extra(Vec<(String, Item)>);

impl Workspace {
    /// A fresh checkout's state.
    pub fn new(id: WorkspaceId) -> Self {
        Self {
            id,
            view: View::default(),
            materialised: None,
            last_snapshot_at: None,
            last_snapshot: BTreeMap::new(),
            last_snapshot_errors: BTreeMap::new(),
            extra: Extra::default(),
        }
    }

    /// Reads the file. Errors name it and never quote a line.
    pub fn parse(text: &[u8]) -> Result<Self> {
        text::parse(text)
    }

    /// The file's text.
    pub fn to_toml(&self) -> String {
        text::render(self)
    }
}
