//! Finishing or rolling back what a killed command left, from its journal.
//!
//! A commit whose dataset commit stands is finished: its operation is published and `workspace.toml` follows. One that does not is
//! rolled back: manifests and listings as before, and the pins it made released.

use serde_json::Value;

use super::commit::steps::{self, Announced, Outcome};
use super::files::{self, Rewrites};
use super::pins::{self, Cut};
use super::publish::{self, Record};
use super::undo;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::fsutil;
use crate::id::{CommitId, OpId, PinId};
use crate::oplog::{Journal, Progress, Unfinished};
use crate::report::CommitReport;
use crate::vcs::{CommitRequest, PathChange};
use crate::workspace::Workspace;

/// Finishes or rolls back every unfinished operation of this checkout. Call with both locks held. Returns one line per operation.
pub async fn recover(dataset: &Dataset) -> Result<Vec<String>> {
    let recovered = keeping_pins(dataset).await?;
    let mut lines = recovered.lines;
    let errors = pins::take_back(dataset, recovered.pins).await;
    lines.extend(errors.iter().map(not_released));
    Ok(lines)
}

/// What was recovered, with the pins of rolled back commits still standing.
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    lines: Vec<String>,
    pins: Vec<Cut>,
}

impl Recovered {
    /// Releases the pins that the command which recovered them did not use again, and adds the lines to its report.
    ///
    /// A commit that is run again finds its pins and keeps them: a store that never reuses a deleted name would need another one.
    pub(crate) async fn settle(
        self,
        dataset: &Dataset,
        outcome: Result<(CommitReport, Vec<PinId>)>,
    ) -> Result<CommitReport> {
        let used: &[PinId] = outcome.as_ref().map_or(&[], |(_, used)| used.as_slice());
        let unused: Vec<Cut> = self
            .pins
            .into_iter()
            .filter(|cut| !used.contains(&cut.pin.id))
            .collect();
        let errors = pins::take_back(dataset, unused).await;
        let (mut report, _) = outcome?;
        report.notes.extend(self.lines);
        report.notes.extend(errors.iter().map(not_released));
        Ok(report)
    }
}

fn not_released(error: &Error) -> String {
    format!(
        "a pin of the interrupted commit could not be released and stays on record for `tether gc`: {}",
        error.one_line()
    )
}

/// [`recover`] without releasing pins. The journals are closed: a kill from here on leaves pins that are on the clone's record.
pub(crate) async fn keeping_pins(dataset: &Dataset) -> Result<Recovered> {
    let mut recovered = Recovered::default();
    let unfinished = Journal::unfinished(dataset.vcs.shared_dir())?;
    if unfinished.is_empty() {
        return Ok(recovered);
    }
    let workspace = dataset.workspace()?;
    let own: Vec<Unfinished> = unfinished
        .into_iter()
        .filter(|it| it.workspace == workspace.id)
        .collect();
    if own.is_empty() {
        return Ok(recovered);
    }
    for operation in own {
        match operation.command.as_str() {
            "commit" => commit(dataset, &operation, &mut recovered)?,
            "add" | "set" | "remove" => {
                recovered
                    .lines
                    .push(crate::register::recover(dataset, &operation)?);
            }
            "undo" => {
                let line = undo::recover::recover(dataset, &operation).await?;
                recovered.lines.push(line);
            }
            other => recovered.lines.push(format!(
                "operation {} ({other}) never finished; `tether {other}` again finishes it",
                operation.operation
            )),
        }
    }
    // With both locks held nobody writes these files now.
    fsutil::remove_temporary(&dataset.root.join(".tether"));
    Ok(recovered)
}

fn commit(dataset: &Dataset, unfinished: &Unfinished, recovered: &mut Recovered) -> Result<()> {
    let journal = Journal::resume(unfinished);
    let facts = Facts::of(unfinished);
    let id = &unfinished.operation;
    let published = dataset.oplog.published(id)?;
    let landed = match (&facts.announced, published) {
        (_, true) => true,
        (Some(announced), false) => {
            let request = request(dataset, announced, id)?;
            let landed =
                match steps::landed(dataset, facts.prepared.as_ref(), || Ok(request.clone()))? {
                    None => held_by_head(dataset, &request)?,
                    landed => landed,
                };
            if let Some(commit) = landed {
                finish(dataset, unfinished, &facts, Some(commit))?;
                true
            } else {
                false
            }
        }
        // A commit without VCS (`--no-vcs`, or only pins made again) stands once its operation is published.
        (None, false) => false,
    };
    if landed {
        if published {
            let mut workspace = dataset.workspace()?;
            // `workspace.toml` follows the head that was published.
            write_followed(dataset, &mut workspace)?;
        }
        journal.done()?;
        recovered
            .lines
            .push(format!("finished the interrupted commit {id}"));
        return Ok(());
    }
    let errors = facts.rewrites.restore(dataset);
    if !errors.is_empty() {
        return Err(Error::several(errors)
            .with_hint("make the files of .tether/ writable and run the command again"));
    }
    recovered.pins.extend(facts.cuts);
    journal.rolled_back()?;
    recovered
        .lines
        .push(format!("rolled back the interrupted commit {id}"));
    Ok(())
}

