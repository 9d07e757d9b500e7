//! `commit`'s planner over worlds made by hand: what it decides, what it refuses, and the shape of a saved plan.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which the lint's exception for tests does not reach"
)]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tether_engine::backend::{Capabilities, Capability, Verdict, VerifyReport};
use tether_engine::config::Config;
use tether_engine::id::CommitId;
use tether_engine::key::{ObjectKey, Selection};
use tether_engine::manifest::{Manifest, Pin, PinMode, Policy};
use tether_engine::name::{BookmarkName, pin_ref};
use tether_engine::plan::Plan;
use tether_engine::plan::commit::{CommitOptions, plan};
use tether_engine::state::{Identity, Locator, State, pin_id};
use tether_engine::vcs::{Position, VcsKind};
use tether_engine::workspace::Workspace;
use tether_engine::world::{ChangedFile, Facts, Place, World, place};
use tether_engine::{Error, ErrorKind};

const FORKABLE: &[Capability] = &[
    Capability::Fingerprint,
    Capability::Addressable,
    Capability::Pin,
    Capability::Fork,
];
const ADDRESSABLE: &[Capability] = &[Capability::Fingerprint, Capability::Addressable];
const OBSERVED: &[Capability] = &[Capability::Fingerprint];

fn bookmark(name: &str) -> BookmarkName {
    name.parse().unwrap()
}

fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

fn at(version: i64) -> State {
    State::default().with("version", version)
}

fn identity(system: &str) -> Identity {
    Identity::default().with("system", system)
}

fn world() -> World {
    let dataset = "0a1b2c3d".parse().unwrap();
    let text = Config::initial_text(&dataset, &bookmark("main"));
    let mut workspace = Workspace::new("7c1e0a4d9b2e4f6a8c1d3e5f7a9b0c2d".parse().unwrap());
    workspace.view.bookmark = Some(bookmark("main"));
    World {
        config: Config::parse(&text).unwrap(),
        vcs: VcsKind::Git,
        manifests: BTreeMap::new(),
        committed: BTreeMap::new(),
        edited: BTreeSet::new(),
        removed: BTreeMap::new(),
        left_out: BTreeSet::new(),
        files: Vec::new(),
        workspace,
        position: Position {
            head: Some(CommitId::new("c0ffee")),
            bookmarks: vec![bookmark("main")],
        },
        objects: BTreeMap::new(),
        states: BTreeMap::new(),
        pins: BTreeMap::new(),
    }
}

/// One object to put into a world.
struct Object {
    key: &'static str,
    system: &'static str,
    capabilities: &'static [Capability],
    committed: Option<i64>,
    now: Option<i64>,
}

impl Object {
    fn new(key: &'static str, capabilities: &'static [Capability]) -> Self {
        Self {
            key,
            system: key,
            capabilities,
            committed: None,
            now: None,
        }
    }

    fn committed(mut self, version: i64) -> Self {
        self.committed = Some(version);
        self
    }

    fn now(mut self, version: i64) -> Self {
        self.now = Some(version);
        self
    }

    fn system(mut self, system: &'static str) -> Self {
        self.system = system;
        self
    }

    fn put(self, world: &mut World) {
        let capabilities = Capabilities::of(self.capabilities);
        let locator = Locator::default().with("system", self.system);
        let mut manifest = Manifest::new(key(self.key), "kind", locator, Policy::default());
        if let Some(version) = self.committed {
            manifest.state = Some(at(version));
            manifest.captured_at = Some("2026-01-01T00:00:00.000000+00:00".to_owned());
            if capabilities.has(Capability::Pin) {
                let dataset = &world.config.dataset;
                let id = pin_id(dataset, "kind", &identity(self.system), &at(version));
                let native = pin_ref(&id, 1);
                manifest.pin = Some(Pin { id, native });
            }
            world
                .committed
                .insert(manifest.key.clone(), manifest.clone());
        } else {
            world.edited.insert(manifest.key.clone());
        }
        if let Some(version) = self.now {
            world
                .states
                .insert(manifest.key.clone(), Ok(at(version).with("lsn", version)));
        }
        let fork = capabilities.has(Capability::Fork);
        world.objects.insert(
            manifest.key.clone(),
            Facts {
                capabilities,
                kind_capabilities: capabilities,
                volatile: &["lsn"],
                identity: identity(self.system),
                branch_scope: fork.then(|| self.system.to_owned()),
                place: place(
                    &manifest,
                    &world.workspace,
                    &world.config.trunk,
                    capabilities,
                ),
                addressable: true,
            },
        );
        world.manifests.insert(manifest.key.clone(), manifest);
    }
}

