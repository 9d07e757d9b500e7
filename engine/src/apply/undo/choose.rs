//! Which operation an undo reverses.

use std::collections::BTreeMap;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::id::{OpId, WorkspaceId};
use crate::oplog::OpSummary;
use crate::query::ops::BOOKKEEPING;

/// How many candidates an error names.
const NAMED: usize = 5;

/// A checkout's operations, newest first, as far as they were asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    entries: Vec<OpSummary>,
    /// Undone operation to the undo that reversed it.
    undone: BTreeMap<OpId, OpId>,
}

impl Log {
    /// Reads the whole log of the checkout, or only down to the newest operation that can be meant (`newest`).
    pub(crate) fn read(dataset: &Dataset, workspace: &WorkspaceId, newest: bool) -> Result<Self> {
        let store = dataset.op_store();
        let head = dataset.oplog.head()?;
        let mut log = Self::default();
        let mut next = match head {
            Some(head) if dataset.is_of(&head, workspace)? => Some(head.operation),
            _ => None,
        };
        while let Some(id) = next.take() {
            let Some(entry) = store.summary(&id)? else {
                break;
            };
            next.clone_from(&entry.previous);
            let found = newest && log.is_candidate(&entry);
            log.push(entry);
            if found {
                break;
            }
        }
        Ok(log)
    }

    fn push(&mut self, entry: OpSummary) {
        if let Some(undone) = &entry.undoes {
            self.undone.insert(undone.clone(), entry.id.clone());
        }
        self.entries.push(entry);
    }

    /// Whether an undo without a name means this operation, when no later one is meant.
    fn is_candidate(&self, entry: &OpSummary) -> bool {
        entry.undoes.is_none()
            && !self.undone.contains_key(&entry.id)
            && !BOOKKEEPING.contains(&entry.command.as_str())
    }

    /// The operations after `id`, newest first, each with whether it was undone.
    pub(crate) fn after(&self, id: &OpId) -> impl Iterator<Item = (&OpSummary, bool)> {
        self.entries
            .iter()
            .take_while(move |entry| entry.id != *id)
            .map(|entry| (entry, self.undone.contains_key(&entry.id)))
    }

    /// The operation to reverse: the newest one that is neither an undo nor undone, or the one that `wanted` (an id or its beginning)
    /// names.
    ///
    /// An operation that cannot be reversed is refused, never passed over.
    pub(crate) fn choose(&self, wanted: Option<&str>) -> Result<&OpSummary> {
        let chosen = match wanted {
            Some(wanted) => self.named(wanted)?,
            None => self
                .entries
                .iter()
                .find(|entry| self.is_candidate(entry))
                .ok_or_else(|| {
                    Error::user("there is nothing to undo in this checkout")
                        .with_hint("`tether ops` lists what tether did here")
                })?,
        };
        self.refuse(chosen)?;
        Ok(chosen)
    }

    fn named(&self, wanted: &str) -> Result<&OpSummary> {
        let mut found = self
            .entries
            .iter()
            .filter(|entry| !wanted.is_empty() && entry.id.as_str().starts_with(wanted));
        let hint = "`tether ops` lists this checkout's operations";
        let Some(first) = found.next() else {
            return Err(Error::user(format!(
                "there is no operation {wanted:?} in this checkout's log"
            ))
            .with_hint(hint));
        };
        let others: Vec<&str> = found.map(|entry| entry.id.as_str()).collect();
        if others.is_empty() {
            return Ok(first);
        }
        let all = std::iter::once(first.id.as_str()).chain(others.iter().copied());
        let named: Vec<&str> = all.take(NAMED).collect();
        Err(Error::user(format!(
            "{wanted:?} is the beginning of {} operations: {}{}",
            others.len() + 1,
            named.join(", "),
            if others.len() >= NAMED { ", ..." } else { "" },
        ))
        .with_hint(hint))
    }

    fn refuse(&self, entry: &OpSummary) -> Result<()> {
        let (id, command) = (&entry.id, entry.command.as_str());
        let refused = |why: String, hint: String| {
            Err(Error::user(format!("cannot undo {id} ({command}): {why}")).with_hint(hint))
        };
        if let Some(undone) = &entry.undoes {
            return refused(
                format!("it is the undo of {undone}"),
                "run the command again that was undone".to_owned(),
            );
        }
        if let Some(undo) = self.undone.get(id) {
            return refused(
                format!("it was undone by {undo}"),
                "`tether ops` shows what was undone".to_owned(),
            );
        }
        if let Some(parent) = &entry.step_of {
            return refused(
                format!("it is a step of {parent}, and is undone with it or not at all"),
                format!("tether undo {parent}"),
            );
        }
        match refusal(command) {
            Some((why, hint)) => refused(why.to_owned(), hint.to_owned()),
            None => Ok(()),
        }
    }
}

/// Why operations of a command cannot be undone, and what to do instead.
fn refusal(command: &str) -> Option<(&'static str, &'static str)> {
    Some(match command {
        "add" | "set" | "remove" | "commit" => return None,
        "promote" => (
            "tether never moves a base branch backwards",
            "`tether ops --json` has each base branch's head before the move, under `pre`",
        ),
        "drop" => (
            "it deleted what it would have to bring back",
            "the repository's own undo brings the commits back, `tether repair` the branches and pins",
        ),
        "repair" | "upgrade" | "abandon" | "forget-workspace" => (
            "what it did cannot be taken back",
            "`tether ops --json` says what it did",
        ),
        command if BOOKKEEPING.contains(&command) => (
            "it only records what was there",
            "`tether ops` lists what can be undone",
        ),
        _ => (
            "this version of tether does not know how",
            "`tether ops --json` says what it did",
        ),
    })
}

#[cfg(test)]
#[path = "choose_tests.rs"]
mod tests;
