//! Per-file listings of directory states: the line format, the digest over them, and comparing two.
//!
//! `line` reads and writes single lines, `compare` merges two listings.

mod compare;
mod line;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::json::Hasher;

pub use compare::{diff, human_size};
use line::Line;
pub use line::write_line;

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
pub fn path_order(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    match (a.get(common), b.get(common)) {
        (None, None) => Ordering::Equal,
        // What follows the common bytes starts a new code point on both sides, whatever they decode to.
        (a, b) if a.is_none_or(u8::is_ascii) && b.is_none_or(u8::is_ascii) => a.cmp(&b),
        _ => code_points(a).cmp(code_points(b)),
    }
}

fn code_points(path: &[u8]) -> impl Iterator<Item = u32> + '_ {
    path.utf8_chunks().flat_map(|chunk| {
        let escaped = |byte: &u8| line::ESCAPED_BYTES + u32::from(*byte - 0x80);
        let valid = chunk.valid().chars().map(u32::from);
        valid.chain(chunk.invalid().iter().map(escaped))
    })
}

/// The directory digest over entries in path order: 32 hexadecimal digits.
pub fn digest<'a>(entries: impl IntoIterator<Item = (&'a [u8], &'a str)>) -> String {
    const BATCH: usize = 16 << 10;
    let mut hasher = Hasher::new(16);
    let mut batch = Vec::with_capacity(BATCH + 256);
    for (path, token) in entries {
        batch.extend_from_slice(path);
        batch.push(0);
        batch.extend_from_slice(token.as_bytes());
        batch.push(0);
        if batch.len() >= BATCH {
            hasher.raw(&batch);
            batch.clear();
        }
    }
    hasher.raw(&batch);
    hasher.finish()
}

/// Reads a listing. A line that is no entry is an error with its number.
pub fn parse(text: &[u8]) -> Result<Vec<Entry>> {
    let chunks = split_at_lines(text, PARALLEL_CHUNK);
    let parts: Vec<Result<Vec<Entry>>> = chunks
        .into_par_iter()
        .map(|chunk| {
            let entry = |line| Line::parse(line)?.into_entry();
            lines(chunk)
                .map(|line| entry(line).ok_or_else(|| damaged(text, line)))
                .collect()
        })
        .collect();
    let mut entries = Vec::new();
    for part in parts {
        entries.append(&mut part?);
    }
    Ok(entries)
}

/// Bytes of a listing that are worth a task of their own.
const PARALLEL_CHUNK: usize = 1 << 20;

/// `text` in pieces of at least `size` bytes (the last may be shorter), cut after line ends.
fn split_at_lines(text: &[u8], size: usize) -> Vec<&[u8]> {
    let mut chunks = Vec::new();
    let mut rest = text;
    while rest.len() > size {
        let end = memchr::memchr(b'\n', &rest[size..]);
        let (chunk, after) = rest.split_at(end.map_or(rest.len(), |end| size + end + 1));
        chunks.push(chunk);
        rest = after;
    }
    chunks.push(rest);
    chunks
}

/// The lines of `text` without their ends; empty ones are left out.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty())
}

/// `line` is a part of `text`.
fn damaged(text: &[u8], line: &[u8]) -> Error {
    let offset = (line.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let before = text.get(..offset).unwrap_or_default();
    let number = before.split(|byte| *byte == b'\n').count();
    Error::config(format!("line {number} of a listing is damaged"))
        .with_hint("take the committed listings back: `git restore -- .tether/listings` (under jj `jj restore .tether/listings`)")
}