fn options() -> CommitOptions {
    CommitOptions {
        message: Some("m".to_owned()),
        ..CommitOptions::default()
    }
}

fn selecting(keys: &[&str]) -> CommitOptions {
    CommitOptions {
        keys: Selection(keys.iter().map(|key| (*key).to_owned()).collect()),
        ..options()
    }
}

/// `op key detail` of each action, and the notes.
fn shown(plan: &Plan) -> (Vec<String>, Vec<String>) {
    let actions = plan.actions.iter();
    let actions = actions.map(|it| format!("{} {}", it.op, it.key).trim_end().to_owned());
    (actions.collect(), plan.notes.clone())
}

fn refusal(world: &World, options: &CommitOptions) -> Error {
    plan(world, options).unwrap_err()
}

#[test]
fn the_first_commit_pins_records_and_commits_by_tier() {
    let mut world = world();
    Object::new("code", FORKABLE).now(1).put(&mut world);
    Object::new("events", ADDRESSABLE).now(1).put(&mut world);
    Object::new("raw", OBSERVED).now(1).put(&mut world);
    let plan = plan(&world, &options()).unwrap();
    let (actions, notes) = shown(&plan);
    assert_eq!(
        actions,
        ["pin code", "record events", "record raw", "vcs-commit"]
    );
    assert!(notes.is_empty(), "{notes:?}");
    let details: Vec<&str> = plan.actions.iter().map(|it| it.detail.as_str()).collect();
    assert_eq!(
        details,
        [
            "native ref at version=1 lsn=1",
            "Addressable: state version=1 lsn=1, no native ref",
            "Observed: recorded, not recoverable",
            "git commit: 'm'",
        ]
    );
}

/// The JSON shape of the user guide's 'JSON output', plan row, and of the transcripts (01, step 42).
#[test]
fn a_plan_has_the_fields_of_the_guide_in_their_order() {
    let mut world = world();
    Object::new("code", FORKABLE).now(1).put(&mut world);
    Object::new("raw", OBSERVED).now(2).put(&mut world);
    let value = plan(&world, &options()).unwrap().to_value();
    let fields: Vec<&String> = value.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        [
            "format",
            "tether_version",
            "command",
            "created_at",
            "context",
            "notes",
            "preconditions",
            "actions",
            "digest"
        ]
    );
    let context: Vec<&String> = value["context"].as_object().unwrap().keys().collect();
    assert_eq!(
        context,
        ["message", "manifest_hash", "states", "workspace_id", "pull"]
    );
    assert_eq!(
        value["context"]["states"],
        json!({"code": {"version": 1, "lsn": 1}, "raw": {"version": 2, "lsn": 2}})
    );
    assert_eq!(value["context"]["pull"], json!(false));
    let kinds: Vec<&Value> = value["preconditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["kind"])
        .collect();
    assert_eq!(
        kinds,
        ["workspace_id", "workspace_bookmark", "manifest_hash"]
    );
    for precondition in value["preconditions"].as_array().unwrap() {
        let fields: Vec<&String> = precondition.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["kind", "expected", "key", "params", "detail"]);
    }
    let pin = value["actions"][0]["params"]["pin_id"].as_str().unwrap();
    assert_eq!(
        value["actions"][0],
        json!({
            "op": "pin", "key": "code", "kind": "kind", "target": format!("tether.{pin}"),
            "detail": "native ref at version=1 lsn=1",
            "params": {"state": {"version": 1, "lsn": 1}, "pin_id": pin},
        })
    );
    assert_eq!(
        value["actions"][1]["params"],
        json!({"state": {"version": 2, "lsn": 2}, "recoverable": false})
    );
    assert_eq!(
        value["actions"][2],
        json!({
            "op": "vcs-commit", "key": "", "kind": "", "target": "", "detail": "git commit: 'm'", "params": {},
        })
    );
}

