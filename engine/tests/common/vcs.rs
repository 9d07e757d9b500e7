//! A repository in memory, with faults at the places where a real one has them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tether_engine::id::CommitId;
use tether_engine::json;
use tether_engine::name::BookmarkName;
use tether_engine::oplog::Operation;
use tether_engine::vcs::{
    Blob, Checkout, CommitRequest, Completeness, History, HistoryCommit, Position, Tree,
    UncommitRequest, Vcs, VcsKind,
};
use tether_engine::{Error, ErrorKind, Result};

type Files = BTreeMap<String, Arc<[u8]>>;

/// What goes wrong at the next commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trouble {
    #[default]
    None,
    /// A hook refuses: nothing is made.
    Refused,
    /// The commit object is there and its id is known, and then it fails.
    AfterPrepared,
    /// The commit lands, and an error comes back.
    Landed,
    /// `check_can_commit` refuses.
    NotNow,
    /// The process dies before the commit object is made, once it is made and announced, or once it has landed.
    DieBefore,
    DiePrepared,
    DieLanded,
}

#[derive(Clone, Debug)]
struct Commit {
    parent: Option<CommitId>,
    files: Files,
    message: String,
}

#[derive(Debug, Default)]
struct Inner {
    commits: BTreeMap<CommitId, Commit>,
    head: Option<CommitId>,
    branch: Option<BookmarkName>,
    tracked: BTreeSet<String>,
    others: BTreeMap<BookmarkName, CommitId>,
    ignored: BTreeSet<String>,
    left_out: BTreeSet<String>,
    /// Commits whose manifests are further sides of a commit that is a conflict.
    sides: BTreeMap<CommitId, Vec<CommitId>>,
    trouble: Trouble,
    calls: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct FakeVcs {
    workdir: PathBuf,
    shared: PathBuf,
    inner: Mutex<Inner>,
}

impl FakeVcs {
    pub(crate) fn new(workdir: PathBuf, shared: PathBuf, branch: &str) -> Self {
        let inner = Inner {
            branch: Some(branch.parse().unwrap()),
            ..Inner::default()
        };
        Self {
            workdir,
            shared,
            inner: Mutex::new(inner),
        }
    }

