//! The commit without any process (but the signer's).

use gix::ObjectId;
use tether_engine::Result;
use tether_engine::id::CommitId;

use super::{Job, author, committer, move_head, sign};
use crate::position::position;
use crate::{commit_id, failed};

/// Writes the commit object, tells its id, and moves HEAD.
pub(super) fn commit(
    job: &Job<'_>,
    prepared: &mut dyn FnMut(&CommitId) -> Result<()>,
) -> Result<ObjectId> {
    let object = gix::objs::Commit {
        tree: job.tree,
        parents: job.parent.into_iter().collect(),
        author: author(job.repo)?,
        committer: committer(job.repo)?,
        encoding: None,
        message: job.message.as_str().into(),
        extra_headers: Vec::new(),
    };
    let object = sign::sign(job.repo, object)?;
    let id = job
        .repo
        .write_object(&object)
        .map_err(|error| failed("cannot write the commit to git", error))?
        .detach();
    prepared(&commit_id(id))?;
    let branch = position(job.repo)?.bookmarks.pop();
    move_head(
        job,
        id,
        branch.as_ref().map_or("HEAD", |branch| branch.as_str()),
    )?;
    Ok(id)
}
