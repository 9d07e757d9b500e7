//! `commit`'s planner over worlds made by hand: what it decides, what it refuses, and the shape of a saved plan.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which the lint's exception for tests does not reach"
)]

mod deciding;
mod refusing;

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
            merged: Vec::new(),
            conflicted: std::collections::BTreeMap::new(),
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
