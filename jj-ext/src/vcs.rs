//! The [`Vcs`] over jj-lib.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use futures::StreamExt as _;
use jj_lib::backend::CommitId as JjCommitId;
use jj_lib::commit::Commit;
use jj_lib::object_id::ObjectId as _;
use jj_lib::ref_name::RefName;
use jj_lib::repo::{ReadonlyRepo, Repo as _};
use jj_lib::revset::{ResolvedRevsetExpression, RevsetExpression};
use pollster::FutureExt as _;
use tether_engine::id::CommitId;
use tether_engine::json;
use tether_engine::name::BookmarkName;
use tether_engine::oplog::Operation;
use tether_engine::vcs::{
    Checkout, CommitRequest, Completeness, History, Position, Tree, UncommitRequest, Vcs, VcsKind,
};
use tether_engine::{Error, Result};
use tether_gitkit::history::{self, Tips};

use crate::repo::Jj;
use crate::snapshot::repo_path;
use crate::{failed, trees};

/// A jj repository, in one of its workspaces.
#[derive(Clone, Debug)]
pub struct JjVcs(pub(crate) Arc<Jj>);

impl JjVcs {
    /// The repository `jj`.
    pub fn new(jj: Arc<Jj>) -> Self {
        Self(jj)
    }
}

impl crate::JjLog {
    /// The operation log in `jj`.
    pub fn new(jj: Arc<Jj>) -> Self {
        Self(jj)
    }
}

impl Vcs for JjVcs {
    fn kind(&self) -> VcsKind {
        VcsKind::Jj
    }

    fn workdir(&self) -> &Path {
        &self.0.root
    }

    fn shared_dir(&self) -> &Path {
        &self.0.repository
    }

    fn checkout_name(&self) -> String {
        let name = self.0.name.as_str();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if !name.is_empty() && name.len() < 64 && name.chars().all(plain) {
            return name.to_owned();
        }
        json::hash(8, [name.as_bytes()])
    }

    fn checkouts(&self) -> Result<Vec<Checkout>> {
        Ok(self.0.workspaces())
    }

    fn position(&self) -> Result<Position> {
        self.0.position_in(&self.0.repo())
    }

    fn resolve(&self, rev: &str) -> Result<CommitId> {
        let id = self.0.resolve_rev(&self.0.repo(), rev)?;
        Ok(CommitId::new(id.hex()))
    }

    fn bookmarks(&self) -> Result<BTreeMap<BookmarkName, CommitId>> {
        let repo = self.0.repo();
        let bookmarks = repo.view().local_bookmarks();
        Ok(bookmarks
            .filter_map(|(name, target)| {
                let id = target.as_normal()?;
                Some((name.as_str().parse().ok()?, CommitId::new(id.hex())))
            })
            .collect())
    }

    fn default_trunk(&self) -> Result<BookmarkName> {
        let position = self.position()?;
        let main: BookmarkName = "main".parse()?;
        if position.bookmarks.contains(&main) {
            return Ok(main);
        }
        if let Some(bookmark) = position.bookmarks.into_iter().next() {
            return Ok(bookmark);
        }
        let repo = self.0.repo();
        if repo
            .view()
            .get_local_bookmark(RefName::new("main"))
            .is_present()
        {
            return Err(Error::vcs(
                "the working copy is not on bookmark main, which would be the dataset's trunk",
            )
            .with_hint("`jj new main`, then `tether init`"));
        }
        Ok(main)
    }

    fn tracked(&self, paths: &[String]) -> Result<Vec<String>> {
        let tree = self.0.wc_commit(&self.0.repo())?.tree();
        let mut tracked = Vec::new();
        for path in paths {
            let value = tree
                .path_value(&repo_path(path)?)
                .block_on()
                .map_err(|error| failed("cannot read the working copy's tree", error))?;
            if !value.is_absent() {
                tracked.push(path.clone());
            }
        }
        Ok(tracked)
    }

