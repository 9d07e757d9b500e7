//! The repository's own history, and who is whose ancestor.

use std::collections::HashMap;

use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;
use tether_engine::backend::HistoryEntry;
use tether_engine::error::{Error, Result};
use tether_engine::state::State;

use crate::repos::Opened;
use crate::{base, error, locator, revision, state};

/// Commits from `from` (or the position) on, newest first, at most `limit`.
pub(crate) fn list(at: &Opened, from: Option<&str>, limit: usize) -> Result<Vec<HistoryEntry>> {
    let name = match from {
        Some(name) => locator::revision("ref", name.to_owned())?,
        None => at.site.position().to_owned(),
    };
    let start = revision::resolve(at, &name)?.commit;
    let names = decorations(at)?;
    let failed = || format!("cannot read the history of {}", at.shown());
    let walk = at
        .repo
        .rev_walk([start])
        .sorting(Sorting::ByCommitTime(CommitTimeOrder::NewestFirst))
        .all()
        .map_err(error::store(failed()))?;
    let mut entries = Vec::new();
    for info in walk.take(limit) {
        let info = info.map_err(error::store(failed()))?;
        entries.push(entry(at, info.id, &names)?);
    }
    Ok(entries)
}

fn entry(
    at: &Opened,
    id: ObjectId,
    names: &HashMap<ObjectId, Vec<String>>,
) -> Result<HistoryEntry> {
    let failed = || format!("cannot read commit {id}");
    let commit = at.repo.find_commit(id).map_err(error::store(failed()))?;
    let time = commit
        .time()
        .map_err(|broken| Error::store(failed()).with_source(broken))?;
    let when = time
        .format(gix::date::time::format::ISO8601_STRICT)
        .map_err(|broken| Error::store(failed()).with_source(broken))?;
    let summary = commit
        .message()
        .map(|message| message.summary().to_str_lossy().into_owned())
        .unwrap_or_default();
    Ok(HistoryEntry {
        id: id.to_string(),
        when: match when.strip_suffix("+00:00") {
            Some(utc) => format!("{utc}Z"),
            None => when,
        },
        message: summary,
        refs: names.get(&id).cloned().unwrap_or_default(),
    })
}

/// The names at each commit, in git's order: the branch `HEAD` is on, then tags, remote branches and branches from the last to the
/// first.
fn decorations(at: &Opened) -> Result<HashMap<ObjectId, Vec<String>>> {
    let failed = || format!("cannot list the refs of {}", at.shown());
    let platform = at.repo.references().map_err(error::store(failed()))?;
    let current = revision::head_branch(&at.repo)?;
    let mut refs = Vec::new();
    for found in platform.all().map_err(error::store(failed()))? {
        // A broken ref decorates nothing.
        let Ok(mut found) = found else { continue };
        let full = found.name().as_bstr().to_str_lossy().into_owned();
        let Some(short) = shown(&full).map(str::to_owned) else {
            continue;
        };
        if let Ok(id) = found.peel_to_id() {
            refs.push((full, short, id.detach()));
        }
    }
    refs.sort_unstable_by(|a, b| {
        let first = |full: &String| current.as_ref() == Some(full);
        first(&b.0).cmp(&first(&a.0)).then_with(|| b.0.cmp(&a.0))
    });
    let mut names: HashMap<ObjectId, Vec<String>> = HashMap::new();
    for (_, short, id) in refs {
        names.entry(id).or_default().push(short);
    }
    Ok(names)
}

/// A ref's name in listings; `None` for refs that git does not show.
fn shown(full: &str) -> Option<&str> {
    for place in ["refs/tags/", "refs/heads/", "refs/remotes/"] {
        if let Some(short) = full.strip_prefix(place) {
            return Some(short);
        }
    }
    full.starts_with("refs/tether/").then_some(full)
}

/// Whether `ancestor` is in the history of `descendant`.
pub(crate) fn ancestor_of(
    at: &Opened,
    ancestor: &State,
    descendant: &State,
) -> Result<Option<bool>> {
    let (a, b) = (
        state::commit_id(&at.repo, ancestor)?,
        state::commit_id(&at.repo, descendant)?,
    );
    if at.repo.find_commit(a).is_err() || at.repo.find_commit(b).is_err() {
        return Ok(None);
    }
    let answer = base::is_ancestor(&at.repo, a, b)?;
    // Where history is cut, "no" may only mean "not in what is here".
    Ok((answer || !at.repo.is_shallow()).then_some(answer))
}
