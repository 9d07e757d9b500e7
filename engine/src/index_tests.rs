use std::fs;
use std::process::Command;

use serde_json::json;
use tempfile::{TempDir, tempdir};

use super::*;

const AT: &str = "2026-12-01T05:18:34+00:00";

fn dataset(text: &str) -> DatasetId {
    text.parse().unwrap()
}

fn pinned(pin: &str, key: &str) -> PinnedEntry {
    PinnedEntry {
        dataset_id: dataset(&pin[..8]),
        pin_id: pin.parse().unwrap(),
        kind: "git".to_owned(),
        key: key.to_owned(),
        at: AT.to_owned(),
    }
}

fn store(identity: &str, bookmark: Option<&str>) -> StoreEntry {
    let object = |value: serde_json::Value| serde_json::from_value(value).unwrap();
    StoreEntry {
        dataset_id: dataset("60c48e84"),
        kind: "git".to_owned(),
        identity: serde_json::from_value(json!({"path": identity})).unwrap(),
        locator: object(
            json!({"uri": identity, "ref": "main", "depth": 3, "list": [1, null, true]}),
        ),
        key: "code".to_owned(),
        at: AT.to_owned(),
        bookmark: bookmark.map(|name| name.parse().unwrap()),
    }
}

fn indexes() -> (TempDir, Indexes) {
    let dir = tempdir().unwrap();
    let indexes = Indexes::new(dir.path());
    (dir, indexes)
}

fn text(dir: &TempDir, name: &str) -> String {
    fs::read_to_string(dir.path().join(name)).unwrap()
}

const PIN: &str = "60c48e84.4c82fcb3eb21e42e";
const PIN2: &str = "60c48e84.73156558ae8fd2b1";

/// Lines recorded from the Python package (transcript 01, step 45; 02, `add --create`).
#[test]
fn lines_are_those_of_the_python_package_byte_for_byte() {
    let (dir, indexes) = indexes();
    indexes.add_pinned(&[pinned(PIN, "code")]).unwrap();
    indexes
        .add_touched(&store("/srv/gü t", Some("scratch")))
        .unwrap();
    indexes
        .add_created(&store("/tmp/\u{1F980}\"\\\n\u{7f}", Some("scratch")))
        .unwrap();
    assert_eq!(
        text(&dir, "tether-pinned.jsonl"),
        "{\"dataset_id\": \"60c48e84\", \"pin_id\": \"60c48e84.4c82fcb3eb21e42e\", \"kind\": \"git\", \"key\": \"code\", \
         \"at\": \"2026-12-01T05:18:34+00:00\"}\n"
    );
    assert_eq!(
        text(&dir, "tether-touched.jsonl"),
        "{\"dataset_id\": \"60c48e84\", \"kind\": \"git\", \"identity\": {\"path\": \"/srv/g\\u00fc t\"}, \
         \"locator\": {\"uri\": \"/srv/g\\u00fc t\", \"ref\": \"main\", \"depth\": 3, \"list\": [1, null, true]}, \
         \"key\": \"code\", \"at\": \"2026-12-01T05:18:34+00:00\"}\n"
    );
    let created = text(&dir, "tether-created.jsonl");
    assert!(
        created.contains("{\"path\": \"/tmp/\\ud83e\\udd80\\\"\\\\\\n\u{7f}\"}"),
        "{created}"
    );
    assert!(
        created.ends_with("\"at\": \"2026-12-01T05:18:34+00:00\", \"bookmark\": \"scratch\"}\n")
    );
    let read = indexes.created(&dataset("60c48e84")).unwrap();
    assert_eq!(read, [store("/tmp/\u{1F980}\"\\\n\u{7f}", Some("scratch"))]);
}

#[test]
fn what_is_on_record_is_not_written_again() {
    let (dir, indexes) = indexes();
    indexes
        .add_pinned(&[pinned(PIN, "code"), pinned(PIN, "other")])
        .unwrap();
    indexes
        .add_pinned(&[pinned(PIN, "again"), pinned(PIN2, "code")])
        .unwrap();
    assert_eq!(
        indexes.pinned(&dataset("60c48e84")).unwrap(),
        [pinned(PIN, "code"), pinned(PIN2, "code")]
    );
    indexes.add_touched(&store("/a", None)).unwrap();
    let mut later = store("/a", None);
    later.key = "second".to_owned();
    indexes.add_touched(&later).unwrap();
    later.kind = "icechunk".to_owned();
    indexes.add_touched(&later).unwrap();
    assert_eq!(text(&dir, "tether-touched.jsonl").lines().count(), 2);
}

#[test]
fn recording_no_pin_creates_the_file() {
    let (dir, indexes) = indexes();
    assert_eq!(indexes.pinned(&dataset("60c48e84")).unwrap(), []);
    assert!(!dir.path().join("tether-pinned.jsonl").exists());
    indexes.add_pinned(&[]).unwrap();
    assert_eq!(text(&dir, "tether-pinned.jsonl"), "");
}

