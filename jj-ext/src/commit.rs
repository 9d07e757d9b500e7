//! The dataset commit, and taking it back.
//!
//! ```text
//!   snapshot   tether's files as they are on disk become part of `@`: an operation of jj's own
//!   commit     `@` becomes the dataset commit of exactly the given paths; the rest goes into a new `@` on top; the bookmark and the
//!              anchor move: one operation
//! ```
//!
//! `jj undo` of the second leaves the manifests as edits.

use std::sync::Arc;

use jj_lib::backend::{CopyId, TreeValue};
use jj_lib::commit::Commit;
use jj_lib::merge::Merge;
use jj_lib::merged_tree::MergedTree;
use jj_lib::merged_tree_builder::MergedTreeBuilder;
use jj_lib::object_id::ObjectId as _;
use jj_lib::op_store::RefTarget;
use jj_lib::ref_name::RefName;
use jj_lib::repo::{ReadonlyRepo, Repo as _};
use jj_lib::transaction::Transaction;
use jj_lib::workspace::Workspace;
use pollster::FutureExt as _;
use tether_engine::id::CommitId;
use tether_engine::oplog::Operation;
use tether_engine::vcs::{CommitRequest, PathChange, UncommitRequest};
use tether_engine::{Error, ErrorKind, Result};

use crate::change::{ForGit, STEP, description};
use crate::failed;
use crate::repo::Jj;
use crate::revisions::{conflicted, short};
use crate::snapshot::repo_path;

/// What makes an operation of a commit that is about to be published.
pub(crate) type Prepared<'a> = &'a mut dyn FnMut(&CommitId) -> Result<Option<Operation>>;

impl Jj {
    /// Makes the dataset commit.
    pub(crate) fn make_commit(
        &self,
        request: &CommitRequest,
        prepared: Prepared<'_>,
    ) -> Result<CommitId> {
        self.check_writable()?;
        let mut workspace = self.workspace();
        self.make_commit_async(&mut workspace, request, prepared)
            .block_on()
    }

    async fn make_commit_async(
        &self,
        workspace: &mut Workspace,
        request: &CommitRequest,
        prepared: Prepared<'_>,
    ) -> Result<CommitId> {
        let _git = self.git_lock()?;
        let repo = self.reload().await?;
        self.check_place(&repo, request)?;
        let taken = self.take(workspace, repo).await?;
        let repo = self
            .record(taken, "snapshot working copy", Some(&request.operation))
            .await?;
        let wc = self.wc_commit(&repo)?;
        let mut tx = self.start(&repo);
        let parents = wc
            .parent_tree(tx.repo())
            .await
            .map_err(|error| failed("cannot read the working copy's parents", error))?;
        let tree = with_changes(parents, &request.changes).await?;
        let unwritten = |error| failed("cannot write the dataset commit", error);
        let commit = tx
            .repo_mut()
            .rewrite_commit(&wc)
            .set_tree(tree)
            .set_description(complete(&request.message))
            .write()
            .await
            .map_err(unwritten)?;
        let id = CommitId::new(commit.id().hex());
        if let Some(operation) = prepared(&id)? {
            self.mark(&mut tx, &operation).await?;
            let next = self.next_change(&mut tx, &wc, &commit).await?;
            tx.repo_mut().set_local_bookmark_target(
                RefName::new(request.bookmark.as_str()),
                RefTarget::normal(commit.id().clone()),
            );
            let repo = self
                .finish(tx, &description(&operation), ForGit::Head(next))
                .await?;
            self.check_out(workspace, &repo, &wc.tree()).await?;
            return Ok(id);
        }
        Err(Error::internal(
            "a commit under jj is part of an operation, and none was given",
        ))
    }

    /// A new change on top of the dataset commit with everything else that was in the working copy.
    async fn next_change(
        &self,
        tx: &mut Transaction,
        wc: &Commit,
        commit: &Commit,
    ) -> Result<Commit> {
        let next = tx
            .repo_mut()
            .new_commit(vec![commit.id().clone()], wc.tree())
            .write()
            .await
            .map_err(|error| failed("cannot start the next change", error))?;
        // Every workspace that was on the change goes on with the rest of it, as after `jj commit`.
        for name in tx.base_repo().view().workspaces_for_wc_commit_id(wc.id()) {
            tx.repo_mut()
                .edit(name, &next)
                .await
                .map_err(|error| failed("cannot move to the next change", error))?;
        }
        Ok(next)
    }

