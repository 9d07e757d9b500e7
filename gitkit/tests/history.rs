//! The manifests of commits that jj made of a conflict: those of every side and base.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use gix::ObjectId;
use tether_engine::vcs::History;
use tether_gitkit::history::{Memo, Tips, history};
use tether_gitkit::open::{Role, open};
use tether_gitkit::trees;

use crate::fixture::Scratch;

struct Repo<'a> {
    scratch: &'a Scratch,
    path: PathBuf,
}

impl<'a> Repo<'a> {
    fn new(scratch: &'a Scratch) -> Self {
        let path = scratch.repo("r");
        Self { scratch, path }
    }

    fn git(&self, args: &[&str]) -> String {
        self.scratch.git(&self.path, args)
    }

    fn feed(&self, args: &[&str], input: &str) -> String {
        let mut child = self
            .scratch
            .command(&self.path)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {args:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A tree of these entries: a name, and the tree or blob there.
    fn tree(&self, entries: &[(&str, &str)]) -> String {
        let mut input = String::new();
        for (name, id) in entries {
            let kind = self.git(&["cat-file", "-t", id]);
            let mode = if kind == "tree" { "040000" } else { "100644" };
            writeln!(input, "{mode} {kind} {id}\t{name}").unwrap();
        }
        self.feed(&["mktree"], &input)
    }

    fn blob(&self, content: &str) -> String {
        self.feed(&["hash-object", "-w", "--stdin"], content)
    }

    /// A root tree with the manifest `a.toml` below `prefix`; its `.tether` when that is empty.
    fn root(&self, prefix: &str, content: &str) -> String {
        let objects = self.tree(&[("a.toml", &self.blob(content))]);
        let mut tree = self.tree(&[(".tether", &self.tree(&[("objects", &objects)]))]);
        for part in prefix.rsplit('/').filter(|part| !part.is_empty()) {
            tree = self.tree(&[(part, &tree)]);
        }
        tree
    }

    /// What jj writes for a conflict: the sides and bases beside the entries of the first side.
    fn conflict(&self, terms: &[(&str, &str)], first: &str) -> String {
        let readme = self.blob("This commit was made by jj");
        let listed = self.git(&["ls-tree", first]);
        let mut entries: Vec<(&str, &str)> = listed
            .lines()
            .map(|line| {
                let (left, name) = line.split_once('\t').unwrap();
                (name, left.rsplit(' ').next().unwrap())
            })
            .filter(|(name, _)| !name.starts_with(".jjconflict"))
            .collect();
        entries.extend(terms);
        entries.push(("JJ-CONFLICT-README", &readme));
        self.tree(&entries)
    }

    fn commit(&self, tree: &str, parent: &str) -> String {
        self.git(&["commit-tree", "-m", "c", "-p", parent, tree])
    }

    fn history(&self, tip: &str, prefix: &str) -> History {
        let repo = open(&self.path, Role::Own).unwrap();
        let tips = Tips::of([tip.parse::<ObjectId>().unwrap()]);
        history(repo, &Memo::default(), tips, prefix).unwrap()
    }
}

/// The contents of `a.toml` at a commit, in all of its trees.
fn states(history: &History, id: &str) -> BTreeSet<String> {
    let commits = history.commits.iter();
    let commit = commits
        .into_iter()
        .find(|commit| commit.id.as_str() == id)
        .unwrap();
    let distinct: BTreeSet<&String> = commit.trees.iter().collect();
    assert_eq!(distinct.len(), commit.trees.len(), "each tree once");
    let trees = commit.trees.iter().map(|tree| &history.trees[tree]);
    trees
        .flat_map(|tree| &tree.objects)
        .map(|(path, blob)| {
            assert_eq!(path, "a.toml");
            String::from_utf8(blob.data.to_vec()).unwrap()
        })
        .collect()
}

fn set(states: &[&str]) -> BTreeSet<String> {
    states.iter().map(ToString::to_string).collect()
}

#[test]
fn every_side_and_base_of_a_conflict_counts() {
    let scratch = Scratch::new();
    let repo = Repo::new(&scratch);
    for prefix in ["", "data/set", ".a", "~z"] {
        let base = repo.root(prefix, "base");
        let [left, right] = ["left", "right"].map(|side| repo.root(prefix, side));
        let without = repo.tree(&[("file", &repo.blob("x"))]);
        let plain = repo.commit(&base, "HEAD");
        let terms = [
            (".jjconflict-base-0", base.as_str()),
            (".jjconflict-side-0", &left),
            (".jjconflict-side-1", &right),
        ];
        let conflicted = repo.commit(&repo.conflict(&terms, &left), &plain);
        // The first side has no dataset at all: the root does not show one.
        let terms = [
            (".jjconflict-base-0", base.as_str()),
            (".jjconflict-base-1", &base),
            (".jjconflict-side-0", &without),
            (".jjconflict-side-1", &right),
            (".jjconflict-side-2", &without),
        ];
        let hidden = repo.commit(&repo.conflict(&terms, &without), &conflicted);
        let resolved = repo.commit(&left, &hidden);

        let history = repo.history(&resolved, prefix);
        assert_eq!(history.commits.len(), 5);
        assert_eq!(states(&history, &plain), set(&["base"]), "{prefix}");
        let all = set(&["base", "left", "right"]);
        assert_eq!(states(&history, &conflicted), all, "{prefix}");
        assert_eq!(states(&history, &hidden), set(&["base", "right"]));
        assert_eq!(states(&history, &resolved), set(&["left"]));
        assert_eq!(
            states(&history, &repo.git(&["rev-parse", "HEAD"])),
            set(&[])
        );
        assert_eq!(history.trees.len(), 3);
        assert_eq!(repo.history(&resolved, "other").trees.len(), 0);
    }
}

#[test]
fn what_git_commits_on_top_of_a_conflict_counts_beside_its_sides() {
    let scratch = Scratch::new();
    let repo = Repo::new(&scratch);
    let [base, left, right, mended, newer] =
        ["base", "left", "right", "mended", "newer"].map(|state| repo.root("", state));
    let terms = [
        (".jjconflict-base-0", base.as_str()),
        (".jjconflict-side-0", &left),
        (".jjconflict-side-1", &right),
    ];
    // Resolved with git, and the parts of the conflict committed with it.
    let dirty = repo.conflict(&terms, &mended);
    let committed = repo.commit(&dirty, "HEAD");
    // And that is a side of the next conflict.
    let terms = [
        (".jjconflict-base-0", base.as_str()),
        (".jjconflict-side-0", &newer),
        (".jjconflict-side-1", &dirty),
    ];
    let nested = repo.commit(&repo.conflict(&terms, &newer), &committed);
    let history = repo.history(&nested, "");
    let mut all = set(&["base", "left", "right", "mended"]);
    assert_eq!(states(&history, &committed), all);
    all.insert("newer".to_owned());
    assert_eq!(states(&history, &nested), all);
}

#[test]
fn one_commit_of_a_conflict_shows_its_first_side() {
    let scratch = Scratch::new();
    let repo = Repo::new(&scratch);
    let [left, right] = ["left", "right"].map(|state| repo.root("", state));
    let terms = [
        (".jjconflict-base-0", left.as_str()),
        (".jjconflict-side-0", &left),
        (".jjconflict-side-1", &right),
    ];
    let id = repo.commit(&repo.conflict(&terms, &left), "HEAD");
    let git = open(&repo.path, Role::Own).unwrap();
    let id: ObjectId = id.parse().unwrap();
    let tree = trees::tree_at(&git, id, "").unwrap();
    assert_eq!(&*tree.objects[0].1.data, b"left");
    assert_eq!(
        trees::read_at(&git, id, ".tether/objects/a.toml").unwrap(),
        Some(b"left".to_vec())
    );
}

#[test]
fn the_cache_and_the_commit_graph_hide_no_side() {
    let scratch = Scratch::new();
    let repo = Repo::new(&scratch);
    let import = |count: usize| {
        let mut text = String::new();
        for n in 0..count {
            let content = format!("state {n}");
            write!(
                text,
                "commit refs/heads/many\ncommitter C <c@example.com> {} +0000\ndata 1\nc\n\
                 M 100644 inline .tether/objects/a.toml\ndata {}\n{content}\n",
                1_700_000_000 + n,
                content.len()
            )
            .unwrap();
        }
        repo.feed(&["fast-import", "--quiet"], &text);
        repo.git(&["rev-parse", "many"])
    };
    let many = import(300);
    let root = repo.git(&["rev-parse", "many^{tree}"]);
    let [base, right] = ["base", "right"].map(|state| repo.root("", state));
    let terms = [
        (".jjconflict-base-0", base.as_str()),
        (".jjconflict-side-0", &root),
        (".jjconflict-side-1", &right),
    ];
    let conflicted = repo.commit(&repo.conflict(&terms, &root), &many);
    let all = set(&["base", "right", "state 299"]);
    let cache = repo.path.join(".git/tether-history.idx");
    assert_eq!(states(&repo.history(&conflicted, ""), &conflicted), all);
    let length = size(&cache);
    assert!(length > 0);
    let warm = repo.history(&conflicted, "");
    assert_eq!(states(&warm, &conflicted), all);
    assert_eq!(states(&warm, &many), set(&["state 299"]));
    assert_eq!(size(&cache), length, "a warm walk learns nothing");

    repo.git(&["update-ref", "refs/heads/conflicted", &conflicted]);
    repo.git(&["commit-graph", "write", "--reachable"]);
    for warm in [true, false] {
        if !warm {
            std::fs::remove_file(&cache).unwrap();
        }
        assert_eq!(states(&repo.history(&conflicted, ""), &conflicted), all);
    }
    // What a tether that knew no conflicts wrote is not believed.
    let mut bytes = std::fs::read(&cache).unwrap();
    assert!(bytes.starts_with(b"tether history 2\n"));
    bytes["tether history ".len()] = b'1';
    std::fs::write(&cache, &bytes).unwrap();
    assert_eq!(states(&repo.history(&conflicted, ""), &conflicted), all);
    let rewritten = std::fs::read(&cache).unwrap();
    assert!(rewritten.starts_with(b"tether history 2\n"));
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |meta| meta.len())
}
