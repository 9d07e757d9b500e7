//! The operation log as text: `3f1c9a2b7d4e  2026-12-01 05:13:16  commit   pinned code; vcs c2371d89ea14`.

use std::fmt::Write as _;

use serde_json::Value;
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
    let words = match row.command.as_str() {
        "commit" => committed(&row.result),
        "set" => policies(&row.result),
        _ => keys(&row.result),
    };
    clean(&words).into_owned()
}

fn committed(result: &Value) -> String {
    let mut parts = Vec::new();
    let objects = result.get("pinned").and_then(Value::as_object);
    let named = |pinned: bool| {
        let entries = objects.into_iter().flatten();
        let keys: Vec<&str> = entries
            .filter(|(_, native)| native.is_null() != pinned)
            .map(|(key, _)| key.as_str())
            .collect();
        keys
    };
    if !named(true).is_empty() {
        parts.push(format!("pinned {}", named(true).join(", ")));
    }
    let mut recorded = named(false);
    recorded.extend(texts(result.get("unrecoverable")));
    if !recorded.is_empty() {
        parts.push(format!("recorded {}", recorded.join(", ")));
    }
    match result.get("vcs_commit").and_then(Value::as_str) {
        Some(commit) => parts.push(format!("vcs {}", commit.get(..12).unwrap_or(commit))),
        None if parts.is_empty() => parts.push("nothing changed".to_owned()),
        None => {}
    }
    parts.join("; ")
}

fn policies(result: &Value) -> String {
    let changed = result.get("changed").and_then(Value::as_object);
    let objects: Vec<String> = changed
        .into_iter()
        .flatten()
        .map(|(key, fields)| {
            let fields: Vec<String> = fields
                .as_object()
                .into_iter()
                .flatten()
                .map(|(field, change)| {
                    let side = |name| change.get(name).and_then(Value::as_str).unwrap_or("?");
                    format!("{field}={}->{}", side("from"), side("to"))
                })
                .collect();
            format!("{key}: {}", fields.join(" "))
        })
        .collect();
    objects.join(", ")
}

fn keys(result: &Value) -> String {
    match result.get("key").and_then(Value::as_str) {
        Some(key) => key.to_owned(),
        None => texts(result.get("keys")).join(", "),
    }
}

fn texts(value: Option<&Value>) -> Vec<&str> {
    let items = value.and_then(Value::as_array);
    items
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}
