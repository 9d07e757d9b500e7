//! The write-ahead journal: what a running operation set out to do, and how far it got.
//!
//! `<shared dir>/tether/journal/<operation>.jsonl`: the first line is the begin record, written atomically, every further one a
//! [`Progress`]. The file exists exactly as long as its operation is neither published nor rolled back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::step;
use crate::clock;
use crate::error::{Error, ErrorKind, Result};
use crate::fsutil;
use crate::id::{OpId, WorkspaceId};

/// An open journal: one file, one JSON object a line, each synced before the effect it announces.
#[derive(Debug)]
#[must_use = "a journal that is dropped without `done` or `rolled_back` is an interrupted operation"]
pub struct Journal {
    path: PathBuf,
    /// The operation.
    pub operation: OpId,
}

/// A line of progress: what is about to happen or has happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// `pin`, `manifest`, `listing`, `vcs-commit`, ...
    pub action: String,
    /// `intent` before the effect, `done` after it.
    pub phase: String,
    /// What is needed to finish it or roll it back.
    pub detail: Value,
}

impl Progress {
    /// The [`Progress::phase`] before the effect.
    pub const INTENT: &str = "intent";
    /// The [`Progress::phase`] after the effect.
    pub const DONE: &str = "done";
}

/// A journal whose operation never ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfinished {
    /// The operation.
    pub operation: OpId,
    /// Its checkout.
    pub workspace: WorkspaceId,
    /// When it began.
    pub at: String,
    /// Its command.
    pub command: String,
    /// Its plan.
    pub plan: Option<Value>,
    /// What it would have replaced.
    pub pre: Value,
    /// How far it got.
    pub progress: Vec<Progress>,
    pub(crate) path: PathBuf,
}

/// The first line of a journal.
#[derive(Serialize, Deserialize)]
struct Begin {
    begin: OpId,
    workspace: WorkspaceId,
    at: String,
    command: String,
    plan: Option<Value>,
    pre: Value,
}

impl Journal {
    /// Begins a journal: plan and `pre` are on disk before this returns.
    pub fn begin(
        shared_dir: &Path,
        operation: OpId,
        workspace: &WorkspaceId,
        command: &str,
        plan: Option<Value>,
        pre: Value,
    ) -> Result<Self> {
        let path = dir(shared_dir).join(format!("{operation}.jsonl"));
        if path.exists() {
            return Err(Error::internal(format!(
                "operation {operation} has a journal already"
            )));
        }
        let begin = Begin {
            begin: operation.clone(),
            workspace: workspace.clone(),
            at: clock::now(),
            command: command.to_owned(),
            plan,
            pre,
        };
        fsutil::write_atomic(&path, &line(&begin)?)?;
        step("begin");
        Ok(Self { path, operation })
    }

    /// Announces an effect; synced before this returns.
    pub fn intent(&mut self, action: &str, detail: Value) -> Result<()> {
        self.record(action, Progress::INTENT, detail)?;
        step(&format!("intent.{action}"));
        Ok(())
    }

    /// Records that an effect landed; synced before this returns.
    pub fn did(&mut self, action: &str, detail: Value) -> Result<()> {
        step(&format!("effect.{action}"));
        self.record(action, Progress::DONE, detail)?;
        step(&format!("did.{action}"));
        Ok(())
    }

    fn record(&mut self, action: &str, phase: &str, detail: Value) -> Result<()> {
        let progress = Progress {
            action: action.to_owned(),
            phase: phase.to_owned(),
            detail,
        };
        fsutil::append_synced(&self.path, &line(&progress)?)
    }

    /// Ends the journal of an operation that was published: removes the file.
    pub fn done(self) -> Result<()> {
        self.close()
    }

    /// Ends the journal of an operation that was rolled back whole: removes the file.
    pub fn rolled_back(self) -> Result<()> {
        self.close()
    }

    fn close(self) -> Result<()> {
        step("closing");
        fsutil::remove_durably(&self.path)?;
        step("closed");
        Ok(())
    }

    /// Journals left by operations that never ended, every checkout's, oldest first. Torn last lines are skipped. A journal whose
    /// process still runs (it holds the locks) is listed too: callers look only while they hold the repository lock.
    pub fn unfinished(shared_dir: &Path) -> Result<Vec<Unfinished>> {
        let dir = dir(shared_dir);
        let entries = match fs::read_dir(&dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io("read", &dir, error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry
                .map_err(|error| Error::io("read", &dir, error))?
                .path();
            // Anything else is a temporary file of a journal that never began.
            if path
                .extension()
                .is_some_and(|extension| extension == "jsonl")
            {
                found.extend(read(path)?);
            }
        }
        found.sort_by(|a, b| (&a.at, &a.operation).cmp(&(&b.at, &b.operation)));
        Ok(found)
    }

    /// Takes an unfinished journal up again, to finish it or to roll it back.
    pub fn resume(unfinished: &Unfinished) -> Self {
        Self {
            path: unfinished.path.clone(),
            operation: unfinished.operation.clone(),
        }
    }
}

fn dir(shared_dir: &Path) -> PathBuf {
    shared_dir.join("tether/journal")
}

fn line(record: &impl Serialize) -> Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)
        .map_err(|error| Error::internal("a journal record has no JSON form").with_source(error))?;
    line.push(b'\n');
    Ok(line)
}

/// Reads a journal; `None` when it ended meanwhile.
fn read(path: PathBuf) -> Result<Option<Unfinished>> {
    let Some(content) = fsutil::read_regular(&path)? else {
        return Ok(None);
    };
    let mut lines = content.split(|byte| *byte == b'\n');
    // The begin record is written atomically, so a damaged one is no torn line. What the operation did is unknown then, and taking it
    // for nothing could release its pins.
    let begin: Begin = lines
        .next()
        .and_then(|line| serde_json::from_slice(line).ok())
        .ok_or_else(|| damaged(&path))?;
    let progress = lines.filter_map(|line| serde_json::from_slice(line).ok());
    Ok(Some(Unfinished {
        operation: begin.begin,
        workspace: begin.workspace,
        at: begin.at,
        command: begin.command,
        plan: begin.plan,
        pre: begin.pre,
        progress: progress.collect(),
        path,
    }))
}

fn damaged(path: &Path) -> Error {
    let message = format!(
        "the journal {} is damaged: its first line cannot be read",
        path.display()
    );
    Error::new(ErrorKind::Interrupted, message).with_hint(format!(
        "`tether verify` shows what is pinned; then move {} away",
        path.display()
    ))
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
