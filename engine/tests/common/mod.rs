//! What the engine's integration tests share: a repository in memory, two store kinds that can fail, and a dataset around them.

#![allow(
    dead_code,
    reason = "each test binary uses its part of what they share"
)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests: a failure is a failed test"
)]

mod stores;
mod vcs;

use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;
use tether_backend_memory::{new_system, system};
use tether_engine::backend::Registry;
use tether_engine::config::{Config, GITIGNORE};
use tether_engine::dataset::{Dataset, Parts};
use tether_engine::id::{DatasetId, WorkspaceId};
use tether_engine::index::Indexes;
use tether_engine::key::{ObjectKey, Selection};
use tether_engine::manifest::{Manifest, Policy};
use tether_engine::name::BookmarkName;
use tether_engine::oplog::{FileHeads, Operation};
use tether_engine::plan::commit::CommitOptions;
use tether_engine::report::CommitReport;
use tether_engine::state::{Locator, State};
use tether_engine::workspace::Workspace;
use tether_engine::{Error, apply};

pub use stores::{Faults, Faulty, Shelf};
pub use vcs::{FakeVcs, Trouble};

/// The dataset id of every test dataset.
pub const DATASET: &str = "0a1b2c3d";

/// A dataset in a temporary directory, on its trunk `main`, with nothing committed.
pub struct Fixture {
    pub dir: TempDir,
    pub vcs: Arc<FakeVcs>,
    pub faults: Arc<Faults>,
    /// A name no other test of the process uses, to name memory systems with.
    pub name: String,
}

impl Fixture {
    pub fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().join("ds");
        std::fs::create_dir_all(root.join(".tether/objects")).unwrap();
        std::fs::create_dir_all(dir.path().join("shared")).unwrap();
        let trunk: BookmarkName = "main".parse().unwrap();
        let config = Config::initial_text(&DATASET.parse().unwrap(), &trunk);
        std::fs::write(root.join("tether.toml"), config).unwrap();
        std::fs::write(root.join(".tether/.gitignore"), GITIGNORE).unwrap();
        let mut workspace = Workspace::new(WorkspaceId::random().unwrap());
        workspace.view.bookmark = Some(trunk);
        std::fs::write(root.join(".tether/workspace.toml"), workspace.to_toml()).unwrap();
        let vcs = FakeVcs::new(root, dir.path().join("shared"), "main");
        Self {
            vcs: Arc::new(vcs),
            faults: Arc::default(),
            name: WorkspaceId::random().unwrap().to_string(),
            dir,
        }
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("ds")
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.root().join(below)
    }

    pub fn read(&self, below: &str) -> Option<String> {
        std::fs::read_to_string(self.path(below)).ok()
    }

    pub fn dataset(&self) -> Dataset {
        let registry = Registry::new()
            .with(Arc::new(Faulty::new(Arc::clone(&self.faults))))
            .with(Arc::new(Shelf::new(Arc::clone(&self.faults))));
        Dataset::open(Parts {
            root: self.root(),
            vcs: Arc::clone(&self.vcs) as _,
            oplog: Arc::new(FileHeads::new(&self.dir.path().join("shared"), "main")),
            registry,
        })
        .unwrap()
    }

    /// Registers an object as `add` does.
    pub fn add(&self, key: &str, kind: &str, locator: Locator, policy: Policy) {
        let manifest = Manifest::new(key.parse().unwrap(), kind, locator, policy);
        self.write_manifest(&manifest);
    }

    pub fn write_manifest(&self, manifest: &Manifest) {
        let path = self.path(&format!(".tether/{}", manifest.key.manifest_path()));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, manifest.to_toml()).unwrap();
    }

    pub fn manifest(&self, key: &str) -> Manifest {
        let key: ObjectKey = key.parse().unwrap();
        let text = self
            .read(&format!(".tether/{}", key.manifest_path()))
            .expect("the manifest is there");
        Manifest::parse(&key, text.as_bytes()).unwrap()
    }

    /// Adds a memory object (Forkable) with a system of its own, and returns the system's name.
    pub fn add_memory(&self, key: &str) -> String {
        let system = format!("{}-{key}", self.name);
        let locator = new_system(&system);
        self.add(key, "memory", locator, Policy::default());
        system
    }

    /// Adds a shelf object (no branches, no pins).
    pub fn add_shelf(&self, key: &str) {
        let place = format!("{}-{key}", self.name);
        self.faults.shelve(&place, 1);
        let locator = Locator::default().with("place", place);
        self.add(key, "shelf", locator, Policy::default());
    }

    pub fn workspace(&self) -> Workspace {
        self.dataset().workspace().unwrap()
    }

    pub fn write_workspace(&self, workspace: &Workspace) {
        std::fs::write(self.path(".tether/workspace.toml"), workspace.to_toml()).unwrap();
    }

    /// The operations of the checkout, newest first.
    pub fn operations(&self) -> Vec<Operation> {
        let dataset = self.dataset();
        match dataset.oplog.head().unwrap() {
            Some(head) => dataset.op_store().chain(&head.operation, 100).unwrap(),
            None => Vec::new(),
        }
    }

    /// Pin ids on the clone's record.
    pub fn pins_on_record(&self) -> Vec<String> {
        let indexes = Indexes::new(&self.dir.path().join("shared"));
        let pinned = indexes.pinned(&DATASET.parse::<DatasetId>().unwrap());
        let mut pins: Vec<String> = pinned
            .unwrap()
            .iter()
            .map(|entry| entry.pin_id.to_string())
            .collect();
        pins.sort();
        pins
    }

    /// Journals of operations that never ended.
    pub fn unfinished(&self) -> usize {
        tether_engine::oplog::Journal::unfinished(&self.dir.path().join("shared"))
            .unwrap()
            .len()
    }

    pub async fn commit(&self, message: &str) -> Result<CommitReport, Error> {
        self.commit_with(&options(message)).await
    }

    pub async fn commit_with(&self, options: &CommitOptions) -> Result<CommitReport, Error> {
        apply::commit::run(&self.dataset(), options, &mut |_| {}).await
    }
}

pub fn options(message: &str) -> CommitOptions {
    CommitOptions {
        message: Some(message.to_owned()),
        ..CommitOptions::default()
    }
}

pub fn keys(keys: &[&str]) -> Selection {
    Selection(keys.iter().map(|key| (*key).to_owned()).collect())
}

pub fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

/// Writes to a memory system past the backend; the new snapshot.
pub fn write(system: &str, branch: &str, payload: &str) -> State {
    let id = system::with(|systems| {
        systems
            .get_mut(system)
            .unwrap()
            .write(branch, "unit", payload)
    });
    State::default().with("snapshot_id", id.unwrap())
}

/// The tags of a memory system: names and snapshot ids.
pub fn tags(system: &str) -> Vec<(String, String)> {
    system::with(|systems| {
        let system = systems.get(system).unwrap();
        let tags = system.tags.iter();
        tags.map(|(name, id)| (name.clone(), id.clone())).collect()
    })
}

/// Deletes a tag of a memory system past the backend.
pub fn delete_tag(system: &str, name: &str) {
    system::with(|systems| systems.get_mut(system).unwrap().tags.remove(name)).unwrap();
}
