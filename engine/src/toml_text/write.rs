//! The layout of written TOML, byte for byte that of the Python package.

use std::fmt::Write as _;

use super::Item;

/// The text of a document.
pub(crate) fn render(root: &[(String, Item)]) -> String {
    let mut out = String::with_capacity(512);
    body(&mut out, "", root);
    out
}

/// A basic string with its quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The entries of one table: its single values, then the tables below it.
fn body(out: &mut String, path: &str, entries: &[(String, Item)]) {
    for (key, item) in entries.iter().filter(|(_, item)| !item.is_table()) {
        push_key(out, key);
        out.push_str(" = ");
        inline(out, item);
        out.push('\n');
    }
    for (key, item) in entries {
        let mut path = path.to_owned();
        if !path.is_empty() {
            path.push('.');
        }
        push_key(&mut path, key);
        match item {
            Item::Table(inner) => {
                // A table of nothing but tables needs no header of its own.
                if inner.is_empty() || inner.iter().any(|(_, item)| !item.is_table()) {
                    header(out, "[", &path, "]");
                }
                body(out, &path, inner);
            }
            Item::Array(items) if item.is_table() => {
                for item in items {
                    header(out, "[[", &path, "]]");
                    if let Item::Table(inner) = item {
                        body(out, &path, inner);
                    }
                }
            }
            _ => {}
        }
    }
}

fn header(out: &mut String, open: &str, path: &str, close: &str) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(open);
    out.push_str(path);
    out.push_str(close);
    out.push('\n');
}

fn inline(out: &mut String, item: &Item) {
    match item {
        Item::Scalar(text) => out.push_str(text),
        Item::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                inline(out, item);
            }
            out.push(']');
        }
        Item::Table(entries) => {
            out.push('{');
            for (index, (key, item)) in entries.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                push_key(out, key);
                out.push_str(" = ");
                inline(out, item);
            }
            out.push('}');
        }
    }
}

fn push_key(out: &mut String, key: &str) {
    let bare = !key.is_empty()
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    if bare {
        out.push_str(key);
    } else {
        out.push_str(&quoted(key));
    }
}