/// P104: volatile keys address and do not identify.
#[test]
fn a_moved_volatile_key_is_no_change() {
    let mut world = world();
    Object::new("db", FORKABLE).committed(1).put(&mut world);
    world
        .states
        .insert(key("db"), Ok(at(1).with("lsn", "0/99")));
    let plan = plan(&world, &options()).unwrap();
    assert!(plan.is_empty());
    assert_eq!(plan.notes, ["db: unchanged"]);
}

#[test]
fn what_is_not_read_stays_as_committed() {
    let mut world = world();
    Object::new("raw", OBSERVED).committed(1).put(&mut world);
    let plan = plan(&world, &options()).unwrap();
    assert!(plan.is_empty());
    assert_eq!(plan.context["states"], json!({"raw": {"version": 1}}));
}

/// Surprise 20: a drifted file that commit does not read is at least mentioned, when the last snapshot saw it.
#[test]
fn a_file_the_last_snapshot_found_changed_is_mentioned() {
    let mut world = world();
    Object::new("raw", OBSERVED).committed(1).put(&mut world);
    world.workspace.last_snapshot.insert(key("raw"), at(2));
    let plan = plan(&world, &options()).unwrap();
    assert!(plan.is_empty());
    assert_eq!(
        plan.notes,
        [
            "raw: unchanged; not read, and the last snapshot found it changed (`tether status --snapshot`)"
        ]
    );
}

/// Surprise 20: the same of an immutable object that changed, which a snapshot keeps as an error.
#[test]
fn a_changed_immutable_object_is_mentioned_with_what_the_snapshot_said() {
    let mut world = world();
    Object::new("raw", OBSERVED).committed(1).put(&mut world);
    let failed = tether_engine::workspace::SnapshotError {
        native: String::new(),
        error: "the immutable object changed".to_owned(),
    };
    world
        .workspace
        .last_snapshot_errors
        .insert(key("raw"), failed);
    let plan = plan(&world, &options()).unwrap();
    assert_eq!(
        plan.notes,
        ["raw: unchanged; not read, and the last snapshot failed: the immutable object changed"]
    );
}

/// Surprise 21: an edit of a policy, a removal and a change of `tether.toml` are something to commit.
#[test]
fn edits_and_removals_are_something_to_commit() {
    let mut edited = world();
    Object::new("raw", OBSERVED).committed(1).put(&mut edited);
    edited.edited.insert(key("raw"));
    edited.manifests.get_mut("raw").unwrap().policy.file =
        tether_engine::manifest::FileMode::Versioned;
    let mut removed = world();
    removed.removed.insert(key("gone"), true);
    let mut config = world();
    config.files.push(ChangedFile {
        path: "tether.toml".to_owned(),
        new: false,
    });
    for (world, note) in [
        (edited, "raw: policy changed"),
        (removed, "gone: removed"),
        (config, "tether.toml: changed"),
    ] {
        let plan = plan(&world, &options()).unwrap();
        let (actions, notes) = shown(&plan);
        assert_eq!(actions, ["vcs-commit"], "{note}");
        assert_eq!(notes, [note]);
        assert!(!plan.is_empty());
    }
}

/// Surprise 21 the other way round: a commit of some objects leaves other edits alone.
#[test]
fn a_selection_leaves_other_edits_uncommitted() {
    let mut world = world();
    Object::new("code", FORKABLE)
        .committed(1)
        .now(1)
        .put(&mut world);
    Object::new("raw", OBSERVED).put(&mut world);
    world.removed.insert(key("gone"), false);
    world.files.push(ChangedFile {
        path: "tether.toml".to_owned(),
        new: false,
    });
    let plan = plan(&world, &selecting(&["code"])).unwrap();
    assert!(plan.is_empty(), "{:?}", plan.actions);
    assert_eq!(plan.context["keys"], json!(["code"]));
}

