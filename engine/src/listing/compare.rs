//! Comparing two listings: a merge over lines that looks only at those that differ.

use std::cmp::Ordering;

use super::line::parse_line;
use super::{Entry, damaged, path_order};
use crate::backend::{Change, ObjectDiff};
use crate::error::Result;

/// Compares two listings: exact counts, entries capped at [`ObjectDiff::MAX_ENTRIES`], in path order.
///
/// Both must be in path order, as they are written. Stretches that are equal byte for byte are skipped unread.
pub fn diff(a: &[u8], b: &[u8]) -> Result<ObjectDiff> {
    let mut diff = ObjectDiff::new("files");
    let (mut before, mut after) = (Side::new(a), Side::new(b));
    loop {
        if before.next.is_none() && after.next.is_none() {
            let common = common_lines(before.rest, after.rest);
            before.rest = &before.rest[common..];
            after.rest = &after.rest[common..];
        }
        let order = match (before.peek()?, after.peek()?) {
            (None, None) => return Ok(diff.summarised()),
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

/// One listing and how far it was read.
struct Side<'a> {
    text: &'a [u8],
    rest: &'a [u8],
    next: Option<Entry>,
}

impl<'a> Side<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            rest: text,
            next: None,
        }
    }

    /// The next entry; `None` at the end.
    fn peek(&mut self) -> Result<Option<&Entry>> {
        while self.next.is_none() && !self.rest.is_empty() {
            let end = self.rest.iter().position(|byte| *byte == b'\n');
            let (line, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
            self.rest = rest.get(1..).unwrap_or_default();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.is_empty() {
                let entry = parse_line(line).ok_or_else(|| damaged(self.text, line))?;
                self.next = Some(entry);
            }
        }
        Ok(self.next.as_ref())
    }

    fn take(&mut self) -> Option<Entry> {
        self.next.take()
    }
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

fn count(diff: &mut ObjectDiff, before: Option<&Entry>, after: Option<&Entry>) {
    let (Some(entry), change) = (match (before, after) {
        (Some(before), Some(after)) if before == after => return,
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
    let size = |entry: Option<&Entry>| entry.map_or(0, |entry| i128::from(entry.size));
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
