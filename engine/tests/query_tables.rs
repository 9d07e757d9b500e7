//! `status`, `snapshot`, `verify`, `open`, `diff`, `log`, `ops` and `backends` as tables of small stories.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: a failure is a failed test"
)]

mod common;

use std::sync::Arc;

use common::{Faulty, Fixture, Shelf, keys, write};
use tether_backend_file::FileBackend;
use tether_backend_memory::{Memory, system};
use tether_engine::backend::{Capability, Registry, Tier, Verdict};
use tether_engine::dataset::{Dataset, Parts};
use tether_engine::key::Selection;
use tether_engine::manifest::{FileMode, PinMode, Policy};
use tether_engine::oplog::{FileHeads, Journal};
use tether_engine::query::diff::{DiffOptions, diff};
use tether_engine::query::open::{OpenOptions, open};
use tether_engine::query::snapshot::snapshot;
use tether_engine::query::status::status;
use tether_engine::query::verify::{VerifyOptions, verify};
use tether_engine::query::{backends, log, ops};
use tether_engine::register;
use tether_engine::report::{Label, ObjectChange, StatusReport};
use tether_engine::state::{Locator, State};
use tether_engine::{Error, ErrorKind, fsutil};

/// The dataset with the real backends this crate can be tested with.
fn real(fixture: &Fixture) -> Dataset {
    let registry = Registry::new()
        .with(Arc::new(Memory))
        .with(Arc::new(FileBackend::new(None)))
        .with(Arc::new(Shelf::new(Arc::clone(&fixture.faults))))
        .without("lance", "not in this build");
    open_with(fixture, registry)
}

fn open_with(fixture: &Fixture, registry: Registry) -> Dataset {
    Dataset::open(Parts {
        root: fixture.root(),
        vcs: Arc::clone(&fixture.vcs) as _,
        oplog: Arc::new(FileHeads::new(&fixture.dir.path().join("shared"), "main")),
        registry,
    })
    .unwrap()
}

async fn report(fixture: &Fixture, fresh: Option<bool>) -> StatusReport {
    status(&real(fixture), &Selection::all(), fresh)
        .await
        .unwrap()
}

fn labels(report: &StatusReport) -> Vec<(&str, Label)> {
    let objects = report.objects.iter();
    objects
        .map(|object| (object.key.as_str(), object.state))
        .collect()
}

fn error_of<'a>(report: &'a StatusReport, key: &str) -> &'a str {
    let object = report
        .objects
        .iter()
        .find(|object| object.key.as_str() == key);
    object.unwrap().error.as_deref().unwrap()
}

fn add_file(fixture: &Fixture, key: &str, content: &str, mode: FileMode) {
    let path = fixture.dir.path().join(key);
    std::fs::write(&path, content).unwrap();
    let policy = Policy {
        file: mode,
        ..Policy::default()
    };
    fixture.add(
        key,
        "file",
        Locator::default().with("uri", path.to_str().unwrap()),
        policy,
    );
}

fn head(fixture: &Fixture) -> String {
    fixture.vcs.head().unwrap().to_string()
}

async fn commit(fixture: &Fixture, message: &str) -> String {
    let dataset = real(fixture);
    let options = common::options(message);
    tether_engine::apply::commit::run(&dataset, &options, &mut |_| {})
        .await
        .unwrap();
    head(fixture)
}

fn move_to_bookmark(fixture: &Fixture, bookmark: &str) {
    let mut workspace = fixture.workspace();
    workspace.view.bookmark = Some(bookmark.parse().unwrap());
    fixture.write_workspace(&workspace);
    fixture.vcs.switch(Some(bookmark));
}

// ---- status

#[tokio::test]
async fn labels_say_how_each_object_stands_against_its_committed_state() {
    let fixture = Fixture::new();
    let moved = fixture.add_memory("moved");
    fixture.add_memory("same");
    fixture.add_shelf("shelf");
    commit(&fixture, "base").await;
    fixture.add_memory("young");
    write(&moved, "main", "later");
    fixture.faults.shelve(&format!("{}-shelf", fixture.name), 2);

    let before = report(&fixture, None).await;
    assert!(!before.fresh);
    let expected = [
        ("moved", Label::Clean),
        ("same", Label::Clean),
        ("shelf", Label::Clean),
        ("young", Label::New),
    ];
    assert_eq!(labels(&before), expected);

    let after = report(&fixture, Some(true)).await;
    assert!(after.fresh);
    let expected = [
        ("moved", Label::Modified),
        ("same", Label::Clean),
        ("shelf", Label::Behind),
        ("young", Label::New),
    ];
    assert_eq!(labels(&after), expected);
    // What was found is what a plain `status` shows from now on.
    let cached = report(&fixture, None).await;
    assert_eq!(labels(&cached), expected);
    assert_eq!(cached.snapshot_at, after.snapshot_at);
    assert_eq!((cached.trunk, cached.stale), (true, false));
    assert_eq!(cached.bookmark.unwrap().as_str(), "main");
}

