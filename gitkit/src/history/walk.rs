//! All commits reachable from the tips, once.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use gix::ObjectId;
use gix::hashtable::HashMap;
use gix::objs::{CommitRefIter, FindHeader, Kind};
use tether_engine::Result;

use super::cache::Cache;
use super::tips::Tips;
use crate::failed;
use crate::trees::Reader;

/// One commit, as far as a walk needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) id: ObjectId,
    pub(crate) root: ObjectId,
    /// The committer's time, in seconds since 1970.
    pub(crate) time: i64,
    /// As the commit names them; those beyond a shallow boundary are not in the walk.
    pub(crate) parents: Parents,
}

/// The parents of a commit. Nearly all have one, which then takes no allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parents {
    One(ObjectId),
    Other(Box<[ObjectId]>),
}

impl Parents {
    pub(crate) fn as_slice(&self) -> &[ObjectId] {
        match self {
            Self::One(id) => std::slice::from_ref(id),
            Self::Other(ids) => ids,
        }
    }
}

impl FromIterator<ObjectId> for Parents {
    fn from_iter<T: IntoIterator<Item = ObjectId>>(ids: T) -> Self {
        let mut ids = ids.into_iter();
        match (ids.next(), ids.next()) {
            (None, _) => Self::Other(Box::default()),
            (Some(one), None) => Self::One(one),
            (Some(one), Some(two)) => Self::Other([one, two].into_iter().chain(ids).collect()),
        }
    }
}

/// Every visible commit, in the order they were met.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) commits: Vec<Commit>,
    index: HashMap<ObjectId, usize>,
}

impl Walk {
    /// The commits by time, newest first, none before one of its children.
    pub(crate) fn newest_first(&self) -> Vec<usize> {
        let mut children = vec![0_usize; self.commits.len()];
        for at in self.commits.iter().flat_map(|commit| self.parents(commit)) {
            children[at] += 1;
        }
        let entry = |at: usize| (self.commits[at].time, Reverse(at));
        let mut ready: BinaryHeap<_> = (0..children.len())
            .filter(|&at| children[at] == 0)
            .map(entry)
            .collect();
        let mut order = Vec::with_capacity(children.len());
        while let Some((_, Reverse(at))) = ready.pop() {
            order.push(at);
            for parent in self.parents(&self.commits[at]) {
                children[parent] -= 1;
                if children[parent] == 0 {
                    ready.push(entry(parent));
                }
            }
        }
        order
    }

    fn parents<'a>(&'a self, commit: &'a Commit) -> impl Iterator<Item = usize> + 'a {
        commit
            .parents
            .as_slice()
            .iter()
            .filter_map(|id| self.index.get(id).copied())
    }
}

/// The last walk, good as long as the tips are the same.
#[derive(Debug, Default)]
pub struct Memo(Mutex<Option<(Tips, Arc<Walk>)>>);

impl Memo {
    /// Walks from `tips`, unless that was done.
    pub(crate) fn walk(
        &self,
        repo: &gix::Repository,
        tips: Tips,
        cache: &mut Cache,
    ) -> Result<Arc<Walk>> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, walked)) = &*last
            && *known == tips
        {
            return Ok(Arc::clone(walked));
        }
        let walked = Arc::new(walk(repo, &tips.commits, cache)?);
        *last = Some((tips, Arc::clone(&walked)));
        Ok(walked)
    }
}

fn walk(repo: &gix::Repository, tips: &[ObjectId], cache: &mut Cache) -> Result<Walk> {
    let mut graph = Graph::new(repo);
    let mut commits = Vec::new();
    let mut index = HashMap::default();
    let mut stack: Vec<ObjectId> = tips.to_vec();
    while let Some(id) = stack.pop() {
        if index.contains_key(&id) {
            continue;
        }
        let known = graph.lookup(&id).or_else(|| cache.commit(&id));
        let commit = if let Some(commit) = known {
            commit
        } else {
            let commit = graph.decode(&id)?;
            cache.learn(&commit);
            commit
        };
        index.insert(id, commits.len());
        stack.extend(graph.present_parents(&commit));
        commits.push(commit);
    }
    Ok(Walk { commits, index })
}

