//! The one list of store kinds in this build: adding a backend is one line here.

use std::path::Path;
use std::sync::Arc;

use tether_backend_file::FileBackend;
use tether_engine::backend::Registry;

/// What tether can be built with and this build is not.
const NOT_YET: &[&str] = &[
    "delta", "dolt", "ducklake", "iceberg", "icechunk", "lance", "neon",
];

/// The backends, for the dataset at `root`; without one, nothing is cached between runs.
pub fn registry(root: Option<&Path>) -> Registry {
    let cache = root.map(|root| root.join(".tether/cache"));
    let registry = Registry::new().with(Arc::new(FileBackend::new(cache)));
    NOT_YET.iter().fold(registry, |registry, kind| {
        registry.without(kind, "not in this build yet")
    })
}
