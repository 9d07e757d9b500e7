//! `.tether/secrets.toml`: per-checkout credentials and settings that a clone must not choose.

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::error::{Error, Result};
use crate::json::{Map, Value};
use crate::key::ObjectKey;
use crate::toml_text::{File, Source};

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
    /// The largest file that is read, in bytes.
    pub const MAX_SIZE: u64 = 1 << 20;

    /// Reads the file at `path`; absent is empty. Only a regular file is opened (a FIFO must not hang). Errors never quote a
    /// line or a value. The second value is a warning when others can read the file.
    pub fn load(path: &Path) -> Result<(Self, Option<String>)> {
        // Opening must not wait for a FIFO's writer; a link to a regular file is fine.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(descriptor) => std::fs::File::from(descriptor),
            Err(rustix::io::Errno::NOENT) if !path.is_symlink() => {
                return Ok((Self::default(), None));
            }
            Err(error) => return Err(unreadable(path, error.into())),
        };
        let metadata = file.metadata().map_err(|error| unreadable(path, error))?;
        if !metadata.is_file() {
            return Err(File::Secrets.error("it is not a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(Self::MAX_SIZE + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| unreadable(path, error))?;
        if bytes.len() as u64 > Self::MAX_SIZE {
            return Err(File::Secrets.error("it is larger than 1 MiB"));
        }
        let warning = (metadata.mode() & 0o077 != 0)
            .then(|| format!("other users can read {0}: `chmod 600 {0}`", path.display()));
        Ok((Self::parse(&bytes)?, warning))
    }

    /// Reads the file's text.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let source = Source::new(File::Secrets, text)?;
        let root = source.table_to_map(source.root()?)?;
        for (name, value) in &root {
            check_table(name, value)?;
        }
        Ok(Self { root })
    }

    /// A top-level table (`vcs`, `import`), when there is one.
    pub fn table(&self, name: &str) -> Option<&Map> {
        self.root.get(name)?.as_object()
    }

    /// `[vcs] git_path`.
    pub fn git_path(&self) -> Option<PathBuf> {
        let path = self.table("vcs")?.get("git_path")?.as_str()?;
        Some(PathBuf::from(path))
    }

    /// `[import] query`.
    pub fn import_query(&self) -> Option<&str> {
        self.table("import")?.get("query")?.as_str()
    }

    /// The options of one object: `[backends.<kind>]`, then the longest matching `[uris."<prefix>"]`, then
    /// `[objects."<key>"]`, merged per field, the most specific winning.
    pub fn options_for(&self, key: Option<&ObjectKey>, kind: &str, uri: Option<&str>) -> Map {
        let inner = |table: &str, name: &str| self.table(table)?.get(name)?.as_object();
        let prefix = uri.and_then(|uri| {
            let prefixes = self.table("uris")?.keys();
            let matching = prefixes.filter(|prefix| covers(prefix, uri));
            matching.max_by_key(|prefix| prefix.len())
        });
        let levels = [
            inner("backends", kind),
            prefix.and_then(|prefix| inner("uris", prefix)),
            key.and_then(|key| inner("objects", key.as_str())),
        ];
        let mut options = Map::new();
        for level in levels.into_iter().flatten() {
            merge_into(&mut options, level);
        }
        options
    }
}

/// Whether `uri` starts with `prefix`. A prefix that ends in the host or bucket means that one whole: the entry of
/// `s3://lab` is not for `s3://lab-of-others`, nor that of `mysql://db:3306` for port 33060, which a manifest could name.
fn covers(prefix: &str, uri: &str) -> bool {
    let Some(rest) = uri.strip_prefix(prefix) else {
        return false;
    };
    let in_authority = prefix
        .split_once("://")
        .is_some_and(|(_, authority)| !authority.is_empty() && !authority.contains('/'));
    !in_authority || rest.is_empty() || rest.starts_with('/')
}

/// `committed` with `secret` laid over it field by field, nested tables too; `secret` wins a field both set.
#[must_use]
pub fn merge_options(committed: &Map, secret: &Map) -> Map {
    let mut merged = committed.clone();
    merge_into(&mut merged, secret);
    merged
}

fn merge_into(under: &mut Map, over: &Map) {
    for (key, value) in over {
        match (under.get_mut(key), value) {
            (Some(Value::Object(under)), Value::Object(over)) => merge_into(under, over),
            _ => {
                under.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Top-level values must be tables, and so must the entries of the tables that name kinds, prefixes and objects.
fn check_table(name: &str, value: &Value) -> Result<()> {
    let Value::Object(entries) = value else {
        return Err(File::Secrets.error("a value stands outside every table"));
    };
    if matches!(name, "backends" | "uris" | "objects")
        && entries.values().any(|entry| !entry.is_object())
    {
        let problem = format!("every entry of `[{name}]` must be a table, `[{name}.\"NAME\"]`");
        return Err(File::Secrets.error(&problem));
    }
    Ok(())
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    Error::config(format!("cannot read {}", path.display()))
        .with_source(error)
        .with_hint(format!("`ls -l {}`", path.display()))
}

#[cfg(test)]
mod tests;