/// Surprise 22: `behind` is about what a pull on the trunk would take.
#[tokio::test]
async fn off_the_trunk_an_object_without_a_branch_is_at_its_pin() {
    let fixture = Fixture::new();
    fixture.add_memory("mem");
    fixture.add_shelf("shelf");
    commit(&fixture, "base").await;
    fixture.faults.shelve(&format!("{}-shelf", fixture.name), 2);
    assert_eq!(
        labels(&report(&fixture, Some(true)).await)[1],
        ("shelf", Label::Behind)
    );

    move_to_bookmark(&fixture, "f");
    for fresh in [Some(false), Some(true)] {
        let there = report(&fixture, fresh).await;
        assert_eq!(
            labels(&there),
            [("mem", Label::Clean), ("shelf", Label::Clean)]
        );
        assert!(!there.trunk);
    }
    // Nothing of a store was asked for, so nothing new is remembered.
    let remembered = &fixture.workspace().last_snapshot[&common::key("shelf")];
    assert_eq!(remembered.get("version").unwrap(), 2);
}

/// P032
#[tokio::test]
async fn one_unreadable_store_does_not_hide_the_others() {
    let fixture = Fixture::new();
    for key in ["a", "b", "c"] {
        fixture.add_memory(key);
    }
    commit(&fixture, "base").await;
    let gone = format!("{}-b", fixture.name);
    system::with(|systems| systems.remove(&gone));

    let fresh = report(&fixture, Some(true)).await;
    let expected = [
        ("a", Label::Clean),
        ("b", Label::Error),
        ("c", Label::Clean),
    ];
    assert_eq!(labels(&fresh), expected);
    assert!(error_of(&fresh, "b").contains(&gone), "{fresh:?}");
    // The next plain `status` still says so, and `snapshot` fails while it caches the rest.
    assert_eq!(labels(&report(&fixture, None).await), expected);
    let error = snapshot(&real(&fixture), &Selection::all())
        .await
        .unwrap_err();
    assert_eq!((error.kind(), error.key()), (ErrorKind::Store, Some("b")));
    let states = snapshot(&real(&fixture), &keys(&["a", "c"]))
        .await
        .unwrap()
        .states;
    assert_eq!(states.len(), 2);
    // A selection leaves what is known of the others as it was.
    assert_eq!(labels(&report(&fixture, None).await), expected);
}

/// Surprise 19: the promised row, and not an error in place of the whole table.
#[tokio::test]
async fn a_changed_immutable_file_is_an_error_row() {
    let fixture = Fixture::new();
    add_file(&fixture, "fixed", "one", FileMode::Immutable);
    add_file(&fixture, "free", "one", FileMode::Versioned);
    fixture.add_memory("mem");
    commit(&fixture, "base").await;
    std::fs::write(fixture.dir.path().join("fixed"), "two").unwrap();
    std::fs::write(fixture.dir.path().join("free"), "two").unwrap();

    let fresh = report(&fixture, Some(true)).await;
    let expected = [
        ("fixed", Label::Error),
        ("free", Label::Behind),
        ("mem", Label::Clean),
    ];
    assert_eq!(labels(&fresh), expected);
    let reason = error_of(&fresh, "fixed");
    assert!(
        reason.contains("immutable") && reason.contains("tether remove fixed"),
        "{reason}"
    );
    assert_eq!(labels(&report(&fixture, None).await), expected);
    assert_eq!(fresh.objects[0].tier, Tier::Observed);
    assert!(!fresh.objects[0].recoverable);
}

