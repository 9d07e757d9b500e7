//! What a jj that was killed left in git: it tells git of its bookmarks before its operation exists.
//!
//! A snapshot of a change that a bookmark is on rewrites the change and moves git's branch to the new commit; killed then, jj knows
//! nothing of the commit, takes a snapshot again, and finds the branch moved "by git": the bookmark would be conflicted.

use std::path::Path;

use gix::refs::transaction::PreviousValue;
use jj_lib::backend::CommitId;
use jj_lib::commit::Commit;
use jj_lib::object_id::ObjectId as _;
use jj_lib::repo::{ReadonlyRepo, Repo as _};
use tether_engine::Result;

use crate::failed;

/// Puts git's branches of the bookmarks at `wc` back, where they are at a version of it that was never published.
///
/// Where `HEAD` in the working tree at `root` is at that version too, a dataset commit was told to git, and stays: what git has is
/// taken in, and its operation is finished from the journal.
pub(crate) async fn put_back(repo: &ReadonlyRepo, wc: &Commit, root: &Path) -> Result<()> {
    let Ok(backend) = jj_lib::git::get_git_backend(repo.store()) else {
        return Ok(());
    };
    let git = backend.git_repo();
    let head = backend
        .open_git_repo_at_workdir(root)
        .ok()
        .and_then(|git| git.head_id().ok().map(gix::Id::detach));
    let bookmarks = repo.view().local_bookmarks_for_commit(wc.id());
    for (name, _) in bookmarks {
        let branch = format!("refs/heads/{}", name.as_str());
        let known = repo
            .view()
            .get_git_ref(branch.as_str().as_ref())
            .as_normal();
        let (Some(known), Ok(Some(reference))) = (known, git.try_find_reference(&branch)) else {
            continue;
        };
        let Some(there) = reference.try_id().map(gix::Id::detach) else {
            continue;
        };
        let id = CommitId::from_bytes(there.as_bytes());
        if head == Some(there) {
            continue;
        }
        if id == *known || !is_orphan(repo, &id, wc).await? {
            continue;
        }
        let back = gix::ObjectId::from_bytes_or_panic(known.as_bytes());
        git.reference(
            branch,
            back,
            PreviousValue::MustExistAndMatch(gix::refs::Target::Object(there)),
            "jj: take back what was never published",
        )
        .map_err(|error| failed("cannot put git's branch back", error))?;
    }
    Ok(())
}

/// Whether a commit is a version of `wc` that no operation knows.
async fn is_orphan(repo: &ReadonlyRepo, id: &CommitId, wc: &Commit) -> Result<bool> {
    let known = repo.index().has_id(id).await;
    if known.map_err(|error| failed("cannot read jj's index", error))? {
        return Ok(false);
    }
    // What is no commit that jj can read is not jj's.
    let commit = repo.store().get_commit_async(id).await;
    Ok(commit.is_ok_and(|commit| {
        commit.change_id() == wc.change_id() && commit.parent_ids() == wc.parent_ids()
    }))
}
