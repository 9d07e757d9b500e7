//! The operation log as text: `3f1c9a2b7d4e  2026-12-01 05:13:16  commit   pinned code; vcs c2371d89ea14`.

use std::fmt::Write as _;

use tether_engine::query::summary::summary;
use tether_engine::report::OpRow;

use super::{Paint, clean};

/// One line per operation, newest first.
pub fn text(rows: &[OpRow], paint: Paint) -> String {
    let mut out = String::new();
    for row in rows {
        let id = paint.news(row.id.as_str());
        let (at, command) = (second(&row.at), clean(&row.command));
        let mut line = format!("{id}  {at}  {command:<7}  {}", what(row));
        for flag in flags(row) {
            let _ = write!(line, "  {}", paint.warning(&format!("({flag})")));
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    if out.is_empty() {
        out.push_str("no operations yet\n");
    }
    out
}

fn second(at: &str) -> String {
    let text = at.get(..19).unwrap_or(at).replacen('T', " ", 1);
    clean(&text).into_owned()
}

fn flags(row: &OpRow) -> Vec<String> {
    let mut flags = Vec::new();
    if let Some(undo) = &row.undone_by {
        flags.push(format!("undone by {undo}"));
    }
    if row.vcs_commit_gone {
        flags.push("vcs commit gone".to_owned());
    }
    if let Some(parent) = &row.parent {
        flags.push(format!("step of {parent}"));
    }
    if row.status != "done" {
        flags.push("INCOMPLETE: the next `tether commit` finishes it or rolls it back".to_owned());
    }
    flags
}

/// What the operation did, in a few words.
fn what(row: &OpRow) -> String {
    let words = summary(&row.command, &row.result);
    let words = match &row.undoes {
        Some(undone) => format!("undid {undone}: {words}"),
        None => words,
    };
    clean(&words).into_owned()
}
