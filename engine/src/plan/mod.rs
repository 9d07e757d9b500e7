//! Plans and their preconditions as data: what a writing command will do, shown, saved, checked and applied as one value.

pub mod commit;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Result;
use crate::json::Map;

/// The plan format, as in the user guide's 'JSON output'.
pub const PLAN_FORMAT: u32 = 3;

/// What a command would do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`PLAN_FORMAT`].
    pub format: u32,
    /// The version that made it; another refuses it.
    pub tether_version: String,
    /// `commit`, `new`, ...
    pub command: String,
    /// When: ISO 8601.
    pub created_at: String,
    /// The inputs the actions were computed from.
    pub context: Map,
    /// Remarks, one line each.
    pub notes: Vec<String>,
    /// What must still hold when it is applied.
    pub preconditions: Vec<Precondition>,
    /// The steps.
    pub actions: Vec<Action>,
    /// SHA-256 or BLAKE2b over the rest: detects edits, does not authenticate.
    pub digest: String,
}

/// One thing that must still hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Precondition {
    /// `workspace_id`, `workspace_bookmark`, `manifest_hash`, ...
    pub kind: String,
    /// What was seen.
    pub expected: Value,
    /// The object, for per-object checks.
    pub key: Option<String>,
    /// What the check needs to look again.
    pub params: Map,
    /// The refusal; may contain `{observed}`.
    pub detail: String,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// The verb.
    pub op: String,
    /// The object.
    pub key: String,
    /// Its backend kind.
    pub kind: String,
    /// The ref it is about.
    pub target: String,
    /// A few words.
    pub detail: String,
    /// What apply needs.
    pub params: Map,
}

impl Plan {
    /// An empty plan of `command`.
    pub fn new(command: &str) -> Self {
        let _ = command;
        todo!("commit owner")
    }

    /// Seals the plan: fills `digest`.
    #[must_use]
    pub fn sealed(self) -> Self {
        todo!("commit owner")
    }

    /// Reads a saved plan: refuses another format, another version, an edited one, one that lacks a required precondition, and what is
    /// not a plan, each with its sentence.
    pub fn from_json(text: &str, command: &str) -> Result<Self> {
        let _ = (text, command);
        todo!("commit owner")
    }

    /// The saved form, pretty-printed.
    pub fn to_json(&self) -> String {
        todo!("commit owner")
    }

    /// The actions that write.
    pub fn writes(&self) -> impl Iterator<Item = &Action> {
        self.actions.iter()
    }

    /// Whether applying it would do nothing.
    pub fn is_empty(&self) -> bool {
        self.writes().next().is_none()
    }
}