    fn with<T>(&self, step: impl FnOnce(&mut Inner) -> T) -> T {
        step(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn trouble(&self, trouble: Trouble) {
        self.with(|inner| inner.trouble = trouble);
    }

    pub(crate) fn ignore(&self, path: &str) {
        self.with(|inner| inner.ignored.insert(path.to_owned()));
    }

    pub(crate) fn leave_out(&self, path: &str) {
        self.with(|inner| inner.left_out.insert(path.to_owned()));
    }

    pub(crate) fn track(&self, path: &str) {
        self.with(|inner| inner.tracked.insert(path.to_owned()));
    }

    pub(crate) fn switch(&self, branch: Option<&str>) {
        self.with(|inner| inner.branch = branch.map(|name| name.parse().unwrap()));
    }

    /// Adds a branch beside the current one, at the head.
    pub(crate) fn branch(&self, name: &str) {
        self.with(|inner| {
            let head = inner.head.clone().unwrap();
            inner.others.insert(name.parse().unwrap(), head);
        });
    }

    /// Makes a commit a conflict of its manifests with those at other commits.
    pub(crate) fn conflict(&self, commit: &str, sides: &[&str]) {
        let sides = sides.iter().map(|side| CommitId::new(*side)).collect();
        self.with(|inner| inner.sides.insert(CommitId::new(commit), sides));
    }

    /// `git reset --soft`: the head is another commit.
    pub(crate) fn reset(&self, head: Option<CommitId>) {
        self.with(|inner| inner.head = head);
    }

    pub(crate) fn head(&self) -> Option<CommitId> {
        self.with(|inner| inner.head.clone())
    }

    /// Messages, newest first.
    pub(crate) fn messages(&self) -> Vec<String> {
        self.with(|inner| {
            let mut messages = Vec::new();
            let mut next = inner.head.clone();
            while let Some(commit) = next.as_ref().and_then(|id| inner.commits.get(id)) {
                messages.push(commit.message.clone());
                next.clone_from(&commit.parent);
            }
            messages
        })
    }

    /// Paths that the head's commit changed.
    pub(crate) fn changed_paths(&self) -> Vec<String> {
        self.with(|inner| {
            let head = &inner.commits[inner.head.as_ref().unwrap()];
            let none = Files::new();
            let parent = head
                .parent
                .as_ref()
                .map_or(&none, |id| &inner.commits[id].files);
            let mut paths: Vec<String> = head
                .files
                .iter()
                .filter(|(path, content)| parent.get(*path) != Some(content))
                .map(|(path, _)| path.clone())
                .chain(
                    parent
                        .keys()
                        .filter(|path| !head.files.contains_key(*path))
                        .map(|path| format!("-{path}")),
                )
                .collect();
            paths.sort();
            paths
        })
    }

    pub(crate) fn at_head(&self, path: &str) -> Option<String> {
        self.with(|inner| {
            let head = inner.head.as_ref()?;
            let content = inner.commits[head].files.get(path)?;
            Some(String::from_utf8_lossy(content).into_owned())
        })
    }

    fn put(inner: &mut Inner, commit: Commit) -> CommitId {
        let names: Vec<String> = commit
            .files
            .iter()
            .map(|(path, content)| format!("{path}={}", json::hex(content)))
            .collect();
        let parent = commit.parent.as_ref().map_or("", CommitId::as_str);
        let text = names.join("\n");
        let id = json::hash(
            20,
            [
                parent.as_bytes(),
                commit.message.as_bytes(),
                text.as_bytes(),
            ],
        );
        let id = CommitId::new(id);
        inner.commits.insert(id.clone(), commit);
        id
    }

    fn made(inner: &Inner, request: &CommitRequest) -> Commit {
        let mut files = request
            .expected_head
            .as_ref()
            .map(|id| inner.commits[id].files.clone())
            .unwrap_or_default();
        for change in &request.changes {
            match &change.content {
                Some(content) => files.insert(change.path.clone(), content.clone().into()),
                None => files.remove(&change.path),
            };
        }
        Commit {
            parent: request.expected_head.clone(),
            files,
            message: request.message.clone(),
        }
    }

    /// Commits one file past tether, as a hand-made commit does.
    pub(crate) fn edit(&self, path: &str, content: &str) -> CommitId {
        self.with(|inner| {
            let mut commit = inner.commits[inner.head.as_ref().unwrap()].clone();
            commit.parent.clone_from(&inner.head);
            commit
                .files
                .insert(path.to_owned(), content.as_bytes().into());
            let id = Self::put(inner, commit);
            inner.head = Some(id.clone());
            id
        })
    }

    /// Puts the head on a commit with the same content and another message, as `git commit --amend` does.
    pub(crate) fn amend(&self, message: &str) {
        self.with(|inner| {
            let mut commit = inner.commits[inner.head.as_ref().unwrap()].clone();
            message.clone_into(&mut commit.message);
            inner.commits.remove(&inner.head.clone().unwrap());
            let id = Self::put(inner, commit);
            inner.head = Some(id);
        });
    }
}

impl Vcs for FakeVcs {
    fn kind(&self) -> VcsKind {
        VcsKind::Git
    }

    fn workdir(&self) -> &Path {
        &self.workdir
    }

    fn shared_dir(&self) -> &Path {
        &self.shared
    }

    fn checkout_name(&self) -> String {
        "main".to_owned()
    }

    fn checkouts(&self) -> Result<Vec<Checkout>> {
        Ok(vec![Checkout {
            name: "main".to_owned(),
            path: self.workdir.clone(),
            current: true,
            readable: true,
        }])
    }

    fn position(&self) -> Result<Position> {
        Ok(self.with(|inner| Position {
            head: inner.head.clone(),
            merged: Vec::new(),
            conflicted: std::collections::BTreeMap::new(),
            bookmarks: inner.branch.iter().cloned().collect(),
        }))
    }

    fn resolve(&self, rev: &str) -> Result<CommitId> {
        Ok(CommitId::new(rev))
    }

    fn bookmarks(&self) -> Result<BTreeMap<BookmarkName, CommitId>> {
        Ok(self.with(|inner| {
            let branch = inner.branch.iter().cloned();
            let others = inner.others.clone();
            branch
                .zip(inner.head.iter().cloned())
                .chain(others)
                .collect()
        }))
    }

    fn default_trunk(&self) -> Result<BookmarkName> {
        "main".parse()
    }

    fn tracked(&self, paths: &[String]) -> Result<Vec<String>> {
        Ok(self.with(|inner| {
            let tracked = paths.iter().filter(|path| inner.tracked.contains(*path));
            tracked.cloned().collect()
        }))
    }

    fn ignored(&self, paths: &[String]) -> Result<Vec<String>> {
        Ok(self.with(|inner| {
            let ignored = paths.iter().filter(|path| inner.ignored.contains(*path));
            ignored.cloned().collect()
        }))
    }

    fn left_out(&self, paths: &[String]) -> Result<Vec<String>> {
        Ok(self.with(|inner| {
            let left_out = paths.iter().filter(|path| inner.left_out.contains(*path));
            left_out.cloned().collect()
        }))
    }

    fn read_at(&self, commit: &CommitId, path: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.with(|inner| {
            let content = inner.commits.get(commit)?.files.get(path)?;
            Some(content.to_vec())
        }))
    }

    fn tree_at(&self, commit: &CommitId, prefix: &str) -> Result<Tree> {
        let objects = if prefix.is_empty() {
            ".tether/objects/".to_owned()
        } else {
            format!("{prefix}/.tether/objects/")
        };
        Ok(self.with(|inner| {
            let files = inner.commits.get(commit).map(|commit| &commit.files);
            let objects = files.into_iter().flatten().filter_map(|(path, content)| {
                let below = path.strip_prefix(&objects)?;
                let blob = Blob {
                    id: json::hash(20, [&**content]),
                    data: Arc::clone(content),
                };
                Some((below.to_owned(), blob))
            });
            Tree {
                objects_id: Some(commit.to_string()),
                objects: objects.collect(),
            }
        }))
    }

    fn history(&self, prefix: &str) -> Result<History> {
        let mut history = History {
            commits: Vec::new(),
            trees: HashMap::new(),
        };
        let mut next = self.head();
        while let Some(id) = next {
            let sides = self.with(|inner| inner.sides.get(&id).cloned());
            let mut trees = Vec::new();
            for side in std::iter::once(id.clone()).chain(sides.unwrap_or_default()) {
                let tree = self.tree_at(&side, prefix)?;
                history.trees.insert(side.to_string(), Arc::new(tree));
                trees.push(side.to_string());
            }
            history.commits.push(HistoryCommit {
                id: id.clone(),
                trees,
            });
            next = self.with(|inner| inner.commits[&id].parent.clone());
        }
        Ok(history)
    }

    fn visible(&self, commits: &[CommitId]) -> Result<Vec<bool>> {
        let history = self.history("")?;
        let visible = |id: &CommitId| history.commits.iter().any(|commit| commit.id == *id);
        Ok(commits.iter().map(visible).collect())
    }

    fn history_digest(&self) -> Result<String> {
        Ok(self.head().map_or_else(String::new, |id| id.to_string()))
    }

    fn completeness(&self) -> Result<Completeness> {
        Ok(Completeness::Complete)
    }

    fn check_can_commit(&self) -> Result<()> {
        self.with(|inner| inner.calls.push("check".to_owned()));
        if self.with(|inner| inner.trouble) == Trouble::NotNow {
            return Err(Error::vcs("a merge is in progress").with_hint("`git merge --abort`"));
        }
        Ok(())
    }

    fn adopt_trunk(&self, bookmark: &BookmarkName) -> Result<()> {
        self.with(|inner| inner.branch = Some(bookmark.clone()));
        Ok(())
    }

    fn commit(
        &self,
        request: &CommitRequest,
        prepared: &mut dyn FnMut(&CommitId) -> Result<Option<Operation>>,
    ) -> Result<CommitId> {
        let trouble = self.with(|inner| inner.trouble);
        if trouble == Trouble::Refused {
            return Err(Error::vcs("the pre-commit hook refused").with_hint("mend it"));
        }
        assert_ne!(trouble, Trouble::DieBefore, "dies");
        if self.head() != request.expected_head {
            return Err(Error::new(ErrorKind::StalePlan, "the head moved"));
        }
        let id = self.with(|inner| {
            let commit = Self::made(inner, request);
            Self::put(inner, commit)
        });
        prepared(&id)?;
        assert_ne!(trouble, Trouble::DiePrepared, "dies");
        if trouble == Trouble::AfterPrepared {
            return Err(Error::vcs("the ref is locked"));
        }
        self.with(|inner| inner.head = Some(id.clone()));
        assert_ne!(trouble, Trouble::DieLanded, "dies");
        if trouble == Trouble::Landed {
            return Err(Error::vcs("the connection was lost"));
        }
        Ok(id)
    }

    fn check_can_uncommit(&self, request: &UncommitRequest) -> Result<()> {
        let here = self.with(|inner| {
            inner.head.as_ref() == Some(&request.commit)
                && inner.branch.as_ref() == Some(&request.bookmark)
        });
        if here {
            Ok(())
        } else {
            Err(Error::vcs("the dataset commit is not the head").with_hint("`git log`"))
        }
    }

    fn uncommit(&self, request: &UncommitRequest, operation: &Operation) -> Result<()> {
        let _ = operation;
        let trouble = self.with(|inner| inner.trouble);
        if trouble == Trouble::Refused {
            return Err(Error::vcs("the ref is locked"));
        }
        assert_ne!(trouble, Trouble::DieBefore, "dies");
        self.with(|inner| {
            let parent = inner.commits[&request.commit].parent.clone();
            assert!(inner.head.as_ref() == Some(&request.commit) || inner.head == parent);
            inner.head = parent;
        });
        assert_ne!(trouble, Trouble::DieLanded, "dies");
        if trouble == Trouble::Landed {
            return Err(Error::vcs("the connection was lost"));
        }
        Ok(())
    }

    fn find_landed(&self, request: &CommitRequest) -> Result<Option<CommitId>> {
        Ok(self.with(|inner| {
            let head = inner.head.clone()?;
            let there = &inner.commits[&head];
            let wanted = Self::made(inner, request);
            let same = there.parent == wanted.parent
                && there.files == wanted.files
                && there.message == wanted.message;
            same.then_some(head)
        }))
    }
}
