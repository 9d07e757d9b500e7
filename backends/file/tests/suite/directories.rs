//! Directories made on disk, against states and listings the Python package recorded for the same ones.

use std::os::unix::fs::symlink;
use std::path::Path;

use tether_engine::json::Value;
use tether_engine::state::State;

use crate::common::Folder;

#[test]
fn every_recorded_directory_has_the_recorded_state_and_listing() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../directories.json")).unwrap();
    assert_eq!(cases.len(), 8);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let folder = Folder::new();
        if let Some(content) = case.get("file_base64") {
            std::fs::write(folder.data(), base64(content.as_str().unwrap())).unwrap();
        } else {
            std::fs::create_dir(folder.data()).unwrap();
            for entry in case["entries"].as_array().unwrap() {
                make(&folder.data(), entry);
            }
        }
        let expected = State(case["state"].as_object().unwrap().clone());
        let state = folder.state();
        assert_eq!(state, expected, "{name}");
        let keys = |state: &State| state.0.keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&state), keys(&expected), "{name}");
        // Warm, and through the listing.
        assert_eq!(folder.state(), expected, "{name}");
        let listing = folder.listing(&state);
        assert_eq!(
            listing.as_deref(),
            case.get("listing").and_then(Value::as_str),
            "{name}"
        );
    }
}

fn make(root: &Path, entry: &Value) {
    let kind = entry[0].as_str().unwrap();
    let path = root.join(entry[1].as_str().unwrap());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    match kind {
        "f" => std::fs::write(path, base64(entry[2].as_str().unwrap())).unwrap(),
        "l" => symlink(entry[2].as_str().unwrap(), path).unwrap(),
        "d" => std::fs::create_dir_all(path).unwrap(),
        other => panic!("unknown entry {other}"),
    }
}

fn base64(text: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bits = 0_u32;
    let mut count = 0;
    let mut bytes = Vec::new();
    for digit in text.bytes().filter(|byte| *byte != b'=') {
        let value = digits.iter().position(|known| *known == digit).unwrap();
        bits = (bits << 6) | u32::try_from(value).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
