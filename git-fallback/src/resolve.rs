//! A revision to one commit.
//!
//! A bookmark comes first: where `REV`, or what stands before its first `^`, `~`, `:` or `@{`, is a local branch, it is that branch,
//! whatever tag, remote branch or abbreviated id looks the same. Two other refs of one name that differ are an error, where git warns.

use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::prelude::ObjectIdExt;
use tether_engine::id::CommitId;
use tether_engine::{Error, Result};
use tether_gitkit::refs;

use crate::{commit_id, failed};

/// The commit `rev` names.
pub(crate) fn resolve(repo: &gix::Repository, rev: &str) -> Result<CommitId> {
    if rev.trim().is_empty() || rev.chars().any(char::is_control) {
        return Err(Error::user(format!("{rev:?} is not a revision")));
    }
    let (base, rest) = rev.split_at(base_len(rev));
    let spec = match named(repo, base)? {
        Named::Branch(full) => format!("{full}{rest}"),
        Named::Other => rev.to_owned(),
    };
    let not_one = || {
        Error::user(format!("{rev:?} is not the name of one revision"))
            .with_hint("git log --oneline --all")
    };
    if spec.starts_with(['-', '^']) || (rest.is_empty() && spec.contains("..")) {
        return Err(not_one());
    }
    if spec.len() == repo.object_hash().len_in_hex()
        && let Ok(id) = spec.parse::<ObjectId>()
    {
        return peel(repo, rev, id);
    }
    let found = repo
        .rev_parse(spec.as_bytes().as_bstr())
        .map_err(|error| unknown(rev).with_source(error))?
        .detach();
    match found {
        gix::revision::plumbing::Spec::Include(id) => peel(repo, rev, id),
        _ => Err(not_one()),
    }
}

/// Where the operators of a revision begin.
fn base_len(rev: &str) -> usize {
    let operator = rev.find(['^', '~', ':']);
    [operator, rev.find("@{")]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(rev.len())
}

enum Named {
    Branch(String),
    Other,
}

/// What a plain name is: a local branch, or something git may look up. Ambiguity is an error.
fn named(repo: &gix::Repository, base: &str) -> Result<Named> {
    let look = |name: String| -> Result<Option<(String, ObjectId)>> {
        if gix::refs::FullName::try_from(name.as_str()).is_err() {
            return Ok(None);
        }
        Ok(refs::target(repo, &name)?.map(|id| (name, id)))
    };
    if base.is_empty() {
        return Ok(Named::Other);
    }
    let branch = look(format!("refs/heads/{base}"))?;
    if base == "HEAD" || base == "@" {
        let head = refs::target(repo, "HEAD")?;
        return match branch {
            Some((name, id)) if Some(id) != head => {
                Err(ambiguous(base, &["HEAD".to_owned(), name]))
            }
            _ => Ok(Named::Other),
        };
    }
    if let Some((name, _)) = branch {
        return Ok(Named::Branch(name));
    }
    let mut found = Vec::new();
    for prefix in ["refs/", "refs/tags/", "refs/remotes/"] {
        found.extend(look(format!("{prefix}{base}"))?);
    }
    if !found.is_empty() {
        let mut meant: Vec<(String, Option<String>)> = Vec::new();
        for (name, id) in found {
            meant.push((name, peel(repo, base, id).ok().map(|id| id.to_string())));
        }
        meant.extend(
            abbreviated(repo, base).map(|id| (format!("commit {id}"), Some(id.to_string()))),
        );
        if meant
            .windows(2)
            .any(|pair| matches!(pair, [(_, a), (_, b)] if a != b))
        {
            let names: Vec<String> = meant.into_iter().map(|(name, _)| name).collect();
            return Err(ambiguous(base, &names));
        }
    }
    Ok(Named::Other)
}

/// The commit `base` abbreviates the id of, if exactly one does.
fn abbreviated(repo: &gix::Repository, base: &str) -> Option<ObjectId> {
    if base.len() < 4 || !base.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let prefix = gix::hash::Prefix::from_hex(base).ok()?;
    let id = repo.objects.lookup_prefix(prefix, None).ok()??.ok()?;
    repo.find_commit(id).is_ok().then_some(id)
}

fn peel(repo: &gix::Repository, rev: &str, id: ObjectId) -> Result<CommitId> {
    let object = match id.attach(repo).try_object() {
        Ok(Some(object)) => object,
        Ok(None) => return Err(unknown(rev)),
        Err(error) => return Err(failed(format!("cannot read the revision {rev:?}"), error)),
    };
    let commit = object
        .peel_to_commit()
        .map_err(|error| Error::user(format!("{rev:?} names no commit")).with_source(error))?;
    Ok(commit_id(commit.id))
}

fn unknown(rev: &str) -> Error {
    Error::user(format!("there is no revision {rev:?}")).with_hint("git log --oneline --all")
}

fn ambiguous(base: &str, names: &[String]) -> Error {
    Error::user(format!("{base:?} is ambiguous: {}", names.join(", ")))
        .with_hint("give the full name (refs/...) or a longer commit id")
}
