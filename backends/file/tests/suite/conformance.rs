//! The contract every backend keeps, on directories and on single files.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use tempfile::TempDir;
use tether_backend_file::FileBackend;
use tether_conformance::Harness;
use tether_engine::Result;
use tether_engine::backend::{Backend, Capabilities, Capability, Store};
use tether_engine::name::NativeRef;
use tether_engine::state::State;

use crate::common::store;

struct Files {
    temp: TempDir,
    backend: Arc<FileBackend>,
    /// Whether an object is one file.
    single: bool,
    count: AtomicUsize,
}

impl Files {
    fn new(single: bool) -> Self {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join(".tether")).unwrap();
        let backend = FileBackend::new(Some(temp.path().join(".tether/cache")));
        Self {
            temp,
            backend: Arc::new(backend),
            single,
            count: AtomicUsize::new(0),
        }
    }

    fn next(&self) -> usize {
        self.count.fetch_add(1, Ordering::Relaxed)
    }
}

fn path(store: &Store) -> PathBuf {
    store.locator.str("uri").unwrap().into()
}

#[async_trait]
impl Harness for Files {
    fn backend(&self) -> Arc<dyn Backend> {
        self.backend.clone()
    }

    async fn new_store(&self) -> Result<Store> {
        let root = self.temp.path().join(format!("store-{}", self.next()));
        if self.single {
            std::fs::write(&root, "content").unwrap();
        } else {
            std::fs::create_dir_all(root.join("sub")).unwrap();
            std::fs::write(root.join("sub/first"), "content").unwrap();
        }
        Ok(store(&root))
    }

    async fn mutate(&self, store: &Store, _working_ref: Option<&NativeRef>) -> Result<()> {
        let next = self.next();
        let root = path(store);
        let target = if root.is_dir() {
            root.join(format!("file-{next}"))
        } else {
            root
        };
        std::fs::write(target, format!("content {next}")).unwrap();
        Ok(())
    }

    async fn fresh_store(&self) -> Result<Option<Store>> {
        let below = format!("fresh/{}/store", self.next());
        Ok(Some(store(&self.temp.path().join(below))))
    }

    fn capabilities(&self, store: &Store) -> Capabilities {
        let all = self.backend.effective(store);
        // A created store is a directory.
        if self.single {
            all.without(Capability::Create)
        } else {
            all
        }
    }

    fn respelled(&self, given: &Store) -> Option<Store> {
        let mut other = given.clone();
        other.locator = other
            .locator
            .with("uri", format!("file://localhost{}/", path(given).display()));
        Some(other)
    }

    fn unreachable(&self, _store: &Store, state: &State) -> Option<State> {
        let key = if self.single { "sha256" } else { "digest" };
        Some(state.clone().with(key, "0".repeat(state.str(key)?.len())))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_keep_the_contract() {
    let report = tether_conformance::run(&Files::new(false)).await;
    assert!(report.passed(), "{report}");
    println!("{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn single_files_keep_the_contract() {
    let report = tether_conformance::run(&Files::new(true)).await;
    assert!(report.passed(), "{report}");
    println!("{report}");
}
