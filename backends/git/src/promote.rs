//! Moving the base branch: fast-forward and three-way merge, from the head that was reviewed and from nothing else.
//!
//! Merges are computed on objects alone. A merge that conflicts writes nothing to the store.

use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use gix::merge::tree::TreatAsUnresolved;
use gix::objs::Write as _;
use tether_engine::backend::{Effect, Expected, Merge, Move, Source};
use tether_engine::error::{Error, Result};
use tether_engine::state::State;
use tether_gitkit::exec::run;
use tether_gitkit::refs::{self, Old, Outcome};

use crate::branches::{self, Wanted};
use crate::repos::Opened;
use crate::{base, checkout, config, error, layout, state};

/// How often a move that expects nothing is tried against other writers.
const ATTEMPTS: usize = 8;

/// Fast-forwards the base to `source`.
pub(crate) fn promote(at: &Opened, source: &Source, expected: &Expected) -> Result<Move<State>> {
    let base = base::required(at)?;
    let target = branches::source(at, source)?;
    let wanted = Wanted::new(at, expected)?;
    for _ in 0..ATTEMPTS {
        let now = branches::commit(at, &base)?;
        if now == Some(target) {
            return Ok(done(target, Effect::Found));
        }
        if !branches::fits(&wanted, now) {
            return Ok(Move::Moved {
                observed: now.map(state::of),
            });
        }
        if let Some(now) = now
            && !base::is_ancestor(&at.repo, now, target)?
        {
            return Err(diverged(at, &base, target));
        }
        match advance(at, &base, now, target, "tether: promote")? {
            Outcome::Elsewhere(_) if matches!(wanted, Wanted::Any) => {}
            outcome => return Ok(answer(outcome, target)),
        }
    }
    Err(keeps_moving(&base))
}

/// Merges `source` into the base.
pub(crate) fn merge(
    at: &Opened,
    source: &Source,
    message: &str,
    expected: &Expected,
) -> Result<Merge> {
    let base = base::required(at)?;
    let theirs = branches::source(at, source)?;
    let wanted = Wanted::new(at, expected)?;
    for _ in 0..ATTEMPTS {
        let now = branches::commit(at, &base)?;
        let Some(ours) = now else {
            return promote(at, source, expected).map(Merge::Base);
        };
        let fits = branches::fits(&wanted, now);
        if base::is_ancestor(&at.repo, theirs, ours)?
            && (fits || made_here(at, ours, theirs, &wanted))
        {
            return Ok(Merge::Base(done(ours, Effect::Found)));
        }
        if !fits {
            return Ok(Merge::Base(Move::Moved {
                observed: Some(state::of(ours)),
            }));
        }
        let tree = match merged_tree(at, &base, ours, theirs)? {
            Ok(tree) => tree,
            Err(paths) => return Ok(Merge::Conflict(paths)),
        };
        let commit = write_commit(at, tree, [ours, theirs], message)?;
        let log = format!("tether: merge {theirs}");
        match advance(at, &base, now, commit, &log)? {
            Outcome::Elsewhere(_) if matches!(wanted, Wanted::Any) => {}
            outcome => return Ok(Merge::Base(answer(outcome, commit))),
        }
    }
    Err(keeps_moving(&base))
}

fn done(commit: ObjectId, effect: Effect) -> Move<State> {
    Move::Done {
        value: state::of(commit),
        effect,
    }
}

fn answer(outcome: Outcome, target: ObjectId) -> Move<State> {
    match outcome {
        Outcome::Created => done(target, Effect::Created),
        Outcome::Changed(_) => done(target, Effect::Changed),
        Outcome::Found => done(target, Effect::Found),
        Outcome::Elsewhere(observed) => Move::Moved {
            observed: observed.map(state::of),
        },
    }
}

/// Moves the base from `from` to its descendant `to`: the ref alone, or with the checkout that stands on it.
fn advance(
    at: &Opened,
    base: &str,
    from: Option<ObjectId>,
    to: ObjectId,
    log: &str,
) -> Result<Outcome> {
    let holders = branches::holders(at, base)?;
    if holders.is_empty() {
        return refs::set(&at.repo, base, to, from.map_or(Old::Absent, Old::Is), log);
    }
    let own = at.repo.workdir().map(layout::real);
    match holders
        .iter()
        .find(|path| own.as_ref() != Some(&layout::real(path)))
    {
        Some(other) => Err(Error::store(format!(
            "{} is checked out in {}",
            branches::short(base)?,
            other.display()
        ))
        .with_hint(format!("`git -C {} switch --detach`", other.display()))),
        None => checkout::fast_forward(at, base, from, to),
    }
}

fn diverged(at: &Opened, base: &str, target: ObjectId) -> Error {
    let base = base.strip_prefix("refs/heads/").unwrap_or(base);
    Error::user(format!(
        "{base} of {} has commits that {target} does not have, so it cannot be fast-forwarded",
        at.shown()
    ))
    .with_hint("`tether promote --strategy merge` merges them")
}

fn keeps_moving(base: &str) -> Error {
    let base = base.strip_prefix("refs/heads/").unwrap_or(base);
    Error::store(format!("{base} keeps moving"))
        .with_hint("run the command again when its writer has finished")
}

/// Whether `head` is what an earlier call with the same arguments made.
fn made_here(at: &Opened, head: ObjectId, theirs: ObjectId, wanted: &Wanted) -> bool {
    let Wanted::At(ours) = wanted else {
        return false;
    };
    at.repo
        .find_commit(head)
        .is_ok_and(|commit| commit.parent_ids().map(gix::Id::detach).eq([*ours, theirs]))
}