/// P058, surprise 3
#[tokio::test]
async fn a_broken_manifest_and_an_unknown_kind_are_rows_of_their_own() {
    let fixture = Fixture::new();
    fixture.add_memory("good");
    fixture.add("strange", "nosuch", Locator::default(), Policy::default());
    fixture.add("later", "lance", Locator::default(), Policy::default());
    std::fs::write(
        fixture.path(".tether/objects/torn.toml"),
        "<<<<<<< s3cr3t\n",
    )
    .unwrap();

    let fresh = report(&fixture, None).await;
    let expected = [
        ("good", Label::New),
        ("later", Label::Error),
        ("strange", Label::Error),
        ("torn", Label::Error),
    ];
    assert_eq!(labels(&fresh), expected);
    assert!(error_of(&fresh, "later").contains("not in this build"));
    assert!(error_of(&fresh, "strange").contains("nosuch"));
    assert!(!error_of(&fresh, "torn").contains("s3cr3t"));
    let only = status(&real(&fixture), &keys(&["good"]), None)
        .await
        .unwrap();
    assert_eq!(labels(&only), [("good", Label::New)]);
}

#[tokio::test]
async fn a_cached_status_writes_nothing_and_a_fresh_one_only_what_it_saw() {
    let fixture = Fixture::new();
    fixture.add_memory("mem");
    commit(&fixture, "base").await;
    let before = fixture.workspace();
    let file = fixture.path(".tether/workspace.toml");
    let stamp = std::fs::metadata(&file).unwrap().modified().unwrap();
    report(&fixture, None).await;
    assert_eq!(std::fs::metadata(&file).unwrap().modified().unwrap(), stamp);

    write(&format!("{}-mem", fixture.name), "main", "later");
    report(&fixture, Some(true)).await;
    let after = fixture.workspace();
    assert_eq!(after.view, before.view);
    assert_eq!(after.materialised, before.materialised);
    assert!(after.materialised.is_some());
    assert_ne!(after.last_snapshot, before.last_snapshot);
    assert_eq!(fixture.operations().len(), before_operations(&fixture));
}

fn before_operations(fixture: &Fixture) -> usize {
    // The fixture's own, and the commit.
    assert_eq!(fixture.operations()[0].command, "commit");
    2
}

#[tokio::test]
async fn status_waits_for_nobody() {
    let fixture = Fixture::new();
    fixture.add_memory("mem");
    let lock = fixture.path(".tether/lock");
    let held = tether_engine::lock::Lock::try_acquire(&lock, "commit")
        .unwrap()
        .unwrap();
    let fresh = report(&fixture, Some(true)).await;
    assert_eq!(labels(&fresh), [("mem", Label::New)]);
    assert!(fresh.fresh && fresh.snapshot_at.is_some());
    assert_eq!(fixture.workspace().last_snapshot_at, None);
    drop(held);
}

/// P104
#[tokio::test]
async fn keys_that_only_address_are_no_drift() {
    let fixture = Fixture::new();
    fixture.add_shelf("shelf");
    commit(&fixture, "base").await;
    let mut workspace = fixture.workspace();
    let state = State::default()
        .with("version", 1)
        .with("seen_by", "someone else");
    workspace.last_snapshot.insert(common::key("shelf"), state);
    fixture.write_workspace(&workspace);
    assert_eq!(
        labels(&report(&fixture, None).await),
        [("shelf", Label::Clean)]
    );
}

/// P106
#[tokio::test]
async fn staleness_names_its_keys() {
    let fixture = Fixture::new();
    let system = fixture.add_memory("mem");
    commit(&fixture, "base").await;
    let mut workspace = fixture.workspace();
    let other = write(&system, "main", "elsewhere");
    workspace.view.base_states.insert(common::key("mem"), other);
    fixture.write_workspace(&workspace);
    // The trunk's branches are upstream's: nothing was forked that could be stale.
    assert!(!report(&fixture, None).await.stale);
    move_to_bookmark(&fixture, "f");
    fixture.add_shelf("unrelated");
    let stale = report(&fixture, None).await;
    assert!(stale.stale);
    assert_eq!(stale.stale_keys, [common::key("mem")]);
    let error = open(&real(&fixture), "mem", &OpenOptions::default())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StaleWorkingCopy);
    assert!(error.message().contains("mem"));
    let read_only = OpenOptions {
        writable: Some(false),
        ..OpenOptions::default()
    };
    open(&real(&fixture), "mem", &read_only).await.unwrap();
}

