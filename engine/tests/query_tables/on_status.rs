//! How `status` and `snapshot` see each object, and what they warn about.

use tether_backend_memory::system;
use tether_engine::ErrorKind;
use tether_engine::backend::Tier;
use tether_engine::key::Selection;
use tether_engine::manifest::{FileMode, Policy};
use tether_engine::oplog::Journal;
use tether_engine::query::open::{OpenOptions, open};
use tether_engine::query::ops;
use tether_engine::query::snapshot::snapshot;
use tether_engine::query::status::status;
use tether_engine::register;
use tether_engine::report::Label;
use tether_engine::state::{Locator, State};

use crate::common::{self, Fixture, keys, write};
use crate::{add_file, commit, error_of, labels, move_to_bookmark, real, report};

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
