//! The store half: what an operation made is taken back unless somebody wrote to it.

use serde_json::{Value, json};
use tether_backend_memory::system;
use tether_engine::apply::publish::{Record, publish};
use tether_engine::apply::undo::settle::{Settled, look, settle};
use tether_engine::index::Indexes;
use tether_engine::manifest::Origin;
use tether_engine::oplog::Operation;
use tether_engine::register::AddOptions;
use tether_engine::state::{Locator, State};

use super::*;

/// `add --create` of a memory system; its name.
pub(crate) async fn create(fixture: &Fixture, name: &str) -> String {
    let system = format!("{}-{name}", fixture.name);
    let options = AddOptions {
        key: Some(name.to_owned()),
        kind: "memory".to_owned(),
        fields: Locator::default()
            .with("system", system.as_str())
            .with("branch", "main"),
        create: true,
        ..AddOptions::default()
    };
    let dataset = fixture.dataset();
    register::add(&dataset, &fixture.root(), &options, &mut |_| {})
        .await
        .unwrap();
    assert_eq!(fixture.manifest(name).origin, Origin::Created);
    system
}

pub(crate) fn exists(system: &str) -> bool {
    system::with(|systems| systems.contains_key(system))
}

fn branches(system: &str) -> Vec<String> {
    system::with(|systems| {
        let system = systems.get(system).unwrap();
        system.branches.keys().cloned().collect()
    })
}

fn on_record(fixture: &Fixture) -> usize {
    let indexes = Indexes::new(&fixture.dir.path().join("shared"));
    indexes.created(&DATASET.parse().unwrap()).unwrap().len()
}

/// The checkout works on a bookmark, so that a created store gets a branch at once.
fn on_bookmark(fixture: &Fixture, name: &str) {
    fixture.vcs.switch(Some(name));
    let mut workspace = fixture.workspace();
    workspace.view.bookmark = Some(name.parse().unwrap());
    fixture.write_workspace(&workspace);
}

#[tokio::test]
async fn an_empty_created_store_is_removed_and_forgotten() {
    let fixture = Fixture::new();
    let made = create(&fixture, "made").await;
    let report = undo(&fixture).await.unwrap();
    assert!(report.is_whole(), "{report:?}");
    assert!(!exists(&made));
    assert_eq!(on_record(&fixture), 0);
    assert_eq!(fixture.read(".tether/objects/made.toml"), None);
    // And once more from the start.
    create(&fixture, "made").await;
    undo(&fixture).await.unwrap();
    assert!(!exists(&made));
}

#[tokio::test]
async fn a_created_store_with_content_stays_on_record() {
    let fixture = Fixture::new();
    let made = create(&fixture, "made").await;
    write(&made, "main", "theirs");
    let report = undo(&fixture).await.unwrap();
    assert!(!report.is_whole());
    assert!(
        report.skipped[0].ends_with("it has content now"),
        "{report:?}"
    );
    assert!(exists(&made));
    assert_eq!(on_record(&fixture), 1);
    assert_eq!(fixture.read(".tether/objects/made.toml"), None);
}

/// The branch of the bookmark goes with the store; writes in it are given up with `--discard` only.
#[tokio::test]
async fn a_created_stores_branch_with_writes_is_refused_without_discard() {
    let fixture = Fixture::new();
    on_bookmark(&fixture, "side");
    let made = create(&fixture, "made").await;
    let branch = "tether.ws.0a1b2c3d.side";
    assert_eq!(branches(&made), ["main", branch]);
    undo(&fixture).await.unwrap();
    assert!(!exists(&made));
    assert!(fixture.workspace().view.working_refs.is_empty());

    let made = create(&fixture, "made").await;
    write(&made, branch, "mine");
    let operations = fixture.operations();
    let error = undo(&fixture).await.unwrap_err();
    assert!(error.message().contains("has writes since"), "{error}");
    assert!(error.hint().unwrap().contains("--discard"));
    assert_eq!(fixture.operations(), operations);
    assert!(exists(&made));
    let report = undo_of(&fixture, None, true).await.unwrap();
    assert!(report.is_whole(), "{report:?}");
    assert!(!exists(&made));
}

/// Nothing of another object, of another dataset or of a commit is taken away with it.
#[tokio::test]
async fn a_created_store_that_something_else_needs_stays() {
    let fixture = Fixture::new();
    let made = create(&fixture, "made").await;
    let mut other = fixture.manifest("made");
    other.key = key("other");
    fixture.write_manifest(&other);
    let report = undo(&fixture).await.unwrap();
    assert!(
        report.skipped[0].contains("object other is in it too"),
        "{report:?}"
    );
    assert!(exists(&made));

    let fixture = Fixture::new();
    let made = create(&fixture, "made").await;
    let add = fixture.operations()[0].id.clone();
    fixture.commit("one").await.unwrap();
    for (name, _) in tags(&made) {
        delete_tag(&made, &name);
    }
    let report = undo_of(&fixture, Some(add.as_str()), true).await.unwrap();
    assert!(
        report.skipped[0].contains("commits record states of it"),
        "{report:?}"
    );
    assert!(exists(&made));

    let fixture = Fixture::new();
    let made = create(&fixture, "made").await;
    system::with(|systems| {
        systems.get_mut(&made).unwrap().marker = Some("ffffffff".to_owned());
    });
    let report = undo(&fixture).await.unwrap();
    assert!(
        report.skipped[0].contains("dataset ffffffff owns it now"),
        "{report:?}"
    );
    assert!(exists(&made));
}