#[tokio::test]
async fn a_bookmark_that_the_vcs_changed_is_told_with_the_way_back() {
    let fixture = Fixture::new();
    fixture.add_memory("mem");
    commit(&fixture, "base").await;
    assert!(report(&fixture, None).await.bookmark_drift.is_empty());

    fixture.vcs.branch("main");
    let told = |expected: &'static [&'static str]| {
        let fixture = &fixture;
        async move {
            let drift = report(fixture, None).await.bookmark_drift;
            assert_eq!(drift.len(), 1, "{drift:?}");
            for part in expected {
                assert!(drift[0].contains(part), "{drift:?} has no {part}");
            }
        }
    };
    fixture.vcs.switch(None);
    told(&[
        "has left bookmark 'main'",
        "now on no bookmark",
        "`tether new main`",
    ])
    .await;
    fixture.vcs.switch(Some("side"));
    told(&["has left bookmark 'main'", "now on side"]).await;

    move_to_bookmark(&fixture, "gone");
    fixture.vcs.switch(Some("other"));
    told(&["'gone' is gone and 'other' sits", "`tether new other`"]).await;
    fixture.vcs.switch(None);
    told(&["'gone' no longer exists", "`tether new -b gone`"]).await;
}

/// The commit under a bookmark is another than its branches were forked from.
#[tokio::test]
async fn a_bookmark_that_was_moved_is_told_with_the_objects() {
    let fixture = Fixture::new();
    let system = fixture.add_memory("mem");
    let first = commit(&fixture, "one").await;
    write(&system, "main", "two");
    commit(&fixture, "two").await;
    let mut workspace = fixture.workspace();
    let mem = common::key("mem");
    let committed = fixture.manifest("mem").state.unwrap();
    workspace.view.base_states.insert(mem.clone(), committed);
    workspace
        .view
        .working_refs
        .insert(mem, "main".parse().unwrap());
    fixture.write_workspace(&workspace);
    assert!(report(&fixture, None).await.bookmark_drift.is_empty());
    let id = tether_engine::id::CommitId::new(first.clone());
    fixture.vcs.reset(Some(id));
    let drift = report(&fixture, None).await.bookmark_drift;
    assert_eq!(drift.len(), 1, "{drift:?}");
    let expected = format!("bookmark 'main' was moved to {}: its commit", &first[..12]);
    assert!(
        drift[0].starts_with(&expected) && drift[0].contains("of mem hold"),
        "{drift:?}"
    );
}

/// Surprise 25: the warning is about commits since the last one that stands, and ends with the next.
#[tokio::test]
async fn a_commit_that_left_history_is_told_until_the_next_one() {
    let fixture = Fixture::new();
    let system = fixture.add_memory("mem");
    let first = commit(&fixture, "one").await;
    write(&system, "main", "two");
    let second = commit(&fixture, "two").await;
    assert!(report(&fixture, None).await.vcs_drift.is_empty());

    fixture
        .vcs
        .reset(Some(tether_engine::id::CommitId::new(first)));
    let drift = report(&fixture, None).await.vcs_drift;
    assert_eq!(drift.len(), 1);
    assert_eq!(drift[0].commit.as_str(), second);
    assert_eq!(drift[0].op, fixture.operations()[0].id);
    assert!(drift[0].referenced[&common::key("mem")]);
    let rows = ops::ops(&real(&fixture), 10).unwrap();
    let gone: Vec<bool> = rows.iter().map(|row| row.vcs_commit_gone).collect();
    assert_eq!(gone, [true, false]);

    write(&system, "main", "three");
    commit(&fixture, "three").await;
    assert!(report(&fixture, None).await.vcs_drift.is_empty());
}

