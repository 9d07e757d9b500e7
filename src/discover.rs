//! Which dataset a directory belongs to, and which repository encloses it.
//!
//! The dataset is the nearest `tether.toml` at or above the directory, and the repository the nearest `.git` or `.jj` at or above that
//! file. A `tether.toml` that lies above the directory's own repository and is in no repository itself is a stray and never taken.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tether_engine::config::Config;
use tether_engine::dataset::{Dataset, Parts};
use tether_engine::oplog::{FileHeads, OpLog};
use tether_engine::vcs::{Vcs, VcsKind};
use tether_engine::{Error, Result, fsutil, json};
use tether_git_fallback::GitVcs;
use tether_jj::{Jj, JjLog, JjVcs, Options};

use crate::backends;
use crate::render::quoted;

/// The name of the file that makes a directory a dataset.
const DATASET_FILE: &str = "tether.toml";

/// Opens the dataset that `start` (absolute) belongs to.
pub fn dataset(start: &Path, jj: &Options) -> Result<Dataset> {
    let root = dataset_root(start)?;
    let Enclosing { vcs, oplog } = repository(&root, jj)?.ok_or_else(|| no_repository(&root))?;
    let registry = backends::registry(Some(&root), None);
    let mut dataset = Dataset::open(Parts {
        root,
        vcs,
        oplog,
        registry,
    })?;
    // Opening found `secrets.toml` untracked: only now may it name a program.
    if let Some(git) = dataset.secrets.git_path() {
        if dataset.vcs.kind() == VcsKind::Git {
            dataset.vcs = open_git(dataset.vcs.workdir(), Some(git.clone()))?;
        }
        dataset.registry = backends::registry(Some(&dataset.root), Some(git));
    }
    Ok(dataset)
}

/// A repository, and where this checkout's head of the operation log is kept.
pub struct Enclosing {
    /// The repository.
    pub vcs: Arc<dyn Vcs>,
    /// The head of this checkout's operation log.
    pub oplog: Arc<dyn OpLog>,
}

/// The repository that encloses `root`; `None` where there is none.
pub fn repository(root: &Path, jj: &Options) -> Result<Option<Enclosing>> {
    let Some(found) = find_repository(root)? else {
        return Ok(None);
    };
    if found.jj && !(found.git && prefers_git(root)?) {
        let jj = Jj::open(&found.root, root, jj)?;
        return Ok(Some(Enclosing {
            vcs: Arc::new(JjVcs::new(Arc::clone(&jj))),
            oplog: Arc::new(JjLog::new(jj)),
        }));
    }
    let vcs = GitVcs::open(&found.root, None)?;
    let oplog = FileHeads::own(vcs.git_dir(), vcs.shared_dir(), &log_name(&vcs, root));
    Ok(Some(Enclosing {
        vcs: Arc::new(vcs),
        oplog: Arc::new(oplog),
    }))
}

/// The name of a dataset's operation log in a checkout. Each dataset of a repository has its own: one must not follow the views of
/// another.
fn log_name(vcs: &dyn Vcs, root: &Path) -> String {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (root, workdir) = (real(root), real(vcs.workdir()));
    let checkout = vcs.checkout_name();
    match root.strip_prefix(&workdir) {
        Ok(below) if !below.as_os_str().is_empty() => {
            let digest = json::hash(8, [below.as_os_str().as_encoded_bytes()]);
            format!("{checkout}.{digest}")
        }
        _ => checkout,
    }
}

fn open_git(root: &Path, git: Option<PathBuf>) -> Result<Arc<dyn Vcs>> {
    Ok(Arc::new(GitVcs::open(root, git)?))
}

/// A directory that is the root of a checkout.
#[derive(Debug)]
struct Repository {
    root: PathBuf,
    git: bool,
    jj: bool,
}

fn find_repository(start: &Path) -> Result<Option<Repository>> {
    let git = tether_gitkit::open::discover(start)?;
    let jj = start
        .ancestors()
        .find(|dir| dir.join(".jj").is_dir())
        .map(Path::to_owned);
    // The nearer of the two; both when they are one directory (a colocated repository).
    let depth = |root: &Option<PathBuf>| root.as_ref().map_or(0, |root| root.components().count());
    let (git_depth, jj_depth) = (depth(&git), depth(&jj));
    let root = if git_depth >= jj_depth { git } else { jj };
    Ok(root.map(|root| Repository {
        root,
        git: git_depth >= jj_depth,
        jj: jj_depth >= git_depth,
    }))
}

fn dataset_root(start: &Path) -> Result<PathBuf> {
    let root = start
        .ancestors()
        .find(|dir| dir.join(DATASET_FILE).is_file())
        .ok_or_else(|| no_dataset(start, None))?;
    let inner = find_repository(start)?;
    let is_above = inner.is_some_and(|found| found.root != root && found.root.starts_with(root));
    if is_above && find_repository(root)?.is_none() {
        return Err(no_dataset(start, Some(root)));
    }
    Ok(root.to_owned())
}

fn prefers_git(root: &Path) -> Result<bool> {
    let path = root.join(DATASET_FILE);
    let Some(bytes) = fsutil::read_regular(&path)? else {
        return Ok(false);
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::config(format!("{} is not UTF-8 text", path.display())))?;
    Ok(Config::parse(&text)?.prefer_git)
}

fn no_dataset(start: &Path, stray: Option<&Path>) -> Error {
    let place = start.display();
    if let Some(left) = left_behind(start) {
        let (vcs, command) = if left.join(".jj").is_dir() {
            ("jj", "jj new BOOKMARK")
        } else {
            ("git", "git switch BRANCH")
        };
        return Error::user(format!(
            "the revision that {vcs} has checked out in {} holds no dataset; the checkout's own records are still there",
            left.display()
        ))
        .with_hint(format!("`{command}` goes back to one that does"));
    }
    match stray {
        Some(stray) => Error::user(format!(
            "no tether dataset found at or above {place}: the tether.toml in {} is outside this repository and in none of its own",
            stray.display()
        )),
        None => Error::user(format!("no tether dataset found at or above {place}")),
    }
    .with_hint("cd to a dataset, or make one of a repository: `tether init`")
}

/// A directory at or above `start` that was a dataset's until its `tether.toml` left the working copy.
fn left_behind(start: &Path) -> Option<&Path> {
    start.ancestors().find(|dir| {
        dir.join(".tether/workspace.toml").is_file() && !dir.join(DATASET_FILE).exists()
    })
}

fn no_repository(root: &Path) -> Error {
    let place = root.display();
    Error::vcs(format!(
        "the dataset {place} is in no git or jj repository: there is none at or above it"
    ))
    .with_hint(format!(
        "bring its repository back, or make one: `jj git init {0}` or `git init {0}`",
        quoted(&place.to_string())
    ))
}
