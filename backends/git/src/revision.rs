//! From names to commits: always through full ref names, a branch before a tag of the same name.

use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use tether_engine::error::{Error, Result};

use crate::error;
use crate::repos::Opened;

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The commit.
    pub(crate) commit: ObjectId,
    /// The branch, in full, when the name is one (or `HEAD` and on one).
    pub(crate) branch: Option<String>,
    /// Whether the name is `HEAD`.
    pub(crate) is_head: bool,
}

/// The commit `name` stands for. `name` has passed `locator::revision`.
pub(crate) fn resolve(at: &Opened, name: &str) -> Result<Found> {
    let repo = &at.repo;
    if matches!(name, "HEAD" | "@") {
        let branch = head_branch(repo)?;
        return match head_commit(repo)? {
            Some(commit) => Ok(Found {
                commit,
                branch,
                is_head: true,
            }),
            None => Err(Error::store(format!("{} has no commit yet", at.shown()))
                .with_hint(format!("`git -C {} commit`", at.shown()))),
        };
    }
    let (stem, suffix) = name.split_at(name.find(['~', '^']).unwrap_or(name.len()));
    let full = qualified(repo, stem)?;
    if let Some(full) = &full
        && suffix.is_empty()
        && let Some(commit) = commit_of(repo, full)?
    {
        let branch = full.starts_with("refs/heads/").then(|| full.clone());
        return Ok(Found {
            commit,
            branch,
            is_head: false,
        });
    }
    let spec = match full.as_deref() {
        Some(full) => format!("{full}{suffix}"),
        None => name.to_owned(),
    };
    let commit = repo
        .rev_parse_single(spec.as_str())
        .ok()
        .and_then(|id| id.object().ok())
        .and_then(|object| object.peel_to_commit().ok())
        .map(|commit| commit.id);
    match commit {
        Some(commit) => Ok(Found {
            commit,
            branch: None,
            is_head: false,
        }),
        None => Err(Error::store(format!(
            "{} has no branch, tag or commit {name:?}",
            at.shown()
        ))
        .with_hint(format!(
            "`git -C {} branch --all` lists the branches",
            at.shown()
        ))),
    }
}

/// The full name of the ref that `name` means: itself, a branch, a tag or a remote branch, in this order. A full commit id is none.
pub(crate) fn qualified(repo: &gix::Repository, name: &str) -> Result<Option<String>> {
    if name == "HEAD" {
        return Ok(None);
    }
    if name.starts_with("refs/") {
        return Ok(exists(repo, name)?.then(|| name.to_owned()));
    }
    let branch = format!("refs/heads/{name}");
    if exists(repo, &branch)? {
        return Ok(Some(branch));
    }
    if name.len() == repo.object_hash().len_in_hex() && ObjectId::from_hex(name.as_bytes()).is_ok()
    {
        return Ok(None);
    }
    for place in ["refs/tags/", "refs/remotes/"] {
        let full = format!("{place}{name}");
        if exists(repo, &full)? {
            return Ok(Some(full));
        }
    }
    Ok(None)
}

fn exists(repo: &gix::Repository, full: &str) -> Result<bool> {
    if gix::validate::reference::name(full.into()).is_err() {
        return Ok(false);
    }
    repo.try_find_reference(full)
        .map(|found| found.is_some())
        .map_err(error::store(format!("cannot read {full}")))
}

/// The commit a full ref name leads to, annotated tags peeled; `None` when the ref does not exist.
pub(crate) fn commit_of(repo: &gix::Repository, full: &str) -> Result<Option<ObjectId>> {
    let failed = || format!("cannot read {full}");
    let found = repo
        .try_find_reference(full)
        .map_err(error::store(failed()))?;
    let Some(mut found) = found else {
        return Ok(None);
    };
    let id = found.peel_to_id().map_err(error::store(failed()))?;
    Ok(Some(id.detach()))
}

/// The branch `HEAD` is on, in full, born or not; `None` when it is detached.
pub(crate) fn head_branch(repo: &gix::Repository) -> Result<Option<String>> {
    let head = repo.head().map_err(error::store("cannot read HEAD"))?;
    Ok(head
        .referent_name()
        .map(|name| name.as_bstr().to_str_lossy().into_owned()))
}

/// The commit `HEAD` is at; `None` on an unborn branch.
pub(crate) fn head_commit(repo: &gix::Repository) -> Result<Option<ObjectId>> {
    let head = repo.head().map_err(error::store("cannot read HEAD"))?;
    let id = head
        .try_into_peeled_id()
        .map_err(error::store("cannot read HEAD"))?;
    Ok(id.map(gix::Id::detach))
}