/// The tree of the merge, or the paths that conflict.
fn merged_tree(
    at: &Opened,
    base: &str,
    ours: ObjectId,
    theirs: ObjectId,
) -> Result<Result<ObjectId, Vec<String>>> {
    let failed = || format!("cannot merge {theirs} into {ours}");
    let related = at
        .repo
        .merge_bases_many(ours, &[theirs])
        .map_err(|broken| Error::store(failed()).with_source(broken))?;
    if related.is_empty() {
        return Err(
            Error::user(format!("{ours} and {theirs} have no commit in common")).with_hint(
                format!(
                    "`git -C {} merge --allow-unrelated-histories {theirs}`",
                    at.shown()
                ),
            ),
        );
    }
    // Nothing is written before it is known that the merge is clean.
    let mut scratch = at.repo.clone().with_object_memory();
    let (tree, paths) = {
        let options = scratch
            .tree_merge_options()
            .map_err(error::store(failed()))?;
        let labels = gix::merge::blob::builtin_driver::text::Labels {
            ancestor: None,
            current: Some(base.into()),
            other: Some("tether".into()),
        };
        let mut outcome = scratch
            .merge_commits(ours, theirs, labels, options.into())
            .map_err(error::store(failed()))?
            .tree_merge;
        let mut paths = Vec::new();
        let mut same = Vec::new();
        for conflict in &outcome.conflicts {
            if !conflict.is_unresolved(TreatAsUnresolved::git()) {
                continue;
            }
            match identical_addition(conflict) {
                Some(addition) => same.push(addition),
                None => paths.extend(
                    [conflict.ours.location(), conflict.theirs.location()]
                        .map(|path| path.to_str_lossy().into_owned()),
                ),
            }
        }
        // gix reports some identical additions as conflicts (gitoxide #2968).
        for (path, kind, id) in same {
            outcome
                .tree
                .upsert(path, kind, id)
                .map_err(error::store(failed()))?;
        }
        (
            outcome
                .tree
                .write()
                .map_err(error::store(failed()))?
                .detach(),
            paths,
        )
    };
    if paths.is_empty() {
        persist(at, &mut scratch)?;
        return Ok(Ok(tree));
    }
    Ok(second_opinion(at, ours, theirs).unwrap_or_else(|| {
        let mut paths = paths;
        paths.sort_unstable();
        paths.dedup();
        Err(paths)
    }))
}

fn identical_addition(
    conflict: &gix::merge::tree::Conflict,
) -> Option<(gix::bstr::BString, gix::objs::tree::EntryKind, ObjectId)> {
    use gix::diff::tree_with_rewrites::Change::Addition;
    let Addition {
        location,
        entry_mode,
        id,
        ..
    } = &conflict.ours
    else {
        return None;
    };
    let Addition {
        location: their_path,
        entry_mode: their_mode,
        id: their_id,
        ..
    } = &conflict.theirs
    else {
        return None;
    };
    let same = location == their_path && entry_mode == their_mode && id == their_id;
    same.then(|| (location.clone(), entry_mode.kind(), *id))
}

/// Writes what the merge made to the store.
fn persist(at: &Opened, scratch: &mut gix::Repository) -> Result<()> {
    let Some(made) = scratch.objects.take_object_memory() else {
        return Ok(());
    };
    for (kind, data) in made.values() {
        at.repo
            .objects
            .write_buf(*kind, data)
            .map_err(|broken| Error::store("cannot write the merge").with_source(broken))?;
    }
    Ok(())
}

/// What `git merge-tree` makes of a conflict; `None` when there is no git to ask.
fn second_opinion(
    at: &Opened,
    ours: ObjectId,
    theirs: ObjectId,
) -> Option<Result<ObjectId, Vec<String>>> {
    let git = at.core.git().ok()?;
    let dir = at.repo.workdir().unwrap_or_else(|| at.repo.git_dir());
    let mut command = git.foreign(dir);
    command.env("GIT_DIR", at.repo.git_dir());
    config::silence(&git, at, &mut command).ok()?;
    command.args([
        "merge-tree",
        "--write-tree",
        "--name-only",
        "--no-messages",
        "-z",
    ]);
    command.args([ours.to_string(), theirs.to_string()]);
    let output = run(command, b"", std::time::Duration::from_mins(5)).ok()?;
    let mut parts = output
        .stdout
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty());
    let tree = ObjectId::from_hex(parts.next()?).ok()?;
    match output.code {
        Some(0) => Some(Ok(tree)),
        Some(1) => {
            let mut paths: Vec<String> =
                parts.map(|path| path.to_str_lossy().into_owned()).collect();
            paths.sort_unstable();
            paths.dedup();
            (!paths.is_empty()).then_some(Err(paths))
        }
        _ => None,
    }
}

fn write_commit(
    at: &Opened,
    tree: ObjectId,
    parents: [ObjectId; 2],
    message: &str,
) -> Result<ObjectId> {
    let by = refs::committer(&at.repo);
    let commit = gix::objs::Commit {
        tree,
        parents: parents.into_iter().collect(),
        author: by.clone(),
        committer: by,
        encoding: None,
        message: format!("{}\n", message.trim_end()).into(),
        extra_headers: Vec::new(),
    };
    let id = at.repo.write_object(&commit);
    id.map(gix::Id::detach)
        .map_err(error::store("cannot write the merge commit"))
}
