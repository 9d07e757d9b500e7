//! Operations that two commands made side by side (`--at-operation`, a second process) or that `jj op revert` took out of the middle:
//! jj merges its view, and the anchor of one workspace can come out with several places. Their views are merged, and that is an
//! operation of its own.

use std::sync::Arc;

use jj_lib::repo::ReadonlyRepo;
use tether_engine::Result;
use tether_engine::clock;
use tether_engine::id::OpId;
use tether_engine::oplog::{Head, Operation};
use tether_engine::workspace::View;

use crate::anchor::{self, Anchor};
use crate::change::{ForGit, description};
use crate::repo::Jj;

/// The command of an operation that merges views.
const COMMAND: &str = "merge-views";

impl Jj {
    /// Merges the places of a diverged anchor, when it is.
    pub(crate) async fn converge(&self, repo: Arc<ReadonlyRepo>) -> Result<Arc<ReadonlyRepo>> {
        let Anchor::Diverged { bases, sides } = anchor::read(&repo, &self.anchors, &self.name)?
        else {
            return Ok(repo);
        };
        let Some(head) = self.newest(sides.clone()) else {
            return self.nowhere(repo).await;
        };
        let mut view = self.view_of(&head)?;
        let newest = self.store.operation(&head.operation)?;
        for (at, side) in sides.iter().filter(|side| **side != head).enumerate() {
            // As many bases as pairs of sides; a side without one is new.
            let base = match bases.get(at) {
                Some(base) => self.view_of(base)?,
                None => View::default(),
            };
            view = View::merged(&base, &view, &self.view_of(side)?);
        }
        let operation = Operation {
            id: OpId::random()?,
            previous: Some(head.operation),
            at: clock::now(),
            command: COMMAND.to_owned(),
            workspace: newest.workspace,
            view: self.store.put_view(&view)?,
            plan: None,
            result: serde_json::json!({
                "merged": sides.iter().map(|side| &side.operation).collect::<Vec<_>>(),
            }),
            pre: serde_json::Value::Null,
            commit: None,
            undoes: None,
            step_of: None,
            progress: Vec::new(),
        };
        self.store.put_operation(&operation)?;
        let tx = self.start_of(&repo, &operation).await?;
        self.finish(tx, &description(&operation), ForGit::Nothing)
            .await
    }

    /// Every place was given up: there is no operation that was not undone.
    async fn nowhere(&self, repo: Arc<ReadonlyRepo>) -> Result<Arc<ReadonlyRepo>> {
        let mut tx = self.start(&repo);
        anchor::clear(tx.repo_mut(), &self.anchors, &self.name);
        self.finish(tx, "tether: everything was undone", ForGit::Nothing)
            .await
    }

    /// The view of a head.
    fn view_of(&self, head: &Head) -> Result<View> {
        self.store.view(&head.view)
    }
}
