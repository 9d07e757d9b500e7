//! Which operation is meant, and which are refused.

use serde_json::json;

use super::*;

/// Id, command, and what it undoes.
type Row<'a> = (&'a str, &'a str, Option<&'a str>);

/// A log from its oldest operation on.
fn log(operations: &[Row<'_>]) -> Log {
    let mut log = Log::default();
    for (id, command, undoes) in operations.iter().rev() {
        let entry = serde_json::from_value(json!({
            "id": full(id),
            "command": command,
            "workspace": "0".repeat(32),
            "result": null,
            "undoes": undoes.map(full),
        }));
        log.push(entry.unwrap());
    }
    log
}

/// Twelve digits that begin with `id`.
fn full(id: &str) -> String {
    format!("{id:0<12}")
}

fn chosen(log: &Log, wanted: Option<&str>) -> String {
    match log.choose(wanted) {
        Ok(entry) => entry.id.to_string(),
        Err(error) => {
            assert!(error.hint().is_some(), "{error}");
            error.message().to_owned()
        }
    }
}

#[test]
fn the_newest_that_is_neither_an_undo_nor_undone_nor_bookkeeping() {
    let cases: [(&[Row<'_>], &str); 5] = [
        (&[("a", "add", None), ("b", "set", None)], "b"),
        (
            &[
                ("a", "add", None),
                ("b", "set", None),
                ("c", "undo", Some("b")),
            ],
            "a",
        ),
        (
            &[
                ("a", "add", None),
                ("b", "set", None),
                ("c", "undo", Some("b")),
                ("d", "set", None),
            ],
            "d",
        ),
        (&[("a", "add", None), ("b", "import-view", None)], "a"),
        // An older one was undone by name: the newer is next.
        (
            &[
                ("a", "add", None),
                ("b", "set", None),
                ("c", "undo", Some("a")),
            ],
            "b",
        ),
    ];
    for (operations, expected) in cases {
        assert_eq!(
            chosen(&log(operations), None),
            full(expected),
            "{operations:?}"
        );
    }
}

#[test]
fn nothing_is_left_to_undo() {
    let nothing = "there is nothing to undo in this checkout";
    assert_eq!(chosen(&log(&[]), None), nothing);
    assert_eq!(chosen(&log(&[("a", "init", None)]), None), nothing);
    let undone = [("a", "add", None), ("b", "undo", Some("a"))];
    assert_eq!(chosen(&log(&undone), None), nothing);
}

#[test]
fn an_operation_is_named_by_its_id_or_the_beginning_of_it() {
    let log = log(&[
        ("abc1", "add", None),
        ("abd2", "set", None),
        ("b", "set", None),
    ]);
    for (wanted, expected) in [("abc100000000", "abc1"), ("abc", "abc1"), ("b", "b")] {
        assert_eq!(chosen(&log, Some(wanted)), full(expected));
    }
    assert_eq!(
        chosen(&log, Some("ab")),
        "\"ab\" is the beginning of 2 operations: abd200000000, abc100000000"
    );
    for unknown in ["", "c", "abc1000000001", "B"] {
        assert_eq!(
            chosen(&log, Some(unknown)),
            format!("there is no operation {unknown:?} in this checkout's log")
        );
    }
}

/// Each is refused also as the newest: it is never passed over.
#[test]
fn what_cannot_be_undone_is_refused_with_the_reason() {
    for (command, why) in [
        ("promote", "tether never moves a base branch backwards"),
        ("drop", "it deleted what it would have to bring back"),
        ("repair", "what it did cannot be taken back"),
        ("upgrade", "what it did cannot be taken back"),
        ("abandon", "what it did cannot be taken back"),
        ("forget-workspace", "what it did cannot be taken back"),
        ("flarp", "this version of tether does not know how"),
    ] {
        let log = log(&[("a", "add", None), ("b", command, None)]);
        let message = format!("cannot undo {} ({command}): {why}", full("b"));
        assert_eq!(chosen(&log, None), message);
        assert_eq!(chosen(&log, Some("b")), message);
        assert_eq!(chosen(&log, Some("a")), full("a"));
    }
}

#[test]
fn undos_undone_ones_steps_and_bookkeeping_are_refused_by_name() {
    let mut log = log(&[
        ("a", "import-view", None),
        ("b", "add", None),
        ("c", "undo", Some("b")),
        ("d", "commit", None),
    ]);
    for (wanted, why) in [
        (
            "a",
            "(import-view): it only records what was there".to_owned(),
        ),
        ("b", format!("(add): it was undone by {}", full("c"))),
        ("c", format!("(undo): it is the undo of {}", full("b"))),
    ] {
        let message = format!("cannot undo {} {why}", full(wanted));
        assert_eq!(chosen(&log, Some(wanted)), message);
    }
    log.entries[0].step_of = Some(full("e").parse().unwrap());
    let message = chosen(&log, None);
    assert!(message.contains("is a step of e00000000000"), "{message}");
}

#[test]
fn what_came_after_is_told_with_whether_it_stands() {
    let log = log(&[
        ("a", "add", None),
        ("b", "set", None),
        ("c", "undo", Some("b")),
        ("d", "set", None),
    ]);
    let after: Vec<(String, bool)> = log
        .after(&full("a").parse().unwrap())
        .map(|(entry, undone)| (entry.id.to_string(), undone))
        .collect();
    assert_eq!(
        after,
        [(full("d"), false), (full("c"), false), (full("b"), true)]
    );
    assert_eq!(log.after(&full("d").parse().unwrap()).count(), 0);
}
