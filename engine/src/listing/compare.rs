//! Comparing two listings: a merge over lines that looks only at those that differ.

use std::borrow::Cow;
use std::cmp::Ordering;

use rayon::prelude::*;

use super::line::Line;
use super::{PARALLEL_CHUNK, damaged, path_order};
use crate::backend::{Change, ObjectDiff};
use crate::error::Result;

/// Compares two listings: exact counts, entries capped at [`ObjectDiff::MAX_ENTRIES`], in path order.
///
/// Both must be in path order, as they are written. Stretches that are equal byte for byte are skipped unread, and long
/// listings are compared in pieces on every core.
pub fn diff(a: &[u8], b: &[u8]) -> Result<ObjectDiff> {
    diff_in_pieces(a, b, PARALLEL_CHUNK)
}

/// [`diff`] in pieces of `size` bytes.
pub(super) fn diff_in_pieces(a: &[u8], b: &[u8], size: usize) -> Result<ObjectDiff> {
    let parts: Vec<Result<ObjectDiff>> = pieces(a, b, size)
        .into_par_iter()
        .map(|(part_a, part_b)| diff_piece(Side::new(a, part_a), Side::new(b, part_b)))
        .collect();
    let mut whole = ObjectDiff::new("files");
    for part in parts {
        let part = part?;
        whole.added += part.added;
        whole.removed += part.removed;
        whole.modified += part.modified;
        whole.truncated |= part.truncated;
        whole.entries.extend(part.entries);
    }
    whole.truncated |= whole.entries.len() > ObjectDiff::MAX_ENTRIES;
    whole.entries.truncate(ObjectDiff::MAX_ENTRIES);
    Ok(whole.summarised())
}

/// Two listings that belong together.
type Pair<'a> = (&'a [u8], &'a [u8]);

/// Both listings cut at the same paths, in order: places in the longer one.
fn pieces<'a>(a: &'a [u8], b: &'a [u8], size: usize) -> Vec<Pair<'a>> {
    if a.len() < b.len() {
        let swapped = pieces(b, a, size);
        return swapped.into_iter().map(|(b, a)| (a, b)).collect();
    }
    let mut pieces = Vec::new();
    let (mut rest_a, mut rest_b) = (a, b);
    while rest_a.len() > size {
        let Some((cut_a, path)) = line_from(rest_a, size) else {
            break; // the last line, or a damaged one: whoever reads it says so
        };
        let cut_b = lower_bound(rest_b, &path);
        let (piece_a, after_a) = rest_a.split_at(cut_a);
        let (piece_b, after_b) = rest_b.split_at(cut_b);
        pieces.push((piece_a, piece_b));
        (rest_a, rest_b) = (after_a, after_b);
    }
    pieces.push((rest_a, rest_b));
    pieces
}

/// The first line that starts behind `offset`: where it starts, and its path.
fn line_from(text: &[u8], offset: usize) -> Option<(usize, Cow<'_, [u8]>)> {
    let start = offset + memchr::memchr(b'\n', text.get(offset..)?)? + 1;
    let (line, _) = split_line(&text[start..]);
    Some((start, Line::parse(line)?.path))
}

/// Where the first line starts whose path is not before `path`; the end when there is none.
fn lower_bound(text: &[u8], path: &[u8]) -> usize {
    // Every line that starts at or before `low` is known to be before, but for the first, which is looked at below.
    let (mut low, mut high) = (0, text.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match line_from(text, middle) {
            Some((start, found)) if start < high && path_order(&found, path).is_lt() => low = start,
            _ => high = middle,
        }
    }
    // From here on it is at most a line or two.
    loop {
        let (line, rest) = split_line(&text[low..]);
        let before = match Line::parse(line) {
            Some(found) => path_order(&found.path, path).is_lt(),
            None => line.is_empty() && low < text.len(),
        };
        if !before {
            return low;
        }
        low = text.len() - rest.len();
    }
}

fn diff_piece(mut before: Side<'_>, mut after: Side<'_>) -> Result<ObjectDiff> {
    let mut diff = ObjectDiff::new("files");
    loop {
        if before.next.is_none() && after.next.is_none() {
            let common = common_lines(before.rest, after.rest);
            before.rest = &before.rest[common..];
            after.rest = &after.rest[common..];
        }
        let order = match (before.peek()?, after.peek()?) {
            (None, None) => return Ok(diff),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => path_order(&a.path, &b.path),
        };
        match order {
            Ordering::Less => count(&mut diff, before.take().as_ref(), None),
            Ordering::Greater => count(&mut diff, None, after.take().as_ref()),
            Ordering::Equal => count(&mut diff, before.take().as_ref(), after.take().as_ref()),
        }
    }
}

/// A stretch of one listing and how far it was read.
struct Side<'a> {
    text: &'a [u8],
    rest: &'a [u8],
    next: Option<Line<'a>>,
}

impl<'a> Side<'a> {
    /// `part` is a part of `text`.
    fn new(text: &'a [u8], part: &'a [u8]) -> Self {
        Self {
            text,
            rest: part,
            next: None,
        }
    }

    /// The next entry; `None` at the end.
    fn peek(&mut self) -> Result<Option<&Line<'a>>> {
        while self.next.is_none() && !self.rest.is_empty() {
            let (line, rest) = split_line(self.rest);
            self.rest = rest;
            if !line.is_empty() {
                let entry = Line::parse(line).ok_or_else(|| damaged(self.text, line))?;
                self.next = Some(entry);
            }
        }
        Ok(self.next.as_ref())
    }

    fn take(&mut self) -> Option<Line<'a>> {
        self.next.take()
    }
}

/// The first line without its end, and what follows it.
fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
    let (line, rest) = text.split_at(end);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    (line, rest.get(1..).unwrap_or_default())
}

/// The length of the longest run of whole lines that both start with.
fn common_lines(a: &[u8], b: &[u8]) -> usize {
    const STEP: usize = 4096;
    let shorter = a.len().min(b.len());
    let mut same = 0;
    while same < shorter {
        let end = shorter.min(same + STEP);
        if a[same..end] == b[same..end] {
            same = end;
        } else {
            let pairs = a[same..end].iter().zip(&b[same..end]);
            same += pairs.take_while(|(a, b)| a == b).count();
            break;
        }
    }
    let last_end = a[..same].iter().rposition(|byte| *byte == b'\n');
    last_end.map_or(0, |end| end + 1)
}

fn count(diff: &mut ObjectDiff, before: Option<&Line<'_>>, after: Option<&Line<'_>>) {
    let (Some(entry), change) = (match (before, after) {
        (Some(before), Some(after)) if before.same_content(after) => return,
        (Some(_), Some(_)) => (after, Change::Modified),
        (Some(_), None) => (before, Change::Removed),
        (None, _) => (after, Change::Added),
    }) else {
        return;
    };
    if diff.entries.len() >= ObjectDiff::MAX_ENTRIES {
        diff.add(String::new(), change, String::new());
        return;
    }
    let size = |entry: Option<&Line<'_>>| entry.map_or(0, |entry| i128::from(entry.size));
    let delta = size(after) - size(before);
    let sign = match change {
        Change::Removed => '-',
        _ if delta < 0 => '-',
        _ => '+',
    };
    let detail = format!("{sign}{}", human_size(delta.unsigned_abs()));
    diff.add(display_path(&entry.path), change, detail);
}

/// A size as people read it: `21 B`, `4.9 KiB`, ... up to TiB.
pub fn human_size(bytes: u128) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        unit = larger;
    }
    format!("{size:.1} {unit}")
}

/// A path as text: a byte that is not UTF-8 reads `\xNN`.
fn display_path(path: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}