/// A store that fails once the undo stands stays pending, is told by `status`, and `undo` tries again instead of undoing more.
#[tokio::test]
async fn a_store_that_fails_stays_pending() {
    let fixture = Fixture::new();
    let other = fixture.add_memory("other");
    fixture.commit("before").await.unwrap();
    let made = create(&fixture, "made").await;
    fixture.faults.fail(&format!("delete_store {made}"));
    let report = undo(&fixture).await.unwrap();
    assert!(
        report.skipped[0].contains("`tether undo` tries again"),
        "{report:?}"
    );
    assert!(exists(&made));
    assert_eq!(fixture.unfinished(), 0);

    assert_eq!(pending(&fixture.dataset()).await.len(), 1);

    let operations = fixture.operations();
    undo(&fixture).await.unwrap_err();
    fixture.faults.mend();
    let again = undo(&fixture).await.unwrap();
    assert_eq!(again.undone, report.undone);
    assert_eq!(again.undo_id, None);
    assert!(!exists(&made));
    assert_eq!(fixture.operations(), operations);
    // Nothing is pending now: the commit before is next.
    assert_eq!(undo(&fixture).await.unwrap().command, "commit");
    assert!(exists(&other));
}

/// An operation with `progress`, published.
fn forked(fixture: &Fixture, progress: Value) -> Operation {
    let dataset = fixture.dataset();
    let mut record = Record::new("new").unwrap();
    record.progress.clone_from(progress.as_array().unwrap());
    let mut workspace = fixture.workspace();
    publish(&dataset, &mut workspace, record).unwrap();
    fixture.operations().remove(0)
}

fn branch_line(system: &str, effect: &str, state: &State) -> Value {
    json!({
        "action": "fork",
        "key": "code",
        "kind": "memory",
        "locator": { "system": system, "branch": "main" },
        "ref": "tether.ws.0a1b2c3d.side",
        "effect": effect,
        "state": state,
        "was": { "snapshot_id": "S9" },
    })
}

fn fork(system: &str) -> State {
    system::with(|systems| {
        let system = systems.get_mut(system).unwrap();
        let head = system.branches["main"].clone();
        system
            .branches
            .insert("tether.ws.0a1b2c3d.side".to_owned(), head.clone());
        State::default().with("snapshot_id", head)
    })
}

#[tokio::test]
async fn a_created_branch_is_deleted_while_nobody_wrote_to_it() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    let state = fork(&code);
    let operation = forked(&fixture, json!([branch_line(&code, "created", &state)]));
    let dataset = fixture.dataset();
    let looked = look(&dataset, &operation, false).await.unwrap();
    assert_eq!(looked.restored, ["code: deleted tether.ws.0a1b2c3d.side"]);
    assert_eq!(branches(&code).len(), 2, "looking deletes nothing");
    for _ in 0..2 {
        let settled = settle(&dataset, &operation, false).await.unwrap();
        assert_eq!(settled, looked);
        assert_eq!(branches(&code), ["main"]);
    }
}

#[tokio::test]
async fn a_created_branch_with_writes_is_kept_until_it_is_given_up() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    let state = fork(&code);
    let operation = forked(&fixture, json!([branch_line(&code, "created", &state)]));
    write(&code, "tether.ws.0a1b2c3d.side", "mine");
    let dataset = fixture.dataset();
    for settled in [
        look(&dataset, &operation, false).await.unwrap(),
        settle(&dataset, &operation, false).await.unwrap(),
    ] {
        assert!(!settled.is_settled());
        assert!(settled.written[0].starts_with("code: tether.ws.0a1b2c3d.side has writes since"));
        assert_eq!(branches(&code).len(), 2);
    }
    let settled = settle(&dataset, &operation, true).await.unwrap();
    assert!(settled.is_settled());
    assert_eq!(branches(&code), ["main"]);
}

#[tokio::test]
async fn a_reset_branch_is_told_and_an_adopted_one_left_alone() {
    let fixture = Fixture::new();
    let code = fixture.add_memory("code");
    let state = fork(&code);
    let lines = json!([
        branch_line(&code, "reset", &state),
        branch_line(&code, "adopted", &state),
        { "action": "pin", "key": "code" },
    ]);
    let operation = forked(&fixture, lines);
    let settled = settle(&fixture.dataset(), &operation, true).await.unwrap();
    let told = "code: tether.ws.0a1b2c3d.side was reset (was snapshot_id=S9); `tether restore code --from REV` or `tether new --discard` puts it where you want";
    assert_eq!(
        settled,
        Settled {
            irreversible: vec![told.to_owned()],
            ..Settled::default()
        }
    );
    assert_eq!(branches(&code).len(), 2);
}
