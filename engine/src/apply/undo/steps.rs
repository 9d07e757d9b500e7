//! The steps of an undo, and taking them back when it cannot be published.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::plan::UndoPlan;
use super::see::{LEFT, fingerprint};
use super::settle::{self, Settled};
use super::{named, pending, words};
use crate::apply::publish::{self, Record};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::id::OpId;
use crate::oplog::{Head, Journal, Operation};
use crate::query::reason;
use crate::query::summary::summary;
use crate::register;
use crate::report::UndoReport;
use crate::workspace::Workspace;

/// The journal's names of the steps.
pub(super) const UNCOMMIT: &str = "uncommit";
pub(super) const SETTLE: &str = "settle";

/// An undo on its way.
struct Undoing<'a> {
    dataset: &'a Dataset,
    plan: &'a UndoPlan,
    target: &'a Operation,
    /// The undo itself, on disk and not published.
    operation: Operation,
    expected: Option<Head>,
    journal: Journal,
}

/// Does what was decided. Call with both locks held.
pub(super) async fn apply(
    dataset: &Dataset,
    mut workspace: Workspace,
    target: &Operation,
    plan: UndoPlan,
    discard: bool,
) -> Result<UndoReport> {
    publish::adopt_foreign(dataset, &mut workspace)?;
    let record = record(target, &plan)?;
    let journal = Journal::begin(
        dataset.vcs.shared_dir(),
        record.id.clone(),
        &workspace.id,
        "undo",
        None,
        announced(&record, target, &plan, discard),
    )?;
    workspace.view = plan.view.clone();
    for (key, _, restored) in &plan.files {
        if restored.is_none() {
            workspace.last_snapshot.remove(key);
            workspace.last_snapshot_errors.remove(key);
        }
    }
    let expected = dataset.oplog.head()?;
    let operation = match publish::write(dataset, &workspace, record, expected.as_ref()) {
        Ok(operation) => operation,
        Err(error) => {
            journal.rolled_back()?;
            return Err(error);
        }
    };
    let undoing = Undoing {
        dataset,
        plan: &plan,
        target,
        operation,
        expected,
        journal,
    };
    let (journal, operation) = undoing.publish()?;
    publish::published(&mut workspace, operation.clone());
    let settled = finish(dataset, journal, &workspace, target, discard).await?;
    Ok(report(target, &plan, operation.id, settled))
}

impl Undoing<'_> {
    /// Up to the commit point. After an error nothing is changed, except where the message says so.
    fn publish(mut self) -> Result<(Journal, Operation)> {
        let Err(error) = self.do_publish() else {
            return Ok((self.journal, self.operation));
        };
        let id = &self.operation.id;
        match self.dataset.oplog.published(id) {
            Ok(true) => return Ok((self.journal, self.operation)),
            Ok(false) => {}
            Err(unknown) => return Err(open(error, &unknown)),
        }
        if self.is_uncommitted() {
            let error = Error::new(
                error.kind(),
                "the dataset commit is taken back, but recording that in the operation log failed",
            )
            .with_source(error)
            .with_hint("the next writing command finishes the record: `tether undo`")
            .partly_done();
            return Err(error);
        }
        for (key, before, _) in &self.plan.files {
            // What could not be put back stays in the journal; the next command tries again.
            if register::put(self.dataset, key, bytes(before.as_ref())).is_err() {
                return Err(error);
            }
        }
        self.journal.rolled_back()?;
        Err(error)
    }

    fn do_publish(&mut self) -> Result<()> {
        let (dataset, operation) = (self.dataset, &self.operation);
        let expected = self.expected.as_ref();
        let uncommit = self.plan.uncommit.as_ref();
        if let Some(request) = uncommit {
            let detail = json!({ "commit": request.commit, "bookmark": request.bookmark });
            self.journal.intent(UNCOMMIT, detail)?;
        }
        if self.plan.exact && dataset.oplog.rewind(operation, &self.target.id, expected)? {
            return Ok(());
        }
        for (key, _, restored) in &self.plan.files {
            let detail = json!({ "key": key });
            self.journal.intent(register::MANIFEST, detail.clone())?;
            register::put(dataset, key, bytes(restored.as_ref()))?;
            self.journal.did(register::MANIFEST, detail)?;
        }
        if let Some(request) = uncommit {
            dataset.vcs.uncommit(request, operation)?;
            self.journal
                .did(UNCOMMIT, json!({ "commit": request.commit }))?;
            if dataset.vcs.carries_operations() {
                return Ok(());
            }
        }
        dataset.oplog.publish(operation, expected)
    }

    /// Whether the commit is taken back although the undo is not published.
    fn is_uncommitted(&self) -> bool {
        let Some(request) = &self.plan.uncommit else {
            return false;
        };
        !self.dataset.vcs.carries_operations()
            && self.dataset.vcs.check_can_uncommit(request).is_err()
    }
}

