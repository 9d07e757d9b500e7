//! Stores that tether makes and removes: an empty repository with one fixed root commit and an owner marker in its configuration.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind as Io;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use tether_engine::backend::Store;
use tether_engine::error::{Error, Result};
use tether_engine::id::DatasetId;
use tether_engine::name::{NativeRef, REF_PREFIX, WORKING_REF_PREFIX};
use tether_engine::state::State;
use tether_gitkit::open::{Role, open};
use tether_gitkit::refs::{self, Old};

use crate::base::{self, Base};
use crate::locator::Site;
use crate::repos::{Core, Opened};
use crate::{EMPTY_ROOT_SHA, config, error, layout, revision, state};

/// The name a store's `.git` has while it is being removed.
const LEAVING: &str = ".tether-deleted";

/// What git itself keeps in a git directory of a repository without content. Anything else may be somebody's.
const KNOWN: [&str; 14] = [
    "HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "COMMIT_EDITMSG",
    "branches",
    "config",
    "description",
    "hooks",
    "index",
    "info",
    "logs",
    "objects",
    "packed-refs",
    "refs",
];

/// Makes the store.
pub(crate) fn create(store: &Store, owner: &DatasetId) -> Result<State> {
    let site = Site::new(store)?;
    let branch = new_branch(&site)?;
    let (Some(parent), Some(name)) = (site.path.parent(), site.path.file_name()) else {
        return Err(exists(&site.path));
    };
    if site.path.symlink_metadata().is_ok() {
        return Err(exists(&site.path));
    }
    fs::create_dir_all(parent).map_err(|failure| Error::io("make", parent, failure))?;
    let prefix = format!(".{}.tether-", name.to_string_lossy());
    let nest = tempfile::Builder::new()
        .prefix(&prefix)
        .tempdir_in(parent)
        .map_err(|failure| Error::io("write to", parent, failure))?;
    let made = nest.path().join("store");
    let commit = populate(&made, &branch, owner)?;
    match fs::rename(&made, &site.path) {
        Ok(()) => Ok(state::of(commit)),
        Err(failure)
            if matches!(
                failure.kind(),
                Io::DirectoryNotEmpty | Io::AlreadyExists | Io::NotADirectory
            ) =>
        {
            Err(exists(&site.path))
        }
        Err(failure) => Err(Error::io("make", &site.path, failure)),
    }
}

fn exists(path: &Path) -> Error {
    Error::user(format!(
        "{} exists already, tether adopts nothing it did not make",
        path.display()
    ))
    .with_hint("name a path that does not exist, or leave out `--create`")
}

/// The branch a new store starts with.
fn new_branch(site: &Site) -> Result<String> {
    if site.at.is_some() {
        return Err(Error::config("a store that does not exist yet has no `at`"));
    }
    let name = match site.reference.as_deref() {
        None | Some("HEAD") => "main",
        Some(name) => name.strip_prefix("refs/heads/").unwrap_or(name),
    };
    crate::branches::full(&name.parse()?)
}

fn populate(root: &Path, branch: &str, owner: &DatasetId) -> Result<ObjectId> {
    let git = root.join(".git");
    for dir in [
        "objects/info",
        "objects/pack",
        "refs/heads",
        "refs/tags",
        "info",
    ] {
        let dir = git.join(dir);
        fs::create_dir_all(&dir).map_err(|failure| Error::io("make", &dir, failure))?;
    }
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
         [tether]\n\towner = {owner}\n"
    );
    for (name, text) in [("HEAD", format!("ref: {branch}\n")), ("config", config)] {
        let file = git.join(name);
        fs::write(&file, text).map_err(|failure| Error::io("write", &file, failure))?;
    }
    let repo = open(root, Role::Foreign)?;
    let commit = write_root(&repo)?;
    refs::set(&repo, branch, commit, Old::Absent, "tether: created store")?;
    Ok(commit)
}

/// The root commit, the same in every store.
fn write_root(repo: &gix::Repository) -> Result<ObjectId> {
    let failed = "cannot write the first commit";
    let tree = repo
        .write_object(gix::objs::Tree::empty())
        .map_err(error::store(failed))?
        .detach();
    let by = gix::actor::Signature {
        name: "tether".into(),
        email: "tether@localhost".into(),
        time: gix::date::Time {
            seconds: 946_684_800,
            offset: 0,
        },
    };
    let commit = gix::objs::Commit {
        tree,
        parents: Vec::new().into(),
        author: by.clone(),
        committer: by,
        encoding: None,
        message: "tether: created store\n".into(),
        extra_headers: Vec::new(),
    };
    Ok(repo
        .write_object(&commit)
        .map_err(error::store(failed))?
        .detach())
}

/// The dataset that made the store.
pub(crate) fn owner(store: &Store) -> Result<Option<DatasetId>> {
    let site = Site::new(store)?;
    let Some(git_dir) = layout::git_dir(&site.path) else {
        return Ok(None);
    };
    let owner = config::owner(&layout::common_dir(&git_dir))?;
    Ok(owner.and_then(|owner| owner.parse().ok()))
}

/// Whether nothing but the first commit remains.
pub(crate) fn is_ref_empty(at: &Opened, ignoring: &[NativeRef]) -> Result<Option<bool>> {
    let git_dir = at.site.path.join(".git");
    if !is_directory(&git_dir) || layout::real(at.repo.git_dir()) != layout::real(&git_dir) {
        return Ok(Some(false));
    }
    let Base::Branch(base) = base::find(at)? else {
        return Ok(Some(false));
    };
    empty(&at.repo, &at.site.path, &git_dir, &base, ignoring).map(Some)
}

fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
}

