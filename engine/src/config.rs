//! `tether.toml`: the committed configuration, and what it may not say (the trust boundary).

use std::collections::BTreeMap;

use crate::error::Result;
use crate::id::DatasetId;
use crate::json::Map;
use crate::manifest::Policy;
use crate::name::BookmarkName;

/// The format version this build reads and writes.
pub const FORMAT_VERSION: i64 = 5;

/// The committed configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The dataset's id.
    pub dataset: DatasetId,
    /// `[snapshot] auto`.
    pub snapshot_auto: bool,
    /// `[verify] on_status`.
    pub verify_on_status: bool,
    /// `[new] fork = "eager"`.
    pub fork_eagerly: bool,
    /// `[new] record = "defer"`.
    pub defer_record: bool,
    /// `[defaults]`.
    pub defaults: Policy,
    /// `[vcs] trunk`.
    pub trunk: BookmarkName,
    /// `[vcs] prefer = "git"`.
    pub prefer_git: bool,
    /// `[backends.<kind>]`, allowlisted keys only.
    pub backends: BTreeMap<String, Map>,
}

impl Config {
    /// Reads `tether.toml`. Refuses other format versions (older: `tether upgrade`; newer: a newer tether), unknown keys and
    /// tables by name, and keys that belong in `.tether/secrets.toml`, saying so. Never quotes a line.
    pub fn parse(text: &str) -> Result<Self> {
        let _ = text;
        todo!("values owner")
    }

    /// The text `init` writes, byte for byte as the Python package does (`[vcs] trunk` only when it is not `main`).
    pub fn initial_text(dataset: &DatasetId, trunk: &BookmarkName) -> String {
        let _ = (dataset, trunk);
        todo!("values owner")
    }
}

/// The text of `.tether/.gitignore`.
pub const GITIGNORE: &str = "/workspace.toml\n/ops.jsonl\n/cache\n/lock\n/secrets.toml\n";
