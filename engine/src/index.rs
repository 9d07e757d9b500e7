//! The clone's three indexes beside the VCS's shared directory: memories, not authority (FORMAT, 'Clone indexes').
//!
//! One JSON object a line, appended in one write and synced. A torn last line is skipped and never extended. The bytes are those the
//! Python package writes (ASCII, `", "` and `": "` between the parts), and lines this version cannot read are kept on rewrite.
//!
//! Writers hold the repository lock: a rewrite replaces the file, and a line added to the old one meanwhile would be lost.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::ser::Formatter;

use crate::error::{Error, Result};
use crate::fsutil;
use crate::id::{DatasetId, PinId};
use crate::name::BookmarkName;
use crate::state::{Identity, Locator};

/// A pin this clone made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PinnedEntry {
    /// The dataset.
    pub dataset_id: DatasetId,
    /// The pin.
    pub pin_id: PinId,
    /// The backend kind.
    pub kind: String,
    /// The object that first used it.
    pub key: String,
    /// When.
    pub at: String,
}

/// A store this clone pinned or forked in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoreEntry {
    /// The dataset.
    pub dataset_id: DatasetId,
    /// The backend kind.
    pub kind: String,
    /// The system.
    pub identity: Identity,
    /// How to reach it.
    pub locator: Locator,
    /// The object.
    pub key: String,
    /// When.
    pub at: String,
    /// `tether-created.jsonl` only: the bookmark it was created on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bookmark: Option<BookmarkName>,
}

impl StoreEntry {
    /// What [`StoreEntry::same_store`] compares, as a value.
    fn store(&self) -> (DatasetId, String, String) {
        (
            self.dataset_id.clone(),
            self.kind.clone(),
            self.identity.canonical(),
        )
    }

    fn same_store(&self, other: &Self) -> bool {
        self.dataset_id == other.dataset_id
            && self.kind == other.kind
            && self.identity == other.identity
    }
}

/// The three files of one clone.
#[derive(Clone, Debug)]
pub struct Indexes {
    dir: PathBuf,
}

impl Indexes {
    /// The indexes in `shared_dir`.
    pub fn new(shared_dir: &Path) -> Self {
        Self {
            dir: shared_dir.to_owned(),
        }
    }

    fn pinned_path(&self) -> PathBuf {
        self.dir.join("tether-pinned.jsonl")
    }

    fn touched_path(&self) -> PathBuf {
        self.dir.join("tether-touched.jsonl")
    }

    fn created_path(&self) -> PathBuf {
        self.dir.join("tether-created.jsonl")
    }

    /// The pins on record for a dataset.
    pub fn pinned(&self, dataset: &DatasetId) -> Result<Vec<PinnedEntry>> {
        let mut entries: Vec<PinnedEntry> = read(&self.pinned_path())?;
        entries.retain(|entry| entry.dataset_id == *dataset);
        Ok(entries)
    }

    /// Records pins; one on record already is not written again. Creates the file even for none.
    pub fn add_pinned(&self, entries: &[PinnedEntry]) -> Result<()> {
        let path = self.pinned_path();
        let known: Vec<PinnedEntry> = read(&path)?;
        let id = |entry: &PinnedEntry| (entry.dataset_id.clone(), entry.pin_id.clone());
        let mut known: HashSet<_> = known.iter().map(id).collect();
        let new = entries.iter().filter(|entry| known.insert(id(entry)));
        append(&path, new)
    }

    /// Forgets pins that were released.
    pub fn remove_pinned(&self, dataset: &DatasetId, pins: &[PinId]) -> Result<()> {
        remove(&self.pinned_path(), |entry: &PinnedEntry| {
            entry.dataset_id == *dataset && pins.contains(&entry.pin_id)
        })
    }

    /// The stores on record for a dataset.
    pub fn touched(&self, dataset: &DatasetId) -> Result<Vec<StoreEntry>> {
        stores(&self.touched_path(), dataset)
    }

    /// Records a store; an identity on record already is not written again.
    pub fn add_touched(&self, entry: &StoreEntry) -> Result<()> {
        self.add_touched_stores(std::slice::from_ref(entry))
    }

