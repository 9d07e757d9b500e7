//! Opening a repository with guards.

use std::path::Path;

use tether_engine::Result;

/// Whose repository it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The dataset's own: the user's identity, hooks, filters and signing apply.
    Own,
    /// A store: nothing its configuration names is run.
    Foreign,
}

/// Opens the repository whose working tree or git dir is at `path` (never walks up, never takes an embedded bare repository).
///
/// Errors (kind `Vcs` for `Own`, `Store` for `Foreign`): not a repository, owned by somebody else (with git's `safe.directory` line as
/// the hint), reftable (`git refs migrate --ref-format=files`), an unknown extension.
pub fn open(path: &Path, role: Role) -> Result<gix::Repository> {
    let _ = (path, role);
    todo!("git-fallback owner")
}

/// The nearest directory at or above `start` that is a git working tree, with `safe.bareRepository=explicit` semantics.
pub fn discover(start: &Path) -> Result<Option<std::path::PathBuf>> {
    let _ = start;
    todo!("git-fallback owner")
}