/// Surprise 15: `rm -rf .tether/objects` is no removal anybody asked for.
#[test]
fn removals_nobody_recorded_are_refused_unless_named() {
    let mut world = world();
    world.removed.insert(key("a b"), false);
    world.removed.insert(key("asked"), true);
    world.removed.insert(key("zarr"), false);
    let error = refusal(&world, &options());
    assert_eq!(error.kind(), ErrorKind::User);
    assert_eq!(
        error.message(),
        "the manifests of a b, zarr are gone, but no `tether remove` took them away"
    );
    assert_eq!(
        error.hint().unwrap(),
        "`git checkout -- .tether/objects` brings back what is missing; `tether commit 'a b' zarr -m MESSAGE` records the removal of the objects it names"
    );
    let plan = plan(&world, &selecting(&["a b", "zarr"])).unwrap();
    assert_eq!(plan.notes, ["a b: removed", "zarr: removed"]);
    assert_eq!(shown(&plan).0, ["vcs-commit"]);
}

/// E07: what a sparse checkout left out is not removed.
#[test]
fn a_manifest_left_out_by_a_sparse_checkout_stays_as_committed() {
    let mut world = world();
    Object::new("code", FORKABLE).committed(1).put(&mut world);
    world.left_out.insert(key("code"));
    let plan = plan(&world, &options()).unwrap();
    assert!(plan.is_empty());
    assert_eq!(
        plan.notes,
        ["code: left out of this sparse checkout; stays as committed"]
    );
}

/// Surprise 60.
#[test]
fn a_pin_the_store_lost_is_made_again() {
    let mut world = world();
    Object::new("code", FORKABLE)
        .committed(1)
        .now(1)
        .put(&mut world);
    world
        .pins
        .insert(key("code"), Ok(VerifyReport::new(Verdict::Missing, "gone")));
    let plan = plan(&world, &options()).unwrap();
    assert_eq!(
        shown(&plan).0,
        ["pin code"],
        "and no commit: the manifest stays"
    );
    assert_eq!(
        plan.actions[0].detail,
        "native ref is missing; made again at version=1"
    );
}

#[test]
fn a_drifted_pin_is_mentioned_and_left_alone() {
    let mut world = world();
    Object::new("code", FORKABLE)
        .committed(1)
        .now(1)
        .put(&mut world);
    world.pins.insert(
        key("code"),
        Ok(VerifyReport::new(Verdict::Drifted, "elsewhere")),
    );
    let plan = plan(&world, &options()).unwrap();
    assert!(plan.is_empty());
    assert_eq!(
        plan.notes,
        [
            "code: unchanged",
            "code: its pin points at another state than recorded; `tether verify code` says where"
        ]
    );
}

/// The transcripts, 05: `pin = "record"` releases the manifest's pin, and back again makes one, with the state unchanged.
#[test]
fn a_pin_policy_takes_effect_although_the_state_is_unchanged() {
    let mut to_record = world();
    Object::new("zarr", FORKABLE)
        .committed(1)
        .now(1)
        .put(&mut to_record);
    to_record.manifests.get_mut("zarr").unwrap().policy.pin = PinMode::Record;
    to_record.edited.insert(key("zarr"));
    let facts = to_record.objects.get_mut("zarr").unwrap();
    facts.capabilities = facts.capabilities.without(Capability::Pin);
    let released = plan(&to_record, &options()).unwrap();
    assert_eq!(shown(&released).0, ["record zarr", "vcs-commit"]);
    assert_eq!(released.notes, ["zarr: policy changed; pin released"]);
    assert_eq!(
        released.actions[0].detail,
        "pin=record: state version=1 lsn=1, no native ref"
    );

    let mut to_native = world();
    Object::new("zarr", FORKABLE)
        .committed(1)
        .now(1)
        .put(&mut to_native);
    to_native.manifests.get_mut("zarr").unwrap().pin = None;
    let committed = to_native.committed.get_mut("zarr").unwrap();
    committed.pin = None;
    committed.policy.pin = PinMode::Record;
    let pinned = plan(&to_native, &options()).unwrap();
    assert_eq!(shown(&pinned).0, ["pin zarr", "vcs-commit"]);
}

