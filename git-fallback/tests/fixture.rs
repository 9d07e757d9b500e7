//! Repositories made by `git` with a configuration of their own, and what tests ask of them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use tether_engine::Result;
use tether_engine::id::{CommitId, OpId};
use tether_engine::name::BookmarkName;
use tether_engine::vcs::{CommitRequest, PathChange, Vcs};
use tether_git_fallback::GitVcs;

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

    /// A command without the caller's environment.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(dir)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.dir.path())
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    pub(crate) fn try_git(&self, dir: &Path, args: &[&str]) -> Output {
        self.command("git", dir).args(args).output().unwrap()
    }

    /// `git ARGS` in `dir`, which must succeed; its standard output without the last line feed.
    pub(crate) fn git(&self, dir: &Path, args: &[&str]) -> String {
        let output = self.try_git(dir, args);
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout)
            .trim_end_matches('\n')
            .to_owned()
    }

    /// An empty repository on the unborn branch `main`, whose own configuration decides everything tests depend on.
    pub(crate) fn empty(&self, name: &str, init: &[&str]) -> Repo<'_> {
        let path = self.path(name);
        std::fs::create_dir_all(&path).unwrap();
        self.git(&path, &[&["init", "-q", "-b", "main"], init].concat());
        let repo = Repo {
            scratch: self,
            path,
        };
        repo.configure();
        repo
    }

    /// A repository with one commit that has a file `file` and one manifest.
    pub(crate) fn repo(&self, name: &str) -> Repo<'_> {
        let repo = self.empty(name, &[]);
        repo.write("file", "one\n");
        repo.write(MANIFEST, "first\n");
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-q", "-m", "one"]);
        repo
    }
}

/// A manifest's path.
pub(crate) const MANIFEST: &str = ".tether/objects/a.toml";

/// A working tree.
pub(crate) struct Repo<'s> {
    pub(crate) scratch: &'s Scratch,
    pub(crate) path: PathBuf,
}

impl<'s> Repo<'s> {
    pub(crate) fn at(scratch: &'s Scratch, path: PathBuf) -> Self {
        Self { scratch, path }
    }

    pub(crate) fn configure(&self) {
        for (name, value) in [
            ("user.name", "U"),
            ("user.email", "u@example.com"),
            ("commit.gpgSign", "false"),
            ("core.excludesFile", "/dev/null"),
            ("core.attributesFile", "/dev/null"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
        ] {
            self.git(&["config", name, value]);
        }
    }

    pub(crate) fn vcs(&self) -> GitVcs {
        GitVcs::open(&self.path, None).unwrap()
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.scratch.git(&self.path, args)
    }

    pub(crate) fn rev(&self, rev: &str) -> CommitId {
        CommitId::new(self.git(&["rev-parse", "--verify", "-q", rev]))
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.path.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn hook(&self, name: &str, script: &str) {
        let path = self.path.join(".git/hooks").join(name);
        executable(&path, &format!("#!/bin/sh\n{script}\n"));
    }

    /// Another commit of `file`.
    pub(crate) fn advance(&self, message: &str) -> CommitId {
        self.write("file", &format!("{message}\n"));
        self.git(&["commit", "-q", "-m", message, "--", "file"]);
        self.rev("HEAD")
    }

    /// A request for these files on the head of now.
    pub(crate) fn request(&self, message: &str, files: &[(&str, Option<&str>)]) -> CommitRequest {
        let position = self.vcs().position().unwrap();
        CommitRequest {
            changes: files
                .iter()
                .map(|(path, content)| PathChange {
                    path: (*path).to_owned(),
                    content: content.map(|content| content.as_bytes().to_vec()),
                })
                .collect(),
            message: message.to_owned(),
            bookmark: position
                .bookmarks
                .first()
                .cloned()
                .unwrap_or_else(|| bookmark("main")),
            expected_head: position.head,
            operation: OpId::random().unwrap(),
        }
    }

    /// Writes the files as the engine does, and commits them.
    pub(crate) fn commit(&self, message: &str, files: &[(&str, Option<&str>)]) -> Result<CommitId> {
        self.put(files);
        self.vcs()
            .commit(&self.request(message, files), &mut |_| Ok(None))
    }

    /// Writes or removes files.
    pub(crate) fn put(&self, files: &[(&str, Option<&str>)]) {
        for (path, content) in files {
            match content {
                Some(content) => self.write(path, content),
                None => std::fs::remove_file(self.path.join(path)).unwrap(),
            }
        }
    }

    /// `git status` of everything, by path.
    pub(crate) fn status(&self) -> String {
        self.git(&["status", "--porcelain=v2", "--untracked-files=all"])
    }

    /// `git fsck` finds nothing wrong, and no lock or scratch file is left.
    pub(crate) fn assert_sound(&self) {
        let output = self
            .scratch
            .try_git(&self.path, &["fsck", "--strict", "--no-dangling"]);
        let said = [output.stdout, output.stderr].concat();
        assert!(
            output.status.success() && said.is_empty(),
            "{}",
            String::from_utf8_lossy(&said)
        );
        let git_dir = PathBuf::from(self.git(&["rev-parse", "--absolute-git-dir"]));
        let left: Vec<_> = std::fs::read_dir(git_dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| {
                name.ends_with(".lock")
                    || name.starts_with("tether-index")
                    || name.starts_with("tether-sign")
            })
            .collect();
        assert_eq!(left, Vec::<String>::new());
    }
}

pub(crate) fn executable(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) fn bookmark(name: &str) -> BookmarkName {
    name.parse().unwrap()
}

/// Runs one test of this binary again, in an environment, marked so that it knows; its output. Fails when it does.
pub(crate) fn again(test: &str, change: impl FnOnce(&mut Command)) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([test, "--exact", "--nocapture"])
        .env(INNER, "1");
    change(&mut command);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
    said
}

/// Whether this is a run of [`again`].
pub(crate) fn is_inner() -> bool {
    std::env::var_os(INNER).is_some()
}

const INNER: &str = "TETHER_TEST_INNER";
