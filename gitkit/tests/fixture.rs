//! A scratch directory and `git` with a configuration of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Directories of one test.
pub(crate) struct Scratch {
    dir: TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    /// `git ARGS` in `dir`, which must succeed; its trimmed standard output.
    pub(crate) fn git(&self, dir: &Path, args: &[&str]) -> String {
        let output = self.try_git(dir, args);
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn try_git(&self, dir: &Path, args: &[&str]) -> std::process::Output {
        self.command(dir).args(args).output().unwrap()
    }

    /// `git` in `dir`.
    pub(crate) fn command(&self, dir: &Path) -> Command {
        let mut command = Command::new("git");
        command
            .current_dir(dir)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.dir.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "A")
            .env("GIT_AUTHOR_EMAIL", "a@example.com")
            .env("GIT_COMMITTER_NAME", "C")
            .env("GIT_COMMITTER_EMAIL", "c@example.com");
        command
    }

    /// A repository with one commit on `main`.
    pub(crate) fn repo(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(&path).unwrap();
        self.git(&path, &["init", "-q", "-b", "main"]);
        std::fs::write(path.join("file"), "one\n").unwrap();
        self.git(&path, &["add", "file"]);
        self.git(&path, &["commit", "-q", "-m", "one"]);
        path
    }

    /// `count` commits without parents, so that refs have something to point at.
    pub(crate) fn commits(&self, repo: &Path, count: usize) -> Vec<gix::ObjectId> {
        (0..count)
            .map(|n| {
                let id = self.git(repo, &["commit-tree", "-m", &n.to_string(), "HEAD^{tree}"]);
                id.parse().unwrap()
            })
            .collect()
    }
}