fn bytes(text: Option<&String>) -> Option<&[u8]> {
    text.map(String::as_bytes)
}

/// Nobody can say whether the undo stands.
fn open(error: Error, unknown: &Error) -> Error {
    let message = format!(
        "the undo failed, and whether it stands cannot be told ({})",
        unknown.one_line()
    );
    Error::new(error.kind(), message)
        .with_source(error)
        .with_hint("the next writing command finishes it or rolls it back: `tether undo`")
        .partly_done()
}

/// What follows the commit point: the stores, `workspace.toml`, the end of the journal. A store that cannot be reached stays pending.
pub(super) async fn finish(
    dataset: &Dataset,
    mut journal: Journal,
    workspace: &Workspace,
    target: &Operation,
    discard: bool,
) -> Result<Settled> {
    let mut settled = Settled::default();
    if settle::has_effects(target) {
        journal.intent(SETTLE, json!({ "operation": target.id }))?;
        match settle::settle(dataset, target, discard).await {
            Ok(done) => {
                if !done.is_settled() {
                    pending::add(dataset, &workspace.id, std::slice::from_ref(&target.id))?;
                }
                settled = done;
            }
            Err(error) => {
                pending::add(dataset, &workspace.id, std::slice::from_ref(&target.id))?;
                settled.kept.push(format!(
                    "what {} made in stores is still there ({}); `tether undo` tries again",
                    named(&target.id, &target.command, &target.result),
                    reason(&error)
                ));
            }
        }
        journal.did(SETTLE, json!({ "operation": target.id }))?;
    }
    // The operation stands. A file that could not be written is brought up to the log by the next command.
    let _ = dataset.write_workspace(workspace);
    journal.done()?;
    Ok(settled)
}

fn record(target: &Operation, plan: &UndoPlan) -> Result<Record> {
    let mut record = Record::new("undo")?;
    record.undoes = Some(target.id.clone());
    record.result = json!({
        "summary": words(&target.command, &target.result),
        "restored": plan.restored(&plan.stores),
        "irreversible": plan.stores.irreversible,
        "skipped": plan.skipped(&plan.stores),
    });
    let mut pre = json!({ "undoes": target.id });
    if !plan.files.is_empty() {
        pre["objects"] = json!(plan.replaced());
        pre[LEFT] = json!(plan.leaves());
    }
    if let Some(request) = &plan.uncommit {
        pre["head"] = json!(request.commit);
    }
    record.pre = pre;
    Ok(record)
}

/// What recovering an undo needs.
fn announced(record: &Record, target: &Operation, plan: &UndoPlan, discard: bool) -> Value {
    let mut pre = record.pre.clone();
    pre["discard"] = json!(discard);
    if plan.uncommit.is_some() {
        pre["parent"] = target.pre.get("head").cloned().unwrap_or_default();
    }
    pre
}

impl UndoPlan {
    /// Key to what its manifest held.
    fn replaced(&self) -> BTreeMap<&str, Option<&str>> {
        let files = self.files.iter();
        files
            .map(|(key, before, _)| (key.as_str(), before.as_deref()))
            .collect()
    }

    /// Key to a fingerprint of what its manifest will hold.
    fn leaves(&self) -> BTreeMap<&str, Option<String>> {
        let files = self.files.iter();
        files
            .map(|(key, _, after)| {
                let after = after.as_deref().map(|text| fingerprint(text.as_bytes()));
                (key.as_str(), after)
            })
            .collect()
    }
}

/// The manifests and the view are as planned; what became of the stores is what was done.
fn report(target: &Operation, plan: &UndoPlan, undo: OpId, stores: Settled) -> UndoReport {
    UndoReport {
        undone: target.id.clone(),
        command: target.command.clone(),
        summary: summary(&target.command, &target.result),
        undo_id: Some(undo),
        restored: plan.restored(&stores),
        skipped: plan.skipped(&stores),
        irreversible: stores.irreversible,
        notes: Vec::new(),
    }
}
