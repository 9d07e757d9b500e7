//! The operation log inside jj: the anchor is the head, jj's operations carry tether's.

use std::sync::Arc;

use futures::TryStreamExt as _;
use jj_lib::object_id::ObjectId as _;
use jj_lib::op_store::{OperationId, RefTarget};
use jj_lib::operation::Operation as JjOperation;
use jj_lib::ref_name::RefName;
use jj_lib::repo::{ReadonlyRepo, Repo as _};
use jj_lib::transaction::Transaction;
use jj_lib::workspace::Workspace;
use jj_lib::{git, op_walk};
use pollster::FutureExt as _;
use tether_engine::id::OpId;
use tether_engine::oplog::{Head, OpLog, Operation};
use tether_engine::{Error, ErrorKind, Result};

use crate::anchor::{self, Anchor};
use crate::change::{ForGit, OPERATION, STEP, description};
use crate::repo::Jj;
use crate::{exclude, failed, killed, settings};

/// How far back in jj's log an operation is looked for.
const SEARCHED: usize = 10_000;

/// How jj's undo begins the description of what it does, before the operation it restores.
pub(crate) const UNDO: &str = "undo: restore to operation ";

/// The operation log of one workspace.
#[derive(Clone, Debug)]
pub struct JjLog(pub(crate) Arc<Jj>);

impl OpLog for JjLog {
    fn head(&self) -> Result<Option<Head>> {
        let jj = &self.0;
        jj.head_in(&jj.repo())
    }

    fn publish(&self, operation: &Operation, expected: Option<&Head>) -> Result<()> {
        let jj = &self.0;
        jj.check_writable()?;
        let mut workspace = jj.workspace();
        jj.publish(&mut workspace, operation, expected).block_on()
    }

    fn begin(&self) -> Result<()> {
        let jj = &self.0;
        jj.check_writable()?;
        let mut workspace = jj.workspace();
        jj.begin(&mut workspace).block_on()
    }

    fn published(&self, operation: &OpId) -> Result<bool> {
        let jj = &self.0;
        if jj
            .head_in(&jj.repo())?
            .is_some_and(|head| head.operation == *operation)
        {
            return Ok(true);
        }
        jj.find(operation).block_on().map(|found| found.is_some())
    }

    fn moves_with_vcs(&self) -> bool {
        true
    }

    fn rewind(&self, undo: &Operation, undone: &OpId, expected: Option<&Head>) -> Result<bool> {
        let jj = &self.0;
        jj.check_writable()?;
        let mut workspace = jj.workspace();
        jj.rewind(&mut workspace, undo, undone, expected).block_on()
    }

    fn taken_back(&self, limit: usize) -> Result<Vec<OpId>> {
        self.0.taken_back(limit).block_on()
    }
}

impl Jj {
    /// The head that the anchor in `repo` names.
    pub(crate) fn head_in(&self, repo: &ReadonlyRepo) -> Result<Option<Head>> {
        Ok(match anchor::read(repo, &self.anchors, &self.name)? {
            Anchor::At(head) => Some(head),
            Anchor::Absent => self.renamed(repo)?,
            Anchor::Diverged { sides, .. } => self.newest(sides),
        })
    }

    /// The head of this workspace under the name it had before `jj workspace rename`.
    fn renamed(&self, repo: &ReadonlyRepo) -> Result<Option<Head>> {
        let view = repo.view();
        let gone: Vec<_> = anchor::workspaces(view, &self.anchors)
            .into_iter()
            .filter(|name| view.get_wc_commit_id(name).is_none())
            .collect();
        if gone.is_empty() {
            return Ok(None);
        }
        let Some(id) = self.workspace_id()? else {
            return Ok(None);
        };
        for name in gone {
            if let Anchor::At(head) = anchor::read(repo, &self.anchors, &name)?
                && let Some(operation) = self.store.summary(&head.operation)?
                && operation.workspace == id
            {
                return Ok(Some(head));
            }
        }
        Ok(None)
    }

    /// The id in this workspace's `workspace.toml`.
    fn workspace_id(&self) -> Result<Option<tether_engine::id::WorkspaceId>> {
        let path = self.root.join(&self.prefix).join(".tether/workspace.toml");
        let Some(text) = tether_engine::fsutil::read_regular(&path)? else {
            return Ok(None);
        };
        Ok(tether_engine::workspace::Workspace::parse(&text)
            .ok()
            .map(|workspace| workspace.id))
    }