/// Commits from the commit-graph file or from their objects.
pub(crate) struct Graph<'a> {
    repo: &'a gix::Repository,
    reader: Reader<'a>,
    file: Option<gix::commitgraph::Graph>,
    /// Commits whose parents a shallow clone does not have.
    shallow: HashSet<ObjectId>,
}

impl<'a> Graph<'a> {
    pub(crate) fn new(repo: &'a gix::Repository) -> Self {
        let shallow =
            std::fs::read_to_string(repo.common_dir().join("shallow")).unwrap_or_default();
        Self {
            repo,
            reader: Reader::new(repo),
            // A broken commit-graph is only an index; the objects say the same.
            file: repo.commit_graph_if_enabled().ok().flatten(),
            shallow: shallow
                .lines()
                .filter_map(|line| line.trim().parse().ok())
                .collect(),
        }
    }

    /// Whether a commit of that id is in the repository.
    pub(crate) fn exists(&self, id: &ObjectId) -> bool {
        if self
            .file
            .as_ref()
            .is_some_and(|file| file.lookup(id).is_some())
        {
            return true;
        }
        matches!(self.repo.objects.try_header(id), Ok(Some(header)) if header.kind == Kind::Commit)
    }

    /// The parents that are there.
    pub(crate) fn present_parents<'c>(&self, commit: &'c Commit) -> &'c [ObjectId] {
        if self.shallow.contains(&commit.id) {
            &[]
        } else {
            commit.parents.as_slice()
        }
    }

    /// From the commit-graph file.
    pub(crate) fn lookup(&self, id: &ObjectId) -> Option<Commit> {
        let file = self.file.as_ref()?;
        let commit = file.commit_by_id(id)?;
        let parents: Option<Parents> = commit
            .iter_parents()
            .map(|parent| parent.ok().map(|at| file.id_at(at).to_owned()))
            .collect();
        Some(Commit {
            id: *id,
            root: commit.root_tree_id().to_owned(),
            time: i64::try_from(commit.committer_timestamp()).unwrap_or(i64::MAX),
            parents: parents?,
        })
    }

    /// From the object.
    pub(crate) fn decode(&mut self, id: &ObjectId) -> Result<Commit> {
        let hash = self.repo.object_hash();
        let data = self.reader.read(*id, Kind::Commit)?;
        let unreadable = |error| failed(format!("cannot read commit {id}"), error);
        let mut iter = CommitRefIter::from_bytes(data, hash);
        let root = iter.tree_id().map_err(unreadable)?;
        Ok(Commit {
            id: *id,
            root,
            parents: iter.parent_ids().collect(),
            // Git walks commits with a broken date too, as the oldest.
            time: iter.committer().map_or(0, |committer| committer.seconds()),
        })
    }

    /// Calls `see` with HEAD and up to `limit` commits behind it, breadth first, until it says that it has seen enough; whether it did.
    pub(crate) fn near_head(
        &mut self,
        limit: usize,
        mut see: impl FnMut(&ObjectId) -> bool,
    ) -> Result<bool> {
        let mut queue: VecDeque<ObjectId> = crate::refs::target(self.repo, "HEAD")?
            .into_iter()
            .collect();
        let mut seen = HashSet::new();
        while let Some(id) = queue.pop_front() {
            if seen.len() > limit || !seen.insert(id) {
                continue;
            }
            if see(&id) {
                return Ok(true);
            }
            let commit = match self.lookup(&id) {
                Some(commit) => commit,
                None => self.decode(&id)?,
            };
            queue.extend(self.present_parents(&commit));
        }
        Ok(false)
    }
}
