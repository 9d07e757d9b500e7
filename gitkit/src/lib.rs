//! Git repositories, safely: opening with guards, moving refs conditionally, and the few calls of the `git` executable.
//!
//! Shared by `tether-git-fallback` (the dataset's own repository) and `tether-backend-git` (other repositories).
//!
//! ```text
//!   env     the variables that point git elsewhere, and getting rid of them
//!   open    opening with two profiles (own, foreign) and the guards: reftable, unknown extensions, ownership
//!   refs    compare-and-swap moves, D/F guard, which branches worktrees hold
//!   worktree  every worktree, and what it holds
//!   trees   files and manifests at a commit
//!   history every commit reachable from some tips, with its manifests; what cuts history
//!   exec    finding `git`, its version, and running it with everything dangerous off
//! ```

pub mod env;
pub mod exec;
pub mod history;
pub mod open;
pub mod refs;
pub mod trees;
pub mod worktree;

pub use gix;

use std::path::{Path, PathBuf};

use tether_engine::Error;

/// A path without symlinks, or as it is where it cannot be resolved.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// An error of gix about what tether was doing.
fn failed(
    what: impl Into<String>,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::vcs(what).with_source(error)
}