/// A store that cannot pin just now is no reason to forget a pin.
#[test]
fn losing_the_ability_to_pin_keeps_the_recorded_pin() {
    let mut world = world();
    Object::new("zarr", FORKABLE)
        .committed(1)
        .now(1)
        .put(&mut world);
    let facts = world.objects.get_mut("zarr").unwrap();
    facts.capabilities = facts.capabilities.without(Capability::Pin);
    assert!(plan(&world, &options()).unwrap().is_empty());
}

/// P076: one system at one state has one pin; the second object is recorded at the state the pin is taken at.
#[test]
fn objects_at_one_state_of_one_system_share_a_pin() {
    let mut world = world();
    Object::new("db/a", FORKABLE).system("db").put(&mut world);
    Object::new("db/b", FORKABLE).system("db").put(&mut world);
    world
        .states
        .insert(key("db/a"), Ok(at(4).with("lsn", "0/1")));
    world
        .states
        .insert(key("db/b"), Ok(at(4).with("lsn", "0/2")));
    let plan = plan(&world, &options()).unwrap();
    let [a, b, _] = plan.actions.as_slice() else {
        panic!("{:?}", plan.actions);
    };
    assert_eq!(a.params["pin_id"], b.params["pin_id"]);
    assert_eq!(b.params["state"], json!({"version": 4, "lsn": "0/1"}));
}

/// The user guide, 'Selecting objects', and surprise 16: only kinds with branches share a branch scope.
#[test]
fn objects_of_one_branch_scope_are_named_together() {
    let mut world = world();
    for key in ["db/a", "db/b"] {
        Object::new(key, FORKABLE)
            .system("db")
            .now(1)
            .put(&mut world);
    }
    for key in ["raw", "raw2"] {
        Object::new(key, OBSERVED)
            .system("raw")
            .now(1)
            .put(&mut world);
    }
    let error = refusal(&world, &selecting(&["db/a", "raw"]));
    assert_eq!(
        error.message(),
        "db/a shares one pin and one working branch with db/b, so they are committed together"
    );
    assert_eq!(
        error.hint().unwrap(),
        "`tether commit db/a raw db/b -m MESSAGE`"
    );
    let plan = plan(&world, &selecting(&["raw"])).unwrap();
    assert_eq!(shown(&plan).0, ["record raw", "vcs-commit"]);
}

/// Surprises 29 and 56: the message is checked first.
#[test]
fn a_blank_message_is_refused_before_anything_else() {
    let mut world = world();
    world.position.bookmarks.clear();
    for (message, said) in [
        (None, "a commit needs a message"),
        (Some(""), "the message is blank"),
        (Some(" \n\t"), "the message is blank"),
        (Some("a\0b"), "the message holds a NUL character"),
    ] {
        let options = CommitOptions {
            message: message.map(ToOwned::to_owned),
            ..options()
        };
        let error = refusal(&world, &options);
        assert_eq!(error.message(), said, "{message:?}");
        assert_eq!(error.hint().unwrap(), "`tether commit -m MESSAGE`");
    }
}

#[test]
fn a_checkout_off_its_bookmark_is_refused_with_the_way_back() {
    let mut left = world();
    left.position.bookmarks = vec![bookmark("other")];
    let mut detached = world();
    detached.position.bookmarks.clear();
    let mut reading = world();
    reading.workspace.view.bookmark = None;
    for (world, said, hint) in [
        (
            left,
            "the working copy is not on bookmark 'main': it moved to other",
            "`tether new main` returns to it, `tether new` works where you are",
        ),
        (
            detached,
            "the working copy is not on bookmark 'main': it moved to no bookmark",
            "`tether new main` returns to it, `tether new` works where you are",
        ),
        (
            reading,
            "this checkout is on no bookmark, so it is read-only",
            "`tether new main` works on the trunk, `tether new -b NAME` on a bookmark of its own",
        ),
    ] {
        let error = refusal(&world, &options());
        assert_eq!(error.kind(), ErrorKind::StaleWorkingCopy);
        assert_eq!(error.message(), said);
        assert_eq!(error.hint().unwrap(), hint);
    }
}

