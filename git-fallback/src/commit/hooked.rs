//! The commit through `git commit`, where hooks or settings only git understands are in play.

use std::path::{Path, PathBuf};

use gix::ObjectId;
use tether_engine::vcs::CommitRequest;
use tether_engine::{Error, ErrorKind, Result};
use tether_gitkit::exec::{self, Git};
use tether_gitkit::refs;

use super::index::Index;
use super::{Job, landed, sign};

/// The hooks that a commit runs or whose running it causes.
const HOOKS: [&str; 6] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-index-change",
    "reference-transaction",
];

/// The hooks that may change a message.
const MESSAGE_HOOKS: [&str; 2] = ["prepare-commit-msg", "commit-msg"];

/// Why git has to make the commit, as a person would look for it.
pub(super) fn needed(repo: &gix::Repository, workdir: &Path) -> Option<String> {
    let dir = dir(repo, workdir);
    if HOOKS.iter().any(|name| is_hook(&dir.join(name))) {
        return Some(format!("the hooks in {}", dir.display()));
    }
    let config = repo.config_snapshot();
    if config.plumbing().sections_by_name("hook").is_some() {
        return Some("the hooks in git's configuration".to_owned());
    }
    let cleanup = config.string("commit.cleanup");
    if cleanup.is_some_and(|mode| mode != "default" && mode != "whitespace") {
        return Some("commit.cleanup".to_owned());
    }
    let encoding = config.string("i18n.commitEncoding");
    encoding
        .filter(|name| !name.eq_ignore_ascii_case(b"utf-8") && !name.eq_ignore_ascii_case(b"utf8"))
        .map(|_| "i18n.commitEncoding".to_owned())
}

/// Whether a hook may have changed the message of a commit.
pub(super) fn may_edit_messages(repo: &gix::Repository) -> bool {
    let workdir = repo.workdir().unwrap_or_else(|| Path::new(""));
    let dir = dir(repo, workdir);
    MESSAGE_HOOKS.iter().any(|name| is_hook(&dir.join(name)))
        || repo
            .config_snapshot()
            .plumbing()
            .sections_by_name("hook")
            .is_some()
}

fn dir(repo: &gix::Repository, workdir: &Path) -> PathBuf {
    match repo.config_snapshot().trusted_path("core.hooksPath") {
        // Relative ones are relative to where hooks run.
        Ok(Some(path)) => workdir.join(path),
        _ => repo.common_dir().join("hooks"),
    }
}

fn is_hook(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Runs `git commit` on an index of its own.
pub(super) fn commit(
    job: &Job<'_>,
    git: Option<&Path>,
    hooks: &str,
    request: &CommitRequest,
) -> Result<ObjectId> {
    let git = Git::find(git)?;
    let index = TemporaryIndex::new(job)?;
    let mut command = git.command(job.workdir);
    command.env("GIT_INDEX_FILE", &index.0).args([
        "commit",
        "--quiet",
        "--allow-empty",
        "--file=-",
    ]);
    let ran = exec::run(command, job.message.as_bytes(), sign::limit(sign::HOOKS));
    drop(index);
    // Whatever git says: a commit that stands, stands (a hook behind it may have failed or hung).
    let success = ran.as_ref().is_ok_and(|output| output.success);
    if let Some(found) = made(job, success)? {
        return on_parent(job, found, request);
    }
    let reason = match ran {
        Ok(output) => output.reason(),
        Err(error) => error.one_line(),
    };
    let reason = if reason.is_empty() {
        "it says no reason".to_owned()
    } else {
        reason
    };
    Err(
        Error::vcs(format!("git refused the commit: {reason}")).with_hint(format!(
            "mend what it says (see {hooks}), then run the command again"
        )),
    )
}

/// A commit that git made, with its parts, and whether it is the head.
struct Made {
    id: ObjectId,
    parts: landed::Parts,
    is_head: bool,
}

/// The commit that has our tree; or, when git says that it made one (a hook may have changed the tree), the one on our parent.
fn made(job: &Job<'_>, success: bool) -> Result<Option<Made>> {
    let head = refs::target(job.repo, "HEAD")?;
    let mut at = head;
    let mut oldest = None;
    for _ in 0..16 {
        let Some(id) = at.filter(|id| job.parent != Some(*id)) else {
            break;
        };
        let parts = landed::read(job.repo, id)?;
        at = parts.parents.first().copied();
        let found = Made {
            id,
            is_head: head == Some(id),
            parts,
        };
        if found.parts.root == job.tree {
            return Ok(Some(found));
        }
        oldest = Some(found);
    }
    Ok(oldest.filter(|found| success && found.parts.parents.iter().eq(job.parent.iter())))
}

/// The commit must be on the parent its tree was made for; one on another would take back what moved the branch meanwhile.
fn on_parent(job: &Job<'_>, made: Made, request: &CommitRequest) -> Result<ObjectId> {
    if made.parts.parents.iter().eq(job.parent.iter()) {
        return Ok(made.id);
    }
    let branch = &request.bookmark;
    let taken_back = match made.parts.parents[..] {
        [before] if made.is_head => {
            let why = "tether: take back a commit on a moved branch";
            let outcome = refs::set(job.repo, "HEAD", before, refs::Old::Is(made.id), why)?;
            !matches!(outcome, refs::Outcome::Elsewhere(_))
        }
        _ => false,
    };
    if taken_back {
        let what =
            format!("the branch {branch} moved while the commit was made; nothing was committed");
        return Err(Error::new(ErrorKind::StalePlan, what).with_hint("run the command again"));
    }
    Err(Error::vcs(format!(
        "the branch {branch} moved while the commit was made, and the commit {} on top of it takes changes back",
        made.id
    ))
    .with_hint(format!("git revert {}", made.id)))
}

/// The index file that `git commit` works on, removed in the end.
struct TemporaryIndex(PathBuf);

impl TemporaryIndex {
    fn new(job: &Job<'_>) -> Result<Self> {
        let dir = crate::real(job.repo.git_dir());
        let index = Self(dir.join(format!("tether-index-{}", std::process::id())));
        Index::write_for_tree(job, &index.0)?;
        Ok(index)
    }
}

impl Drop for TemporaryIndex {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_file(self.0.with_extension("lock"));
    }
}