    /// None: jj is told to track tether's files by name.
    fn ignored(&self, _paths: &[String]) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn left_out(&self, paths: &[String]) -> Result<Vec<String>> {
        let workspace = self.0.workspace();
        let patterns = workspace
            .working_copy()
            .sparse_patterns()
            .map_err(|error| failed("cannot read the sparse patterns", error))?;
        let mut left_out = Vec::new();
        for path in paths {
            let place = repo_path(path)?;
            if !patterns.iter().any(|pattern| place.starts_with(pattern)) {
                left_out.push(path.clone());
            }
        }
        Ok(left_out)
    }

    fn read_at(&self, commit: &CommitId, path: &str) -> Result<Option<Vec<u8>>> {
        trees::read(&self.commit_of(commit)?, &repo_path(path)?).block_on()
    }

    fn tree_at(&self, commit: &CommitId, prefix: &str) -> Result<Tree> {
        trees::objects(&self.commit_of(commit)?, prefix).block_on()
    }

    fn history(&self, prefix: &str) -> Result<History> {
        let repo = self.0.repo();
        let root = repo.store().root_commit_id();
        let heads = repo.view().heads().iter().filter(|id| *id != root);
        let tips = Tips::of(heads.map(|id| gix::ObjectId::from_bytes_or_panic(id.as_bytes())));
        history::history(Jj::git(&repo)?, &self.0.walked, tips, prefix)
    }

    fn visible(&self, commits: &[CommitId]) -> Result<Vec<bool>> {
        let repo = self.0.repo();
        let mut known = Vec::new();
        for commit in commits {
            if let Some(id) = jj_id(commit) {
                let has = repo.index().has_id(&id).block_on();
                if has.map_err(|error| failed("cannot read jj's index", error))? {
                    known.push(id);
                }
            }
        }
        let everything: Arc<ResolvedRevsetExpression> =
            RevsetExpression::visible_heads().ancestors();
        let seen = ids(
            &repo,
            &everything.intersection(&RevsetExpression::commits(known)),
        )?;
        Ok(commits
            .iter()
            .map(|commit| jj_id(commit).is_some_and(|id| seen.contains(&id)))
            .collect())
    }

    fn is_ancestor(&self, ancestor: &CommitId, descendant: &CommitId) -> Result<bool> {
        let (Some(ancestor), Some(descendant)) = (jj_id(ancestor), jj_id(descendant)) else {
            return Ok(false);
        };
        let repo = self.0.repo();
        let answer = repo.index().is_ancestor(&ancestor, &descendant).block_on();
        answer.map_err(|error| failed("cannot read jj's index", error))
    }

    fn history_digest(&self) -> Result<String> {
        let repo = self.0.repo();
        let mut heads: Vec<String> = repo.view().heads().iter().map(JjCommitId::hex).collect();
        heads.sort();
        Ok(json::hash(32, heads.iter().map(String::as_bytes)))
    }

    fn completeness(&self) -> Result<Completeness> {
        history::completeness(&Jj::git(&self.0.repo())?)
    }

    fn check_can_commit(&self) -> Result<()> {
        self.0.check_writable()
    }

    fn adopt_trunk(&self, bookmark: &BookmarkName) -> Result<()> {
        *self.0.trunk.lock().unwrap_or_else(PoisonError::into_inner) = Some(bookmark.clone());
        Ok(())
    }

    fn commit(
        &self,
        request: &CommitRequest,
        prepared: &mut dyn FnMut(&CommitId) -> Result<Option<Operation>>,
    ) -> Result<CommitId> {
        self.0.make_commit(request, prepared)
    }

    fn carries_operations(&self) -> bool {
        true
    }

    fn check_can_uncommit(&self, request: &UncommitRequest) -> Result<()> {
        self.0.check_uncommit(&self.0.repo(), request).map(drop)
    }

    fn uncommit(&self, request: &UncommitRequest, operation: &Operation) -> Result<()> {
        self.0.take_back(request, operation)
    }

    fn unseen(&self) -> Result<Option<String>> {
        let jj = &self.0;
        if !jj.colocated || jj.options.at_operation.is_some() {
            return Ok(None);
        }
        let repo = jj.repo();
        let Ok(backend) = jj_lib::git::get_git_backend(repo.store()) else {
            return Ok(None);
        };
        let git = backend
            .open_git_repo_at_workdir(&jj.root)
            .map_err(|error| failed("cannot open git's side of the repository", error))?;
        let head = git.head_id().ok().map(gix::Id::detach);
        let known = repo.view().git_head(&jj.name).as_normal();
        let known = known.map(|id| gix::ObjectId::from_bytes_or_panic(id.as_bytes()));
        Ok((head != known).then(|| {
            "git moved HEAD and jj does not know yet, so this is as it was before; `jj status` takes it in".to_owned()
        }))
    }

