//! Which files changed between two commits, with line counts, from objects alone: no text converter, no external diff.

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice as _};
use gix::diff::Rewrites;
use gix::diff::blob::{
    Platform,
    pipeline::{Mode, WorktreeRoots},
};
use gix::object::tree::diff::ChangeDetached;
use gix::objs::tree::EntryMode;
use tether_engine::backend::{Change, ObjectDiff};
use tether_engine::error::{Error, Result};
use tether_engine::state::State;

use crate::repos::Opened;
use crate::{error, state};

/// The files that changed from `a` to `b`.
pub(crate) fn files(at: &Opened, a: &State, b: &State) -> Result<ObjectDiff> {
    let (a, b) = (tree(at, a)?, tree(at, b)?);
    let mut diff = ObjectDiff::new("files");
    if a.id == b.id {
        return Ok(diff.summarised());
    }
    let failed = || format!("cannot compare two commits of {}", at.shown());
    let compare = |rewrites| {
        let options = gix::diff::Options::default().with_rewrites(rewrites);
        at.repo
            .diff_tree_to_tree(&a, &b, Some(options))
            .map_err(error::store(failed()))
    };
    // Renames need the files' contents, which a partial clone may not have.
    let mut changes = compare(Some(Rewrites::default())).or_else(|_| compare(None))?;
    changes.retain(|change| !change.entry_mode().is_tree());
    changes.sort_by(|a, b| a.location().cmp(b.location()));
    let mut counter = Counter::new(at)?;
    for change in &changes {
        let counted = diff.entries.len() < ObjectDiff::MAX_ENTRIES;
        add(&mut diff, change, counted.then_some(&mut counter));
    }
    Ok(diff.summarised())
}

fn tree<'a>(at: &'a Opened, recorded: &State) -> Result<gix::Tree<'a>> {
    let id = state::existing(at, recorded)?;
    let failed = || format!("cannot read commit {id}");
    let commit = at.repo.find_commit(id).map_err(error::store(failed()))?;
    commit
        .tree()
        .map_err(|broken| Error::store(failed()).with_source(broken))
}

fn add(diff: &mut ObjectDiff, change: &ChangeDetached, counter: Option<&mut Counter<'_>>) {
    let path = change.location().to_str_lossy().into_owned();
    match change {
        ChangeDetached::Rewrite {
            source_location,
            copy: false,
            ..
        } => {
            diff.add(
                format!("{} -> {path}", source_location.to_str_lossy()),
                Change::Renamed,
                "",
            );
        }
        ChangeDetached::Addition { .. } | ChangeDetached::Rewrite { .. } => {
            diff.add(path, Change::Added, detail(change, counter));
        }
        ChangeDetached::Deletion { .. } => diff.add(path, Change::Removed, detail(change, counter)),
        ChangeDetached::Modification { .. } => {
            diff.add(path, Change::Modified, detail(change, counter));
        }
    }
}

fn detail(change: &ChangeDetached, counter: Option<&mut Counter<'_>>) -> String {
    counter
        .map(|counter| counter.detail(change))
        .unwrap_or_default()
}

/// Counts lines as `git diff --numstat` does.
struct Counter<'a> {
    at: &'a Opened,
    cache: Platform,
}

/// How many lines changed.
enum Lines {
    Counted { added: u32, removed: u32 },
    Binary,
}

/// One side of a change.
type Side = Option<(EntryMode, ObjectId)>;

impl<'a> Counter<'a> {
    fn new(at: &'a Opened) -> Result<Self> {
        let cache = at
            .repo
            .diff_resource_cache(Mode::ToGit, WorktreeRoots::default())
            .map_err(error::store(format!(
                "cannot compare two commits of {}",
                at.shown()
            )))?;
        Ok(Self { at, cache })
    }

    /// `+1 -0`; `+- --` for a binary file, as git prints it; empty when it cannot be told.
    fn detail(&mut self, change: &ChangeDetached) -> String {
        let (old, new) = sides(change);
        match self.count(change.location(), old, new) {
            Some(Lines::Counted { added, removed }) => format!("+{added} -{removed}"),
            Some(Lines::Binary) => "+- --".into(),
            None => String::new(),
        }
    }

    /// `None` when a side cannot be read.
    fn count(&mut self, path: &BStr, old: Side, new: Side) -> Option<Lines> {
        let is_link = |side: Side| side.is_some_and(|(mode, _)| mode.is_commit());
        if is_link(old) || is_link(new) {
            // A submodule is one line: the commit it stands at.
            return Some(Lines::Counted {
                added: u32::from(new.is_some()),
                removed: u32::from(old.is_some()),
            });
        }
        self.cache.clear_resource_cache_keep_allocation();
        let null = self.at.repo.object_hash().null();
        let blob = gix::objs::tree::EntryKind::Blob;
        use gix::diff::blob::ResourceKind::{NewOrDestination, OldOrSource};
        for (side, kind) in [(old, OldOrSource), (new, NewOrDestination)] {
            let (entry, id) = side.map_or((blob, null), |(mode, id)| (mode.kind(), id));
            self.cache
                .set_resource(id, entry, path, kind, &self.at.repo.objects)
                .ok()?;
        }
        let counts = gix::object::blob::diff::Platform {
            resource_cache: &mut self.cache,
        }
        .line_counts()
        .ok()?;
        Some(counts.map_or(Lines::Binary, |counts| Lines::Counted {
            added: counts.insertions,
            removed: counts.removals,
        }))
    }
}

fn sides(change: &ChangeDetached) -> (Side, Side) {
    match change {
        ChangeDetached::Addition { entry_mode, id, .. } => (None, Some((*entry_mode, *id))),
        ChangeDetached::Deletion { entry_mode, id, .. } => (Some((*entry_mode, *id)), None),
        ChangeDetached::Modification {
            previous_entry_mode,
            previous_id,
            entry_mode,
            id,
            ..
        } => (
            Some((*previous_entry_mode, *previous_id)),
            Some((*entry_mode, *id)),
        ),
        ChangeDetached::Rewrite {
            source_entry_mode,
            source_id,
            entry_mode,
            id,
            ..
        } => (
            Some((*source_entry_mode, *source_id)),
            Some((*entry_mode, *id)),
        ),
    }
}
