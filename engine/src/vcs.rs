//! The enclosing repository as the engine needs it: [`Vcs`], implemented over gix (plain git) and over jj-lib.
//!
//! The trait is synchronous. Paths are relative to [`Vcs::workdir`], `/`-separated, as the repository has them. Revisions are
//! resolved once, and only full ids travel from then on.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::id::{CommitId, OpId};
use crate::name::BookmarkName;
use crate::oplog::Operation;

/// Which adapter it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VcsKind {
    /// Plain git.
    Git,
    /// jj.
    Jj,
}

impl VcsKind {
    /// `git` or `jj`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Git => "git",
            Self::Jj => "jj",
        }
    }

    /// The command that brings committed files back.
    pub fn restore(self, path: &str) -> String {
        match self {
            Self::Git => format!("git restore -- {path}"),
            Self::Jj => format!("jj restore {path}"),
        }
    }

    /// The command that takes a path into a sparse checkout.
    pub fn unsparse(self, path: &str) -> String {
        match self {
            Self::Git => format!("git sparse-checkout add {path}"),
            Self::Jj => format!("jj sparse set --add {path}"),
        }
    }
}

/// Where the working copy is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The commit the next one goes on top of; `None` before the first.
    pub head: Option<CommitId>,
    /// Under jj, the further commits it goes on top of, when the working copy is a merge.
    pub merged: Vec<CommitId>,
    /// The bookmarks the working copy is on (git: the branch `HEAD` names, even unborn; none when detached).
    pub bookmarks: Vec<BookmarkName>,
    /// Under jj, the bookmarks that are at several places at once, or at one and deleted: each with its places.
    pub conflicted: BTreeMap<BookmarkName, Vec<CommitId>>,
}

/// Another checkout of the same repository (a git worktree, a jj workspace), or this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// The VCS's name for it; `main` for git's main worktree.
    pub name: String,
    /// Its root.
    pub path: PathBuf,
    /// Whether it is this one.
    pub current: bool,
    /// Whether its directory can be read now. A locked or unreadable one is not gone.
    pub readable: bool,
}

/// Whether every commit that may name a pin can be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// Yes.
    Complete,
    /// No, with the reason and the command that mends it. Nothing may be released then.
    Cut {
        /// What cuts it: shallow, partial, grafts, replace refs, an unreadable ref.
        reason: String,
        /// A command.
        hint: String,
    },
}

/// The dataset's files at one commit, as blobs: `tether.toml` and everything below `.tether/objects/`.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// A content id of `.tether/objects` (equal ids mean equal manifests); `None` when there is none.
    pub objects_id: Option<String>,
    /// Manifest files: path below `.tether/objects/` to blob.
    pub objects: Vec<(String, Blob)>,
}

/// A file's content with its content id, shared between the trees that hold it.
#[derive(Clone, Debug)]
pub struct Blob {
    /// The VCS's content id.
    pub id: String,
    /// The bytes.
    pub data: Arc<[u8]>,
}

/// One visible commit.
#[derive(Clone, Debug)]
pub struct HistoryCommit {
    /// Its id.
    pub id: CommitId,
    /// The dataset's manifests at it: keys into [`History::trees`]. None when the commit has no manifests, several when jj made it of
    /// a conflict: every side and base counts.
    pub trees: Vec<String>,
}

/// Every visible commit, with the manifests at each, each distinct tree once.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The commits, newest first.
    pub commits: Vec<HistoryCommit>,
    /// Distinct manifest trees by content id.
    pub trees: HashMap<String, Arc<Tree>>,
}

/// One file of a dataset commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathChange {
    /// Where, relative to the working copy's root.
    pub path: String,
    /// The new content; `None` removes the file.
    pub content: Option<Vec<u8>>,
}

