//! A folder with data and a cache, and the backend's answers about it.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tether_backend_file::FileBackend;
use tether_engine::backend::{Backend as _, Store};
use tether_engine::state::{Locator, State};
use tether_engine::{Error, Result};

/// A temporary folder with `data/` (not made) and `.tether/`.
pub(crate) struct Folder {
    temp: TempDir,
    runtime: tokio::runtime::Runtime,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join(".tether")).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .unwrap();
        Self { temp, runtime }
    }

    /// A folder whose `data` is a directory.
    pub(crate) fn with_dir() -> Self {
        let folder = Self::new();
        std::fs::create_dir(folder.data()).unwrap();
        folder
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join(below)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.data().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.path(".tether/cache")
    }

    /// A backend as a new process has it.
    pub(crate) fn backend(&self) -> FileBackend {
        FileBackend::new(Some(self.cache()))
    }

    pub(crate) fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// The state of `data` as a new process sees it.
    pub(crate) fn state(&self) -> State {
        self.try_state().unwrap()
    }

    pub(crate) fn try_state(&self) -> Result<State> {
        self.state_of(&self.data())
    }

    pub(crate) fn state_of(&self, path: &Path) -> Result<State> {
        let backend = self.backend();
        self.run(backend.fingerprint(&store(path), None))
    }

    pub(crate) fn error(&self) -> Error {
        self.try_state().unwrap_err()
    }

    /// The listing of `data` in `state`.
    pub(crate) fn listing(&self, state: &State) -> Option<String> {
        let backend = self.backend();
        let listing = self.run(backend.listing(&store(&self.data()), state));
        listing
            .unwrap()
            .map(|text| String::from_utf8(text).unwrap())
    }
}

pub(crate) fn locator(path: &Path) -> Locator {
    Locator::default().with("uri", path.to_str().unwrap())
}

pub(crate) fn store(path: &Path) -> Store {
    Store {
        locator: locator(path),
        ..Store::default()
    }
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn text(state: &State, key: &str) -> String {
    state.str(key).unwrap().to_owned()
}

pub(crate) fn number(state: &State, key: &str) -> u64 {
    state
        .get(key)
        .and_then(tether_engine::json::Value::as_u64)
        .unwrap()
}