    /// Updates the files and jj's record of them to the working-copy commit of `repo`.
    pub(crate) async fn check_out(
        &self,
        workspace: &mut Workspace,
        repo: &Arc<ReadonlyRepo>,
        old: &MergedTree,
    ) -> Result<()> {
        let commit = self.wc_commit(repo)?;
        let stats = workspace
            .check_out(repo.op_id().clone(), Some(old), &commit)
            .await
            .map_err(|error| {
                failed(
                    "jj's operation stands, but the working copy could not be updated",
                    error,
                )
                .with_hint("`jj workspace update-stale`")
                .partly_done()
            })?;
        if stats.skipped_files > 0 {
            return Err(Error::vcs(format!(
                "jj's operation stands, but {} files of the working copy were in the way and are not updated",
                stats.skipped_files
            ))
            .with_hint("`jj status` shows them")
            .partly_done());
        }
        Ok(())
    }

    /// Refuses when the working copy is not where the plan saw it.
    fn check_place(&self, repo: &Arc<ReadonlyRepo>, request: &CommitRequest) -> Result<()> {
        let position = self.position_in(repo)?;
        let stale = |message: String| {
            Err(Error::new(ErrorKind::StalePlan, message).with_hint("run the command again"))
        };
        if position.head != request.expected_head {
            return stale("the working copy moved to another commit meanwhile".to_owned());
        }
        let bookmark = repo
            .view()
            .get_local_bookmark(RefName::new(request.bookmark.as_str()));
        if bookmark.has_conflict() {
            return Err(conflicted(request.bookmark.as_str(), bookmark.added_ids()));
        }
        if !position.bookmarks.contains(&request.bookmark) {
            return stale(format!(
                "the working copy is not on bookmark {} any more",
                request.bookmark
            ));
        }
        Ok(())
    }

    /// Why a dataset commit cannot be taken back.
    pub(crate) fn check_uncommit(
        &self,
        repo: &Arc<ReadonlyRepo>,
        request: &UncommitRequest,
    ) -> Result<(Commit, Commit)> {
        let wc = self.wc_commit(repo)?;
        let refuse = |message: String, hint: &str| Err(Error::vcs(message).with_hint(hint));
        let [parent] = wc.parent_ids() else {
            return refuse(
                "the working copy is a merge".to_owned(),
                "`jj new COMMIT` goes to the dataset commit first",
            );
        };
        if parent.hex() != request.commit.as_str() {
            return refuse(
                format!(
                    "dataset commit {} is not the working copy's parent any more",
                    request.commit.short()
                ),
                &format!("`jj new {}` goes back to it", request.commit.short()),
            );
        }
        let bookmark = repo
            .view()
            .get_local_bookmark(RefName::new(request.bookmark.as_str()));
        if bookmark.as_normal() != Some(parent) {
            return refuse(
                format!(
                    "bookmark {} is not at dataset commit {} any more",
                    request.bookmark,
                    request.commit.short()
                ),
                &format!(
                    "`jj bookmark set {} -r {}` brings it back",
                    request.bookmark,
                    request.commit.short()
                ),
            );
        }
        if self.is_immutable(repo.as_ref(), parent)? {
            return refuse(
                format!("jj calls dataset commit {} immutable", short(parent)),
                "`jj help -k config` says which commits are: 'Set of immutable commits'",
            );
        }
        let others = Self::children(repo, parent)?;
        if let Some(other) = others.iter().find(|id| *id != wc.id()) {
            return refuse(
                format!(
                    "commit {} builds on dataset commit {}",
                    short(other),
                    short(parent)
                ),
                "`jj rebase` or `jj abandon` it first",
            );
        }
        let commit = repo
            .store()
            .get_commit(parent)
            .map_err(|error| failed("cannot read the dataset commit", error))?;
        Ok((wc, commit))
    }

    /// Takes a dataset commit back into the working copy.
    pub(crate) fn take_back(&self, request: &UncommitRequest, operation: &Operation) -> Result<()> {
        self.check_writable()?;
        let mut workspace = self.workspace();
        self.take_back_async(&mut workspace, request, operation)
            .block_on()
    }