/// A dataset commit to make: exactly these paths, on this head, moving this bookmark.
#[derive(Clone, Debug)]
pub struct CommitRequest {
    /// The paths; everything else of the commit is as in its parent.
    pub changes: Vec<PathChange>,
    /// The message, not blank.
    pub message: String,
    /// The bookmark that moves onto the commit; must be where the working copy is.
    pub bookmark: BookmarkName,
    /// The head the plan saw; another head is a `StalePlan` error and nothing is written.
    pub expected_head: Option<CommitId>,
    /// The tether operation that makes the commit.
    pub operation: OpId,
}

/// A dataset commit to take back: what it committed becomes uncommitted edits again, and the bookmark goes back to its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncommitRequest {
    /// The commit; it must be the one the working copy is on.
    pub commit: CommitId,
    /// The bookmark that goes back; it must be at the commit.
    pub bookmark: BookmarkName,
}

/// Where a checkout goes (`new`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchRequest {
    /// The bookmark it is on afterwards; `None`: none, and read-only.
    pub bookmark: Option<BookmarkName>,
    /// The commit it is on afterwards; an existing bookmark must be there (`StalePlan` otherwise). `None` before the first commit.
    pub commit: Option<CommitId>,
    /// Whether the bookmark is made, at `commit`. It must not exist.
    pub create: bool,
    /// Whether uncommitted changes come along.
    pub keep: bool,
}

/// A bookmark on its way from one commit to another, without the working copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookmarkMove {
    /// The bookmark.
    pub bookmark: BookmarkName,
    /// Where it must be (`StalePlan` otherwise); `None`: nowhere, it is made.
    pub from: Option<CommitId>,
    /// Where it goes; `None`: it is deleted.
    pub to: Option<CommitId>,
}

/// The enclosing repository.
pub trait Vcs: Send + Sync {
    /// Which adapter.
    fn kind(&self) -> VcsKind;

    /// The root of this checkout.
    fn workdir(&self) -> &Path;

    /// The directory every checkout of the repository shares (git's common dir, `.jj/repo`).
    fn shared_dir(&self) -> &Path;

    /// A name of this checkout, unique among those that share the directory and stable while it exists, fit for a file name.
    fn checkout_name(&self) -> String;

    /// Every checkout, this one first.
    fn checkouts(&self) -> Result<Vec<Checkout>>;

    /// Where the working copy is.
    fn position(&self) -> Result<Position>;

    /// The commit a revision names. A name of a bookmark is that bookmark; ambiguity is an error. Values that look like options,
    /// ranges and lists are refused.
    fn resolve(&self, rev: &str) -> Result<CommitId>;

    /// Local bookmarks and their commits.
    fn bookmarks(&self) -> Result<BTreeMap<BookmarkName, CommitId>>;

    /// The bookmark this repository calls its trunk when a dataset is made here (git: the current branch, else `main`).
    fn default_trunk(&self) -> Result<BookmarkName>;

    /// Which of `paths` the VCS tracks (index or head).
    fn tracked(&self, paths: &[String]) -> Result<Vec<String>>;

    /// Which of `paths` an ignore rule covers and the VCS does not track.
    fn ignored(&self, paths: &[String]) -> Result<Vec<String>>;

    /// Which of `paths` the VCS left out of the working copy on purpose (skip-worktree, sparse checkout).
    fn left_out(&self, paths: &[String]) -> Result<Vec<String>>;

    /// A file at a commit.
    fn read_at(&self, commit: &CommitId, path: &str) -> Result<Option<Vec<u8>>>;

    /// The manifests at a commit, for the dataset at `prefix` (`""` for the root of the working copy).
    fn tree_at(&self, commit: &CommitId, prefix: &str) -> Result<Tree>;

    /// Every visible commit (all refs, every checkout's head) with its manifests. Cached by content id.
    fn history(&self, prefix: &str) -> Result<History>;

    /// Which of `commits` are visible: reachable from a ref or a checkout's head.
    fn visible(&self, commits: &[CommitId]) -> Result<Vec<bool>>;

