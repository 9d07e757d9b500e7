//! `diff`, `log`, `ops` and `backends`.

use std::sync::Arc;

use tether_backend_file::FileBackend;
use tether_backend_memory::{Memory, system};
use tether_engine::backend::{Capability, Registry, Tier};
use tether_engine::key::Selection;
use tether_engine::manifest::{FileMode, PinMode, Policy};
use tether_engine::query::diff::{DiffOptions, diff};
use tether_engine::query::{backends, log, ops};
use tether_engine::register;
use tether_engine::report::ObjectChange;
use tether_engine::state::Locator;
use tether_engine::{ErrorKind, fsutil};

use crate::common::{Fixture, keys, write};
use crate::{add_file, commit, real};

/// P092
#[tokio::test]
async fn diff_says_which_parts_differ() {
    let fixture = Fixture::new();
    let system = fixture.add_memory("state");
    for key in ["same", "policy", "locator", "gone"] {
        fixture.add_memory(key);
    }
    let base = commit(&fixture, "base").await;
    write(&system, "main", "later");
    commit(&fixture, "later").await;
    let mut manifest = fixture.manifest("policy");
    manifest.policy.pin = PinMode::Record;
    fixture.write_manifest(&manifest);
    let mut manifest = fixture.manifest("locator");
    manifest.locator = manifest.locator.with("branch", "other");
    fixture.write_manifest(&manifest);
    std::fs::remove_file(fixture.path(".tether/objects/gone.toml")).unwrap();
    fixture.add_memory("young");

    let options = DiffOptions {
        rev_a: Some(base.clone()),
        content: true,
        ..DiffOptions::default()
    };
    let rows = diff(&real(&fixture), &options).await.unwrap();
    let summary: Vec<_> = rows
        .iter()
        .map(|row| (row.key.as_str(), row.change, row.why.clone()))
        .collect();
    assert_eq!(
        summary,
        [
            ("gone", ObjectChange::Removed, vec![]),
            ("locator", ObjectChange::Changed, vec!["locator"]),
            ("policy", ObjectChange::Changed, vec!["policy"]),
            ("same", ObjectChange::Unchanged, vec![]),
            ("state", ObjectChange::Changed, vec!["state", "pin"]),
            ("young", ObjectChange::Added, vec![]),
        ]
    );
    let state = &rows[4];
    assert_ne!(state.a, state.b);
    let detail = state.detail.as_ref().unwrap();
    assert_eq!(
        (detail.added + detail.modified, &state.detail_error),
        (1, &None)
    );
    assert!(rows[..4].iter().all(|row| row.detail.is_none()));

    // The last commit against the working tree.
    let rows = diff(&real(&fixture), &DiffOptions::default())
        .await
        .unwrap();
    assert_eq!(rows[4].change, ObjectChange::Unchanged);
    let options = DiffOptions {
        keys: keys(&["gone"]),
        ..DiffOptions::default()
    };
    assert_eq!(diff(&real(&fixture), &options).await.unwrap().len(), 1);
    system::with(|systems| systems.remove(&system));
    let options = DiffOptions {
        rev_a: Some(base),
        content: true,
        ..DiffOptions::default()
    };
    let rows = diff(&real(&fixture), &options).await.unwrap();
    assert!(
        rows[4].detail_error.as_ref().unwrap().contains(&system),
        "{:?}",
        rows[4]
    );
}

