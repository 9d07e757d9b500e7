//! One operation of jj's: started, finished with everything jj's own commands do, published.

use std::sync::Arc;

use jj_lib::commit::Commit;
use jj_lib::git::GitResetHeadError;
use jj_lib::merged_tree::MergedTree;
use jj_lib::repo::{MutableRepo, ReadonlyRepo};
use jj_lib::rewrite::RebaseOptions;
use jj_lib::transaction::Transaction;
use tether_engine::Result;
use tether_engine::oplog::{Head, Operation, step};

use crate::describe;
use crate::repo::Jj;
use crate::{anchor, failed};

/// The attributes of an operation of tether's, by which it is found again in jj's log.
pub(crate) const OPERATION: &str = "tether.op";
pub(crate) const COMMAND: &str = "tether.command";
/// The attribute of a snapshot that a tether operation took of its own files before it committed them.
pub(crate) const STEP: &str = "tether.step";

/// What git is to be told of the working copy.
#[derive(Debug)]
pub(crate) enum ForGit {
    /// Its commit has another parent: `HEAD` moves.
    Head(Commit),
    /// Only its content is another.
    Content(MergedTree, MergedTree),
    /// Nothing of it changed.
    Nothing,
}

impl Jj {
    /// Starts an operation on `repo`.
    pub(crate) fn start(&self, repo: &Arc<ReadonlyRepo>) -> Transaction {
        let mut tx = repo.start_transaction();
        tx.set_workspace_name(self.workspace_name());
        tx
    }

    /// Starts an operation that is tether's `operation`: the anchor moves with it.
    pub(crate) async fn start_of(
        &self,
        repo: &Arc<ReadonlyRepo>,
        operation: &Operation,
    ) -> Result<Transaction> {
        let mut tx = self.start(repo);
        self.mark(&mut tx, operation).await?;
        Ok(tx)
    }

    /// Makes a running operation tether's `operation`.
    pub(crate) async fn mark(&self, tx: &mut Transaction, operation: &Operation) -> Result<()> {
        tx.set_attribute(OPERATION.to_owned(), operation.id.to_string());
        tx.set_attribute(COMMAND.to_owned(), operation.command.clone());
        let head = Head {
            operation: operation.id.clone(),
            view: operation.view.clone(),
        };
        anchor::heal(tx.repo_mut(), &self.anchors, self.workspace_name());
        anchor::set(tx.repo_mut(), &self.anchors, self.workspace_name(), &head).await
    }

    /// Rebases what builds on rewritten commits, tells git, and writes and publishes the operation.
    pub(crate) async fn finish(
        &self,
        mut tx: Transaction,
        description: &str,
        git: ForGit,
    ) -> Result<Arc<ReadonlyRepo>> {
        self.rebase(&mut tx).await?;
        if self.colocated {
            self.tell_git(tx.repo_mut(), git).await?;
        }
        step("jj.exported");
        let written = tx
            .write(description)
            .await
            .map_err(|error| failed("cannot write jj's operation", error))?;
        step("jj.written");
        let repo = written
            .publish()
            .await
            .map_err(|error| failed("cannot publish jj's operation", error))?;
        step("jj.published");
        self.moved_to(Arc::clone(&repo));
        self.alone(repo).await
    }

    /// Merges what somebody else published meanwhile, as the next jj command would.
    async fn alone(&self, repo: Arc<ReadonlyRepo>) -> Result<Arc<ReadonlyRepo>> {
        let heads = repo.loader().op_heads_store().get_op_heads().await;
        match heads {
            Ok(heads) if heads.len() > 1 => self.reload().await,
            // The operation stands whatever the heads are.
            Ok(_) | Err(_) => Ok(repo),
        }
    }

    /// Rebases the descendants of rewritten commits, those jj calls immutable aside.
    pub(crate) async fn rebase(&self, tx: &mut Transaction) -> Result<()> {
        if !tx.repo().has_rewrites() {
            return Ok(());
        }
        let base = Arc::clone(tx.base_repo());
        let immutable = self.immutable(&*base)?;
        tx.repo_mut()
            .rebase_descendants_with_options(&immutable, &RebaseOptions::default(), |_, _| {})
            .await
            .map_err(|error| failed("cannot rebase what builds on the commit", error))
    }

    async fn tell_git(&self, repo: &mut MutableRepo, git: ForGit) -> Result<()> {
        match git {
            ForGit::Head(commit) => {
                let told =
                    jj_lib::git::reset_head(repo, self.workspace_name(), &self.root, &commit).await;
                match told {
                    // Somebody moved HEAD meanwhile: the next jj command takes that in.
                    Err(GitResetHeadError::UpdateHeadRef(_)) | Ok(()) => {}
                    Err(error) => return Err(failed("cannot set git's HEAD and index", error)),
                }
            }
            ForGit::Content(old, new) => {
                let base = repo.base_repo().as_ref();
                jj_lib::git::update_intent_to_add(base, &self.root, &old, &new)
                    .await
                    .map_err(|error| failed("cannot update git's index", error))?;
            }
            ForGit::Nothing => {}
        }
        // What cannot be exported (a name git refuses) is told by jj, again and again.
        jj_lib::git::export_refs(repo)
            .map(drop)
            .map_err(|error| failed("cannot export jj's bookmarks to git", error))
    }
}

/// An operation of tether's as `jj op log` shows it.
pub(crate) fn description(operation: &Operation) -> String {
    describe::line(operation)
}