/// P106: a stale object stays stale, whatever becomes of the others.
#[test]
fn a_stale_checkout_is_refused_whatever_is_selected() {
    let mut world = world();
    Object::new("code", FORKABLE)
        .committed(2)
        .now(3)
        .put(&mut world);
    Object::new("raw", OBSERVED).now(1).put(&mut world);
    world.workspace.view.base_states.insert(key("code"), at(1));
    // The trunk's branches are upstream's: nothing was forked that could be stale.
    assert!(plan(&world, &options()).is_ok());
    world.workspace.view.bookmark = Some(bookmark("f"));
    world.position.bookmarks = vec![bookmark("f")];
    for options in [options(), selecting(&["raw"])] {
        let error = refusal(&world, &options);
        assert_eq!(error.kind(), ErrorKind::StaleWorkingCopy);
        assert_eq!(
            error.message(),
            "the working copy is stale: the committed state of code changed since this checkout forked"
        );
        assert_eq!(
            error.hint().unwrap(),
            "`tether new` decides every fork again"
        );
    }
}

#[test]
fn strict_refuses_new_states_that_cannot_be_read_back_and_no_others() {
    let mut world = world();
    Object::new("old", OBSERVED).committed(1).put(&mut world);
    Object::new("events", ADDRESSABLE).now(1).put(&mut world);
    let strict = CommitOptions {
        strict: true,
        ..options()
    };
    assert!(plan(&world, &strict).is_ok());
    Object::new("raw", OBSERVED).now(1).put(&mut world);
    let error = refusal(&world, &strict);
    assert_eq!(error.kind(), ErrorKind::Unpinned);
    assert_eq!(error.key(), Some("raw"));
}

#[test]
fn objects_that_cannot_be_read_are_one_error_that_names_each() {
    let mut world = world();
    for key in ["a", "b", "c"] {
        Object::new(key, FORKABLE).now(1).put(&mut world);
    }
    for name in ["a", "b"] {
        let failed = Error::store("no answer").with_hint("plug it in");
        world.states.insert(key(name), Err(failed));
    }
    let error = refusal(&world, &options());
    assert_eq!(error.kind(), ErrorKind::Several);
    let keys: Vec<_> = error.parts().iter().map(Error::key).collect();
    assert_eq!(keys, [Some("a"), Some("b")]);
    assert_eq!(error.parts()[0].hint(), Some("plug it in"));
    assert_eq!(
        error.hint().unwrap(),
        "nothing was committed; `tether commit KEY... -m MESSAGE` commits the others"
    );
}

#[test]
fn no_vcs_plans_no_dataset_commit() {
    let mut world = world();
    Object::new("code", FORKABLE).now(1).put(&mut world);
    let plan = plan(
        &world,
        &CommitOptions {
            no_vcs: true,
            ..options()
        },
    )
    .unwrap();
    assert_eq!(shown(&plan).0, ["pin code"]);
    assert_eq!(plan.context["no_vcs"], json!(true));
}

/// The user guide's 'Positions', as a table.
#[test]
fn positions_are_those_of_the_guide() {
    let working: tether_engine::name::NativeRef = "tether.ws.0a1b2c3d.b".parse().unwrap();
    let fork = Capabilities::of(FORKABLE);
    let plain = Capabilities::of(ADDRESSABLE);
    let on_ref = Place::Ref(working.clone());
    // bookmark, can fork, committed, --at, has a working ref
    for (on, capabilities, committed, pinned_at, has_ref, expected) in [
        (Some("main"), fork, true, false, false, Place::Upstream),
        (Some("main"), fork, true, false, true, Place::Upstream),
        (Some("main"), fork, true, true, false, Place::Kept),
        (Some("main"), fork, false, true, false, Place::Upstream),
        (Some("main"), plain, true, false, false, Place::Kept),
        (Some("main"), plain, false, false, false, Place::Upstream),
        (Some("b"), fork, true, false, true, on_ref.clone()),
        (Some("b"), fork, true, true, true, on_ref.clone()),
        (Some("b"), fork, true, false, false, Place::Kept),
        (Some("b"), fork, false, false, false, Place::Upstream),
        (Some("b"), plain, true, false, false, Place::Kept),
        (Some("b"), plain, false, false, false, Place::Upstream),
        (None, fork, true, false, false, Place::Kept),
        (None, fork, false, false, false, Place::Upstream),
    ] {
        let mut workspace = world().workspace;
        workspace.view.bookmark = on.map(bookmark);
        let mut locator = Locator::default().with("system", "s");
        if pinned_at {
            locator = locator.with("at", "v1");
        }
        let mut manifest = Manifest::new(key("k"), "kind", locator, Policy::default());
        manifest.state = committed.then(|| at(1));
        if has_ref {
            workspace
                .view
                .working_refs
                .insert(key("k"), working.clone());
        }
        assert_eq!(
            place(&manifest, &workspace, &bookmark("main"), capabilities),
            expected,
            "{on:?} {capabilities:?} committed={committed} at={pinned_at} ref={has_ref}"
        );
    }
}

