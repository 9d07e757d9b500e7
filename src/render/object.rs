//! Single objects as text: what was added, a state, an entry of a native history.

use std::fmt::Write as _;

use serde_json::Value;
use tether_engine::backend::HistoryEntry;
use tether_engine::key::ObjectKey;
use tether_engine::report::{AddReport, SnapshotReport};
use tether_engine::state::State;

use super::{clean, quoted};

/// `added raw (file, key from the locator)`.
pub fn added(report: &AddReport, at: Option<&str>) -> String {
    let (key, kind) = (clean(report.key.as_str()), clean(&report.kind));
    let derived = if report.derived {
        ", key from the locator"
    } else {
        ""
    };
    let at = at
        .map(|at| format!(" at {}", clean(at)))
        .unwrap_or_default();
    format!("added {key} ({kind}{derived}){at}\n")
}

/// `  code: sha=2f6c dirty=false`, one line per object.
pub fn states(report: &SnapshotReport) -> String {
    report
        .states
        .iter()
        .fold(String::new(), |mut out, (key, state)| {
            let _ = writeln!(out, "  {}: {}", clean(key.as_str()), self::state(state));
            out
        })
}

/// The fields of a state, in their order.
pub fn state(state: &State) -> String {
    let fields: Vec<String> = state
        .0
        .iter()
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}={}", clean(text)),
            other => format!("{name}={other}"),
        })
        .collect();
    fields.join(" ")
}

/// `  2f6c…  2026-12-01 05:15  message  [main]`.
pub fn history_line(entry: &HistoryEntry) -> String {
    let mut out = format!("  {}", clean(&entry.id));
    if !entry.when.is_empty() {
        let _ = write!(out, "  {}", clean(&minute(&entry.when)));
    }
    let _ = write!(out, "  {}", clean(&entry.message));
    if !entry.refs.is_empty() {
        let refs: Vec<_> = entry.refs.iter().map(|name| clean(name)).collect();
        let _ = write!(out, "  [{}]", refs.join(", "));
    }
    out
}

/// An ISO 8601 time up to the minute, as people write it.
fn minute(when: &str) -> String {
    when.get(..16).unwrap_or(when).replacen('T', " ", 1)
}

/// A key to be typed: after `--` when it looks like an option, quoted when a shell would not read it as it is.
pub fn quoted_key(key: &ObjectKey) -> String {
    let key = key.as_str();
    let quoted = quoted(key);
    if key.starts_with('-') {
        format!("-- {quoted}")
    } else {
        quoted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_line_has_the_id_the_minute_the_message_and_the_refs() {
        let entry = HistoryEntry {
            id: "2f6c".to_owned(),
            when: "2026-12-01T05:15:07+01:00".to_owned(),
            message: "one\x1b".to_owned(),
            refs: vec!["main".to_owned(), "v1".to_owned()],
        };
        assert_eq!(
            history_line(&entry),
            "  2f6c  2026-12-01 05:15  one\\x1b  [main, v1]"
        );
        let bare = HistoryEntry {
            when: String::new(),
            refs: Vec::new(),
            ..entry
        };
        assert_eq!(history_line(&bare), "  2f6c  one\\x1b");
    }

    #[test]
    fn a_state_is_its_fields_in_order() {
        let state = State::default().with("sha", "ab").with("dirty", false);
        assert_eq!(super::state(&state), "sha=ab dirty=false");
    }
}
