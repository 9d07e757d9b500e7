//! The one list of store kinds in this build: adding a backend is one line here.

use std::path::Path;

use tether_engine::backend::Registry;

/// What tether can be built with and this build is not.
const NOT_YET: &[&str] = &[
    "delta", "dolt", "ducklake", "iceberg", "icechunk", "lance", "neon",
];

/// The backends, for the dataset at `root`.
pub fn registry(root: &Path) -> Registry {
    let _cache = root.join(".tether/cache");
    let registry = Registry::new();
    NOT_YET.iter().fold(registry, |registry, kind| {
        registry.without(kind, "not in this build yet")
    })
}
