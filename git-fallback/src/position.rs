//! Where HEAD is, the branches, and the worktrees.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;
use gix::head::Kind;
use gix::refs::transaction::{Change, LogChange, PreviousValue, RefEdit};
use gix::refs::{FullName, Target};
use tether_engine::id::CommitId;
use tether_engine::name::BookmarkName;
use tether_engine::vcs::{Checkout, Position};
use tether_engine::{Error, Result};
use tether_gitkit::worktree;

use crate::{commit_id, failed, real};

/// The main worktree's name, as a checkout.
const MAIN: &str = "main";

/// Where the working copy is.
pub(crate) fn position(repo: &gix::Repository) -> Result<Position> {
    let head = repo
        .head()
        .map_err(|error| failed("cannot read HEAD", error))?;
    let branch =
        |name: &FullName| -> Vec<BookmarkName> { bookmark(name.as_bstr()).into_iter().collect() };
    Ok(match &head.kind {
        Kind::Unborn(name) => Position {
            head: None,
            merged: Vec::new(),
            conflicted: std::collections::BTreeMap::new(),
            bookmarks: branch(name),
        },
        Kind::Detached { target, .. } => Position {
            head: Some(commit_id(*target)),
            merged: Vec::new(),
            conflicted: std::collections::BTreeMap::new(),
            bookmarks: Vec::new(),
        },
        Kind::Symbolic(reference) => Position {
            head: tether_gitkit::refs::target(repo, "HEAD")?.map(commit_id),
            merged: Vec::new(),
            conflicted: std::collections::BTreeMap::new(),
            bookmarks: branch(&reference.name),
        },
    })
}

/// `refs/heads/<name>` as a bookmark, where tether can name it.
fn bookmark(full: &gix::bstr::BStr) -> Option<BookmarkName> {
    full.strip_prefix(b"refs/heads/")?
        .to_str()
        .ok()?
        .parse()
        .ok()
}

/// Every local branch that names a commit.
pub(crate) fn bookmarks(repo: &gix::Repository) -> Result<BTreeMap<BookmarkName, CommitId>> {
    let platform = repo
        .references()
        .map_err(|error| failed("cannot list branches", error))?;
    let branches = platform
        .local_branches()
        .map_err(|error| failed("cannot list branches", error))?;
    let mut found = BTreeMap::new();
    // A broken branch names no commit; `completeness` reports it.
    for mut branch in branches.flatten() {
        let Some(name) = bookmark(branch.name().as_bstr()) else {
            continue;
        };
        if let Ok(id) = branch.peel_to_id() {
            found.insert(name, commit_id(id.detach()));
        }
    }
    Ok(found)
}

/// The name of the checkout with this git dir: `main`, or `worktree-<id>` with every byte that a file name may not have escaped.
pub(crate) fn checkout_name(git_dir: &Path, shared_dir: &Path) -> String {
    if git_dir == shared_dir {
        return MAIN.to_owned();
    }
    linked_name(&git_dir.file_name().unwrap_or_default().to_string_lossy())
}

fn linked_name(id: &str) -> String {
    let escaped = id.bytes().map(|byte| {
        if byte.is_ascii_alphanumeric() || b"._-".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02x}")
        }
    });
    format!("worktree-{}", escaped.collect::<String>())
}

/// Every checkout, this one first.
pub(crate) fn checkouts(
    repo: &gix::Repository,
    git_dir: &Path,
    workdir: &Path,
) -> Result<Vec<Checkout>> {
    let mut found = Vec::new();
    for tree in worktree::list(repo)? {
        let current = real(&tree.git_dir) == git_dir;
        found.push(Checkout {
            name: tree
                .id
                .as_deref()
                .map_or_else(|| MAIN.to_owned(), linked_name),
            readable: current || tree.readable(),
            path: if current {
                workdir.to_owned()
            } else {
                tree.path
            },
            current,
        });
    }
    if !found.iter().any(|checkout| checkout.name == MAIN) && main_is_elsewhere(repo) {
        // `git init --separate-git-dir` leaves no way from the repository to its main worktree.
        found.push(Checkout {
            name: MAIN.to_owned(),
            path: PathBuf::from(repo.common_dir()),
            current: false,
            readable: false,
        });
    }
    found.sort_by_key(|checkout| !checkout.current);
    Ok(found)
}

fn main_is_elsewhere(repo: &gix::Repository) -> bool {
    repo.config_snapshot().boolean("core.bare") == Some(false)
}

/// Puts an unborn HEAD on `bookmark`, unless that branch exists already.
pub(crate) fn adopt_trunk(repo: &gix::Repository, bookmark: &BookmarkName) -> Result<()> {
    let head = repo
        .head()
        .map_err(|error| failed("cannot read HEAD", error))?;
    let Kind::Unborn(old) = head.kind else {
        return Ok(());
    };
    let name = branch_ref(bookmark)?;
    if name == old
        || tether_gitkit::refs::target(repo, name.as_bstr().to_str_lossy().as_ref())?.is_some()
    {
        return Ok(());
    }
    let edit = RefEdit {
        change: Change::Update {
            log: LogChange::default(),
            expected: PreviousValue::MustExistAndMatch(Target::Symbolic(old)),
            new: Target::Symbolic(name),
        },
        name: FullName::try_from("HEAD").map_err(|error| failed("cannot name HEAD", error))?,
        deref: false,
    };
    repo.edit_references_as([edit], None)
        .map(drop)
        .map_err(|error| failed(format!("cannot put HEAD on the branch {bookmark}"), error))
}

/// The full ref name of a bookmark. An error when git cannot name a branch so.
pub(crate) fn branch_ref(bookmark: &BookmarkName) -> Result<FullName> {
    FullName::try_from(format!("refs/heads/{bookmark}")).map_err(|error| {
        Error::user(format!(
            "{:?} is not a name git allows for a branch",
            bookmark.as_str()
        ))
        .with_source(error)
    })
}
