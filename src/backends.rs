//! The one list of store kinds in this build: adding a backend is one line here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tether_backend_file::FileBackend;
use tether_backend_git::GitBackend;
use tether_engine::backend::Registry;

/// What tether can be built with and this build is not.
const NOT_YET: &[&str] = &[
    "delta", "dolt", "ducklake", "iceberg", "icechunk", "lance", "neon",
];

/// The backends, for the dataset at `root` (without one, nothing is cached between runs). `git` is the configured git executable.
pub fn registry(root: Option<&Path>, git: Option<PathBuf>) -> Registry {
    let cache = root.map(|root| root.join(".tether/cache"));
    let registry = Registry::new()
        .with(Arc::new(FileBackend::new(cache)))
        .with(Arc::new(GitBackend::new(git)));
    NOT_YET.iter().fold(registry, |registry, kind| {
        registry.without(kind, "it comes in a later build")
    })
}
