use std::fs;

use serde_json::json;
use tempfile::{TempDir, tempdir};

use super::super::heads::tests::operation;
use super::*;
use crate::error::ErrorKind;

fn store() -> (TempDir, OpStore) {
    let dir = tempdir().unwrap();
    let store = OpStore::new(dir.path());
    (dir, store)
}

fn view() -> View {
    let mut view = View {
        bookmark: Some("relabel".parse().unwrap()),
        ..View::default()
    };
    let key = || "zarr".parse().unwrap();
    view.working_refs
        .insert(key(), "tether.ws.60c48e84.relabel".parse().unwrap());
    let state = serde_json::from_value(json!({"snapshot_id": "S1"})).unwrap();
    view.fork_points.insert(key(), state);
    view
}

#[test]
fn a_view_is_named_by_its_content_and_read_back() {
    let (dir, store) = store();
    let id = store.put_view(&view()).unwrap();
    assert_eq!(id, OpStore::view_id(&view()));
    assert_ne!(id, OpStore::view_id(&View::default()));
    assert_eq!(store.view(&id).unwrap(), view());
    let content = fs::read(dir.path().join("tether/views").join(id.as_str())).unwrap();
    assert_eq!(content, view().canonical().into_bytes());
}

#[test]
fn the_same_view_is_written_once() {
    use std::os::unix::fs::MetadataExt as _;
    let (dir, store) = store();
    let id = store.put_view(&view()).unwrap();
    let path = dir.path().join("tether/views").join(id.as_str());
    let inode = fs::metadata(&path).unwrap().ino();
    store.put_view(&view()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
}

#[test]
fn a_damaged_view_is_noticed_and_mended_by_writing_it_again() {
    let (dir, store) = store();
    let id = store.put_view(&view()).unwrap();
    let path = dir.path().join("tether/views").join(id.as_str());
    for content in ["", "{}", "{\"bookmark\":null}"] {
        fs::write(&path, content).unwrap();
        let error = store.view(&id).unwrap_err();
        assert!(error.message().ends_with("is damaged"), "{error}");
    }
    store.put_view(&view()).unwrap();
    assert_eq!(store.view(&id).unwrap(), view());
}

#[test]
fn a_missing_view_is_an_error_with_a_way_out() {
    let (_dir, store) = store();
    let error = store.view(&OpStore::view_id(&view())).unwrap_err();
    assert!(error.message().ends_with("is not in the view store"));
    assert!(error.hint().unwrap().contains("tether new"));
}

#[test]
fn an_operation_is_immutable() {
    let (_dir, store) = store();
    let one = operation(None);
    store.put_operation(&one).unwrap();
    store.put_operation(&one).unwrap();
    assert_eq!(store.operation(&one.id).unwrap(), one);
    let mut other = one.clone();
    other.command = "remove".to_owned();
    assert_eq!(
        store.put_operation(&other).unwrap_err().kind(),
        ErrorKind::Internal
    );
    assert_eq!(store.operation(&one.id).unwrap(), one);
}

#[test]
fn a_chain_runs_from_the_newest_to_the_limit_or_a_missing_record() {
    let (_dir, store) = store();
    let lost = operation(None);
    let one = operation(Some(&lost));
    let two = operation(Some(&one));
    let three = operation(Some(&two));
    for operation in [&one, &two, &three] {
        store.put_operation(operation).unwrap();
    }
    let ids = |limit| -> Vec<OpId> {
        let chain = store.chain(&three.id, limit).unwrap();
        chain.into_iter().map(|operation| operation.id).collect()
    };
    assert_eq!(ids(0), []);
    assert_eq!(ids(2), [three.id.clone(), two.id.clone()]);
    assert_eq!(ids(100), [three.id.clone(), two.id, one.id]);
    assert_eq!(store.chain(&lost.id, 10).unwrap(), []);
}

#[test]
fn a_chain_that_bites_its_tail_ends() {
    let (_dir, store) = store();
    let mut one = operation(None);
    let two = operation(Some(&one));
    one.previous = Some(two.id.clone());
    store.put_operation(&one).unwrap();
    store.put_operation(&two).unwrap();
    assert_eq!(store.chain(&two.id, usize::MAX).unwrap(), [two, one]);
}

#[test]
fn a_damaged_operation_record_is_an_error_not_an_end() {
    let (dir, store) = store();
    let one = operation(None);
    store.put_operation(&one).unwrap();
    let path = dir.path().join(format!("tether/ops/{}.json", one.id));
    fs::write(&path, "{").unwrap();
    store.operation(&one.id).unwrap_err();
    store.chain(&one.id, 10).unwrap_err();
    // A record under another's name is no better.
    let two = operation(None);
    store.put_operation(&two).unwrap();
    fs::copy(
        dir.path().join(format!("tether/ops/{}.json", two.id)),
        &path,
    )
    .unwrap();
    store.operation(&one.id).unwrap_err();
}