    /// The newest of divergent heads, the same whoever asks.
    pub(crate) fn newest(&self, heads: Vec<Head>) -> Option<Head> {
        let mut newest: Option<(String, Head)> = None;
        for head in heads {
            let at = match self.store.operation(&head.operation) {
                Ok(operation) => operation.at,
                Err(_) => String::new(),
            };
            let later = newest.as_ref().is_none_or(|(other, there)| {
                (&at, head.operation.as_str()) > (other, there.operation.as_str())
            });
            if later {
                newest = Some((at, head));
            }
        }
        newest.map(|(_, head)| head)
    }

    /// Takes in what git and the user did, as every jj command does: git's `HEAD` and refs, and the working copy, each an operation of
    /// its own when there is something.
    async fn begin(&self, workspace: &mut Workspace) -> Result<()> {
        let _git = self.git_lock()?;
        let mut repo = self.reload().await?;
        if self.colocated {
            killed::put_back(&repo, &self.wc_commit(&repo)?, &self.root).await?;
            repo = self.import_head(workspace, repo).await?;
        }
        let taken = self.take(workspace, repo).await?;
        repo = self.record(taken, "snapshot working copy", None).await?;
        if self.colocated {
            repo = self.import_refs(workspace, repo).await?;
        }
        exclude::write(self, &repo)?;
        self.converge(repo).await.map(drop)
    }

    async fn import_head(
        &self,
        workspace: &mut Workspace,
        repo: Arc<ReadonlyRepo>,
    ) -> Result<Arc<ReadonlyRepo>> {
        let failed = |error| failed("cannot import git's HEAD", error);
        let mut tx = self.start(&repo);
        git::import_head(tx.repo_mut(), &self.name, &self.root)
            .await
            .map_err(failed)?;
        if !tx.repo().has_changes() {
            return Ok(repo);
        }
        let head = tx.repo().view().git_head(&self.name).as_normal().cloned();
        let Some(head) = head else {
            return self.finish(tx, "import git head", ForGit::Nothing).await;
        };
        let commit = repo
            .store()
            .get_commit_async(&head)
            .await
            .map_err(|error| crate::failed("cannot read git's HEAD", error))?;
        let old = self.wc_commit(&repo)?;
        if old.id() != commit.id() && old.change_id() == commit.change_id() {
            // The commit of a killed jj, which made it of this change: its files are still in the working copy.
            tx.repo_mut()
                .set_rewritten_commit(old.id().clone(), commit.id().clone());
            self.rebase(&mut tx).await?;
        }
        let wc = tx
            .repo_mut()
            .check_out(self.name.clone(), &commit)
            .await
            .map_err(|error| crate::failed("cannot move the working copy to git's HEAD", error))?;
        let mut locked = workspace
            .start_working_copy_mutation()
            .await
            .map_err(|error| crate::failed("cannot lock the working copy", error))?;
        // Whoever moved HEAD updated the files: only jj's record of them is reset.
        locked
            .locked_wc()
            .reset(&wc)
            .await
            .map_err(|error| crate::failed("cannot reset the working copy's state", error))?;
        self.rebase(&mut tx).await?;
        let written = tx
            .commit("import git head")
            .await
            .map_err(|error| crate::failed("cannot publish jj's operation", error))?;
        locked
            .finish(written.op_id().clone())
            .await
            .map_err(|error| crate::failed("cannot save the working copy's state", error))?;
        self.moved_to(Arc::clone(&written));
        Ok(written)
    }