    /// [`Indexes::add_touched`] of many stores in one write.
    pub fn add_touched_stores(&self, entries: &[StoreEntry]) -> Result<()> {
        let path = self.touched_path();
        let mut known: Vec<StoreEntry> = read(&path)?;
        let before = known.len();
        let mut seen: HashSet<_> = known.iter().map(StoreEntry::store).collect();
        for entry in entries {
            if seen.insert(entry.store()) {
                known.push(StoreEntry {
                    bookmark: None,
                    ..entry.clone()
                });
            }
        }
        append(&path, &known[before..])
    }

    /// Forgets a touched store in which nothing of the dataset is left.
    pub fn remove_touched(
        &self,
        dataset: &DatasetId,
        kind: &str,
        identity: &Identity,
    ) -> Result<()> {
        remove(&self.touched_path(), |entry: &StoreEntry| {
            entry.dataset_id == *dataset && entry.kind == kind && entry.identity == *identity
        })
    }

    /// The created stores on record for a dataset.
    pub fn created(&self, dataset: &DatasetId) -> Result<Vec<StoreEntry>> {
        stores(&self.created_path(), dataset)
    }

    /// Records a created store; an identity on record already is not written again.
    pub fn add_created(&self, entry: &StoreEntry) -> Result<()> {
        add_store(&self.created_path(), entry)
    }

    /// Forgets a created store.
    pub fn remove_created(&self, dataset: &DatasetId, identity: &Identity) -> Result<()> {
        remove(&self.created_path(), |entry: &StoreEntry| {
            entry.dataset_id == *dataset && entry.identity == *identity
        })
    }
}

fn stores(path: &Path, dataset: &DatasetId) -> Result<Vec<StoreEntry>> {
    let mut entries: Vec<StoreEntry> = read(path)?;
    entries.retain(|entry| entry.dataset_id == *dataset);
    Ok(entries)
}

fn add_store(path: &Path, entry: &StoreEntry) -> Result<()> {
    let known: Vec<StoreEntry> = read(path)?;
    let new = !known.iter().any(|other| other.same_store(entry));
    append(path, new.then_some(entry))
}

/// The readable lines of an index, in order.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let content = fsutil::read_regular(path)?.unwrap_or_default();
    Ok(lines(&content).filter_map(parse).collect())
}

fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split(|byte| *byte == b'\n')
}

fn parse<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_slice(line).ok()
}

fn append<'a, T: Serialize + 'a>(
    path: &Path,
    entries: impl IntoIterator<Item = &'a T>,
) -> Result<()> {
    let mut bytes = Vec::new();
    for entry in entries {
        write_line(entry, &mut bytes)?;
    }
    if bytes.is_empty() && path.exists() {
        return Ok(());
    }
    fsutil::append_synced(path, &bytes)
}

/// Rewrites the index without the lines that are `gone`; every other line stays byte for byte, also one that cannot be read.
fn remove<T: DeserializeOwned>(path: &Path, gone: impl Fn(&T) -> bool) -> Result<()> {
    let Some(content) = fsutil::read_regular(path)? else {
        return Ok(());
    };
    let mut kept = Vec::with_capacity(content.len());
    let mut removed = false;
    for line in lines(&content).filter(|line| !line.is_empty()) {
        if parse(line).is_some_and(|entry| gone(&entry)) {
            removed = true;
        } else {
            kept.extend_from_slice(line);
            kept.push(b'\n');
        }
    }
    if removed {
        fsutil::write_atomic(path, &kept)?;
    }
    Ok(())
}

fn write_line(entry: &impl Serialize, bytes: &mut Vec<u8>) -> Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(&mut *bytes, PythonStyle);
    entry
        .serialize(&mut serializer)
        .map_err(|error| Error::internal("an index entry has no JSON form").with_source(error))?;
    bytes.push(b'\n');
    Ok(())
}

/// JSON as Python's `json.dumps` writes it: `", "` and `": "`, everything beyond ASCII escaped.
struct PythonStyle;

impl Formatter for PythonStyle {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        text: &str,
    ) -> io::Result<()> {
        let mut units = [0; 2];
        for character in text.chars() {
            // U+007F is ASCII, and Python leaves it as it is.
            if character.is_ascii() {
                out.write_all(&[character as u8])?;
            } else {
                for unit in character.encode_utf16(&mut units) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
