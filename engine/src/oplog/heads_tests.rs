use std::fs;

use serde_json::json;
use tempfile::{TempDir, tempdir};

use super::super::OpStore;
use super::*;
use crate::id::{OpId, WorkspaceId};
use crate::workspace::View;

pub(crate) fn operation(previous: Option<&Operation>) -> Operation {
    Operation {
        id: OpId::random().unwrap(),
        previous: previous.map(|operation| operation.id.clone()),
        at: "2026-09-04T22:10:03.118273+00:00".to_owned(),
        command: "add".to_owned(),
        workspace: WorkspaceId::random().unwrap(),
        view: OpStore::view_id(&View::default()),
        plan: Some(json!({"b": 1, "a": [null]})),
        result: json!({"added": ["zarr"]}),
        pre: json!({}),
        commit: None,
        undoes: None,
        step_of: None,
        progress: vec![json!({"action": "manifest"})],
    }
}

fn head(operation: &Operation) -> Head {
    Head {
        operation: operation.id.clone(),
        view: operation.view.clone(),
    }
}

fn heads() -> (TempDir, FileHeads) {
    let dir = tempdir().unwrap();
    let heads = FileHeads::new(dir.path(), "main");
    (dir, heads)
}

#[test]
fn a_checkout_has_no_head_before_its_first_operation() {
    let (dir, heads) = heads();
    assert_eq!(heads.head().unwrap(), None);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn publish_moves_the_head_from_where_it_was_expected() {
    let (dir, heads) = heads();
    let one = operation(None);
    let two = operation(Some(&one));
    heads.publish(&one, None).unwrap();
    assert_eq!(heads.head().unwrap(), Some(head(&one)));
    heads.publish(&two, Some(&head(&one))).unwrap();
    assert_eq!(heads.head().unwrap(), Some(head(&two)));
    let text = fs::read_to_string(dir.path().join("tether/heads/main")).unwrap();
    assert_eq!(
        text,
        format!(
            "{{\"operation\":\"{}\",\"view\":\"{}\"}}\n",
            two.id, two.view
        )
    );
}

#[test]
fn publish_onto_a_head_that_moved_is_a_stale_plan_and_moves_nothing() {
    let (_dir, heads) = heads();
    let one = operation(None);
    let two = operation(Some(&one));
    assert_eq!(
        heads.publish(&two, Some(&head(&one))).unwrap_err().kind(),
        ErrorKind::StalePlan
    );
    assert_eq!(heads.head().unwrap(), None);
    heads.publish(&one, None).unwrap();
    let error = heads.publish(&two, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StalePlan);
    assert!(error.message().contains(one.id.as_str()));
    assert_eq!(heads.head().unwrap(), Some(head(&one)));
}

/// A recovery that finds the head published already publishes again, which is success.
#[test]
fn publishing_again_is_success() {
    let (_dir, heads) = heads();
    let one = operation(None);
    heads.publish(&one, None).unwrap();
    heads.publish(&one, None).unwrap();
    assert_eq!(heads.head().unwrap(), Some(head(&one)));
}

#[test]
fn checkouts_have_heads_of_their_own() {
    let (dir, heads) = heads();
    let other = FileHeads::new(dir.path(), "second");
    heads.publish(&operation(None), None).unwrap();
    assert_eq!(other.head().unwrap(), None);
}

#[test]
fn a_head_goes_away_with_the_directory_of_its_checkout() {
    let (dir, main) = heads();
    let own = dir.path().join("worktrees/w");
    let linked = FileHeads::own(&own, dir.path(), "main");
    let one = operation(None);
    linked.publish(&one, None).unwrap();
    assert_eq!(linked.head().unwrap(), Some(head(&one)));
    assert_eq!(main.head().unwrap(), None);
    fs::remove_dir_all(&own).unwrap();
    let again = FileHeads::own(&own, dir.path(), "main");
    assert_eq!(again.head().unwrap(), None);
    again.publish(&operation(None), None).unwrap();
    assert!(!again.published(&one.id).unwrap());
}

#[test]
fn a_damaged_head_is_an_error_that_names_the_file() {
    let (dir, heads) = heads();
    heads.publish(&operation(None), None).unwrap();
    let path = dir.path().join("tether/heads/main");
    for content in ["", "{}", "{\"operation\":\"zz\",\"view\":\"zz\"}", "[1"] {
        fs::write(&path, content).unwrap();
        let error = heads.head().unwrap_err();
        assert!(
            error.message().contains(path.to_str().unwrap()),
            "{content:?}"
        );
        heads.publish(&operation(None), None).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
}
