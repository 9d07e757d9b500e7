//! Every visible commit, with its manifests.
//!
//! ```text
//!   tips    where history begins: of plain git every ref, stash entry and worktree head; of jj its visible heads
//!   walk    all commits reachable from them, once; what is visible, the digest
//!   cache   commits and manifest trees by content id, kept in the shared directory
//!   trees   the manifests of all commits, each distinct tree and file read once, in pack order
//!   cut     what keeps history from being whole
//! ```

mod cache;
mod cut;
mod tips;
mod trees;
mod walk;

use std::collections::HashMap;

use gix::ObjectId;
use tether_engine::Result;
use tether_engine::id::CommitId;
use tether_engine::vcs::{History, HistoryCommit};

pub use cut::{completeness, promisor};
pub use tips::Tips;
pub use walk::Memo;

use cache::Cache;
use walk::Graph;

/// How many commits behind HEAD are looked at before every ref is.
const NEAR: usize = 64;

/// Every commit reachable from `tips`, newest first, with the manifests of the dataset at `prefix`; of a commit that jj made of a
/// conflict, those of every side.
pub fn history(
    mut repo: gix::Repository,
    memo: &Memo,
    tips: Tips,
    prefix: &str,
) -> Result<History> {
    repo.objects.prevent_pack_unload();
    let mut cache = Cache::new(&repo);
    let walked = memo.walk(&repo, tips, &mut cache)?;
    let objects = trees::objects_of(&repo, &mut cache, &walked, prefix)?;
    let trees = trees::read(&repo, &objects)?;
    cache.save();
    let commits = walked
        .newest_first()
        .into_iter()
        .map(|at| HistoryCommit {
            id: CommitId::new(walked.commits[at].id.to_string()),
            trees: objects[at].iter().map(ToString::to_string).collect(),
        })
        .collect();
    Ok(History { commits, trees })
}

/// SHA-256 over the sorted ids of every commit reachable from `tips`.
pub fn digest(repo: &gix::Repository, memo: &Memo, tips: Tips) -> Result<String> {
    let mut cache = Cache::new(repo);
    let walked = memo.walk(repo, tips, &mut cache)?;
    cache.save();
    let mut ids: Vec<ObjectId> = walked.commits.iter().map(|commit| commit.id).collect();
    ids.sort_unstable();
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha256);
    for id in ids {
        hasher.update(id.as_slice());
    }
    let digest = hasher
        .try_finalize()
        .map_err(|error| crate::failed("cannot digest the history", error))?;
    Ok(digest.to_string())
}

/// Which of `commits` are reachable from the tips that `tips` collects, which is asked only when they are not near `HEAD`.
pub fn visible(
    repo: &gix::Repository,
    memo: &Memo,
    tips: impl FnOnce() -> Result<Tips>,
    commits: &[CommitId],
) -> Result<Vec<bool>> {
    let mut found = vec![false; commits.len()];
    let mut wanted: HashMap<ObjectId, Vec<usize>> = HashMap::new();
    for (at, commit) in commits.iter().enumerate() {
        if let Ok(id) = commit.as_str().parse::<ObjectId>() {
            wanted.entry(id).or_default().push(at);
        }
    }
    let mut graph = Graph::new(repo);
    // What is not in the repository at all is not reachable.
    wanted.retain(|id, _| graph.exists(id));
    let mut see = |id: &ObjectId, wanted: &mut HashMap<ObjectId, Vec<usize>>| {
        for at in wanted.remove(id).unwrap_or_default() {
            found[at] = true;
        }
        wanted.is_empty()
    };
    if wanted.is_empty() || graph.near_head(NEAR, |id| see(id, &mut wanted))? {
        return Ok(found);
    }
    let mut cache = Cache::new(repo);
    let walked = memo.walk(repo, tips()?, &mut cache)?;
    cache.save();
    for commit in &walked.commits {
        if see(&commit.id, &mut wanted) {
            break;
        }
    }
    Ok(found)
}