    /// None: the id of a commit is known before it becomes visible.
    fn find_landed(&self, _request: &CommitRequest) -> Result<Option<CommitId>> {
        Ok(None)
    }
}

impl JjVcs {
    fn commit_of(&self, commit: &CommitId) -> Result<Commit> {
        let id =
            jj_id(commit).ok_or_else(|| Error::vcs(format!("{commit} is not a full commit id")))?;
        self.0
            .repo()
            .store()
            .get_commit(&id)
            .map_err(|error| failed(format!("cannot read commit {}", commit.short()), error))
    }
}

impl Jj {
    /// The git repository that holds jj's commits.
    pub(crate) fn git(repo: &ReadonlyRepo) -> Result<gix::Repository> {
        let mut git = jj_lib::git::get_git_repo(repo.store()).map_err(|error| {
            failed("this jj repository does not keep its commits in git", error)
                .with_hint("`jj git init` makes a repository that does")
        })?;
        git.objects.ignore_replacements = true;
        Ok(git)
    }

    /// Where the working copy is: on the parents of its commit, and the bookmarks at it or at them.
    pub(crate) fn position_in(&self, repo: &Arc<ReadonlyRepo>) -> Result<Position> {
        let wc = self.wc_commit(repo)?;
        let root = repo.store().root_commit_id();
        let mut parents: Vec<CommitId> = wc
            .parent_ids()
            .iter()
            .filter(|id| *id != root)
            .map(|id| CommitId::new(id.hex()))
            .collect();
        let mut places = vec![wc.id().clone()];
        places.extend(wc.parent_ids().iter().filter(|id| *id != root).cloned());
        let mut bookmarks = Vec::new();
        for place in &places {
            for (name, target) in repo.view().local_bookmarks_for_commit(place) {
                if !target.has_conflict() {
                    bookmarks.extend(name.as_str().parse::<BookmarkName>().ok());
                }
            }
        }
        let head = (!parents.is_empty()).then(|| parents.remove(0));
        Ok(Position {
            head,
            merged: parents,
            bookmarks,
            conflicted: conflicted(repo),
        })
    }

    /// The visible children of a commit.
    pub(crate) fn children(
        repo: &Arc<ReadonlyRepo>,
        commit: &JjCommitId,
    ) -> Result<Vec<JjCommitId>> {
        let everything: Arc<ResolvedRevsetExpression> =
            RevsetExpression::visible_heads().ancestors();
        let children = RevsetExpression::commit(commit.clone()).children();
        ids(repo, &everything.intersection(&children))
    }
}

/// The bookmarks that are at several places at once, or at one and deleted.
fn conflicted(repo: &ReadonlyRepo) -> BTreeMap<BookmarkName, Vec<CommitId>> {
    let bookmarks = repo.view().local_bookmarks();
    bookmarks
        .filter(|(_, target)| target.has_conflict())
        .filter_map(|(name, target)| {
            let targets = target.added_ids().map(|id| CommitId::new(id.hex()));
            Some((name.as_str().parse().ok()?, targets.collect()))
        })
        .collect()
}

/// The commits of a set, newest first.
fn ids(
    repo: &Arc<ReadonlyRepo>,
    expression: &Arc<ResolvedRevsetExpression>,
) -> Result<Vec<JjCommitId>> {
    let set = Arc::clone(expression)
        .evaluate(repo.as_ref())
        .map_err(|error| failed("cannot walk jj's commits", error))?;
    let found: Vec<_> = set.stream().collect::<Vec<_>>().block_on();
    let found: std::result::Result<Vec<_>, _> = found.into_iter().collect();
    found.map_err(|error| failed("cannot walk jj's commits", error))
}

fn jj_id(commit: &CommitId) -> Option<JjCommitId> {
    JjCommitId::try_from_hex(commit.as_str())
}