#[test]
fn a_saved_plan_reads_back_as_it_was() {
    let mut world = world();
    Object::new("code", FORKABLE).now(1).put(&mut world);
    let plan = plan(&world, &options()).unwrap();
    let again = Plan::from_json(&plan.to_json(), "commit").unwrap();
    assert_eq!(again, plan);
    assert_eq!(plan.digest.len(), 64);
}

/// Surprise 3 (a JSON list), and the refusals of the transcripts (06, '--from-plan').
#[test]
fn saved_plans_that_cannot_be_vouched_for_are_refused() {
    let mut world = world();
    Object::new("code", FORKABLE).now(1).put(&mut world);
    let saved = plan(&world, &options()).unwrap().to_value();
    let with = |field: &str, value: Value| {
        let mut plan = saved.clone();
        plan[field] = value;
        plan
    };
    let without = |field: &str| {
        let mut plan = saved.clone();
        plan.as_object_mut().unwrap().remove(field);
        plan
    };
    let sealed = |mut plan: Value| {
        plan.as_object_mut().unwrap().remove("digest");
        let text = tether_engine::json::canonical(&plan);
        plan["digest"] = tether_engine::json::hash(32, [text.as_bytes()]).into();
        plan
    };
    let mut lacking = saved.clone();
    lacking["preconditions"].as_array_mut().unwrap().remove(2);
    let mut evil = saved.clone();
    evil["context"]["message"] = json!("evil");
    let stale = ErrorKind::StalePlan;
    let user = ErrorKind::User;
    for (plan, kind, said) in [
        (
            json!([]),
            user,
            "the file does not hold a saved plan: it is not a JSON object",
        ),
        (
            json!({}),
            user,
            "the file does not hold a saved plan: it names no plan format",
        ),
        (
            with("format", json!(4)),
            stale,
            "this plan has format 4; this tether reads format 3",
        ),
        (
            with("tether_version", json!("0.1.0b6")),
            stale,
            "this plan was made by tether 0.1.0b6; this is tether 0.1.0",
        ),
        (
            without("tether_version"),
            stale,
            "this plan was made by an older tether; this is tether 0.1.0",
        ),
        (
            with("command", json!("gc")),
            user,
            "this is a plan of `tether gc`, not of `tether commit`",
        ),
        (
            evil,
            stale,
            "this commit plan was edited after it was saved: its digest is not that of its content, so nothing vouches for what it would do",
        ),
        (
            with("smuggled", json!(1)),
            stale,
            "this commit plan was edited after it was saved: its digest is not that of its content, so nothing vouches for what it would do",
        ),
        (
            sealed(lacking),
            stale,
            "this commit plan lacks the precondition(s) that tether requires of it: manifest_hash",
        ),
        (
            sealed(with("actions", json!({"op": 1}))),
            user,
            "the file does not hold a saved plan: a field is missing or has a wrong type",
        ),
    ] {
        let error = Plan::from_json(&plan.to_string(), "commit").unwrap_err();
        assert_eq!(error.message(), said);
        assert_eq!(error.kind(), kind, "{said}");
        assert!(error.hint().is_some(), "{said}");
    }
    let error = Plan::from_json("{", "commit").unwrap_err();
    assert_eq!(
        error.message(),
        "the file does not hold a saved plan: it is not JSON"
    );
}
