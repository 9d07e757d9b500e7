//! Plans and their preconditions as data: what a writing command will do, shown, saved, checked and applied as one value.

pub mod commit;
mod saved;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock;
use crate::error::{Error, ErrorKind, Result};
use crate::json::Map;

/// The plan format, as in the user guide's 'JSON output'.
pub const PLAN_FORMAT: u32 = 3;

/// The version that plans are bound to.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

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
    /// BLAKE2b (32 bytes) over the canonical JSON of the rest: detects edits, does not authenticate.
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

/// Verbs that say something and write nothing (the user guide's 'Plans').
const READ_ONLY_VERBS: [&str; 10] = [
    "trunk",
    "defer-fork",
    "reuse",
    "adopt",
    "share",
    "hold",
    "refuse",
    "keep-branch",
    "keep-pin",
    "keep-store",
];

impl Plan {
    /// An empty plan of `command`, made by this version, now.
    pub fn new(command: &str) -> Self {
        Self {
            format: PLAN_FORMAT,
            tether_version: VERSION.to_owned(),
            command: command.to_owned(),
            created_at: clock::now(),
            context: Map::new(),
            notes: Vec::new(),
            preconditions: Vec::new(),
            actions: Vec::new(),
            digest: String::new(),
        }
    }

    /// Seals the plan: fills `digest`.
    #[must_use]
    pub fn sealed(mut self) -> Self {
        self.digest = saved::digest(&self.to_value());
        self
    }

    /// Reads a saved plan: refuses another format, another version, an edited one, one that lacks a required precondition, and what is
    /// not a plan, each with its sentence.
    pub fn from_json(text: &str, command: &str) -> Result<Self> {
        saved::read(text, command)
    }

    /// The saved form, pretty-printed.
    pub fn to_json(&self) -> String {
        format!("{:#}", self.to_value())
    }

    /// The plan as a JSON object, in the order of the fields.
    pub fn to_value(&self) -> Value {
        // Text keys and JSON values: serialisation cannot fail.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The actions that write.
    pub fn writes(&self) -> impl Iterator<Item = &Action> {
        self.actions
            .iter()
            .filter(|action| !READ_ONLY_VERBS.contains(&action.op.as_str()))
    }

    /// Whether applying it would do nothing.
    pub fn is_empty(&self) -> bool {
        self.writes().next().is_none()
    }

    /// Refuses with a `StalePlan` error when a precondition of `kind` does not hold: `observed` is what is there now.
    ///
    /// A plan without such a precondition passes: [`Plan::from_json`] refused it when the command requires one.
    pub fn check(&self, kind: &str, observed: &Value) -> Result<()> {
        for precondition in &self.preconditions {
            if precondition.kind == kind && precondition.expected != *observed {
                return Err(precondition.refusal(observed, &self.command));
            }
        }
        Ok(())
    }
}

impl Precondition {
    /// A precondition about the dataset as a whole.
    pub fn new(kind: &str, expected: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self {
            kind: kind.to_owned(),
            expected: expected.into(),
            key: None,
            params: Map::new(),
            detail: detail.into(),
        }
    }

    fn refusal(&self, observed: &Value, command: &str) -> Error {
        let observed = match observed {
            Value::Null => "nothing".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let message = self.detail.replace("{observed}", &observed);
        stale(message, command)
    }
}

impl Action {
    /// An action on an object.
    pub fn new(op: &str, key: &str, kind: &str, target: &str, detail: impl Into<String>) -> Self {
        Self {
            op: op.to_owned(),
            key: key.to_owned(),
            kind: kind.to_owned(),
            target: target.to_owned(),
            detail: detail.into(),
            params: Map::new(),
        }
    }

    /// Adds a parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.to_owned(), value.into());
        self
    }
}

/// A `StalePlan` refusal of a plan of `command`.
pub(crate) fn stale(message: impl Into<String>, command: &str) -> Error {
    Error::new(ErrorKind::StalePlan, message).with_hint(format!(
        "plan again: `tether {command} ... --plan FILE`, and review it"
    ))
}
