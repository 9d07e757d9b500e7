//! Undo plans: what comes back, what stays, what is refused.

use serde_json::json;

use super::*;
use crate::id::CommitId;

fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

fn view(bookmark: &str, refs: &[(&str, &str)], bases: &[(&str, u32)]) -> View {
    View {
        bookmark: Some(bookmark.parse().unwrap()),
        working_refs: refs
            .iter()
            .map(|(name, native)| (key(name), native.parse().unwrap()))
            .collect(),
        base_states: bases
            .iter()
            .map(|(name, n)| (key(name), State::default().with("n", *n)))
            .collect(),
        ..View::default()
    }
}

/// An `add` of `a` that wrote `new` where nothing was, and changed nothing of the view.
fn seen() -> Seen {
    let target = serde_json::from_value(json!({
        "id": "a00000000000",
        "at": "",
        "command": "add",
        "workspace": "0".repeat(32),
        "view": "0".repeat(32),
        "result": null,
        "pre": null,
        "progress": [],
    }));
    let same = view("main", &[], &[]);
    Seen {
        target: target.unwrap(),
        files: vec![FileSeen {
            key: key("a"),
            old: None,
            now: Some("new".to_owned()),
            by: Writer::Undone,
        }],
        uncommit: None,
        now: same.clone(),
        left: same.clone(),
        before: same,
        stores: Settled::default(),
    }
}

fn restored(seen: &Seen) -> Vec<String> {
    let plan = plan(seen, false).unwrap();
    plan.restored(&plan.stores)
}

#[test]
fn manifests_come_back_as_they_were() {
    let mut seen = seen();
    let decided = plan(&seen, false).unwrap();
    assert!(decided.exact);
    assert_eq!(decided.files, [(key("a"), Some("new".to_owned()), None)]);
    assert_eq!(restored(&seen), ["a: manifest removed again"]);
    seen.files[0].old = Some("old".to_owned());
    assert_eq!(restored(&seen), ["a: manifest restored"]);
    // It is as it was already: nothing is written.
    seen.files[0].now = Some("old".to_owned());
    seen.files[0].by = Writer::Unknown;
    assert_eq!(plan(&seen, false).unwrap().files, []);
}

#[test]
fn an_edited_manifest_is_refused_unless_it_is_given_up() {
    let mut seen = seen();
    for (by, why) in [
        (
            Writer::Unknown,
            "the manifest of a was edited since".to_owned(),
        ),
        (
            Writer::Later("b00000000000".parse().unwrap(), "set".to_owned()),
            "set b00000000000 changed the manifest of a since".to_owned(),
        ),
    ] {
        seen.files[0].by = by;
        let error = plan(&seen, false).unwrap_err();
        assert_eq!(
            error.message(),
            format!("cannot undo a00000000000 (add): {why}")
        );
        assert!(
            error
                .hint()
                .unwrap()
                .contains("tether undo a00000000000 --discard")
        );
        assert_eq!(plan(&seen, true).unwrap().files.len(), 1);
    }
}

#[test]
fn writes_in_what_it_made_are_refused_unless_they_are_given_up() {
    let mut seen = seen();
    seen.stores.written = vec!["a: tether.ws.x.y has writes since (n=2)".to_owned()];
    let error = plan(&seen, false).unwrap_err();
    assert_eq!(
        error.message(),
        "cannot undo a00000000000 (add): a: tether.ws.x.y has writes since (n=2)"
    );
    assert!(error.hint().unwrap().contains("--discard"));
    plan(&seen, true).unwrap();
}

#[test]
fn the_store_half_is_told_between_content_and_view() {
    let mut seen = seen();
    seen.now = view("main", &[("a", "r1")], &[]);
    seen.left = seen.now.clone();
    seen.stores = Settled {
        restored: vec!["a: deleted r1".to_owned()],
        irreversible: vec!["b: r2 was reset".to_owned()],
        kept: vec!["c: kept r3: in use".to_owned()],
        written: Vec::new(),
    };
    let plan = plan(&seen, false).unwrap();
    assert_eq!(
        plan.restored(&plan.stores),
        [
            "a: manifest removed again",
            "a: deleted r1",
            "workspace.toml restored (working_refs of a)",
        ]
    );
    assert_eq!(plan.skipped(&plan.stores), ["c: kept r3: in use"]);
}

#[test]
fn a_commit_is_told_with_its_pins() {
    let mut seen = seen();
    seen.files.clear();
    seen.uncommit = Some(UncommitRequest {
        commit: CommitId::new("c0ffee00c0ffee00"),
        bookmark: "main".parse().unwrap(),
    });
    seen.left = view("main", &[("a", "r")], &[("a", 2)]);
    seen.now = seen.left.clone();
    seen.before = view("main", &[("a", "r")], &[("a", 1)]);
    assert_eq!(
        restored(&seen),
        [
            "uncommitted c0ffee00c0ff; its manifests are working-tree changes again (pins kept)",
            "workspace.toml restored (base_states of a)",
        ]
    );
}

/// CASES P060: only what nothing changed since comes back.
#[test]
fn of_an_older_operation_only_untouched_fields_come_back() {
    let mut seen = seen();
    seen.files.clear();
    seen.before = view("main", &[], &[("a", 1), ("b", 1)]);
    seen.left = view("one", &[("a", "r1"), ("b", "r1")], &[("a", 2), ("b", 2)]);
    seen.now = view(
        "two",
        &[("a", "r1"), ("b", "r2")],
        &[("a", 2), ("b", 2), ("c", 9)],
    );
    let plan = plan(&seen, false).unwrap();
    assert!(!plan.exact);
    assert_eq!(
        plan.view,
        view("two", &[("b", "r2")], &[("a", 1), ("b", 1), ("c", 9)])
    );
    assert_eq!(
        plan.restored(&plan.stores),
        ["workspace.toml restored (base_states, working_refs of a, b)"]
    );
    assert_eq!(
        plan.skipped(&plan.stores),
        ["workspace.toml keeps what changed again since (bookmark; working_refs of b)"]
    );
}

/// What later operations changed beside it is not its business, and not told.
#[test]
fn what_it_never_changed_is_not_told() {
    let mut seen = seen();
    seen.files.clear();
    seen.now = view("two", &[("x", "r1")], &[]);
    let plan = plan(&seen, false).unwrap();
    assert_eq!(plan.view, seen.now);
    assert!(plan.restored(&plan.stores).is_empty());
    assert!(plan.skipped(&plan.stores).is_empty());
}
