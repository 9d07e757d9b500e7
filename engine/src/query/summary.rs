//! What an operation did, in a few words.

use serde_json::Value;

/// The words for an operation of `command` with `result`: `pinned code; vcs c2371d89ea14`. May be empty. Text of the user's is in it as
/// it is.
pub fn summary(command: &str, result: &Value) -> String {
    match command {
        "commit" => committed(result),
        "set" => policies(result),
        "undo" => text(result, "summary").to_owned(),
        _ => keys(result),
    }
}

fn text<'a>(result: &'a Value, field: &str) -> &'a str {
    result
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
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
