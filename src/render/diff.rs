//! `diff` as text.

use std::fmt::Write as _;

use tether_engine::backend::{Change, ObjectDiff};
use tether_engine::report::{DiffRow, ObjectChange};

use super::{Paint, clean};

/// One line per object that differs, and below it at most `limit` entries of what changed inside.
pub fn text(rows: &[DiffRow], limit: usize, paint: Paint) -> String {
    let mut out = String::new();
    for row in rows
        .iter()
        .filter(|row| row.change != ObjectChange::Unchanged)
    {
        out.push_str(&object(row, limit, paint));
    }
    out
}

fn object(row: &DiffRow, limit: usize, paint: Paint) -> String {
    let label = match row.change {
        ObjectChange::Added => paint.good(&format!("{:>11}", "added")),
        ObjectChange::Removed => paint.bad(&format!("{:>11}", "removed")),
        ObjectChange::Changed => paint.changed(&format!("{:>11}", "changed")),
        ObjectChange::Unchanged => paint.faint(&format!("{:>11}", "unchanged")),
    };
    let mut out = format!("{label}  {}", clean(row.key.as_str()));
    let why: Vec<&str> = row
        .why
        .iter()
        .copied()
        .filter(|why| !matches!(*why, "state" | "pin"))
        .collect();
    if row.change == ObjectChange::Changed && !why.is_empty() {
        let _ = write!(out, "  ({})", why.join(", "));
    }
    if let Some(detail) = &row.detail {
        let _ = write!(out, "  [{}]", clean(&detail.summary));
    }
    out.push('\n');
    if let Some(detail) = &row.detail {
        entries(detail, limit, paint, &mut out);
    }
    if let Some(error) = &row.detail_error {
        let _ = writeln!(out, "{:14}content not compared: {}", "", clean(error));
    }
    out
}

fn entries(detail: &ObjectDiff, limit: usize, paint: Paint, out: &mut String) {
    if !detail.note.is_empty() {
        let _ = writeln!(out, "{:14}{}", "", clean(&detail.note));
    }
    let shown = detail.entries.len().min(limit);
    for entry in &detail.entries[..shown] {
        let label = format!("{:>23}", entry.change.name());
        let label = match entry.change {
            Change::Added => paint.good(&label),
            Change::Removed => paint.bad(&label),
            _ => paint.changed(&label),
        };
        let line = format!("{label}  {}  {}", clean(&entry.path), clean(&entry.detail));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let total = detail.added + detail.removed + detail.modified;
    let left = total.saturating_sub(shown as u64);
    if left > 0 && !detail.entries.is_empty() {
        let _ = writeln!(out, "{:14}... {left} more (use --limit)", "");
    }
}
