//! Where history begins: every ref of every worktree, every stash entry, and every worktree's head.

use std::collections::BTreeSet;
use std::path::Path;

use gix::ObjectId;
use gix::objs::{FindHeader, Kind, TagRefIter};
use gix::refs::Target;
use tether_engine::Result;

use crate::{failed, worktree};

/// The refs that every worktree has of its own.
const PRIVATE: [&str; 3] = ["bisect", "rewritten", "worktree"];

/// The commits to walk from.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tips {
    /// Commits, sorted.
    pub commits: Vec<ObjectId>,
    /// Refs that cannot be read, or whose object is not there.
    pub broken: Vec<String>,
}

impl Tips {
    /// These commits.
    pub fn of(commits: impl IntoIterator<Item = ObjectId>) -> Self {
        let mut commits: Vec<ObjectId> = commits.into_iter().collect();
        commits.sort_unstable();
        Self {
            commits,
            broken: Vec::new(),
        }
    }

    /// Everything that keeps commits visible in plain git.
    pub fn of_git(repo: &gix::Repository) -> Result<Self> {
        collect(repo)
    }
}

/// Looks at everything that keeps commits visible.
pub(super) fn collect(repo: &gix::Repository) -> Result<Tips> {
    let mut found = Collector {
        repo,
        seen: BTreeSet::new(),
        commits: BTreeSet::new(),
        broken: Vec::new(),
    };
    let platform = repo
        .references()
        .map_err(|error| failed("cannot list refs", error))?;
    for reference in platform
        .all()
        .map_err(|error| failed("cannot list refs", error))?
    {
        match reference {
            Ok(reference) => {
                let name = reference.name().as_bstr().to_string();
                match (&reference.inner.target, &reference.inner.peeled) {
                    (_, Some(id)) | (Target::Object(id), None) => found.add(*id, &name),
                    // Another ref is behind it; a dangling one (`origin/HEAD` of a deleted branch) is harmless.
                    (Target::Symbolic(_), None) => {}
                }
            }
            Err(error) => found.broken.push(error.to_string()),
        }
    }
    let common = crate::real(repo.common_dir());
    found.head(&common, "HEAD");
    found.log(&common.join("logs/refs/stash"));
    // The main worktree's private refs are not among those of a linked one.
    for kind in PRIVATE {
        found.loose(&common.join("refs").join(kind), &format!("refs/{kind}"));
    }
    found.worktrees(repo, &common)?;
    found.broken.sort();
    found.broken.dedup();
    Ok(Tips {
        commits: found.commits.into_iter().collect(),
        broken: found.broken,
    })
}

struct Collector<'a> {
    repo: &'a gix::Repository,
    seen: BTreeSet<ObjectId>,
    commits: BTreeSet<ObjectId>,
    broken: Vec<String>,
}

impl Collector<'_> {
    /// Takes what a ref points at, tags peeled; trees and blobs keep no commit visible.
    fn add(&mut self, mut id: ObjectId, name: &str) {
        let mut buffer = Vec::new();
        loop {
            if !self.seen.insert(id) {
                return;
            }
            match self.repo.objects.try_header(&id) {
                Ok(Some(header)) => match header.kind {
                    Kind::Commit => {
                        self.commits.insert(id);
                        return;
                    }
                    Kind::Tag => {}
                    Kind::Tree | Kind::Blob => return,
                },
                Ok(None) | Err(_) => break,
            }
            let hash = self.repo.object_hash();
            let target = gix::objs::Find::try_find(&self.repo.objects, &id, &mut buffer)
                .ok()
                .flatten()
                .and_then(|data| TagRefIter::from_bytes(data.data, hash).target_id().ok());
            match target {
                Some(target) => id = target,
                None => break,
            }
        }
        self.broken.push(format!("{name} -> {id}"));
    }

    /// A `HEAD` file; a symbolic one is covered by its branch.
    fn head(&mut self, git_dir: &Path, name: &str) {
        match std::fs::read_to_string(git_dir.join("HEAD")) {
            Ok(text) if text.starts_with("ref:") => {}
            Ok(text) => match text.trim().parse() {
                Ok(id) => self.add(id, name),
                Err(_) => self.broken.push(name.to_owned()),
            },
            Err(_) => self.broken.push(name.to_owned()),
        }
    }

    /// The new values of a reflog: entries of the stash but the last are nowhere else.
    fn log(&mut self, path: &Path) {
        let Ok(text) = std::fs::read(path) else {
            return;
        };
        for line in text.split(|byte| *byte == b'\n') {
            let id = line
                .split(|byte| *byte == b' ')
                .nth(1)
                .and_then(|id| ObjectId::from_hex(id).ok());
            if let Some(id) = id {
                self.add(id, "refs/stash");
            }
        }
    }

    /// Heads and private refs of linked worktrees, of those whose directory is gone too: git keeps their commits until it prunes them.
    fn worktrees(&mut self, repo: &gix::Repository, common: &Path) -> Result<()> {
        for tree in worktree::list(repo)? {
            let Some(id) = tree.id else {
                continue;
            };
            let git_dir = common.join("worktrees").join(&id);
            self.head(&git_dir, &format!("the HEAD of worktree {id}"));
            self.loose(&git_dir.join("refs"), &format!("worktrees/{id}/refs"));
        }
        Ok(())
    }

    fn loose(&mut self, dir: &Path, name: &str) {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            if path.is_dir() {
                self.loose(&path, &name);
            } else if path.extension().is_none_or(|extension| extension != "lock") {
                match std::fs::read_to_string(&path).map(|text| text.trim().parse::<ObjectId>()) {
                    Ok(Ok(id)) => self.add(id, &name),
                    Ok(Err(_)) | Err(_) => self.broken.push(name),
                }
            }
        }
    }
}
