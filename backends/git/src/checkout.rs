//! Fast-forwarding a branch that the object's own checkout stands on: files, index and ref move together, by `git merge --ff-only`.
//!
//! Moving the ref alone would leave a checkout that shows the whole promotion undone. Nothing the repository's configuration names is
//! run; where a file would need one of its filters the move is refused.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use gix::ObjectId;
use gix::bstr::{BStr, BString, ByteSlice as _};
use tether_engine::error::{Error, Result};
use tether_gitkit::exec::{Output, run};
use tether_gitkit::refs::{self, Outcome};

use crate::repos::Opened;
use crate::{branches, config, error, revision, state};

/// How long a checkout may take.
const LIMIT: Duration = Duration::from_mins(10);

/// How long another git process's index lock is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Moves `base` and the checkout on it from `from` to its descendant `to`.
pub(crate) fn fast_forward(
    at: &Opened,
    base: &str,
    from: Option<ObjectId>,
    to: ObjectId,
) -> Result<Outcome> {
    let _turn = at
        .core
        .moving
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let now = branches::commit(at, base)?;
    if now == Some(to) {
        return Ok(Outcome::Found);
    }
    if now != from {
        return Ok(Outcome::Elsewhere(now));
    }
    refuse_busy(at, base)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let output = merge(at, base, to)?;
        let now = branches::commit(at, base)?;
        if now == Some(to) {
            return Ok(from.map_or(Outcome::Created, Outcome::Changed));
        }
        if now != from {
            return Ok(Outcome::Elsewhere(now));
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !said.contains("index.lock") {
            return Err(refused(at, base, &said));
        }
        if Instant::now() >= deadline {
            return Err(refs::locked(&at.repo.git_dir().join("index.lock")));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn merge(at: &Opened, base: &str, to: ObjectId) -> Result<Output> {
    let git = at.core.git()?;
    let dir = at.repo.workdir().unwrap_or_else(|| at.repo.git_dir());
    let mut command = git.foreign(dir);
    // Named outright: `core.worktree` could point anywhere.
    command
        .env("GIT_DIR", at.repo.git_dir())
        .env("GIT_WORK_TREE", dir);
    let filters = config::silence(&git, at, &mut command)?;
    if let Some(filter) = used(at, to, &filters)? {
        return Err(Error::store(format!(
            "{} is checked out in {}, whose files go through its own filter {filter:?}, which tether does not run",
            branches::short(base)?,
            at.shown()
        ))
        .with_hint(format!("`git -C {} merge --ff-only {to}`, then run the command again", at.shown())));
    }
    command.args([
        "merge",
        "--ff-only",
        "--no-autostash",
        "--no-stat",
        "--no-progress",
        "--quiet",
    ]);
    command.args([
        "--no-overwrite-ignore",
        "--no-verify-signatures",
        "--no-edit",
    ]);
    command.arg(to.to_string());
    run(command, b"", LIMIT)
}

fn refuse_busy(at: &Opened, base: &str) -> Result<()> {
    let branch = branches::short(base)?;
    if revision::head_branch(&at.repo)?.as_deref() != Some(base) || at.repo.state().is_some() {
        return Err(Error::store(format!(
            "{} is in the middle of another git operation",
            at.shown()
        ))
        .with_hint(format!(
            "`git -C {} status` says how to finish it",
            at.shown()
        )));
    }
    let changed = state::tracked_changes(at, 100)?;
    if changed.is_empty() {
        return Ok(());
    }
    Err(Error::store(format!(
        "{branch} is checked out in {} with uncommitted changes: {}",
        at.shown(),
        error::some_of(&changed)
    ))
    .with_hint(format!("commit them, or `git -C {} stash`", at.shown())))
}

/// Why git did not move the checkout; it lists the paths in the way on lines of their own.
fn refused(at: &Opened, base: &str, said: &str) -> Error {
    let paths: Vec<String> = said
        .lines()
        .filter_map(|line| line.strip_prefix('\t'))
        .map(str::to_owned)
        .collect();
    let base = base.strip_prefix("refs/heads/").unwrap_or(base);
    let why = if paths.is_empty() {
        error::reason(said.as_bytes())
    } else {
        format!("these files are in the way: {}", error::some_of(&paths))
    };
    Error::store(format!(
        "cannot fast-forward {base} in {}: {why}",
        at.shown()
    ))
    .with_hint(format!("`git -C {} status`", at.shown()))
}

/// The first of the repository's own `filters` that attributes in the new tree, the index or `info/attributes` name.
fn used(at: &Opened, to: ObjectId, filters: &[String]) -> Result<Option<String>> {
    if filters.is_empty() {
        return Ok(None);
    }
    let mut texts: Vec<BString> = Vec::new();
    let info = at.repo.common_dir().join("info").join("attributes");
    texts.extend(std::fs::read(info).ok().map(BString::from));
    let failed = || format!("cannot read the attributes of {to}");
    let tree = at
        .repo
        .find_commit(to)
        .map_err(error::store(failed()))?
        .tree()
        .map_err(|broken| Error::store(failed()).with_source(broken))?;
    let entries = tree
        .traverse()
        .breadthfirst
        .files()
        .map_err(|broken| Error::store(failed()).with_source(broken))?;
    let is_attributes =
        |path: &BStr| path.rsplit(|byte| *byte == b'/').next() == Some(b".gitattributes");
    for entry in entries {
        if is_attributes(entry.filepath.as_bstr())
            && let Ok(blob) = at.repo.find_blob(entry.oid)
        {
            texts.push(blob.data.clone().into());
        }
    }
    Ok(filters
        .iter()
        .find(|filter| {
            let named = format!("filter={filter}");
            texts.iter().any(|text| text.contains_str(&named))
        })
        .cloned())
}
