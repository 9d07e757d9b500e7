//! What backends answer: verify verdicts, history, content diffs, addresses.

use serde::Serialize;

/// Whether a recorded state is still what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It resolves to the recorded state.
    Ok,
    /// The ref, or the object, is at another state.
    Drifted,
    /// The ref or the state is gone.
    Missing,
    /// It cannot be told without `--deep`.
    Unknown,
}

impl Verdict {
    /// The word in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Drifted => "drifted",
            Self::Missing => "missing",
            Self::Unknown => "unknown",
        }
    }
}

/// The answer of [`super::Backend::verify`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// The verdict.
    pub status: Verdict,
    /// Why, in a few words; may be empty.
    pub message: String,
}

impl VerifyReport {
    /// A report.
    pub fn new(status: Verdict, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }
}

/// One entry of a system's own history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HistoryEntry {
    /// The system's id, valid as `locator.at`.
    pub id: String,
    /// ISO 8601; empty when the system keeps none.
    pub when: String,
    /// The first line of the message.
    pub message: String,
    /// Branches, tags and pins at the entry.
    pub refs: Vec<String>,
}

/// How a unit changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Only the later state has it.
    Added,
    /// Only the earlier state has it.
    Removed,
    /// Both have it and it differs.
    Modified,
    /// Both have it, under different names: the path reads `OLD -> NEW`. Counted as modified.
    Renamed,
}

impl Change {
    /// The word in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Modified => "modified",
            Self::Renamed => "renamed",
        }
    }
}

/// One changed unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffEntry {
    /// The unit: a path, a table, an array.
    pub path: String,
    /// How it changed.
    pub change: Change,
    /// A few words, such as `+4.0 KiB` or `+1 -1`; may be empty.
    pub detail: String,
}

/// What changed inside an object between two states, from metadata only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ObjectDiff {
    /// The counts in a few words, `+1 -0 ~2 files`.
    pub summary: String,
    /// What is counted: `files`, `nodes`, `tables`, ...
    pub unit: String,
    /// Exact number of added units.
    pub added: u64,
    /// Exact number of removed units.
    pub removed: u64,
    /// Exact number of modified units.
    pub modified: u64,
    /// Whether entries were left out.
    pub truncated: bool,
    /// A remark, such as why only counts are known; may be empty.
    pub note: String,
    /// The changed units, at most [`ObjectDiff::MAX_ENTRIES`].
    pub entries: Vec<DiffEntry>,
}

impl ObjectDiff {
    /// The most entries a diff keeps; counts stay exact beyond it.
    pub const MAX_ENTRIES: usize = 2000;

    /// An empty diff counting `unit`.
    pub fn new(unit: &str) -> Self {
        Self {
            unit: unit.to_owned(),
            ..Self::default()
        }
    }

    /// Counts a changed unit and keeps it while there is room.
    pub fn add(&mut self, path: impl Into<String>, change: Change, detail: impl Into<String>) {
        match change {
            Change::Added => self.added += 1,
            Change::Removed => self.removed += 1,
            Change::Modified | Change::Renamed => self.modified += 1,
        }
        if self.entries.len() < Self::MAX_ENTRIES {
            self.entries.push(DiffEntry {
                path: path.into(),
                change,
                detail: detail.into(),
            });
        } else {
            self.truncated = true;
        }
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added == 0 && self.removed == 0 && self.modified == 0
    }

    /// Fills the summary from the counts.
    #[must_use]
    pub fn summarised(mut self) -> Self {
        self.summary = format!(
            "+{} -{} ~{} {}",
            self.added, self.removed, self.modified, self.unit
        );
        self
    }
}

/// Where an opened object is: the answer of [`super::Backend::open`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The handle's type name as the user guide has it (`FileHandle`, `GitHandle`, ...).
    pub handle: &'static str,
    /// The address with any password redacted.
    pub address: String,
    /// The same with the password, for `--with-password`.
    pub secret_address: Option<String>,
    /// Whether writes through it are refused.
    pub read_only: bool,
}
