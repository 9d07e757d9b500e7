//! The [`Vcs`] over gix, for plain git repositories.
//!
//! ```text
//!   position   where HEAD is, branches, worktrees
//!   resolve    a revision to one commit, bookmarks first
//!   paths      tracked, ignored, left out of the working copy
//!   commit     a commit of exactly some paths: native, or through `git commit` where hooks are; and taking one back
//! ```
//!
//! Everything that only reads is in process; the `git` executable is looked for when a commit meets hooks or settings that only it
//! understands.

mod commit;
mod paths;
mod position;
mod resolve;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use tether_engine::id::CommitId;
use tether_engine::name::BookmarkName;
use tether_engine::oplog::Operation;
use tether_engine::vcs::{
    Checkout, CommitRequest, Completeness, History, Position, Tree, UncommitRequest, Vcs, VcsKind,
};
use tether_engine::{Error, Result};
use tether_gitkit::history::{self, Tips};
use tether_gitkit::open::{Role, open};
use tether_gitkit::trees;

/// A plain git repository.
pub struct GitVcs {
    workdir: PathBuf,
    /// The directory with this worktree's `HEAD` and index, symlinks resolved.
    git_dir: PathBuf,
    shared_dir: PathBuf,
    repo: gix::ThreadSafeRepository,
    git: Option<PathBuf>,
    walked: history::Memo,
}

impl GitVcs {
    /// Opens the checkout whose working tree is at `workdir`. `git` is the configured executable, if any.
    ///
    /// Errors are those of [`open`], and a `core.worktree` that makes another directory the working tree.
    pub fn open(workdir: &Path, git: Option<PathBuf>) -> Result<Self> {
        let workdir =
            std::path::absolute(workdir).map_err(|error| Error::io("find", workdir, error))?;
        let repo = open(&workdir, Role::Own)?;
        let tree = repo.workdir().map(real);
        if tree.as_deref() != Some(&*real(&workdir)) {
            return Err(Error::vcs(format!(
                "core.worktree makes {} the working tree of the repository in {}",
                tree.unwrap_or_default().display(),
                workdir.display()
            ))
            .with_hint("git config --unset core.worktree"));
        }
        Ok(Self {
            git_dir: real(repo.git_dir()),
            shared_dir: real(repo.common_dir()),
            repo: repo.into_sync(),
            workdir,
            git,
            walked: history::Memo::default(),
        })
    }

    /// The directory with this worktree's `HEAD` and index, symlinks resolved. Git deletes that of a linked worktree with it.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// A handle of this thread's own.
    fn repo(&self) -> gix::Repository {
        let mut repo = self.repo.to_thread_local();
        repo.objects.ignore_replacements = true;
        repo
    }
}

impl std::fmt::Debug for GitVcs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitVcs")
            .field("workdir", &self.workdir)
            .field("shared_dir", &self.shared_dir)
            .finish_non_exhaustive()
    }
}

impl Vcs for GitVcs {
    fn kind(&self) -> VcsKind {
        VcsKind::Git
    }

    fn workdir(&self) -> &Path {
        &self.workdir
    }

    fn shared_dir(&self) -> &Path {
        &self.shared_dir
    }

    fn checkout_name(&self) -> String {
        position::checkout_name(&self.git_dir, &self.shared_dir)
    }

    fn checkouts(&self) -> Result<Vec<Checkout>> {
        position::checkouts(&self.repo(), &self.git_dir, &self.workdir)
    }

    fn position(&self) -> Result<Position> {
        position::position(&self.repo())
    }

    fn resolve(&self, rev: &str) -> Result<CommitId> {
        resolve::resolve(&self.repo(), rev)
    }

    fn bookmarks(&self) -> Result<BTreeMap<BookmarkName, CommitId>> {
        position::bookmarks(&self.repo())
    }

    fn default_trunk(&self) -> Result<BookmarkName> {
        match position::position(&self.repo())?.bookmarks.pop() {
            Some(branch) => Ok(branch),
            None => "main".parse(),
        }
    }

    fn tracked(&self, paths: &[String]) -> Result<Vec<String>> {
        paths::tracked(&self.repo(), paths)
    }

    fn ignored(&self, paths: &[String]) -> Result<Vec<String>> {
        paths::ignored(&self.repo(), paths)
    }

    fn left_out(&self, paths: &[String]) -> Result<Vec<String>> {
        paths::left_out(&self.repo(), &self.workdir, paths)
    }

    fn read_at(&self, commit: &CommitId, path: &str) -> Result<Option<Vec<u8>>> {
        trees::read_at(&self.repo(), object_id(commit)?, path)
    }

    fn tree_at(&self, commit: &CommitId, prefix: &str) -> Result<Tree> {
        trees::tree_at(&self.repo(), object_id(commit)?, prefix)
    }

    fn history(&self, prefix: &str) -> Result<History> {
        let repo = self.repo();
        let tips = Tips::of_git(&repo)?;
        history::history(repo, &self.walked, tips, prefix)
    }

    fn visible(&self, commits: &[CommitId]) -> Result<Vec<bool>> {
        let repo = self.repo();
        history::visible(&repo, &self.walked, || Tips::of_git(&repo), commits)
    }

    fn history_digest(&self) -> Result<String> {
        let repo = self.repo();
        history::digest(&repo, &self.walked, Tips::of_git(&repo)?)
    }

    fn completeness(&self) -> Result<Completeness> {
        history::completeness(&self.repo())
    }

    fn check_can_commit(&self) -> Result<()> {
        commit::check(&self.repo())
    }

    fn adopt_trunk(&self, bookmark: &BookmarkName) -> Result<()> {
        position::adopt_trunk(&self.repo(), bookmark)
    }

    fn commit(
        &self,
        request: &CommitRequest,
        prepared: &mut dyn FnMut(&CommitId) -> Result<Option<Operation>>,
    ) -> Result<CommitId> {
        commit::commit(
            &self.repo(),
            &self.workdir,
            self.git.as_deref(),
            request,
            prepared,
        )
    }

    fn check_can_uncommit(&self, request: &UncommitRequest) -> Result<()> {
        commit::check_can_uncommit(&self.repo(), request)
    }

    fn uncommit(&self, request: &UncommitRequest, operation: &Operation) -> Result<()> {
        commit::uncommit(&self.repo(), request, operation)
    }

    fn find_landed(&self, request: &CommitRequest) -> Result<Option<CommitId>> {
        commit::find_landed(&self.repo(), &self.workdir, request)
    }
}

/// A path without symlinks, or as it is where it cannot be resolved.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn object_id(commit: &CommitId) -> Result<ObjectId> {
    commit
        .as_str()
        .parse()
        .map_err(|error: gix::hash::decode::Error| {
            Error::vcs(format!("{commit} is not a full commit id")).with_source(error)
        })
}

fn commit_id(id: ObjectId) -> CommitId {
    CommitId::new(id.to_string())
}

/// An error of gix about what tether was doing.
fn failed(
    what: impl Into<String>,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::vcs(what).with_source(error)
}