    async fn import_refs(
        &self,
        workspace: &mut Workspace,
        repo: Arc<ReadonlyRepo>,
    ) -> Result<Arc<ReadonlyRepo>> {
        let config = |error| failed("cannot read jj's configuration", error);
        let git_settings = git::GitSettings::from_settings(&self.settings).map_err(config)?;
        let remotes = self.settings.remote_settings().map_err(config)?;
        let options = jj_cli::git_util::load_git_import_options(
            &jj_cli::ui::Ui::null(),
            &git_settings,
            &remotes,
        )
        .map_err(settings::refused)?;
        let mut tx = self.start(&repo);
        git::import_refs(tx.repo_mut(), &options)
            .await
            .map_err(|error| failed("cannot import git's refs", error))?;
        if !tx.repo().has_changes() {
            return Ok(repo);
        }
        let old = self.wc_commit(&repo)?;
        self.rebase(&mut tx).await?;
        let new = tx.repo().view().get_wc_commit_id(&self.name).cloned();
        let new = match new.filter(|id| id != old.id()) {
            Some(id) => Some(
                repo.store()
                    .get_commit_async(&id)
                    .await
                    .map_err(|error| failed("cannot read the working-copy commit", error))?,
            ),
            None => None,
        };
        let moved = new.is_some();
        let git = new.map_or(ForGit::Nothing, ForGit::Head);
        let repo = self.finish(tx, "import git refs", git).await?;
        if moved {
            self.check_out(workspace, &repo, &old.tree()).await?;
        }
        Ok(repo)
    }

    /// Publishes an operation that makes no commit: the anchor, and tether's files as they are on disk.
    async fn publish(
        &self,
        workspace: &mut Workspace,
        operation: &Operation,
        expected: Option<&Head>,
    ) -> Result<()> {
        let _git = self.git_lock()?;
        let repo = self.reload().await?;
        let head = self.head_in(&repo)?;
        if head
            .as_ref()
            .is_some_and(|head| head.operation == operation.id)
        {
            return Ok(());
        }
        if head.as_ref() != expected {
            return Err(moved(head.as_ref()));
        }
        let taken = self.take(workspace, repo).await?;
        let mut tx = self.start_of(&taken.repo, operation).await?;
        let git = if taken.is_changed() {
            self.amend(&mut tx, &taken.commit, &taken.tree).await?
        } else {
            ForGit::Nothing
        };
        self.rebase(&mut tx).await?;
        self.plant_trunk(&mut tx)?;
        let repo = self.finish(tx, &description(operation), git).await?;
        taken
            .locked
            .finish(repo.op_id().clone())
            .await
            .map_err(|error| failed("cannot save the working copy's state", error))
    }

    /// The bookmark that `init` wants, where the working copy is.
    fn plant_trunk(&self, tx: &mut Transaction) -> Result<()> {
        let wanted = self
            .trunk
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .take();
        let Some(wanted) = wanted else {
            return Ok(());
        };
        let name = RefName::new(wanted.as_str());
        let wc = tx.repo().view().get_wc_commit_id(&self.name).cloned();
        if let Some(wc) = wc.filter(|_| tx.repo().get_local_bookmark(name).is_absent()) {
            let commit = tx
                .repo()
                .store()
                .get_commit(&wc)
                .map_err(|error| failed("cannot read the working-copy commit", error))?;
            let root = tx.repo().store().root_commit_id().clone();
            let place = match commit.parent_ids() {
                [parent] if *parent != root => parent.clone(),
                _ => wc,
            };
            tx.repo_mut()
                .set_local_bookmark_target(name, RefTarget::normal(place));
        }
        Ok(())
    }

    /// The jj operation that carries tether's `operation`.
    async fn find(&self, operation: &OpId) -> Result<Option<JjOperation>> {
        let mut left = SEARCHED;
        let heads = [self.repo().operation().clone()];
        let mut walk = Box::pin(op_walk::walk_ancestors(&heads));
        let unreadable = |error| failed("cannot read jj's operation log", error);
        while let Some(found) = walk.try_next().await.map_err(unreadable)? {
            if carries(&found, operation) {
                return Ok(Some(found));
            }
            left -= 1;
            if left == 0 {
                break;
            }
        }
        Ok(None)
    }

    async fn taken_back(&self, limit: usize) -> Result<Vec<OpId>> {
        let repo = self.repo();
        let here: std::collections::BTreeSet<OpId> = match self.head_in(&repo)? {
            Some(head) => self
                .store
                .chain(&head.operation, SEARCHED)?
                .into_iter()
                .map(|operation| operation.id)
                .collect(),
            None => std::collections::BTreeSet::new(),
        };
        let mut gone = Vec::new();
        let heads = [repo.operation().clone()];
        let mut walk = Box::pin(op_walk::walk_ancestors(&heads));
        let mut left = SEARCHED;
        let unreadable = |error| failed("cannot read jj's operation log", error);
        while gone.len() < limit
            && left > 0
            && let Some(found) = walk.try_next().await.map_err(unreadable)?
        {
            left -= 1;
            let metadata = found.metadata();
            let ours = metadata.workspace_name.as_deref() == Some(self.workspace_name());
            let id: Option<OpId> = metadata
                .attributes
                .get(OPERATION)
                .filter(|_| ours)
                .and_then(|id| id.parse().ok());
            gone.extend(id.filter(|id| !here.contains(id)));
        }
        Ok(gone)
    }