/// The whole check: refs, `HEAD`, index, working tree, and what else lies in the git directory.
fn empty(
    repo: &gix::Repository,
    root: &Path,
    git_dir: &Path,
    base: &str,
    ignoring: &[NativeRef],
) -> Result<bool> {
    let on_base = revision::head_branch(repo)?.as_deref() == Some(base);
    Ok(on_base
        && refs_are_empty(repo, base, ignoring)?
        && only(root, |name| {
            Some(name) == git_dir.file_name().and_then(|name| name.to_str())
        })?
        && only(git_dir, |name| {
            KNOWN.contains(&name) || (name == "worktrees" && is_bare_directory(&git_dir.join(name)))
        })?
        && only(&git_dir.join("hooks"), |name| name.ends_with(".sample"))?
        && index_is_empty(repo)?)
}

fn is_bare_directory(path: &Path) -> bool {
    only(path, |_| false).unwrap_or(false)
}

/// Whether a directory (or none) holds only names that `known` knows.
fn only(dir: &Path, known: impl Fn(&str) -> bool) -> Result<bool> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(failure) if failure.kind() == Io::NotFound => return Ok(true),
        Err(failure) => return Err(Error::io("list", dir, failure)),
    };
    for entry in entries {
        let entry = entry.map_err(|failure| Error::io("list", dir, failure))?;
        if !entry.file_name().to_str().is_some_and(&known) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn index_is_empty(repo: &gix::Repository) -> Result<bool> {
    let index = repo
        .index_or_empty()
        .map_err(error::store("cannot read the index"))?;
    Ok(index.entries().is_empty())
}

fn refs_are_empty(repo: &gix::Repository, base: &str, ignoring: &[NativeRef]) -> Result<bool> {
    let ignored: HashSet<String> = ignoring.iter().flat_map(full_names).collect();
    let failed = "cannot list refs";
    let platform = repo.references().map_err(error::store(failed))?;
    let root = ObjectId::from_hex(EMPTY_ROOT_SHA.as_bytes())
        .map_err(error::store("the id of the first commit is malformed"))?;
    let mut based = false;
    for found in platform.all().map_err(error::store(failed))? {
        let found = found.map_err(|broken| Error::store(failed).with_source(broken))?;
        let full = found.name().as_bstr().to_str_lossy().into_owned();
        if full == base {
            based = found
                .target()
                .try_id()
                .is_some_and(|id| id.as_bytes() == root.as_bytes());
            if !based {
                return Ok(false);
            }
        } else if !ignored.contains(&full) {
            return Ok(false);
        }
    }
    Ok(based)
}

/// The full names a native ref may have.
fn full_names(native: &NativeRef) -> Vec<String> {
    let name = native.as_str();
    if name.starts_with("refs/") {
        vec![name.to_owned()]
    } else if name.starts_with(REF_PREFIX) && !name.starts_with(WORKING_REF_PREFIX) {
        vec![format!("refs/tags/{name}"), format!("refs/tether/{name}")]
    } else {
        vec![format!("refs/heads/{name}")]
    }
}

/// Removes the store.
///
/// `.git` is first renamed, so that no git process finds it any more, then checked once more, then removed.
pub(crate) fn delete(
    core: &std::sync::Arc<Core>,
    store: &Store,
    dataset: &DatasetId,
) -> Result<()> {
    let site = Site::new(store)?;
    if let Some(left) = left_over(&site.path, dataset)? {
        return remove(&site.path, &left);
    }
    if site
        .path
        .symlink_metadata()
        .is_err_and(|failure| failure.kind() == Io::NotFound)
    {
        return Ok(());
    }
    if owner(store)?.as_ref() != Some(dataset) {
        return Err(Error::store(format!(
            "{} is not a store that dataset {dataset} made",
            site.path.display()
        ))
        .with_hint("delete it by hand if it is not needed"));
    }
    let at = Opened::new(std::sync::Arc::clone(core), store)?;
    let base = match base::find(&at)? {
        Base::Branch(base) if is_ref_empty(&at, &[])? == Some(true) => base,
        _ => return Err(in_use(&site.path)),
    };
    let git_dir = site.path.join(".git");
    let leaving = site.path.join(LEAVING);
    fs::rename(&git_dir, &leaving).map_err(|failure| Error::io("move", &git_dir, failure))?;
    core.forget(&site.path);
    let still = open(&leaving, Role::Foreign)
        .and_then(|repo| empty(&repo, &site.path, &leaving, &base, &[]));
    if !matches!(still, Ok(true)) {
        fs::rename(&leaving, &git_dir)
            .map_err(|failure| Error::io("move back", &leaving, failure))?;
        return Err(still.err().unwrap_or_else(|| in_use(&site.path)));
    }
    remove(&site.path, &leaving)
}

/// What an interrupted removal left.
fn left_over(root: &Path, dataset: &DatasetId) -> Result<Option<PathBuf>> {
    let leaving = root.join(LEAVING);
    if root.join(".git").symlink_metadata().is_ok() || !is_directory(&leaving) {
        return Ok(None);
    }
    let ours = config::owner(&leaving)?.as_deref() == Some(dataset.as_str());
    Ok(ours.then_some(leaving))
}

fn remove(root: &Path, leaving: &Path) -> Result<()> {
    fs::remove_dir_all(leaving).map_err(|failure| Error::io("remove", leaving, failure))?;
    // A file that came in between stays, and its directory with it.
    match fs::remove_dir(root) {
        Ok(()) => Ok(()),
        Err(failure) if failure.kind() == Io::DirectoryNotEmpty => Ok(()),
        Err(failure) => Err(Error::io("remove", root, failure)),
    }
}

fn in_use(path: &Path) -> Error {
    Error::store(format!("{} holds more than tether made", path.display())).with_hint(format!(
        "look at `git -C {} log --all` and `git status --ignored` there",
        path.display()
    ))
}
