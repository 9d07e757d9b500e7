//! Per-file listings of directory states: the line format, the digest over them, and comparing two.

use crate::backend::ObjectDiff;
use crate::error::Result;

/// One entry: the path as bytes (any file name), its token, and its size in bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The path below the root, `/`-separated, as bytes.
    pub path: Vec<u8>,
    /// sha256 hex, an etag, or `symlink:` and the sha256 of the target.
    pub token: String,
    /// Bytes; 0 for a symlink.
    pub size: u64,
}

/// The order of entries: by code point of the path, an invalid byte counting as U+DC80 plus (byte - 0x80).
pub fn path_order(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    let _ = (a, b);
    todo!("values owner")
}

/// The directory digest over entries in path order: 32 hexadecimal digits.
pub fn digest<'a>(entries: impl IntoIterator<Item = (&'a [u8], &'a str)>) -> String {
    let _ = entries.into_iter();
    todo!("values owner")
}

/// Appends one entry's line (ASCII JSON and a newline).
pub fn write_line(out: &mut Vec<u8>, path: &[u8], token: &str, size: u64) {
    let _ = (out, path, token, size);
    todo!("values owner")
}

/// Reads a listing.
pub fn parse(text: &[u8]) -> Result<Vec<Entry>> {
    let _ = text;
    todo!("values owner")
}

/// Compares two listings: exact counts, entries capped at [`ObjectDiff::MAX_ENTRIES`]. Must stay fast (100,000 paths a side in
/// a few tens of milliseconds): the files are in the same order, so it is a merge over the lines, equal lines compared as bytes.
pub fn diff(a: &[u8], b: &[u8]) -> Result<ObjectDiff> {
    let _ = (a, b);
    todo!("values owner")
}
