//! Which operations the repository's own undo took back, from two places in the log.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;

/// Operations by their letter: the one before, and what it undoes.
struct Chain(BTreeMap<OpId, OpSummary>);

fn id(letter: &str) -> OpId {
    format!("{letter:0<12}").parse().unwrap()
}

impl Chain {
    fn new(operations: &[(&str, Option<&str>, Option<&str>)]) -> Self {
        let entry = |(letter, previous, undoes): &(&str, Option<&str>, Option<&str>)| {
            let entry = serde_json::from_value(json!({
                "id": id(letter),
                "previous": previous.map(id),
                "command": "new",
                "workspace": "0".repeat(32),
                "result": null,
                "undoes": undoes.map(id),
            }));
            (id(letter), entry.unwrap())
        };
        Self(operations.iter().map(entry).collect())
    }

    fn between(&self, old: &str, new: Option<&str>) -> Vec<String> {
        let read = |id: &OpId| Ok(self.0.get(id).cloned());
        let undone = between(&id(old), new.map(id).as_ref(), &read).unwrap();
        let letters = undone.iter().map(|entry| entry.id.as_str());
        letters
            .map(|id| id.trim_end_matches('0').to_owned())
            .collect()
    }
}

#[test]
fn what_is_behind_the_old_place_and_not_behind_the_new_one_is_undone() {
    let chain = Chain::new(&[
        ("a", None, None),
        ("b", Some("a"), None),
        ("c", Some("b"), None),
        ("d", Some("c"), None),
        // Something else after `b`.
        ("e", Some("b"), None),
        ("f", Some("e"), None),
    ]);
    let cases: [(&str, Option<&str>, &[&str]); 9] = [
        ("d", Some("d"), &[]),
        ("d", Some("c"), &["d"]),
        ("d", Some("a"), &["d", "c", "b"]),
        ("d", None, &["d", "c", "b", "a"]),
        // Forward: a command was killed before it wrote the file.
        ("a", Some("d"), &[]),
        ("c", Some("d"), &[]),
        ("d", Some("f"), &["d", "c"]),
        ("c", Some("f"), &["c"]),
        ("f", Some("b"), &["f", "e"]),
    ];
    for (old, new, undone) in cases {
        assert_eq!(chain.between(old, new), undone, "{old} -> {new:?}");
    }
}

#[test]
fn what_tether_undid_itself_is_settled() {
    let chain = Chain::new(&[
        ("a", None, None),
        ("b", Some("a"), None),
        ("c", Some("b"), None),
        ("d", Some("c"), Some("c")),
    ]);
    // jj took the undo back, and then all of it.
    assert!(chain.between("d", Some("c")).is_empty());
    assert_eq!(chain.between("d", Some("a")), ["b"]);
}

#[test]
fn a_record_that_is_gone_ends_a_chain() {
    let chain = Chain::new(&[("b", Some("a"), None), ("c", Some("b"), None)]);
    assert_eq!(chain.between("c", None), ["c", "b"]);
    assert_eq!(chain.between("c", Some("9")), ["c", "b"]);
    assert_eq!(chain.between("b", Some("c")), [""; 0]);
}

#[test]
fn a_chain_that_bites_its_tail_ends() {
    let chain = Chain::new(&[("a", Some("b"), None), ("b", Some("a"), None)]);
    assert_eq!(chain.between("a", None).len(), 2);
    assert_eq!(chain.between("a", Some("9")).len(), 2);
    assert_eq!(chain.between("9", Some("a")).len(), 0);
}
