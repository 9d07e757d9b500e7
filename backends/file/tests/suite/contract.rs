//! The rest of the backend's contract: tiers, addresses, verdicts, created directories.

use std::fs;
use std::os::unix::fs::symlink;

use tether_backend_file::FileBackend;
use tether_engine::ErrorKind;
use tether_engine::backend::{Backend as _, Capability, Store, Target, Tier, Verdict};
use tether_engine::id::DatasetId;
use tether_engine::json::Value;
use tether_engine::manifest::{FileMode, Policy};
use tether_engine::state::{Locator, State};

use crate::common::{Folder, locator, store};

fn at(uri: &str) -> Store {
    Store {
        locator: Locator::default().with("uri", uri),
        ..Store::default()
    }
}

fn versioned(uri: &str) -> Store {
    Store {
        policy: Policy {
            file: FileMode::Versioned,
            ..Policy::default()
        },
        ..at(uri)
    }
}

#[test]
fn local_paths_are_observed_and_so_are_prefixes() {
    let backend = FileBackend::new(None);
    let names: Vec<&str> = backend
        .capabilities()
        .iter()
        .map(Capability::name)
        .collect();
    assert_eq!(
        names,
        [
            "fingerprint",
            "addressable",
            "cheap_fingerprint",
            "diff",
            "create"
        ]
    );
    for (object, tier) in [
        (at("/d"), Tier::Observed),
        (versioned("/d"), Tier::Observed),
        (at("s3://b/k"), Tier::Observed),
        (versioned("s3://b/k"), Tier::Addressable),
        (versioned("s3://b/k/"), Tier::Observed),
    ] {
        assert_eq!(backend.effective(&object).tier(), tier, "{object:?}");
    }
    let local = State::default().with("type", "file");
    assert!(!backend.state_addressable(&at("/d").locator, &local));
    // P096: a bucket without versioning gives no version.
    let object = State::default().with("type", "object").with("etag", "e");
    assert!(!backend.state_addressable(&at("s3://b/k").locator, &object));
    let version = object.with("version_id", "v1");
    assert!(backend.state_addressable(&at("s3://b/k").locator, &version));
}

#[test]
fn remote_addresses_are_refused_with_a_reason() {
    let folder = Folder::new();
    let backend = folder.backend();
    let object = at("s3://bucket/key");
    let refused = [
        backend.validate(&object, &folder.path("")).unwrap_err(),
        folder.run(backend.fingerprint(&object, None)).unwrap_err(),
    ];
    for error in refused {
        assert_eq!(error.kind(), ErrorKind::Capability);
        assert_eq!(error.message(), "this build reads local paths only");
    }
}

/// Surprise 11: what can be checked when the object is registered, is.
#[test]
fn validate_refuses_positions_and_the_dataset_itself() {
    let folder = Folder::with_dir();
    fs::create_dir_all(folder.path("ds/.tether/cache")).unwrap();
    fs::create_dir_all(folder.path("ds/raw")).unwrap();
    symlink("ds", folder.path("link")).unwrap();
    let backend = folder.backend();
    let checkout = folder.path("ds");
    let check = |object: &Store| backend.validate(object, &checkout);
    check(&store(&folder.data())).unwrap();
    check(&store(&folder.path("ds/raw"))).unwrap();
    check(&store(&folder.path("not/there/yet"))).unwrap();
    for key in ["at", "ref", "branch"] {
        let mut object = store(&folder.data());
        object.locator = object.locator.with(key, "1");
        let error = check(&object).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Capability);
        assert!(error.message().contains(&format!("`{key}`")), "{error}");
    }
    for own in ["ds", "link", "", "ds/.tether", "ds/.tether/cache"] {
        let error = check(&store(&folder.path(own))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::User, "{own}");
    }
    let error = check(&at("data/raw")).unwrap_err();
    assert!(error.message().contains("not an absolute path"), "{error}");
}

/// Surprise 16: no branches, so nothing is shared between objects on one folder.
#[test]
fn files_have_no_branch_scope() {
    let backend = FileBackend::new(None);
    assert_eq!(backend.branch_scope(&at("/d").locator).unwrap(), None);
}

#[test]
fn the_identity_is_the_real_path_alone() {
    let folder = Folder::with_dir();
    symlink("data", folder.path("link")).unwrap();
    let identity = folder
        .backend()
        .identity(&locator(&folder.path("link")))
        .unwrap();
    assert_eq!(identity.0.len(), 1);
    assert_eq!(identity.str("uri"), folder.data().to_str());
}

#[test]
fn verify_says_ok_drifted_or_missing() {
    let folder = Folder::with_dir();
    folder.write("a", "A");
    let recorded = folder.state();
    let backend = folder.backend();
    let verify = |deep| {
        let object = store(&folder.data());
        let report = folder
            .run(backend.verify(&object, &recorded, None, deep))
            .unwrap();
        (report.status, report.message)
    };
    for deep in [false, true] {
        assert_eq!(verify(deep), (Verdict::Ok, String::new()));
    }
    folder.write("a", "B");
    let drifted = (Verdict::Drifted, "content changed since commit".to_owned());
    assert_eq!(verify(false), drifted);
    fs::remove_dir_all(folder.data()).unwrap();
    let message = format!("[file] path does not exist: {}", folder.data().display());
    assert_eq!(verify(false), (Verdict::Missing, message));
    let object = store(&folder.data());
    let many = folder.run(backend.verify_many(
        &object,
        &[(recorded.clone(), None), (State::default(), None)],
        false,
    ));
    let statuses: Vec<Verdict> = many
        .into_iter()
        .map(|report| report.unwrap().status)
        .collect();
    assert_eq!(statuses, [Verdict::Missing, Verdict::Missing]);
    // A file where a directory was recorded is another content, not a missing one.
    fs::write(folder.data(), "A").unwrap();
    assert_eq!(verify(false), drifted);
}

