//! Publishing an operation: view, record, head, then `workspace.toml`. The head's move is the commit point.

use serde_json::Value;

use crate::clock;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::id::{CommitId, OpId, ViewId};
use crate::oplog::{Head, Operation};
use crate::workspace::{View, Workspace};

/// What an operation says of itself, beyond the view it leaves.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its id, as its journal has it.
    pub id: OpId,
    /// Its command.
    pub command: String,
    /// The plan it applied.
    pub plan: Option<Value>,
    /// What it did.
    pub result: Value,
    /// What it replaced.
    pub pre: Value,
    /// The dataset commit it made.
    pub commit: Option<CommitId>,
    /// For an undo: what it reversed.
    pub undoes: Option<OpId>,
    /// The operation it is a step of.
    pub step_of: Option<OpId>,
    /// Its finished steps.
    pub progress: Vec<Value>,
}

impl Record {
    /// A record of `command` with a fresh id and nothing else.
    pub fn new(command: &str) -> Result<Self> {
        Ok(Self {
            id: OpId::random()?,
            command: command.to_owned(),
            plan: None,
            result: Value::Null,
            pre: Value::Null,
            commit: None,
            undoes: None,
            step_of: None,
            progress: Vec::new(),
        })
    }

    fn into_operation(
        self,
        id: Option<OpId>,
        previous: Option<OpId>,
        workspace: &Workspace,
        view: ViewId,
    ) -> Operation {
        Operation {
            id: id.unwrap_or(self.id),
            previous,
            at: clock::now(),
            command: self.command,
            workspace: workspace.id.clone(),
            view,
            plan: self.plan,
            result: self.result,
            pre: self.pre,
            commit: self.commit,
            undoes: self.undoes,
            step_of: self.step_of,
            progress: self.progress,
        }
    }
}

/// Publishes an operation that leaves `workspace.view`, and writes `workspace.toml`. Call with the checkout's lock held, after
/// [`adopt_foreign`].
pub fn publish(dataset: &Dataset, workspace: &mut Workspace, record: Record) -> Result<Head> {
    let head = publish_head(dataset, workspace, record)?;
    dataset.write_workspace(workspace)?;
    Ok(head)
}

/// [`publish`] without the last step: the caller writes `workspace.toml`.
pub fn publish_head(dataset: &Dataset, workspace: &mut Workspace, record: Record) -> Result<Head> {
    let expected = dataset.oplog.head()?;
    if let Some(head) = expected.as_ref().filter(|head| head.operation == record.id) {
        // It was published together with the commit it is about.
        workspace.materialised = Some((head.operation.clone(), head.view.clone()));
        return Ok(head.clone());
    }
    let operation = write(dataset, workspace, record, expected.as_ref())?;
    dataset.oplog.publish(&operation, expected.as_ref())?;
    Ok(published(workspace, operation))
}

/// Writes the view that `workspace` has and the record of the operation that leaves it, durably, and publishes nothing.
pub(crate) fn write(
    dataset: &Dataset,
    workspace: &Workspace,
    record: Record,
    head: Option<&Head>,
) -> Result<Operation> {
    let store = dataset.op_store();
    let view = store.put_view(&workspace.view)?;
    let previous = match head {
        Some(head) if dataset.is_of(head, &workspace.id)? => Some(head.operation.clone()),
        _ => None,
    };
    let operation = match store.operation(&record.id) {
        // A killed command wrote the record and did not get to publish it: records are immutable, and this is it.
        Ok(written) if written.previous == previous && written.view == view => written,
        Ok(_) => record.into_operation(Some(OpId::random()?), previous, workspace, view),
        Err(_) => record.into_operation(None, previous, workspace, view),
    };
    store.put_operation(&operation)?;
    Ok(operation)
}

/// Says in `workspace` that it is what `operation` left.
pub(crate) fn published(workspace: &mut Workspace, operation: Operation) -> Head {
    let head = Head {
        operation: operation.id,
        view: operation.view,
    };
    workspace.materialised = Some((head.operation.clone(), head.view.clone()));
    head
}

/// Records a `workspace.toml` that something else wrote as an operation of its own, `import-view`, so that undoing what comes next
/// leads back to it (FORMAT, 'Files'). Does nothing when the file is what the operation log says. Call with the checkout's lock held.
pub fn adopt_foreign(dataset: &Dataset, workspace: &mut Workspace) -> Result<()> {
    if workspace.materialised.is_some() {
        return Ok(());
    }
    if workspace.view == View::default() && dataset.oplog.head()?.is_none() {
        return Ok(());
    }
    publish(dataset, workspace, Record::new("import-view")?).map(drop)
}