    /// Whether `descendant` is on top of `ancestor`. Only asked under jj, where a bookmark can move on without the working copy.
    fn is_ancestor(&self, ancestor: &CommitId, descendant: &CommitId) -> Result<bool> {
        let _ = (ancestor, descendant);
        Ok(false)
    }

    /// A digest over every visible commit id.
    fn history_digest(&self) -> Result<String>;

    /// Whether history can be trusted to be whole.
    fn completeness(&self) -> Result<Completeness>;

    /// Refuses what would make a commit fail or go elsewhere: an operation in progress, a bare or foreign repository, no identity.
    fn check_can_commit(&self) -> Result<()>;

    /// Puts an unborn working copy on `bookmark` (`init`); does nothing when there are commits or it is there already.
    fn adopt_trunk(&self, bookmark: &BookmarkName) -> Result<()>;

    /// Makes the commit. `prepared` is called with its id before anything becomes visible, where the id is known beforehand; its
    /// error stops the commit. After an `Ok` the commit stands; an `Err` means it does not, except where the message says so.
    ///
    /// Where the commit and the operation log are one thing ([`Vcs::carries_operations`]), the operation that `prepared` returns is
    /// published in the same step.
    fn commit(
        &self,
        request: &CommitRequest,
        prepared: &mut dyn FnMut(&CommitId) -> Result<Option<Operation>>,
    ) -> Result<CommitId>;

    /// Whether [`Vcs::commit`] and [`Vcs::uncommit`] publish the operation they are part of (jj), or leave that to
    /// [`crate::oplog::OpLog::publish`] (git).
    fn carries_operations(&self) -> bool {
        false
    }

    /// Why [`Vcs::uncommit`] would refuse: the working copy is elsewhere, other commits build on it, the bookmark is elsewhere, it is
    /// immutable. `Ok` when it would not.
    fn check_can_uncommit(&self, request: &UncommitRequest) -> Result<()>;

    /// Takes a dataset commit back. The files in the working tree stay as they are, and nothing of them stays staged; `operation` is the
    /// undo that does it.
    fn uncommit(&self, request: &UncommitRequest, operation: &Operation) -> Result<()>;

    /// Why [`Vcs::switch`] would refuse (an operation in progress, files in the way, uncommitted changes it could not keep apart), before
    /// anything is written. `Ok`: remarks for the user, such as where uncommitted changes stay.
    fn check_can_switch(&self, request: &SwitchRequest) -> Result<Vec<String>> {
        let _ = request;
        Err(Error::internal("this repository cannot switch bookmarks"))
    }

    /// Takes the checkout to another place. Nothing the user has not committed is lost: it comes along, stays reachable, or the switch is
    /// refused. Being there already is success. Where [`Vcs::carries_operations`], `operation` is published in the same step.
    fn switch(&self, request: &SwitchRequest, operation: &Operation) -> Result<()> {
        let _ = (request, operation);
        Err(Error::internal("this repository cannot switch bookmarks"))
    }

    /// Why [`Vcs::move_bookmark`] would refuse: it is elsewhere, immutable, or conflicted.
    fn check_can_move_bookmark(&self, request: &BookmarkMove) -> Result<()> {
        let _ = request;
        Err(Error::internal("this repository cannot move bookmarks"))
    }

    /// Moves, makes or deletes a bookmark that this checkout is not on. Being there already is success. Where
    /// [`Vcs::carries_operations`], `operation` is published in the same step.
    fn move_bookmark(&self, request: &BookmarkMove, operation: &Operation) -> Result<()> {
        let _ = (request, operation);
        Err(Error::internal("this repository cannot move bookmarks"))
    }

    /// What the repository holds that its own next command takes in first, and that this view of it does not show yet: a line to warn
    /// with.
    fn unseen(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// The commit of an interrupted [`Vcs::commit`] whose id was never known: the head, when its parent is `expected_head` and it
    /// holds exactly `request`'s paths and message.
    fn find_landed(&self, request: &CommitRequest) -> Result<Option<CommitId>>;
}
