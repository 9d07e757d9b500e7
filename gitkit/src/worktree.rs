//! The worktrees of a repository, read from its files.

use std::path::{Path, PathBuf};

use tether_engine::{Error, Result};

use crate::real;

/// One worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    /// `None` for the main one, else git's id: the name of its directory below `worktrees/`.
    pub id: Option<String>,
    /// Its root.
    pub path: PathBuf,
    /// The directory with its `HEAD` and index.
    pub git_dir: PathBuf,
    /// Whether `git worktree lock` protects it.
    pub locked: bool,
}

impl Worktree {
    /// Whether its root can be read now.
    pub fn readable(&self) -> bool {
        std::fs::metadata(self.path.join(".git")).is_ok()
    }
}

/// Every worktree, the main one first (a bare repository has none), the others by id.
pub fn list(repo: &gix::Repository) -> Result<Vec<Worktree>> {
    let common = real(repo.common_dir());
    let mut found = Vec::new();
    if let Some(path) = main_path(repo, &common) {
        found.push(Worktree {
            id: None,
            path,
            git_dir: common.clone(),
            locked: false,
        });
    }
    let dir = common.join("worktrees");
    let entries = match std::fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(Error::io("list", &dir, error)),
    };
    let mut linked = Vec::new();
    for entry in entries {
        let git_dir = entry
            .map_err(|error| Error::io("list", &dir, error))?
            .path();
        let Ok(link) = std::fs::read(git_dir.join("gitdir")) else {
            continue;
        };
        let link = gix::path::from_byte_slice(link.trim_ascii_end());
        let dot_git = git_dir.join(link);
        let Some(path) = dot_git.parent() else {
            continue;
        };
        linked.push(Worktree {
            id: git_dir
                .file_name()
                .map(|name| name.to_string_lossy().into_owned()),
            path: real(path),
            locked: git_dir.join("locked").exists(),
            git_dir,
        });
    }
    linked.sort_by(|a, b| a.id.cmp(&b.id));
    found.append(&mut linked);
    Ok(found)
}

/// Where the main worktree is; `None` for a bare repository.
fn main_path(repo: &gix::Repository, common: &Path) -> Option<PathBuf> {
    if real(repo.git_dir()) == common {
        return repo.workdir().map(real);
    }
    let config = repo.config_snapshot();
    if config.boolean("core.bare") == Some(true) {
        return None;
    }
    if common.file_name().is_some_and(|name| name == ".git") {
        return common.parent().map(Path::to_owned);
    }
    // A submodule, or `--separate-git-dir`: only the former says where its worktree is.
    config
        .string("core.worktree")
        .map(|path| real(&common.join(gix::path::from_bstring(path))))
}

/// The full names of the branches the worktree with this git dir has checked out, rebases or bisects.
pub fn branches_in_use(git_dir: &Path) -> Vec<String> {
    let read = |name: &str| std::fs::read_to_string(git_dir.join(name)).unwrap_or_default();
    let mut names = Vec::new();
    if let Some(branch) = read("HEAD").strip_prefix("ref:") {
        names.push(branch.trim().to_owned());
    }
    for name in ["rebase-merge/head-name", "rebase-apply/head-name"] {
        names.push(read(name).trim().to_owned());
    }
    names.extend(
        read("rebase-merge/update-refs")
            .lines()
            .map(|line| line.trim().to_owned()),
    );
    let bisected = read("BISECT_START");
    if !bisected.trim().is_empty() {
        names.push(format!("refs/heads/{}", bisected.trim()));
    }
    names.retain(|name| name.starts_with("refs/heads/"));
    names.dedup();
    names
}
