//! Every value that the Python package produced (`vectors/*.json`), recomputed.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which the lint's exception for tests does not reach"
)]

use serde_json::Value;
use tether_engine::id::{DatasetId, PinId};
use tether_engine::key::ObjectKey;
use tether_engine::listing;
use tether_engine::manifest::{Manifest, Manifests, manifest_hash};
use tether_engine::name::{self, BookmarkName, ParsedRef};
use tether_engine::state::{Identity, State, listing_name, pin_id};

fn format_vectors() -> Value {
    serde_json::from_str(include_str!("vectors/format.json")).unwrap()
}

fn cases(name: &str) -> Vec<Value> {
    let cases = format_vectors()[name].as_array().unwrap().clone();
    assert!(!cases.is_empty(), "{name} holds cases");
    cases
}

fn text<'a>(case: &'a Value, field: &str) -> &'a str {
    case[field].as_str().unwrap()
}

#[test]
fn pin_ids_refs_and_listing_names_are_those_of_the_python_package() {
    for case in cases("pin_id") {
        let dataset: DatasetId = text(&case, "dataset_id").parse().unwrap();
        let identity: Identity = serde_json::from_value(case["identity"].clone()).unwrap();
        let state: State = serde_json::from_value(case["state"].clone()).unwrap();
        let kind = text(&case, "kind");

        assert_eq!(identity.canonical(), text(&case, "canonical_identity"));
        let pin = pin_id(&dataset, kind, &identity, &state);
        assert_eq!(pin.as_str(), text(&case, "pin_id"));
        assert_eq!(pin.dataset(), dataset.as_str());
        assert_eq!(name::pin_ref(&pin, 1).as_str(), text(&case, "ref"));
        assert_eq!(
            listing_name(kind, &identity, &state),
            text(&case, "listing_name")
        );
    }
}

#[test]
fn working_refs_and_slugs_are_those_of_the_python_package() {
    for case in cases("working_ref") {
        let dataset: DatasetId = text(&case, "dataset_id").parse().unwrap();
        let bookmark: BookmarkName = text(&case, "bookmark").parse().unwrap();
        assert_eq!(name::slug(&bookmark), text(&case, "slug"), "{bookmark:?}");
        let native = name::working_ref(&dataset, &bookmark);
        assert_eq!(native.as_str(), text(&case, "ref"));
    }
}

#[test]
fn names_of_refs_are_read_as_the_python_package_reads_them() {
    for case in cases("parse_ref") {
        let native = text(&case, "ref");
        let expected = expected_ref(&case);
        let parsed = name::parse_ref(native);
        let generation_known = !matches!(parsed, ParsedRef::Pin { .. });
        if generation_known {
            assert_eq!(parsed, expected, "{native}");
        } else {
            // The vectors do not say a pin's generation; it is the number behind the name.
            let ParsedRef::Pin { pin, generation } = parsed else {
                unreachable!()
            };
            assert_eq!(pin.as_str(), text(&case, "pin_id"), "{native}");
            assert_eq!(name::pin_ref(&pin, generation).as_str(), native);
        }
    }
}

fn expected_ref(case: &Value) -> ParsedRef {
    if let Some(pin) = case["pin_id"].as_str() {
        let pin: PinId = pin.parse().unwrap();
        return ParsedRef::Pin { pin, generation: 0 };
    }
    if let Some(owner) = case["owner"].as_str() {
        return ParsedRef::Owner(owner.parse().unwrap());
    }
    let Some(dataset) = case["ws_dataset"].as_str() else {
        return ParsedRef::Foreign;
    };
    let dataset: DatasetId = dataset.parse().unwrap();
    match case["ws_legacy_workspace"].as_str() {
        Some(workspace) => ParsedRef::Legacy {
            dataset,
            workspace: workspace.to_owned(),
        },
        None => ParsedRef::Working {
            dataset,
            slug: text(case, "ws_bookmark").to_owned(),
            generation: case["ws_generation"].as_u64().unwrap_or(1) as u32,
        },
    }
}

/// E26, P022.
#[test]
fn keys_are_accepted_and_refused_as_the_python_package_does() {
    for case in cases("key") {
        let key = text(&case, "key").parse::<ObjectKey>();
        assert_eq!(key.is_ok(), case["valid"].as_bool().unwrap(), "{key:?}");
        if let Ok(key) = key {
            assert_eq!(key.manifest_path(), text(&case, "path"));
        }
    }
}

/// The manifests of the vectors. One of them was built with a null that its text leaves out.
fn manifests() -> Manifests {
    let mut manifests = Manifests::new();
    for case in cases("manifest") {
        let key: ObjectKey = text(&case, "key").parse().unwrap();
        let mut manifest = Manifest::parse(&key, text(&case, "toml").as_bytes()).unwrap();
        if text(&case, "canonical").contains("\"skip\":null") {
            manifest.locator.0.insert("skip".to_owned(), Value::Null);
        }
        manifests.insert(key, manifest);
    }
    manifests
}

#[test]
fn manifests_are_written_and_hashed_byte_for_byte() {
    let manifests = manifests();
    for case in cases("manifest") {
        let manifest = &manifests[text(&case, "key")];
        assert_eq!(manifest.to_toml(), text(&case, "toml"));
        assert_eq!(manifest.canonical(), text(&case, "canonical"));
    }
    let vectors = format_vectors();
    assert_eq!(
        manifest_hash(&manifests),
        vectors["manifest_hash"].as_str().unwrap()
    );
    assert_eq!(
        manifest_hash(&Manifests::new()),
        vectors["manifest_hash_empty"].as_str().unwrap()
    );
}

#[test]
fn directory_digests_are_those_of_the_python_package() {
    for case in cases("dir_digest") {
        let pairs = case["pairs"].as_array().unwrap();
        let mut pairs: Vec<(&str, &str)> = pairs
            .iter()
            .map(|pair| (pair[0].as_str().unwrap(), pair[1].as_str().unwrap()))
            .collect();
        pairs.sort_by(|a, b| listing::path_order(a.0.as_bytes(), b.0.as_bytes()));
        let digest = listing::digest(pairs.iter().map(|(path, token)| (path.as_bytes(), *token)));
        assert_eq!(digest, text(&case, "digest"));
    }
}

/// Reading each listing gives its directory's state, and writing it again its bytes.
#[test]
fn listings_give_the_states_of_their_directories_and_round_trip() {
    let directories: Vec<Value> =
        serde_json::from_str(include_str!("vectors/directories.json")).unwrap();
    let mut seen = 0;
    for case in &directories {
        let Some(listing) = case["listing"].as_str() else {
            continue; // a single file has none
        };
        let entries = listing::parse(listing.as_bytes()).unwrap();
        let state = &case["state"];
        assert_eq!(entries.len() as u64, state["count"].as_u64().unwrap());
        let size: u64 = entries.iter().map(|entry| entry.size).sum();
        assert_eq!(size, state["size"].as_u64().unwrap());
        let pairs = entries
            .iter()
            .map(|entry| (entry.path.as_slice(), entry.token.as_str()));
        assert_eq!(listing::digest(pairs), text(state, "digest"));
        assert!(entries.is_sorted_by(|a, b| listing::path_order(&a.path, &b.path).is_lt()));

        let mut written = Vec::new();
        for entry in &entries {
            listing::write_line(&mut written, &entry.path, &entry.token, entry.size);
        }
        assert_eq!(String::from_utf8(written).unwrap(), listing);
        seen += 1;
    }
    assert!(seen >= 7);
}
