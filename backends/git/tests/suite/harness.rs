//! Every way a repository may lie around, for the conformance suite.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use async_trait::async_trait;
use tether_backend_git::GitBackend;
use tether_conformance::Harness;
use tether_engine::Result;
use tether_engine::backend::{Backend, Store};
use tether_engine::json::Value;
use tether_engine::name::NativeRef;
use tether_engine::state::{Locator, State};

use crate::git::{command, commit, git, run, store, unique};

/// How the repository lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `ref = main`, another branch is checked out.
    OtherBranch,
    /// No `ref`, `main` is checked out.
    CheckedOut,
    /// A bare repository that the secrets file allows.
    Bare,
    /// A linked worktree on a branch of its own.
    Worktree,
    /// `.jj` beside `.git`, detached `HEAD`, pins hidden.
    Colocated,
}

pub(crate) struct Repositories {
    layout: Layout,
    root: tempfile::TempDir,
    template: PathBuf,
    backend: GitBackend,
}

impl Repositories {
    pub(crate) fn new(layout: Layout) -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut template = root.path().join("template");
        std::fs::create_dir(&template).unwrap();
        git(&template, &["init", "-q", "-b", "main"]);
        commit(&template, "first", "one\n");
        commit(&template, "second", "two\n");
        match layout {
            Layout::CheckedOut | Layout::Worktree => {}
            Layout::OtherBranch => drop(git(&template, &["switch", "-q", "-c", "dev"])),
            Layout::Bare => {
                let bare = root.path().join("bare");
                git(
                    &template,
                    &["clone", "-q", "--bare", ".", bare.to_str().unwrap()],
                );
                template = bare;
            }
            Layout::Colocated => {
                std::fs::create_dir(template.join(".jj")).unwrap();
                std::fs::write(template.join(".jj/.gitignore"), "/*\n").unwrap();
                git(&template, &["checkout", "-q", "--detach"]);
            }
        }
        Self {
            layout,
            root,
            template,
            backend: GitBackend::new(None),
        }
    }

    fn fresh(&self) -> PathBuf {
        self.root.path().join(format!("store-{}", unique()))
    }
}

fn path(store: &Store) -> PathBuf {
    PathBuf::from(store.locator.str("path").unwrap())
}

fn base(store: &Store) -> String {
    match store.locator.str("ref") {
        Some(name) => name.to_owned(),
        None => git(&path(store), &["symbolic-ref", "--short", "HEAD"]),
    }
}

fn full(native: &NativeRef) -> String {
    let name = native.as_str();
    if name.starts_with("refs/") {
        name.to_owned()
    } else if name.starts_with("tether.") && !name.starts_with("tether.ws.") {
        format!("refs/tags/{name}")
    } else {
        format!("refs/heads/{name}")
    }
}

/// Commits a file on `branch`, with the checkout when the branch is checked out there.
fn write(dir: &Path, branch: &str, file: &str, text: &str) {
    let head = run(dir, &["symbolic-ref", "-q", "HEAD"]);
    let current = String::from_utf8(head.stdout).unwrap();
    let full = format!("refs/heads/{branch}");
    if dir.join(".git").exists() && current.trim() == full {
        commit(dir, file, text);
        return;
    }
    let length = text.len();
    let stream = format!(
        "commit {full}\ncommitter A <a@example.org> 1700000000 +0000\ndata 1\nx\nfrom {full}^0\n\
         M 100644 inline {file}\ndata {length}\n{text}\ndone\n"
    );
    let mut import = command(dir)
        .args(["fast-import", "--quiet", "--done"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    import
        .stdin
        .take()
        .unwrap()
        .write_all(stream.as_bytes())
        .unwrap();
    assert!(import.wait().unwrap().success());
}

/// Copies a directory tree.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[async_trait]
impl Harness for Repositories {
    fn backend(&self) -> Arc<dyn Backend> {
        Arc::new(self.backend.clone())
    }

    async fn new_store(&self) -> Result<Store> {
        let dir = self.fresh();
        copy(&self.template, &dir);
        let locator = |dir: &Path| Locator::default().with("path", dir.to_str().unwrap());
        Ok(match self.layout {
            Layout::CheckedOut => store(locator(&dir)),
            Layout::OtherBranch | Layout::Colocated => store(locator(&dir).with("ref", "main")),
            Layout::Bare => {
                let mut store = store(locator(&dir).with("ref", "main"));
                store.options.0.insert("bare".into(), Value::Bool(true));
                store
            }
            Layout::Worktree => {
                let tree = self.fresh();
                let path = tree.to_str().unwrap();
                git(&dir, &["worktree", "add", "-q", "-b", "side", path]);
                store(locator(&tree))
            }
        })
    }

    async fn mutate(&self, store: &Store, working_ref: Option<&NativeRef>) -> Result<()> {
        let branch = working_ref.map_or_else(|| base(store), |native| native.as_str().to_owned());
        let number = unique();
        write(
            &path(store),
            &branch,
            &format!("file-{number}"),
            &format!("{number}\n"),
        );
        Ok(())
    }

    async fn fresh_store(&self) -> Result<Option<Store>> {
        let path = self.fresh();
        Ok(Some(store(
            Locator::default().with("path", path.to_str().unwrap()),
        )))
    }

    fn respelled(&self, store: &Store) -> Option<Store> {
        let path = path(store);
        let link = self.root.path().join(format!("link-{}", unique()));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut other = store.clone();
        other.locator.0.shift_remove("path");
        other.locator = other.locator.with(
            "uri",
            format!("{}/../{}/.", link.display(), path.file_name()?.to_str()?),
        );
        Some(other)
    }

    fn unreachable(&self, _store: &Store, state: &State) -> Option<State> {
        Some(state.clone().with("sha", "1".repeat(40)))
    }

    async fn refs(&self, store: &Store) -> Result<Option<BTreeMap<String, String>>> {
        let listed = git(
            &path(store),
            &["for-each-ref", "--format=%(refname) %(objectname)"],
        );
        let pairs = listed.lines().map(|line| line.split_once(' ').unwrap());
        Ok(Some(
            pairs
                .map(|(name, id)| (name.to_owned(), id.to_owned()))
                .collect(),
        ))
    }

    async fn set_ref(&self, store: &Store, native: &NativeRef, to: Option<&State>) -> Result<bool> {
        let dir = path(store);
        match to {
            Some(state) => git(
                &dir,
                &["update-ref", &full(native), state.str("sha").unwrap()],
            ),
            None => git(&dir, &["update-ref", "-d", &full(native)]),
        };
        Ok(true)
    }

    async fn diverge(&self, store: &Store, working_ref: &NativeRef) -> Result<bool> {
        let dir = path(store);
        write(
            &dir,
            &base(store),
            "contested",
            &format!("base {}\n", unique()),
        );
        write(
            &dir,
            working_ref.as_str(),
            "contested",
            &format!("fork {}\n", unique()),
        );
        Ok(true)
    }
}