#[test]
fn another_dataset_and_what_cannot_be_read_survive_a_removal() {
    let (dir, indexes) = indexes();
    let other = "{\"dataset_id\":\"00000000\",\"pin_id\":\"00000000.4c82fcb3eb21e42e\",\"kind\":\"git\",\"key\":\"c\",\"at\":\"x\",\"more\":1}";
    let torn = "{\"dataset_id\": \"torn";
    indexes.add_pinned(&[pinned(PIN, "code")]).unwrap();
    let path = dir.path().join("tether-pinned.jsonl");
    fs::write(
        &path,
        format!("{}{other}\n{torn}", text(&dir, "tether-pinned.jsonl")),
    )
    .unwrap();
    indexes.add_pinned(&[pinned(PIN2, "code")]).unwrap();
    indexes
        .remove_pinned(&dataset("60c48e84"), &[PIN.parse().unwrap()])
        .unwrap();
    let mut expected = format!("{other}\n{torn}\n").into_bytes();
    write_line(&pinned(PIN2, "code"), &mut expected).unwrap();
    assert_eq!(text(&dir, "tether-pinned.jsonl").into_bytes(), expected);
    // The pin id of one dataset means nothing to another.
    indexes
        .remove_pinned(&dataset("11111111"), &[PIN2.parse().unwrap()])
        .unwrap();
    assert_eq!(text(&dir, "tether-pinned.jsonl").into_bytes(), expected);
}

#[test]
fn stores_are_forgotten_by_identity() {
    let (dir, indexes) = indexes();
    let id = dataset("60c48e84");
    for path in ["/a", "/b"] {
        indexes.add_created(&store(path, Some("scratch"))).unwrap();
        indexes.add_touched(&store(path, None)).unwrap();
    }
    let identity = store("/a", None).identity;
    indexes.remove_created(&id, &identity).unwrap();
    indexes.remove_touched(&id, "icechunk", &identity).unwrap();
    assert_eq!(text(&dir, "tether-touched.jsonl").lines().count(), 2);
    indexes.remove_touched(&id, "git", &identity).unwrap();
    assert_eq!(
        indexes.created(&id).unwrap(),
        [store("/b", Some("scratch"))]
    );
    assert_eq!(indexes.touched(&id).unwrap(), [store("/b", None)]);
}

/// E12: whatever a kill leaves of the last line, the lines before it are read and the next one starts afresh.
#[test]
fn a_line_torn_at_any_byte_costs_that_line_only() {
    let (dir, indexes) = indexes();
    let id = dataset("60c48e84");
    indexes.add_pinned(&[pinned(PIN, "code")]).unwrap();
    let first = text(&dir, "tether-pinned.jsonl");
    indexes.add_pinned(&[pinned(PIN2, "code")]).unwrap();
    let both = text(&dir, "tether-pinned.jsonl");
    let path = dir.path().join("tether-pinned.jsonl");
    for length in first.len()..both.len() {
        fs::write(&path, &both[..length]).unwrap();
        let whole = length == both.len() - 1;
        assert_eq!(
            indexes.pinned(&id).unwrap().len(),
            1 + usize::from(whole),
            "{length}"
        );
        indexes.add_pinned(&[pinned(PIN2, "code")]).unwrap();
        assert_eq!(
            indexes.pinned(&id).unwrap(),
            [pinned(PIN, "code"), pinned(PIN2, "code")],
            "{length}"
        );
    }
}

#[test]
fn an_index_that_is_not_a_plain_file_is_an_error() {
    let (dir, indexes) = indexes();
    fs::create_dir(dir.path().join("tether-pinned.jsonl")).unwrap();
    indexes.pinned(&dataset("60c48e84")).unwrap_err();
    indexes.add_pinned(&[pinned(PIN, "code")]).unwrap_err();
}

/// Lines of two processes never mix, and neither overwrites the other's.
#[test]
fn lines_of_two_processes_stay_whole() {
    let (dir, indexes) = indexes();
    let path = dir.path().join("tether-pinned.jsonl");
    indexes.add_pinned(&[]).unwrap();
    let mut other = Command::new("sh")
        .arg("-c")
        .arg("i=0; while [ $i -lt 300 ]; do echo '{\"dataset_id\": \"00000000\", \"n\": '$i'}' >> \"$0\"; i=$((i+1)); done")
        .arg(&path)
        .spawn()
        .unwrap();
    for n in 0..100 {
        let pin = format!("60c48e84.{n:016x}");
        indexes.add_pinned(&[pinned(&pin, "code")]).unwrap();
    }
    assert!(other.wait().unwrap().success());
    let content = text(&dir, "tether-pinned.jsonl");
    let lines: Vec<serde_json::Value> = content
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 400);
    assert_eq!(indexes.pinned(&dataset("60c48e84")).unwrap().len(), 100);
}
