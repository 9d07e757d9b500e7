//! An operation of tether's in one line, for `jj op log`.

use serde_json::Value;
use tether_engine::oplog::Operation;

/// `tether commit: 3 objects`, `tether add: raw`, ...
pub(crate) fn line(operation: &Operation) -> String {
    let command = &operation.command;
    match about(operation) {
        Some(about) => format!("tether {command}: {about}"),
        None => format!("tether {command}"),
    }
}

fn about(operation: &Operation) -> Option<String> {
    let result = &operation.result;
    if let Some(undone) = &operation.undoes {
        return Some(undone.to_string());
    }
    if let Some(key) = result.get("key").and_then(Value::as_str) {
        return Some(key.to_owned());
    }
    if let Some(changed) = result.get("changed").and_then(Value::as_object) {
        return Some(objects(changed.len()));
    }
    if operation.command == "commit" {
        let pinned = result.get("pinned").and_then(Value::as_object);
        let list = |name: &str| {
            let list = result.get(name).and_then(Value::as_array);
            list.map_or(0, Vec::len)
        };
        let pinned = pinned.map_or(0, serde_json::Map::len);
        let count = pinned + list("unrecoverable") + list("removed");
        // Only edits were committed: of policies, or of manifests whose commit was taken back.
        return (count > 0).then(|| objects(count));
    }
    None
}

fn objects(count: usize) -> String {
    if count == 1 {
        "1 object".to_owned()
    } else {
        format!("{count} objects")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn operation(command: &str, result: Value) -> Operation {
        serde_json::from_value(json!({
            "id": "0123456789ab",
            "previous": null,
            "at": "2026-03-01T12:00:00.000000+00:00",
            "command": command,
            "workspace": "0123456789abcdef0123456789abcdef",
            "view": "0123456789abcdef0123456789abcdef",
            "plan": null,
            "result": result,
            "pre": null,
            "commit": null,
            "undoes": null,
            "step_of": null,
            "progress": [],
        }))
        .unwrap()
    }

    #[test]
    fn each_command_says_what_it_was_about() {
        let table = [
            (
                "commit",
                json!({"pinned": {"a": "x", "b": null}, "unrecoverable": ["c"], "removed": ["d"]}),
                "tether commit: 4 objects",
            ),
            (
                "commit",
                json!({"pinned": {"a": "x"}, "unrecoverable": []}),
                "tether commit: 1 object",
            ),
            (
                "add",
                json!({"key": "zarr/imaging"}),
                "tether add: zarr/imaging",
            ),
            (
                "set",
                json!({"changed": {"a": {}, "b": {}}}),
                "tether set: 2 objects",
            ),
            ("init", json!(null), "tether init"),
            (
                "commit",
                json!({"pinned": {}, "unrecoverable": []}),
                "tether commit",
            ),
        ];
        for (command, result, expected) in table {
            assert_eq!(line(&operation(command, result)), expected);
        }
    }
}