fn write_followed(dataset: &Dataset, workspace: &mut Workspace) -> Result<()> {
    if workspace.materialised.is_some() {
        dataset.write_workspace(workspace)?;
    }
    Ok(())
}

fn finish(
    dataset: &Dataset,
    unfinished: &Unfinished,
    facts: &Facts,
    commit: Option<CommitId>,
) -> Result<()> {
    let mut workspace = dataset.workspace()?;
    publish::adopt_foreign(dataset, &mut workspace)?;
    steps::settle_view(&mut workspace, &facts.outcome);
    let progress = unfinished.progress.iter();
    let record = Record {
        id: unfinished.operation.clone(),
        command: unfinished.command.clone(),
        plan: unfinished.plan.clone(),
        result: steps::result(&facts.outcome, commit.as_ref()),
        pre: unfinished.pre.clone(),
        commit,
        undoes: None,
        step_of: None,
        progress: progress
            .filter(|it| it.phase == Progress::DONE)
            .map(|it| {
                let mut line = serde_json::json!({ "action": it.action });
                if let (Some(line), Some(detail)) = (line.as_object_mut(), it.detail.as_object()) {
                    line.extend(detail.clone());
                }
                line
            })
            .collect(),
    };
    publish::publish(dataset, &mut workspace, record).map(drop)
}

/// The request of an interrupted dataset commit, its content read from the working tree.
fn request(dataset: &Dataset, announced: &Announced, id: &OpId) -> Result<CommitRequest> {
    let mut changes = Vec::new();
    for (path, removed) in &announced.paths {
        let content = if *removed {
            None
        } else {
            fsutil::read_regular(&dataset.vcs.workdir().join(path))?
        };
        changes.push(PathChange {
            path: path.clone(),
            content,
        });
    }
    Ok(CommitRequest {
        changes,
        message: announced.message.clone(),
        bookmark: announced.bookmark.clone(),
        expected_head: announced.head.clone(),
        operation: id.clone(),
    })
}

/// The head, when it moved on and holds everything the commit was to hold: the commit landed, and was amended or picked since.
fn held_by_head(dataset: &Dataset, request: &CommitRequest) -> Result<Option<CommitId>> {
    let head = dataset.vcs.position()?.head;
    let Some(head) = head.filter(|head| Some(head) != request.expected_head.as_ref()) else {
        return Ok(None);
    };
    for change in &request.changes {
        if dataset.vcs.read_at(&head, &change.path)? != change.content {
            return Ok(None);
        }
    }
    Ok(Some(head))
}

/// What a journal says about a commit.
#[derive(Default)]
struct Facts {
    cuts: Vec<Cut>,
    rewrites: Rewrites,
    outcome: Outcome,
    announced: Option<Announced>,
    prepared: Option<CommitId>,
}

impl Facts {
    fn of(unfinished: &Unfinished) -> Self {
        let mut facts = Self::default();
        for line in &unfinished.progress {
            let done = line.phase == Progress::DONE;
            let detail = &line.detail;
            match (line.action.as_str(), done) {
                (pins::ACTION, true) => facts.cuts.extend(Cut::from_value(detail)),
                (files::ACTION, false) => {
                    facts.rewrites = read(detail, "files").unwrap_or_default();
                    facts.outcome = read(detail, "outcome").unwrap_or_default();
                }
                (steps::VCS_COMMIT, false) => {
                    facts.announced = serde_json::from_value(detail.clone()).ok();
                }
                (steps::VCS_COMMIT, true) | (steps::VCS_PREPARED, _) => {
                    facts.prepared = read(detail, "commit");
                }
                _ => {}
            }
        }
        facts
    }
}

fn read<T: serde::de::DeserializeOwned>(detail: &Value, field: &str) -> Option<T> {
    serde_json::from_value(detail.get(field)?.clone()).ok()
}
