//! `tether ops`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::dataset::Dataset;
use crate::error::Result;
use crate::id::{CommitId, OpId};
use crate::oplog::{Journal, Operation, Progress, Unfinished};
use crate::report::OpRow;

/// Operations that only keep tether's own books and did nothing a user asked for.
pub(crate) const BOOKKEEPING: [&str; 3] = ["init", "import-view", "merge-views"];

/// The newest operations of this checkout, newest first, unfinished ones and those that the repository's own undo took back included.
pub fn ops(dataset: &Dataset, limit: usize) -> Result<Vec<OpRow>> {
    let workspace = dataset.workspace()?.id;
    let mut unfinished: Vec<Unfinished> = Journal::unfinished(dataset.vcs.shared_dir())?
        .into_iter()
        .filter(|journal| journal.workspace == workspace)
        .collect();
    let store = dataset.op_store();
    let mut undone = BTreeMap::<OpId, OpId>::new();
    let mut rows = Vec::new();
    let mut next = dataset.oplog.head()?.map(|head| head.operation);
    while let Some(id) = next.take().filter(|_| rows.len() < limit) {
        let Some(operation) = store.chain(&id, 1)?.pop() else {
            break;
        };
        next.clone_from(&operation.previous);
        // Published, and killed before its journal was closed: the record tells.
        unfinished.retain(|journal| journal.operation != operation.id);
        while let Some(journal) = unfinished.pop_if(|journal| journal.at >= operation.at) {
            rows.push(started(journal));
        }
        let shown = !BOOKKEEPING.contains(&operation.command.as_str());
        if shown {
            if let Some(other) = &operation.undoes {
                undone.insert(other.clone(), operation.id.clone());
            }
            let undone_by = undone.get(&operation.id).map(OpId::to_string);
            rows.push(finished(operation, undone_by));
        }
    }
    rows.extend(unfinished.into_iter().rev().map(started));
    add_taken_back(dataset, limit, &mut rows)?;
    rows.truncate(limit);
    flag_gone(dataset, rows)
}

/// Adds the operations that the repository's own undo took back, each where its time puts it.
fn add_taken_back(dataset: &Dataset, limit: usize, rows: &mut Vec<Row>) -> Result<()> {
    let store = dataset.op_store();
    let mut from = 0;
    for id in dataset.oplog.taken_back(limit)? {
        let Some(operation) = store.chain(&id, 1)?.pop() else {
            continue;
        };
        if BOOKKEEPING.contains(&operation.command.as_str()) {
            continue;
        }
        let mut older = rows.iter().skip(from);
        let older = older.position(|(row, _)| row.at <= operation.at);
        let place = older.map_or(rows.len(), |place| from + place);
        let by = dataset.vcs.kind().name().to_owned();
        rows.insert(place, finished(operation, Some(by)));
        from = place + 1;
    }
    Ok(())
}

fn finished(operation: Operation, undone_by: Option<String>) -> Row {
    let row = OpRow {
        id: operation.id,
        at: operation.at,
        command: operation.command,
        plan: operation.plan,
        result: operation.result,
        pre: operation.pre,
        undoes: operation.undoes,
        undone_by,
        status: "done".to_owned(),
        parent: operation.step_of,
        progress: operation.progress,
        vcs_commit_gone: false,
    };
    (row, operation.commit)
}

fn started(journal: Unfinished) -> Row {
    let steps = journal
        .progress
        .into_iter()
        .filter(|step| step.phase == Progress::DONE)
        .map(step);
    let row = OpRow {
        id: journal.operation,
        at: journal.at,
        command: journal.command,
        plan: journal.plan,
        result: Value::Object(serde_json::Map::new()),
        pre: journal.pre,
        undoes: None,
        undone_by: None,
        status: "started".to_owned(),
        parent: None,
        progress: steps.collect(),
        vcs_commit_gone: false,
    };
    (row, None)
}

/// A finished step as the user guide shows it: what is known of it, and its action.
fn step(progress: Progress) -> Value {
    let mut fields = serde_json::Map::new();
    fields.insert("action".to_owned(), Value::String(progress.action));
    match progress.detail {
        Value::Object(detail) => fields.extend(detail),
        Value::Null => {}
        other => {
            fields.insert("detail".to_owned(), other);
        }
    }
    Value::Object(fields)
}

type Row = (OpRow, Option<CommitId>);

fn flag_gone(dataset: &Dataset, rows: Vec<Row>) -> Result<Vec<OpRow>> {
    let commits: Vec<CommitId> = rows
        .iter()
        .filter_map(|(_, commit)| commit.clone())
        .collect();
    let visible = if commits.is_empty() {
        Vec::new()
    } else {
        dataset.vcs.visible(&commits)?
    };
    let mut visible = visible.into_iter();
    let flagged = rows.into_iter().map(|(mut row, commit)| {
        let gone = commit.is_some() && visible.next() == Some(false);
        // An undo took it away, and says so.
        row.vcs_commit_gone = gone && row.undone_by.is_none();
        row
    });
    Ok(flagged.collect())
}