    /// Takes the repository back to before `undone`, as `jj undo` would, when that is what `jj undo` would take back.
    async fn rewind(
        &self,
        workspace: &mut Workspace,
        undo: &Operation,
        undone: &OpId,
        expected: Option<&Head>,
    ) -> Result<bool> {
        let _git = self.git_lock()?;
        let repo = self.reload().await?;
        let taken = self.take(workspace, repo).await?;
        let repo = self.record(taken, "snapshot working copy", None).await?;
        let head = self.head_in(&repo)?;
        if head.as_ref() != expected {
            return Err(moved(head.as_ref()));
        }
        let Some(target) = self.before(&repo, undone).await? else {
            return Ok(false);
        };
        let old = self.wc_commit(&repo)?;
        let unreadable = |error| failed("cannot read jj's operation log", error);
        let then = target.view().await.map_err(unreadable)?;
        let mut view = then.store_view().clone();
        let now = repo.view().store_view();
        // What git was told stays: the export below tells it the rest.
        view.git_refs.clone_from(&now.git_refs);
        view.git_heads.clone_from(&now.git_heads);
        let mut tx = self.start(&repo);
        tx.repo_mut().set_view(view);
        self.mark(&mut tx, undo).await?;
        let Some(id) = tx.repo().view().get_wc_commit_id(&self.name).cloned() else {
            return Ok(false);
        };
        let new = repo
            .store()
            .get_commit_async(&id)
            .await
            .map_err(|error| failed("cannot read the working-copy commit", error))?;
        let title = format!("{UNDO}{}", target.id().hex());
        let repo = self.finish(tx, &title, ForGit::Head(new)).await?;
        self.check_out(workspace, &repo, &old.tree()).await?;
        Ok(true)
    }

    /// The operation before `undone` in jj's stack of undos, when nothing lies on top of it but what was undone and what undone
    /// operations of tether's took as snapshots.
    async fn before(&self, repo: &ReadonlyRepo, undone: &OpId) -> Result<Option<JjOperation>> {
        let mut top = repo.operation().clone();
        for _ in 0..SEARCHED {
            if let Some(restored) = self.restored(&top).await? {
                top = restored;
                continue;
            }
            let attributes = &top.metadata().attributes;
            let found = carries(&top, undone);
            let step = attributes
                .get(STEP)
                .is_some_and(|step| step.as_str() != undone.as_str());
            if !found && !step {
                return Ok(None);
            }
            let parents = top
                .parents()
                .await
                .map_err(|error| failed("cannot read jj's operation log", error))?;
            let [parent] = &parents[..] else {
                return Ok(None);
            };
            top = match self.restored(parent).await? {
                Some(restored) => restored,
                None => parent.clone(),
            };
            if found {
                return Ok(Some(top));
            }
        }
        Ok(None)
    }

    /// The operation that an undo restored; `None` when it is no undo.
    async fn restored(&self, operation: &JjOperation) -> Result<Option<JjOperation>> {
        let Some(hex) = operation.metadata().description.strip_prefix(UNDO) else {
            return Ok(None);
        };
        let Some(id) = OperationId::try_from_hex(hex) else {
            return Ok(None);
        };
        let operation = self.repo().loader().load_operation(&id).await;
        operation
            .map(Some)
            .map_err(|error| failed("cannot read jj's operation log", error))
    }
}

fn carries(operation: &JjOperation, id: &OpId) -> bool {
    let attribute = operation.metadata().attributes.get(OPERATION);
    attribute.is_some_and(|attribute| attribute.as_str() == id.as_str())
}

fn moved(head: Option<&Head>) -> Error {
    let message = match head {
        Some(head) => format!(
            "the workspace is at operation {} now, where something else brought it meanwhile",
            head.operation
        ),
        None => "this workspace's operations were undone meanwhile".to_owned(),
    };
    Error::new(ErrorKind::StalePlan, message).with_hint("run the command again")
}
