//! The commit without any process (but the signer's).

use gix::ObjectId;
use tether_engine::vcs::CommitRequest;
use tether_engine::{Error, ErrorKind, Result};
use tether_gitkit::refs::{self, Old, Outcome};

use super::{Job, author, committer, sign};
use crate::failed;

/// Writes the commit object, signed where the user signs commits.
pub(super) fn write(job: &Job<'_>) -> Result<ObjectId> {
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
        .map_err(|error| failed("cannot write the commit to git", error))?;
    Ok(id.detach())
}

/// Moves HEAD's branch from the job's parent to the commit.
pub(super) fn move_head(job: &Job<'_>, id: ObjectId, request: &CommitRequest) -> Result<()> {
    let (old, verb) = match job.parent {
        Some(parent) => (Old::Is(parent), "commit"),
        None => (Old::Absent, "commit (initial)"),
    };
    let subject = job.message.lines().next().unwrap_or_default();
    match refs::set(job.repo, "HEAD", id, old, &format!("{verb}: {subject}"))? {
        Outcome::Changed(_) | Outcome::Created | Outcome::Found => Ok(()),
        Outcome::Elsewhere(_) => Err(Error::new(
            ErrorKind::StalePlan,
            format!(
                "the branch {} moved while the commit was made; nothing was committed",
                request.bookmark
            ),
        )
        .with_hint("run the command again")),
    }
}