/// Surprises 14 and 15, E07
#[tokio::test]
async fn what_the_checkout_lost_is_told() {
    let fixture = Fixture::new();
    for key in ["a", "b", "c"] {
        fixture.add_memory(key);
    }
    commit(&fixture, "base").await;
    assert_eq!(report(&fixture, None).await.warnings, Vec::<String>::new());

    // Removed by `tether remove`: on purpose.
    let dataset = real(&fixture);
    register::remove(&dataset, &common::key("a"), &mut |_| {})
        .await
        .unwrap();
    assert_eq!(report(&fixture, None).await.warnings, Vec::<String>::new());

    std::fs::remove_dir_all(fixture.path(".tether/objects")).unwrap();
    let lost = report(&fixture, None).await;
    assert!(lost.objects.is_empty());
    assert_eq!(lost.warnings.len(), 1, "{:?}", lost.warnings);
    assert!(
        lost.warnings[0].starts_with("2 of 3 objects have no manifest here"),
        "{:?}",
        lost.warnings
    );

    for key in ["b", "c"] {
        fixture
            .vcs
            .leave_out(&format!(".tether/objects/{key}.toml"));
    }
    let sparse = report(&fixture, None).await.warnings;
    assert_eq!(sparse.len(), 1, "{sparse:?}");
    assert!(
        sparse[0].contains("sparse: it leaves out 2 of 3 objects"),
        "{sparse:?}"
    );

    std::fs::remove_file(fixture.path(".tether/workspace.toml")).unwrap();
    let cleaned = report(&fixture, None).await;
    assert_eq!(cleaned.bookmark, None);
    assert!(
        cleaned.warnings[0].contains("records are gone"),
        "{:?}",
        cleaned.warnings
    );
}

/// Surprise 14
#[tokio::test]
async fn pins_of_another_dataset_id_are_told() {
    let fixture = Fixture::new();
    fixture.add_memory("a");
    commit(&fixture, "base").await;
    let config = fixture
        .read("tether.toml")
        .unwrap()
        .replace(common::DATASET, "99999999");
    std::fs::write(fixture.path("tether.toml"), config).unwrap();
    let warnings = report(&fixture, None).await.warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains(common::DATASET) && warnings[0].contains("99999999"),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn an_interrupted_operation_is_told_unless_it_still_runs() {
    let fixture = Fixture::new();
    fixture.add_memory("a");
    commit(&fixture, "base").await;
    let shared = fixture.dir.path().join("shared");
    let id: tether_engine::id::OpId = "0123456789ab".parse().unwrap();
    let workspace = fixture.workspace().id;
    let pre = serde_json::json!({});
    let mut journal = Journal::begin(&shared, id, &workspace, "commit", None, pre).unwrap();
    journal.did("pin", serde_json::json!({"key": "a"})).unwrap();

    let warnings = report(&fixture, None).await.warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("0123456789ab") && warnings[0].contains("interrupted"));
    let rows = ops::ops(&real(&fixture), 10).unwrap();
    assert_eq!(
        (rows[0].id.as_str(), rows[0].status.as_str()),
        ("0123456789ab", "started")
    );
    assert_eq!(
        rows[0].progress,
        [serde_json::json!({"action": "pin", "key": "a"})]
    );
    assert_eq!(rows[1].status, "done");

    let lock = fixture.path(".tether/lock");
    let held = tether_engine::lock::Lock::try_acquire(&lock, "commit")
        .unwrap()
        .unwrap();
    assert_eq!(report(&fixture, None).await.warnings, Vec::<String>::new());
    drop(held);
}

#[tokio::test]
async fn settings_ask_for_a_snapshot_and_a_verdict_each_time() {
    let fixture = Fixture::new();
    let system = fixture.add_memory("a");
    commit(&fixture, "base").await;
    let config = fixture.read("tether.toml").unwrap();
    let config = config
        .replace("auto = false", "auto = true")
        .replace("on_status = false", "on_status = true");
    std::fs::write(fixture.path("tether.toml"), config).unwrap();
    common::delete_tag(&system, &common::tags(&system)[0].0);
    let auto = report(&fixture, None).await;
    assert!(auto.fresh);
    assert_eq!(auto.objects[0].verify.as_deref(), Some("missing"));
    assert!(!report(&fixture, Some(false)).await.fresh);
}

// ---- verify

