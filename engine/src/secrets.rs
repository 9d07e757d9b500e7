//! `.tether/secrets.toml`: per-checkout credentials and settings that a clone must not choose.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::json::Map;
use crate::key::ObjectKey;

/// The parsed secrets file; its `Debug` shows table names only, never a value.
#[derive(Clone, Default)]
pub struct Secrets {
    pub(crate) root: Map,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets")
            .field("tables", &self.root.keys().collect::<Vec<_>>())
            .finish()
    }
}

impl Secrets {
    /// Reads the file at `path`; absent is empty. Only a regular file is opened (a FIFO must not hang). Errors never quote a
    /// line or a value. The second value is a warning when others can read the file.
    pub fn load(path: &Path) -> Result<(Self, Option<String>)> {
        let _ = path;
        todo!("values owner")
    }

    /// `[vcs] git_path`.
    pub fn git_path(&self) -> Option<PathBuf> {
        todo!("values owner")
    }

    /// The options of one object: `[backends.<kind>]`, then the longest matching `[uris."<prefix>"]`, then
    /// `[objects."<key>"]`, merged per field, the most specific winning.
    pub fn options_for(&self, key: Option<&ObjectKey>, kind: &str, uri: Option<&str>) -> Map {
        let _ = (key, kind, uri);
        todo!("values owner")
    }
}