/// A listing that is gone from the working tree is read from the commit that stored it.
#[tokio::test]
async fn contents_of_directories_are_compared_by_their_stored_listings() {
    let fixture = Fixture::new();
    let raw = fixture.dir.path().join("raw");
    std::fs::create_dir(&raw).unwrap();
    std::fs::write(raw.join("a"), "1").unwrap();
    let policy = Policy {
        file: FileMode::Versioned,
        ..Policy::default()
    };
    fixture.add(
        "raw",
        "file",
        Locator::default().with("uri", raw.to_str().unwrap()),
        policy,
    );
    let base = commit(&fixture, "base").await;
    std::fs::write(raw.join("b"), "2").unwrap();
    let mut manifest = fixture.manifest("raw");
    let dataset = real(&fixture);
    let (backend, store) = dataset.store_of(&manifest).unwrap();
    let state = backend.fingerprint(&store, None).await.unwrap();
    let listing = backend.listing(&store, &state).await.unwrap().unwrap();
    fsutil::write_atomic(&dataset.listing_path(&manifest, &state).unwrap(), &listing).unwrap();
    let old = dataset
        .listing_path(&manifest, manifest.state.as_ref().unwrap())
        .unwrap();
    std::fs::remove_file(old).unwrap();
    manifest.state = Some(state);
    fixture.write_manifest(&manifest);

    let options = DiffOptions {
        rev_a: Some(base),
        content: true,
        ..DiffOptions::default()
    };
    let rows = diff(&dataset, &options).await.unwrap();
    let detail = rows[0].detail.as_ref().unwrap();
    assert_eq!((detail.added, detail.removed, detail.modified), (1, 0, 0));
    assert_eq!(detail.entries[0].path, "b");
}

#[tokio::test]
async fn log_starts_at_the_position_and_refuses_what_is_no_ref() {
    let fixture = Fixture::new();
    let system = fixture.add_memory("mem");
    write(&system, "main", "one");
    commit(&fixture, "base").await;
    add_file(&fixture, "file", "one", FileMode::Versioned);
    let dataset = real(&fixture);
    let entries = log::log(&dataset, "mem", None, 10).await.unwrap();
    assert_eq!(entries.len(), 2);
    assert!(
        entries[0]
            .refs
            .iter()
            .any(|name| name.starts_with("tether.0a1b2c3d."))
    );
    assert_eq!(log::log(&dataset, "mem", None, 1).await.unwrap().len(), 1);
    // E52
    for from in ["--exec=touch /srv/x", "", " ", "a\nb"] {
        let error = log::log(&dataset, "mem", Some(from), 10).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::User, "{from:?}");
    }
    let error = log::log(&dataset, "file", None, 10).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.key()),
        (ErrorKind::Capability, Some("file"))
    );
    let object = register::AddOptions {
        kind: "memory".to_owned(),
        fields: Locator::default().with("system", system),
        ..register::AddOptions::default()
    };
    let cwd = fixture.root();
    let unregistered = log::log_locator(&dataset, &cwd, &object, None, 10)
        .await
        .unwrap();
    assert_eq!(unregistered, entries);
}

#[tokio::test]
async fn ops_lists_what_the_checkout_did_newest_first() {
    let fixture = Fixture::new();
    fixture.add_memory("mem");
    commit(&fixture, "one").await;
    let dataset = real(&fixture);
    register::set(
        &dataset,
        &Selection::all(),
        None,
        Some(PinMode::Record),
        &mut |_| {},
    )
    .await
    .unwrap();
    let rows = ops::ops(&dataset, 10).unwrap();
    let commands: Vec<&str> = rows.iter().map(|row| row.command.as_str()).collect();
    assert_eq!(commands, ["set", "commit"]);
    assert_eq!(rows[0].result["changed"]["mem"]["pin"]["to"], "record");
    assert!(
        rows[0].pre["objects"]["mem"]
            .as_str()
            .unwrap()
            .contains("pin = \"native\"")
    );
    assert_eq!(ops::ops(&dataset, 1).unwrap().len(), 1);
}

#[test]
fn backends_lists_every_kind_by_name() {
    let registry = Registry::new()
        .with(Arc::new(Memory))
        .with(Arc::new(FileBackend::new(None)))
        .without("lance", "not in this build");
    let rows = backends::backends(&registry);
    let kinds: Vec<_> = rows
        .iter()
        .map(|row| (row.kind.as_str(), row.installed))
        .collect();
    assert_eq!(kinds, [("file", true), ("lance", false), ("memory", true)]);
    assert_eq!(rows[1].note.as_deref(), Some("not in this build"));
    assert_eq!((rows[1].tier, rows[1].maturity), (None, None));
    assert_eq!(rows[2].tier, Some(Tier::Forkable));
    assert!(rows[2].capabilities.contains(&Capability::Merge.name()));
}