#[tokio::test]
async fn history_is_verified_with_each_distinct_state_once() {
    let fixture = Fixture::new();
    let system = fixture.add_memory("mem");
    let policy = Policy {
        pin: PinMode::Record,
        ..Policy::default()
    };
    let locator = tether_backend_memory::new_system(&format!("{}-rec", fixture.name));
    fixture.add("rec", "memory", locator, policy);
    add_file(&fixture, "file", "one", FileMode::Versioned);
    let faulty = Registry::new()
        .with(Arc::new(Faulty::new(Arc::clone(&fixture.faults))))
        .with(Arc::new(FileBackend::new(None)));
    let dataset = open_with(&fixture, faulty);
    let mut commits = Vec::new();
    for round in ["one", "two", "three"] {
        if round == "two" {
            // A commit that only touches another object.
            add_file(&fixture, "other", "one", FileMode::Versioned);
        } else {
            write(&system, "main", round);
        }
        let options = common::options(round);
        tether_engine::apply::commit::run(&dataset, &options, &mut |_| {})
            .await
            .unwrap();
        commits.push(head(&fixture)[..12].to_owned());
    }
    fixture.faults.calls();
    let options = VerifyOptions {
        all_history: true,
        ..VerifyOptions::default()
    };
    let (result, warnings) = verify(&dataset, &options).await.unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    // Every commit, newest first; P110: the state that is only recorded too; not the file, which no old state can be read back of.
    let expected: Vec<String> = commits
        .iter()
        .rev()
        .flat_map(|commit| [format!("{commit}:mem"), format!("{commit}:rec")])
        .collect();
    assert_eq!(result.rows.keys().cloned().collect::<Vec<_>>(), expected);
    assert!(
        result.rows.iter().all(|(label, row)| {
            let expected = if label.ends_with("rec") {
                Verdict::Unknown
            } else {
                Verdict::Ok
            };
            row.status == expected
        }),
        "{result:?}"
    );
    assert_eq!(fixture.faults.calls().len(), 3);

    let one = VerifyOptions {
        keys: keys(&["mem"]),
        all_history: true,
        deep: true,
        ..VerifyOptions::default()
    };
    assert_eq!(verify(&dataset, &one).await.unwrap().0.rows.len(), 3);
    let none = VerifyOptions {
        keys: keys(&["nosuch"]),
        all_history: true,
        ..VerifyOptions::default()
    };
    assert_eq!(
        verify(&dataset, &none).await.unwrap_err().kind(),
        ErrorKind::User
    );
}

#[tokio::test]
async fn verify_judges_each_object_on_its_own() {
    let fixture = Fixture::new();
    let system = fixture.add_memory("drifted");
    let lost = fixture.add_memory("lost");
    let dead = fixture.add_memory("dead");
    add_file(&fixture, "file", "one", FileMode::Versioned);
    let first = commit(&fixture, "base").await;
    fixture.add_memory("young");
    fixture.add("later", "lance", Locator::default(), Policy::default());
    std::fs::write(fixture.path(".tether/objects/torn.toml"), "= =").unwrap();
    let tag = common::tags(&system)[0].0.clone();
    let other = write(&system, "main", "other")
        .str("snapshot_id")
        .unwrap()
        .to_owned();
    system::with(|systems| systems.get_mut(&system).unwrap().tags.insert(tag, other));
    common::delete_tag(&lost, &common::tags(&lost)[0].0);
    system::with(|systems| systems.remove(&dead));
    std::fs::write(fixture.dir.path().join("file"), "two").unwrap();

    let (result, warnings) = verify(&real(&fixture), &VerifyOptions::default())
        .await
        .unwrap();
    let verdicts: Vec<(&str, Verdict)> = result
        .rows
        .iter()
        .map(|(label, row)| (label.as_str(), row.status))
        .collect();
    assert_eq!(
        verdicts,
        [
            ("dead", Verdict::Unknown),
            ("drifted", Verdict::Drifted),
            ("file", Verdict::Drifted),
            ("lost", Verdict::Missing),
            ("torn", Verdict::Unknown),
        ]
    );
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("lance") && warnings[0].contains("not verified"),
        "{warnings:?}"
    );

    let at = VerifyOptions {
        rev: Some(first),
        keys: keys(&["lost"]),
        ..VerifyOptions::default()
    };
    let (result, _) = verify(&real(&fixture), &at).await.unwrap();
    assert_eq!(result.rows["lost"].status, Verdict::Missing);
    // P089: what drifted is never opened under the commit's name.
    let at = OpenOptions {
        rev: at.rev,
        writable: None,
    };
    let error = open(&real(&fixture), "drifted", &at).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.key()),
        (ErrorKind::PinDrift, Some("drifted"))
    );
    // A pin that is gone falls back to the recorded state.
    assert!(open(&real(&fixture), "lost", &at).await.unwrap().read_only);
}

// ---- open

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
    let fails =
        |result: Result<tether_engine::report::OpenReport, Error>| result.unwrap_err().kind();

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
    let kind =
        |result: Result<tether_engine::report::OpenReport, Error>| result.unwrap_err().kind();

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

// ---- diff

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

// ---- log, ops, backends

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
    for from in ["--exec=touch /tmp/x", "", " ", "a\nb"] {
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