#[test]
fn open_gives_the_registered_address_read_only() {
    let folder = Folder::new();
    let backend = folder.backend();
    let open = |object: &Store, target: &Target, writable| {
        folder.run(backend.open(object, target, writable))
    };
    let address = open(&at("file:///d/raw"), &Target::Base, false).unwrap();
    assert_eq!(address.handle, "FileHandle");
    assert_eq!(address.address, "file:///d/raw");
    assert!(address.read_only);
    assert_eq!(address.secret_address, None);

    let state = State::default().with("type", "file").with("size", 1);
    let error = open(&at("/d"), &Target::State(state), false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Capability);
    assert!(error.message().contains("cannot be read back"), "{error}");
    let version = State::default().with("version_id", "v1");
    let address = open(&versioned("s3://b/k"), &Target::State(version), false).unwrap();
    assert_eq!(address.address, "s3://b/k#v1");
    let error = open(&at("/d"), &Target::Base, true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Capability);
}

#[test]
fn a_created_directory_lives_and_goes_by_its_marker() {
    let folder = Folder::new();
    let backend = folder.backend();
    let object = store(&folder.path("new/parents/store"));
    let (owner, other): (DatasetId, DatasetId) =
        ("0a1b2c3d".parse().unwrap(), "ffffffff".parse().unwrap());
    assert_eq!(folder.run(backend.owner(&object)).unwrap(), None);

    let state = folder.run(backend.create(&object, &owner)).unwrap();
    assert_eq!(state.get("count"), Some(&Value::from(0)));
    assert_eq!(
        state.str("digest"),
        Some("cae66941d9efbd404e4d88758ea67670")
    );
    let root = folder.path("new/parents/store");
    assert_eq!(
        fs::read_to_string(root.join(".tether-owner")).unwrap(),
        "0a1b2c3d\n"
    );
    assert_eq!(
        folder.run(backend.owner(&object)).unwrap(),
        Some(owner.clone())
    );
    assert_eq!(
        folder.run(backend.is_ref_empty(&object, &[])).unwrap(),
        Some(true)
    );

    // Never twice, and never over anything.
    let again = folder.run(backend.create(&object, &owner)).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::User);
    assert!(again.message().contains("already exists"), "{again}");
    fs::create_dir(folder.path("empty")).unwrap();
    assert!(
        folder
            .run(backend.create(&store(&folder.path("empty")), &owner))
            .is_err()
    );
    assert_eq!(fs::read_dir(folder.path("empty")).unwrap().count(), 0);

    // Kept while another owns it, while anything is in it, down to an empty directory.
    assert!(folder.run(backend.delete_store(&object, &other)).is_err());
    for make in [
        |path: &std::path::Path| fs::create_dir(path),
        |path: &std::path::Path| fs::write(path, ""),
    ] {
        make(&root.join("x")).unwrap();
        assert_eq!(
            folder.run(backend.is_ref_empty(&object, &[])).unwrap(),
            Some(false)
        );
        let error = folder
            .run(backend.delete_store(&object, &owner))
            .unwrap_err();
        assert!(error.message().contains("not empty"), "{error}");
        assert_eq!(
            folder.run(backend.owner(&object)).unwrap(),
            Some(owner.clone())
        );
        let _ = fs::remove_dir(root.join("x"));
        let _ = fs::remove_file(root.join("x"));
    }
    folder.run(backend.delete_store(&object, &owner)).unwrap();
    assert!(!root.exists());
    assert!(root.parent().unwrap().exists());
    // Gone is gone; and a directory tether did not make stays.
    folder.run(backend.delete_store(&object, &owner)).unwrap();
    assert_eq!(
        folder.run(backend.is_ref_empty(&object, &[])).unwrap(),
        None
    );
    let error = folder
        .run(backend.delete_store(&store(&folder.path("empty")), &owner))
        .unwrap_err();
    assert!(error.message().contains("no owner marker"), "{error}");
    assert!(folder.path("empty").exists());
    folder.run(backend.create(&object, &owner)).unwrap();
}

/// P049: `file://` is an address, not the name of a directory.
#[test]
fn create_at_a_file_url_makes_that_path() {
    let folder = Folder::new();
    let backend = folder.backend();
    let owner = "0a1b2c3d".parse().unwrap();
    let path = folder.path("run#1");
    let object = at(&format!("file://{}", path.display()));
    folder.run(backend.create(&object, &owner)).unwrap();
    assert!(path.join(".tether-owner").is_file());
    assert!(!folder.path("run").exists());
}

/// A marker that is a link, a directory or nonsense authorises nothing.
#[test]
fn only_a_real_marker_names_an_owner() {
    let folder = Folder::with_dir();
    let backend = folder.backend();
    let object = store(&folder.data());
    let marker = folder.data().join(".tether-owner");
    let owner = || folder.run(backend.owner(&object)).unwrap();
    fs::write(folder.path("elsewhere"), "0a1b2c3d\n").unwrap();
    symlink(folder.path("elsewhere"), &marker).unwrap();
    assert_eq!(owner(), None);
    fs::remove_file(&marker).unwrap();
    fs::create_dir(&marker).unwrap();
    assert_eq!(owner(), None);
    fs::remove_dir(&marker).unwrap();
    for content in ["", "0a1b2c3", "0A1B2C3D\n", &"0a1b2c3d".repeat(50)] {
        fs::write(&marker, content).unwrap();
        assert_eq!(owner(), None, "{content:?}");
    }
    fs::write(&marker, "0a1b2c3d").unwrap();
    assert_eq!(
        owner().map(|id| id.to_string()).as_deref(),
        Some("0a1b2c3d")
    );
}
