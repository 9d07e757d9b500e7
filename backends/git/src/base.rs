//! The upstream branch of an object: the one `ref` names, else the one `HEAD` is on, else the one a detached `HEAD` belongs to.
//!
//! A colocated jj repository always has a detached `HEAD`, at the parent of the working-copy change, so "detached" is ordinary
//! here. Branches that tether made are never the base.

use std::collections::{HashMap, HashSet};

use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use tether_engine::error::{Error, Result};
use tether_engine::name::{NativeRef, REF_PREFIX};

use crate::repos::Opened;
use crate::{branches, error, revision};

/// How far a detached `HEAD` is followed back to a branch.
const FAR: usize = 10_000;

/// The names a base is recognised by when several branches qualify.
const TRUNKS: [&str; 3] = ["main", "master", "trunk"];

/// The upstream branch, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// The branch's full name.
    Branch(String),
    /// `ref` names a tag or a commit.
    NotABranch(String),
    /// `HEAD` is detached and these branches qualify equally (none: no branch does).
    Unclear(Vec<String>),
}

/// The base in the store's words, for `Backend::base_ref`.
pub(crate) fn native(at: &Opened) -> Result<Option<NativeRef>> {
    match find(at)? {
        Base::Branch(full) => branches::short(&full).map(Some),
        Base::NotABranch(_) | Base::Unclear(_) => Ok(None),
    }
}

/// The base's full name, for methods that move it.
pub(crate) fn required(at: &Opened) -> Result<String> {
    let say = |what: String, hint: String| Err(Error::user(what).with_hint(hint));
    match find(at)? {
        Base::Branch(full) => Ok(full),
        Base::NotABranch(name) => say(
            format!("`ref` {name:?} is not a branch, so nothing can be promoted to it"),
            "register the object again with `--set ref=BRANCH`".into(),
        ),
        Base::Unclear(names) if names.is_empty() => say(
            format!(
                "HEAD of {} is detached and no branch leads to it",
                at.shown()
            ),
            "register the object again with `--set ref=BRANCH`".into(),
        ),
        Base::Unclear(names) => say(
            format!(
                "HEAD of {} is detached and could belong to {}",
                at.shown(),
                error::some_of(&names)
            ),
            format!("register the object again with `--set ref={}`", names[0]),
        ),
    }
}

/// The base.
pub(crate) fn find(at: &Opened) -> Result<Base> {
    if let Some(name) = &at.site.reference
        && name != "HEAD"
    {
        return named(at, name);
    }
    if at.site.reference.is_none()
        && let Some(name) = &at.site.at
        && let Base::Branch(full) = named(at, name)?
    {
        return Ok(Base::Branch(full));
    }
    if let Some(branch) = revision::head_branch(&at.repo)? {
        return Ok(Base::Branch(branch));
    }
    detached(at)
}

fn named(at: &Opened, name: &str) -> Result<Base> {
    let full = match revision::qualified(&at.repo, name)? {
        Some(full) => full,
        None if name.starts_with("refs/") => name.to_owned(),
        None => format!("refs/heads/{name}"),
    };
    let unborn = || Ok::<_, Error>(revision::head_branch(&at.repo)?.as_ref() == Some(&full));
    if full.starts_with("refs/heads/")
        && (revision::commit_of(&at.repo, &full)?.is_some() || unborn()?)
    {
        return Ok(Base::Branch(full));
    }
    Ok(Base::NotABranch(name.to_owned()))
}

fn detached(at: &Opened) -> Result<Base> {
    let Some(head) = revision::head_commit(&at.repo)? else {
        return Ok(Base::Unclear(Vec::new()));
    };
    let mut tips: HashMap<ObjectId, Vec<String>> = HashMap::new();
    for (name, commit) in local_branches(at)? {
        tips.entry(commit).or_default().push(name);
    }
    let nearest = nearest(at, head, &tips)?;
    Ok(chosen(at, nearest))
}

/// The branches on the way back from `head` that no other of them hides.
fn nearest(
    at: &Opened,
    head: ObjectId,
    tips: &HashMap<ObjectId, Vec<String>>,
) -> Result<Vec<String>> {
    let mut hits = Vec::new();
    let (mut stack, mut seen) = (vec![head], HashSet::from([head]));
    while let Some(commit) = stack.pop() {
        if tips.contains_key(&commit) {
            hits.push(commit);
            continue;
        }
        if seen.len() > FAR {
            break;
        }
        // A history that is cut (a shallow clone) ends here.
        let Ok(commit) = at.repo.find_commit(commit) else {
            continue;
        };
        stack.extend(
            commit
                .parent_ids()
                .map(gix::Id::detach)
                .filter(|id| seen.insert(*id)),
        );
    }
    let mut names = Vec::new();
    for hit in &hits {
        let mut hidden = false;
        for other in &hits {
            hidden |= other != hit && is_ancestor(&at.repo, *hit, *other)?;
        }
        if !hidden {
            names.extend(tips[hit].iter().cloned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn chosen(at: &Opened, names: Vec<String>) -> Base {
    let trunks = default_of_origin(at)
        .into_iter()
        .chain(TRUNKS.map(str::to_owned));
    let pick = match names.as_slice() {
        [only] => Some(only.clone()),
        _ => trunks.into_iter().find(|trunk| names.contains(trunk)),
    };
    match pick {
        Some(name) => Base::Branch(format!("refs/heads/{name}")),
        None => Base::Unclear(names),
    }
}

/// The branch the remote `origin` has as its default.
fn default_of_origin(at: &Opened) -> Option<String> {
    let head = at
        .repo
        .try_find_reference("refs/remotes/origin/HEAD")
        .ok()??;
    let name = head
        .target()
        .try_name()?
        .as_bstr()
        .to_str()
        .ok()?
        .to_owned();
    name.strip_prefix("refs/remotes/origin/").map(str::to_owned)
}

/// Local branches (short names) that tether did not make, with their commits.
fn local_branches(at: &Opened) -> Result<Vec<(String, ObjectId)>> {
    let failed = || format!("cannot list the branches of {}", at.shown());
    let refs = at.repo.references().map_err(error::store(failed()))?;
    let mut out = Vec::new();
    for branch in refs.local_branches().map_err(error::store(failed()))? {
        // A broken ref is git's to report; it is no candidate.
        let Ok(mut branch) = branch else { continue };
        let name = branch.name().shorten().to_str_lossy().into_owned();
        if !name.starts_with(REF_PREFIX)
            && let Ok(commit) = branch.peel_to_id()
        {
            out.push((name, commit.detach()));
        }
    }
    Ok(out)
}

/// Whether `ancestor` is `commit` or in its history.
pub(crate) fn is_ancestor(
    repo: &gix::Repository,
    ancestor: ObjectId,
    commit: ObjectId,
) -> Result<bool> {
    if ancestor == commit {
        return Ok(true);
    }
    let bases = repo
        .merge_bases_many(ancestor, &[commit])
        .map_err(|failure| Error::store("cannot compare two commits").with_source(failure))?;
    Ok(bases.iter().any(|base| base.detach() == ancestor))
}