    async fn take_back_async(
        &self,
        workspace: &mut Workspace,
        request: &UncommitRequest,
        operation: &Operation,
    ) -> Result<()> {
        let _git = self.git_lock()?;
        let repo = self.reload().await?;
        let taken = self.take(workspace, repo).await?;
        let repo = self.record(taken, "snapshot working copy", None).await?;
        let (wc, commit) = self.check_uncommit(&repo, request)?;
        let mut tx = self.start_of(&repo, operation).await?;
        let squashed = tx
            .repo_mut()
            .rewrite_commit(&wc)
            .set_parents(commit.parent_ids().to_vec())
            .write()
            .await
            .map_err(|error| failed("cannot take the dataset commit back", error))?;
        tx.repo_mut().record_abandoned_commit(&commit);
        self.rebase(&mut tx).await?;
        let root = repo.store().root_commit_id();
        let back = match commit.parent_ids() {
            // Nothing is before it: the bookmark is where the working copy is, as after `tether init`.
            [parent] if parent == root => squashed.id().clone(),
            [parent, ..] => parent.clone(),
            [] => squashed.id().clone(),
        };
        tx.repo_mut().set_local_bookmark_target(
            RefName::new(request.bookmark.as_str()),
            RefTarget::normal(back),
        );
        let repo = self
            .finish(tx, &description(operation), ForGit::Head(squashed))
            .await?;
        self.check_out(workspace, &repo, &wc.tree()).await
    }

    /// Publishes a snapshot, when there is something new in it. `step`: the operation it is a step of.
    pub(crate) async fn record(
        &self,
        taken: crate::snapshot::Taken<'_>,
        title: &str,
        step: Option<&tether_engine::id::OpId>,
    ) -> Result<Arc<ReadonlyRepo>> {
        if !taken.is_changed() {
            // The lock also notes which files were looked at.
            let repo = Arc::clone(&taken.repo);
            let operation = taken.locked.finish(repo.op_id().clone());
            operation
                .await
                .map_err(|error| failed("cannot save the working copy's state", error))?;
            return Ok(repo);
        }
        let mut tx = self.start(&taken.repo);
        tx.set_is_snapshot(true);
        if let Some(step) = step {
            tx.set_attribute(STEP.to_owned(), step.to_string());
        }
        let git = self.amend(&mut tx, &taken.commit, &taken.tree).await?;
        let repo = self.finish(tx, title, git).await?;
        taken
            .locked
            .finish(repo.op_id().clone())
            .await
            .map_err(|error| failed("cannot save the working copy's state", error))?;
        Ok(repo)
    }

    /// Puts `tree` into the working-copy commit, or into a new one on top where jj calls it immutable.
    pub(crate) async fn amend(
        &self,
        tx: &mut Transaction,
        wc: &Commit,
        tree: &MergedTree,
    ) -> Result<ForGit> {
        let immutable = self.is_immutable(tx.repo(), wc.id())?;
        let unwritten = |error| failed("cannot write the working-copy commit", error);
        let repo = tx.repo_mut();
        let new = if immutable {
            repo.new_commit(vec![wc.id().clone()], tree.clone())
                .write()
                .await
        } else {
            repo.rewrite_commit(wc).set_tree(tree.clone()).write().await
        }
        .map_err(unwritten)?;
        repo.set_wc_commit(self.name.clone(), new.id().clone())
            .map_err(|error| failed("cannot move the working copy", error))?;
        Ok(if immutable {
            ForGit::Head(new)
        } else {
            ForGit::Content(wc.tree(), new.tree())
        })
    }
}

/// `tree` with exactly these paths as they are to be, in every side of a conflict.
async fn with_changes(tree: MergedTree, changes: &[PathChange]) -> Result<MergedTree> {
    let store = Arc::clone(tree.store());
    let mut builder = MergedTreeBuilder::new(tree);
    for change in changes {
        let path = repo_path(&change.path)?;
        let value = match &change.content {
            Some(content) => {
                let id = store
                    .write_file(&path, &mut content.as_slice())
                    .await
                    .map_err(|error| {
                        failed(format!("cannot write {} to jj", change.path), error)
                    })?;
                Some(TreeValue::File {
                    id,
                    executable: false,
                    copy_id: CopyId::placeholder(),
                })
            }
            None => None,
        };
        builder.set_or_remove(path, Merge::resolved(value));
    }
    builder
        .write_tree()
        .await
        .map_err(|error| failed("cannot write the dataset commit's tree", error))
}

/// A message as jj keeps it: with a line end.
fn complete(message: &str) -> String {
    let trimmed = message.trim_end_matches('\n');
    format!("{trimmed}\n")
}
