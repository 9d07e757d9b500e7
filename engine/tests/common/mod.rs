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
pub(crate) mod vcs;

use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;
use tether_backend_memory::{new_system, system};
use tether_engine::apply::publish::Record;
use tether_engine::backend::Registry;
use tether_engine::config::{Config, GITIGNORE};
use tether_engine::dataset::{Dataset, Parts};
use tether_engine::id::{DatasetId, WorkspaceId};
use tether_engine::index::Indexes;
use tether_engine::key::{ObjectKey, Selection};
use tether_engine::manifest::{Manifest, Policy};
use tether_engine::name::BookmarkName;
use tether_engine::oplog::{FileHeads, OpLog, Operation};
use tether_engine::plan::commit::CommitOptions;
use tether_engine::report::CommitReport;
use tether_engine::state::{Locator, State};
use tether_engine::workspace::Workspace;
use tether_engine::{Error, apply};

pub(crate) use stores::{Faults, Faulty, Shelf};
pub(crate) use vcs::FakeVcs;

/// The dataset id of every test dataset.
pub(crate) const DATASET: &str = "0a1b2c3d";

/// A dataset in a temporary directory, on its trunk `main`, with nothing committed.
pub(crate) struct Fixture {
    pub(crate) dir: TempDir,
    pub(crate) vcs: Arc<FakeVcs>,
    pub(crate) faults: Arc<Faults>,
    /// A name no other test of the process uses, to name memory systems with.
    pub(crate) name: String,
}

impl Fixture {
    pub(crate) fn new() -> Self {
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
        let fixture = Self {
            vcs: Arc::new(vcs),
            faults: Arc::default(),
            name: WorkspaceId::random().unwrap().to_string(),
            dir,
        };
        let dataset = fixture.dataset();
        apply::publish::publish(&dataset, &mut workspace, Record::new("init").unwrap()).unwrap();
        fixture
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("ds")
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root().join(below)
    }

    pub(crate) fn read(&self, below: &str) -> Option<String> {
        std::fs::read_to_string(self.path(below)).ok()
    }

    pub(crate) fn dataset(&self) -> Dataset {
        let log = FileHeads::new(&self.dir.path().join("shared"), "main");
        self.dataset_with(Arc::new(log))
    }

    /// The dataset with another operation log.
    pub(crate) fn dataset_with(&self, oplog: Arc<dyn OpLog>) -> Dataset {
        let registry = Registry::new()
            .with(Arc::new(Faulty::new(Arc::clone(&self.faults))))
            .with(Arc::new(Shelf::new(Arc::clone(&self.faults))));
        Dataset::open(Parts {
            root: self.root(),
            vcs: Arc::clone(&self.vcs) as _,
            oplog,
            registry,
        })
        .unwrap()
    }

    /// Registers an object as `add` does.
    pub(crate) fn add(&self, key: &str, kind: &str, locator: Locator, policy: Policy) {
        let manifest = Manifest::new(key.parse().unwrap(), kind, locator, policy);
        self.write_manifest(&manifest);
    }

    pub(crate) fn write_manifest(&self, manifest: &Manifest) {
        let path = self.path(&format!(".tether/{}", manifest.key.manifest_path()));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, manifest.to_toml()).unwrap();
    }

    pub(crate) fn manifest(&self, key: &str) -> Manifest {
        let key: ObjectKey = key.parse().unwrap();
        let text = self
            .read(&format!(".tether/{}", key.manifest_path()))
            .expect("the manifest is there");
        Manifest::parse(&key, text.as_bytes()).unwrap()
    }

    /// The manifest of `key` at the head.
    pub(crate) fn manifest_at_head(&self, key: &str) -> Manifest {
        let dataset = self.dataset();
        let manifests = dataset.manifests_at(&self.vcs.head().unwrap()).unwrap();
        manifests[key].clone()
    }

    /// Adds a memory object (Forkable) with a system of its own, and returns the system's name.
    pub(crate) fn add_memory(&self, key: &str) -> String {
        let system = format!("{}-{key}", self.name);
        let locator = new_system(&system);
        self.add(key, "memory", locator, Policy::default());
        system
    }

    /// Adds a shelf object (no branches, no pins).
    pub(crate) fn add_shelf(&self, key: &str) {
        let place = format!("{}-{key}", self.name);
        self.faults.shelve(&place, 1);
        let locator = Locator::default().with("place", place);
        self.add(key, "shelf", locator, Policy::default());
    }

    pub(crate) fn workspace(&self) -> Workspace {
        self.dataset().workspace().unwrap()
    }

    pub(crate) fn write_workspace(&self, workspace: &Workspace) {
        std::fs::write(self.path(".tether/workspace.toml"), workspace.to_toml()).unwrap();
    }

    /// The operations of the checkout, newest first.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        let dataset = self.dataset();
        match dataset.oplog.head().unwrap() {
            Some(head) => dataset.op_store().chain(&head.operation, 100).unwrap(),
            None => Vec::new(),
        }
    }

    /// Pin ids on the clone's record.
    pub(crate) fn pins_on_record(&self) -> Vec<String> {
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
    pub(crate) fn unfinished(&self) -> usize {
        tether_engine::oplog::Journal::unfinished(&self.dir.path().join("shared"))
            .unwrap()
            .len()
    }

    pub(crate) async fn commit(&self, message: &str) -> Result<CommitReport, Error> {
        self.commit_with(&options(message)).await
    }

    pub(crate) async fn commit_with(&self, options: &CommitOptions) -> Result<CommitReport, Error> {
        apply::commit::run(&self.dataset(), options, &mut |_| {}).await
    }
}

pub(crate) fn options(message: &str) -> CommitOptions {
    CommitOptions {
        message: Some(message.to_owned()),
        ..CommitOptions::default()
    }
}

pub(crate) fn keys(keys: &[&str]) -> Selection {
    Selection(keys.iter().map(|key| (*key).to_owned()).collect())
}

pub(crate) fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

/// Writes to a memory system past the backend; the new snapshot.
pub(crate) fn write(system: &str, branch: &str, payload: &str) -> State {
    let id = system::with(|systems| {
        systems
            .get_mut(system)
            .unwrap()
            .write(branch, "unit", payload)
    });
    State::default().with("snapshot_id", id.unwrap())
}

/// The tags of a memory system: names and snapshot ids.
pub(crate) fn tags(system: &str) -> Vec<(String, String)> {
    system::with(|systems| {
        let system = systems.get(system).unwrap();
        let tags = system.tags.iter();
        tags.map(|(name, id)| (name.clone(), id.clone())).collect()
    })
}

/// Deletes a tag of a memory system past the backend.
pub(crate) fn delete_tag(system: &str, name: &str) {
    system::with(|systems| systems.get_mut(system).unwrap().tags.remove(name)).unwrap();
}
