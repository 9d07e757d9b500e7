//! What `open` hands out, and what it refuses.

use tether_backend_memory::system;
use tether_engine::manifest::{FileMode, Policy};
use tether_engine::query::open::{OpenOptions, open};
use tether_engine::report::OpenReport;
use tether_engine::{Error, ErrorKind};

use crate::common::{self, Fixture, write};
use crate::{add_file, commit, move_to_bookmark, real};

#[tokio::test]
async fn open_hands_out_the_position_and_refuses_what_cannot_be() {
    let fixture = Fixture::new();
    let system = fixture.add_memory("mem");
    let first = write(&system, "main", "one")
        .str("snapshot_id")
        .unwrap()
        .to_owned();
    add_file(&fixture, "file", "one", FileMode::Versioned);
    let commit = commit(&fixture, "base").await;
    write(&system, "main", "two");
    fixture.add_memory("young");
    let run = |key: &'static str, rev: Option<&str>, writable: Option<bool>| {
        let options = OpenOptions {
            rev: rev.map(str::to_owned),
            writable,
        };
        let dataset = real(&fixture);
        async move { open(&dataset, key, &options).await }
    };
    let fails = |result: Result<OpenReport, Error>| result.unwrap_err().kind();

    let here = run("mem", None, None).await.unwrap();
    assert_eq!((here.key.as_str(), here.read_only), ("mem", false));
    assert!(here.address.ends_with("main"), "{}", here.address);
    assert!(run("mem", None, Some(false)).await.unwrap().read_only);
    let then = run("mem", Some(&commit), None).await.unwrap();
    assert!(then.read_only && then.resolved.unwrap().as_str() == commit);
    assert!(
        then.address.contains("tether.0a1b2c3d."),
        "{}",
        then.address
    );
    common::delete_tag(&system, &common::tags(&system)[0].0);
    assert!(
        run("mem", Some(&commit), None)
            .await
            .unwrap()
            .address
            .ends_with(&first)
    );

    let file = run("file", None, None).await.unwrap();
    assert_eq!((file.read_only, file.handle), (true, "FileHandle"));
    assert_eq!(
        fails(run("file", None, Some(true)).await),
        ErrorKind::Capability
    );
    // Observed: P096
    assert_eq!(
        fails(run("file", Some(&commit), None).await),
        ErrorKind::Capability
    );
    // Surprise 26
    let error = run("mem", Some(&commit), Some(true)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::User);
    assert!(error.hint().unwrap().contains("TETHER_REV"));
    // P004
    assert_eq!(fails(run("mem", Some(" "), None).await), ErrorKind::User);
    for key in ["nosuch", "../mem", ""] {
        assert_eq!(fails(run(key, None, None).await), ErrorKind::User);
    }
    assert_eq!(
        fails(run("young", Some(&commit), None).await),
        ErrorKind::User
    );
}

#[tokio::test]
async fn open_off_the_trunk_writes_only_to_the_bookmarks_own_branch() {
    let fixture = Fixture::new();
    let system = fixture.add_memory("mem");
    write(&system, "main", "one");
    commit(&fixture, "base").await;
    write(&system, "main", "two");
    let mut workspace = fixture.workspace();
    workspace.view.bookmark = None;
    fixture.write_workspace(&workspace);
    let writable = OpenOptions::default();
    let read_only = OpenOptions {
        rev: None,
        writable: Some(false),
    };
    let kind = |result: Result<OpenReport, Error>| result.unwrap_err().kind();

    assert_eq!(
        kind(open(&real(&fixture), "mem", &writable).await),
        ErrorKind::StaleWorkingCopy
    );
    let there = open(&real(&fixture), "mem", &read_only).await.unwrap();
    assert!(
        there.address.contains("tether.0a1b2c3d."),
        "{}",
        there.address
    );

    move_to_bookmark(&fixture, "f");
    assert_eq!(
        kind(open(&real(&fixture), "mem", &writable).await),
        ErrorKind::StaleWorkingCopy
    );
    let branch: tether_engine::name::NativeRef = "tether.ws.0a1b2c3d.f".parse().unwrap();
    let mut workspace = fixture.workspace();
    workspace
        .view
        .pending_forks
        .insert(common::key("mem"), branch.clone());
    fixture.write_workspace(&workspace);
    assert_eq!(
        kind(open(&real(&fixture), "mem", &writable).await),
        ErrorKind::Capability
    );
    workspace.view.pending_forks.clear();
    workspace
        .view
        .working_refs
        .insert(common::key("mem"), branch.clone());
    fixture.write_workspace(&workspace);
    // A missing branch is never read as the base.
    assert_eq!(
        kind(open(&real(&fixture), "mem", &writable).await),
        ErrorKind::Store
    );
    system::with(|systems| {
        let system = systems.get_mut(&system).unwrap();
        let head = system.branches["main"].clone();
        system.branches.insert(branch.to_string(), head);
    });
    let there = open(&real(&fixture), "mem", &writable).await.unwrap();
    assert!(
        !there.read_only && there.address.ends_with(branch.as_str()),
        "{}",
        there.address
    );
}

/// Guide: 'The first commit pins that state, `open` reads it'.
#[tokio::test]
async fn an_object_at_an_older_state_opens_there_until_it_has_a_branch() {
    let fixture = Fixture::new();
    let name = format!("{}-old", fixture.name);
    let locator = tether_backend_memory::new_system(&name);
    let old = write(&name, "main", "one");
    let old = old.str("snapshot_id").unwrap().to_owned();
    write(&name, "main", "two");
    fixture.add(
        "old",
        "memory",
        locator.with("at", old.as_str()),
        Policy::default(),
    );
    let run = |writable| {
        let dataset = real(&fixture);
        let options = OpenOptions {
            rev: None,
            writable,
        };
        async move { open(&dataset, "old", &options).await }
    };
    let before = run(None).await.unwrap();
    assert!(
        before.read_only && before.address.ends_with(&old),
        "{}",
        before.address
    );
    commit(&fixture, "base").await;
    let pinned = run(None).await.unwrap();
    assert!(
        pinned.read_only && pinned.address.contains("tether.0a1b2c3d."),
        "{}",
        pinned.address
    );
    let error = run(Some(true)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StaleWorkingCopy);
    assert!(error.hint().unwrap().contains("tether new main"));

    let mut workspace = fixture.workspace();
    let main = "main".parse().unwrap();
    workspace.view.working_refs.insert(common::key("old"), main);
    fixture.write_workspace(&workspace);
    let branch = run(None).await.unwrap();
    assert!(
        !branch.read_only && branch.address.ends_with("main"),
        "{}",
        branch.address
    );
}
