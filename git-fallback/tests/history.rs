//! Every visible commit with its manifests.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Instant;

use tether_engine::id::CommitId;
use tether_engine::vcs::{History, Vcs};

use crate::fixture::{MANIFEST, Repo, Scratch};

fn ids(history: &History) -> BTreeSet<String> {
    history
        .commits
        .iter()
        .map(|commit| commit.id.to_string())
        .collect()
}

fn manifests(history: &History, id: &CommitId) -> Vec<(String, String)> {
    let commit = history
        .commits
        .iter()
        .find(|commit| commit.id == *id)
        .unwrap();
    let Some(tree) = commit.trees.first() else {
        return Vec::new();
    };
    history.trees[tree]
        .objects
        .iter()
        .map(|(path, blob)| (path.clone(), String::from_utf8(blob.data.to_vec()).unwrap()))
        .collect()
}

/// Feeds `git fast-import`; `commit` gives the part of each commit behind its header.
fn import(repo: &Repo<'_>, branch: &str, count: usize, commit: impl Fn(usize) -> String) {
    let mut feed = repo
        .scratch
        .command("git", &repo.path)
        .args(["fast-import", "--quiet", "--force"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = feed.stdin.take().unwrap();
    let mut text = String::new();
    for n in 0..count {
        write!(
            text,
            "commit refs/heads/{branch}\ncommitter U <u@example.com> {} +0000\ndata {}\nc{n}\n",
            1_700_000_000 + n,
            n.to_string().len() + 1
        )
        .unwrap();
        text.push_str(&commit(n));
        text.push('\n');
    }
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    assert!(feed.wait().unwrap().success());
}

fn file(path: &str, content: &str) -> String {
    format!(
        "M 100644 inline {path}\ndata {}\n{content}\n",
        content.len()
    )
}

#[test]
fn every_ref_stash_and_worktree_head_is_walked() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let mut all = BTreeSet::new();
    let start = repo.rev("HEAD");
    all.insert(start.to_string());
    let mut place = |refname: &str| {
        repo.git(&["checkout", "-q", "--detach", start.as_str()]);
        let id = repo.advance(refname);
        all.insert(id.to_string());
        if refname.starts_with("refs/") {
            repo.git(&["update-ref", refname, id.as_str()]);
        }
        id
    };
    for name in [
        "refs/heads/a/b",
        "refs/tags/light",
        "refs/remotes/origin/x",
        "refs/notes/n",
        "refs/tether/hidden",
        "refs/custom",
    ] {
        place(name);
    }
    let tagged = place("annotated");
    repo.git(&["tag", "-m", "outer", "annotated", tagged.as_str()]);
    repo.git(&["tag", "-m", "outer", "nested", "annotated"]);
    repo.git(&["tag", "-d", "annotated"]);
    repo.git(&["pack-refs", "--all"]);
    place("refs/heads/loose");
    place("refs/worktree/of-main");
    place("refs/bisect/bad");
    let lost = place("lost");
    repo.git(&["checkout", "-q", "main"]);
    for n in 0..2 {
        repo.write("file", &format!("stashed {n}\n"));
        repo.git(&["stash", "-q"]);
        for parent in ["", "^2"] {
            all.insert(repo.rev(&format!("refs/stash{parent}")).to_string());
        }
    }
    // A detached head and a private ref of another worktree, and a detached head of one whose folder is gone.
    for name in ["w1", "w2"] {
        let tree = Repo::at(&scratch, scratch.path(name));
        repo.git(&[
            "worktree",
            "add",
            "-q",
            "--detach",
            tree.path.to_str().unwrap(),
        ]);
        all.insert(tree.advance(name).to_string());
        if name == "w1" {
            tree.git(&["update-ref", "refs/worktree/private", "HEAD"]);
            tree.git(&["checkout", "-q", "--detach", "main"]);
        } else {
            std::fs::remove_dir_all(&tree.path).unwrap();
        }
    }
    all.remove(lost.as_str());
    assert!(repo.git(&["cat-file", "-t", lost.as_str()]) == "commit");
    for from in [repo.path.clone(), scratch.path("w1")] {
        let vcs = Repo::at(&scratch, from).vcs();
        assert_eq!(ids(&vcs.history("").unwrap()), all);
        let asked: Vec<CommitId> = all
            .iter()
            .cloned()
            .map(CommitId::new)
            .chain([lost.clone()])
            .collect();
        let seen = vcs.visible(&asked).unwrap();
        assert_eq!(seen.iter().filter(|seen| **seen).count(), all.len());
        assert_eq!(seen.last(), Some(&false));
    }
}

#[test]
fn manifests_are_those_below_the_dataset_and_each_tree_is_there_once() {
    let scratch = Scratch::new();
    let repo = scratch.empty("r", &[]);
    repo.write("file", "x\n");
    repo.git(&["add", "file"]);
    repo.git(&["commit", "-q", "-m", "none"]);
    let none = repo.rev("HEAD");
    let root = repo
        .commit(
            "root",
            &[(MANIFEST, Some("a\n")), ("tether.toml", Some("t\n"))],
        )
        .unwrap();
    let sub = repo
        .commit(
            "sub",
            &[
                ("data/set/.tether/objects/x/y.toml", Some("y\n")),
                ("data/set/.tether/objects/b.toml", Some("b\n")),
                ("data/set/.tether/listings/l", Some("l\n")),
            ],
        )
        .unwrap();
    let same = repo.advance("file only");
    let vcs = repo.vcs();
    let history = vcs.history("").unwrap();
    assert_eq!(
        history
            .commits
            .iter()
            .map(|c| c.id.clone())
            .collect::<Vec<_>>(),
        [same.clone(), sub.clone(), root.clone(), none.clone()]
    );
    assert_eq!(history.trees.len(), 1);
    assert_eq!(manifests(&history, &none), []);
    let a = [("a.toml".to_owned(), "a\n".to_owned())];
    for id in [&root, &sub, &same] {
        assert_eq!(manifests(&history, id), a);
    }
    let history = vcs.history("data/set").unwrap();
    assert_eq!(history.trees.len(), 1);
    assert_eq!(manifests(&history, &root), []);
    let both = [
        ("b.toml".to_owned(), "b\n".to_owned()),
        ("x/y.toml".to_owned(), "y\n".to_owned()),
    ];
    assert_eq!(manifests(&history, &same), both);
    let tree = vcs.tree_at(&sub, "data/set").unwrap();
    let key = tree.objects_id.clone().unwrap();
    assert_eq!(history.trees[&key].objects.len(), tree.objects.len());
    for (ours, theirs) in tree.objects.iter().zip(&history.trees[&key].objects) {
        assert_eq!(
            (&ours.0, &ours.1.id, &ours.1.data),
            (&theirs.0, &theirs.1.id, &theirs.1.data)
        );
    }
    assert_eq!(vcs.tree_at(&none, "").unwrap().objects_id, None);
    assert_eq!(
        vcs.read_at(&sub, "data/set/.tether/listings/l")
            .unwrap()
            .unwrap(),
        b"l\n"
    );
    for path in ["data", "nosuch", "data/nosuch/x", "file/x", ""] {
        assert_eq!(vcs.read_at(&sub, path).unwrap(), None, "{path}");
    }
}

/// Something else in the place of the manifests is no manifest, and a link is the text it is.
#[test]
fn links_and_submodules_among_manifests_are_not_followed() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    repo.write("evil/x.toml", "evil\n");
    std::os::unix::fs::symlink(
        "../../evil/x.toml",
        repo.path.join(".tether/objects/link.toml"),
    )
    .unwrap();
    let head = repo.rev("HEAD");
    repo.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{head},.tether/objects/sub.toml"),
    ]);
    repo.git(&["add", ".tether/objects/link.toml", "evil"]);
    repo.git(&["commit", "-q", "-m", "odd"]);
    let odd = repo.rev("HEAD");
    repo.git(&["rm", "-q", "-r", "--cached", ".tether/objects"]);
    std::fs::remove_dir_all(repo.path.join(".tether/objects")).unwrap();
    std::os::unix::fs::symlink("../evil", repo.path.join(".tether/objects")).unwrap();
    repo.git(&["add", ".tether/objects"]);
    repo.git(&["commit", "-q", "-m", "link"]);
    let history = repo.vcs().history("").unwrap();
    assert_eq!(
        manifests(&history, &odd),
        [
            ("a.toml".to_owned(), "first\n".to_owned()),
            ("link.toml".to_owned(), "../../evil/x.toml".to_owned())
        ]
    );
    assert_eq!(manifests(&history, &repo.rev("HEAD")), []);
}

#[test]
fn the_digest_changes_with_commits_and_not_with_names() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let vcs = repo.vcs();
    let before = vcs.history_digest().unwrap();
    assert_eq!(before.len(), 64);
    repo.git(&["tag", "harmless"]);
    repo.git(&["branch", "too"]);
    assert_eq!(vcs.history_digest().unwrap(), before);
    repo.advance("two");
    let after = vcs.history_digest().unwrap();
    assert_ne!(after, before);
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(vcs.history_digest().unwrap(), before);
    let linked = Repo::at(&scratch, scratch.path("w"));
    repo.git(&[
        "worktree",
        "add",
        "-q",
        "--detach",
        linked.path.to_str().unwrap(),
    ]);
    linked.advance("two");
    assert_ne!(
        vcs.history_digest().unwrap(),
        before,
        "another worktree's head counts"
    );
}

/// A long-lived handle sees what other processes do, packed, repacked or loose.
#[test]
fn a_handle_follows_the_repository() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let vcs = repo.vcs();
    assert_eq!(vcs.history("").unwrap().commits.len(), 1);
    for n in 2..6 {
        repo.commit(&n.to_string(), &[(MANIFEST, Some(&format!("{n}\n")))])
            .unwrap();
        if n % 2 == 0 {
            repo.git(&["repack", "-q", "-a", "-d"]);
            repo.git(&["pack-refs", "--all"]);
        }
        let history = vcs.history("").unwrap();
        assert_eq!(history.commits.len(), n);
        assert_eq!(
            manifests(&history, &repo.rev("HEAD"))[0].1,
            format!("{n}\n")
        );
        assert_eq!(vcs.position().unwrap().head, Some(repo.rev("HEAD")));
    }
}

/// Commits made within a second, or on machines whose clocks are off, still come child first.
#[test]
fn no_commit_comes_before_its_child() {
    let scratch = Scratch::new();
    let repo = scratch.empty("r", &[]);
    let mut text = String::new();
    for n in 0..300_usize {
        let time = 1_700_000_000 - (n * 7919) % 1000;
        writeln!(
            text,
            "commit refs/heads/main\nmark :{}\ncommitter U <u@example.com> {time} +0000\ndata 2\nx",
            n + 1
        )
        .unwrap();
        if n > 0 {
            writeln!(text, "from :{n}").unwrap();
        }
        if n > 2 && n % 3 == 0 {
            writeln!(text, "merge :{}", n - 2).unwrap();
        }
    }
    let mut feed = scratch
        .command("git", &repo.path)
        .args(["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    feed.stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    assert!(feed.wait().unwrap().success());
    let order: Vec<String> = repo
        .vcs()
        .history("")
        .unwrap()
        .commits
        .iter()
        .map(|c| c.id.to_string())
        .collect();
    let expected = repo.git(&["rev-list", "--date-order", "main"]);
    assert_eq!(order, expected.lines().collect::<Vec<_>>());
}

#[test]
fn the_cache_gives_the_same_answers_and_survives_damage() {
    let scratch = Scratch::new();
    let repo = scratch.empty("r", &[]);
    import(&repo, "main", 600, |n| {
        if n % 3 == 0 {
            file(MANIFEST, &format!("{n}\n")) + &file("sub/.tether/objects/b.toml", "b\n")
        } else {
            file("file", &n.to_string())
        }
    });
    let cache = repo.path.join(".git/tether-history.idx");
    let flat = |history: &History| {
        history
            .commits
            .iter()
            .map(|commit| (commit.id.to_string(), manifests(history, &commit.id)))
            .collect::<Vec<_>>()
    };
    let cold = flat(&repo.vcs().history("").unwrap());
    assert!(cache.exists());
    let whole = std::fs::read(&cache).unwrap();
    let again = || {
        let vcs = repo.vcs();
        assert_eq!(flat(&vcs.history("").unwrap()), cold);
        assert_eq!(vcs.history("sub").unwrap().commits.len(), 600);
        vcs.history_digest().unwrap()
    };
    let digest = again();
    assert!(
        std::fs::read(&cache).unwrap().starts_with(&whole),
        "new facts are appended"
    );
    again();
    let whole = std::fs::read(&cache).unwrap();
    for length in [0, 5, 17, 40, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&cache, &whole[..length]).unwrap();
        assert_eq!(again(), digest, "torn at {length}");
    }
    for at in [3, 20, 30, whole.len() / 2, whole.len() - 3] {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        std::fs::write(&cache, &damaged).unwrap();
        assert_eq!(again(), digest, "damaged at {at}");
    }
    let mut longer = whole.clone();
    longer.extend_from_slice(&[9, 0, 0, 0]);
    std::fs::write(&cache, &longer).unwrap();
    assert_eq!(again(), digest);
    // One that cannot be written is nobody's business.
    std::fs::remove_file(&cache).unwrap();
    std::fs::create_dir(&cache).unwrap();
    assert_eq!(again(), digest);
}

/// A walk through the cache sees what a shallow boundary hides now, and not what it hid then.
#[test]
fn the_cache_does_not_remember_a_shallow_boundary() {
    let scratch = Scratch::new();
    let origin = scratch.empty("origin", &[]);
    import(&origin, "main", 600, |n| file(MANIFEST, &n.to_string()));
    let path = scratch.path("clone");
    let url = format!("file://{}", origin.path.display());
    scratch.git(
        &origin.path,
        &[
            "clone",
            "-q",
            "--depth",
            "400",
            &url,
            path.to_str().unwrap(),
        ],
    );
    let clone = Repo::at(&scratch, path);
    assert_eq!(clone.vcs().history("").unwrap().commits.len(), 400);
    assert!(clone.path.join(".git/tether-history.idx").exists());
    clone.git(&["fetch", "-q", "--unshallow"]);
    assert_eq!(clone.vcs().history("").unwrap().commits.len(), 600);
    clone.git(&["fetch", "-q", "--depth", "10"]);
    assert_eq!(clone.vcs().history("").unwrap().commits.len(), 10);
}

#[test]
fn visible_answers_for_near_far_unreachable_and_unknown_commits() {
    let scratch = Scratch::new();
    let repo = scratch.empty("r", &[]);
    import(&repo, "main", 300, |n| file("file", &n.to_string()));
    let far = repo.rev("main~299");
    let near = repo.rev("main~3");
    let lost = CommitId::new(repo.git(&["commit-tree", "-m", "lost", "main^{tree}"]));
    let unknown = CommitId::new("2".repeat(40));
    let tree = CommitId::new(repo.git(&["rev-parse", "main^{tree}"]));
    let vcs = repo.vcs();
    let asked = [
        near.clone(),
        lost.clone(),
        far.clone(),
        unknown,
        near.clone(),
        tree,
        CommitId::new("junk"),
    ];
    assert_eq!(
        vcs.visible(&asked).unwrap(),
        [true, false, true, false, true, false, false]
    );
    assert_eq!(vcs.visible(&[]).unwrap(), [] as [bool; 0]);
    repo.git(&["commit-graph", "write", "--reachable"]);
    assert_eq!(
        repo.vcs().visible(&asked).unwrap(),
        [true, false, true, false, true, false, false]
    );
    repo.git(&["update-ref", "refs/keep/it", lost.as_str()]);
    assert_eq!(vcs.visible(std::slice::from_ref(&lost)).unwrap(), [true]);
    repo.git(&["update-ref", "-d", "refs/keep/it"]);
    assert_eq!(vcs.visible(&[lost]).unwrap(), [false]);
    // Near HEAD nothing else has to be read: no cache is made.
    assert_eq!(repo.vcs().visible(&[near]).unwrap(), [true]);
}

/// Not part of the suite: `cargo test -p tether-git-fallback --release -- --ignored --nocapture budget`.
#[test]
#[ignore = "measures time, which other work on the machine changes"]
fn budget_of_ten_thousand_commits() {
    let scratch = Scratch::new();
    let repo = scratch.empty("r", &[]);
    let keys = |n: usize| -> String {
        (0..20)
            .map(|k| {
                file(
                    &format!(".tether/objects/raw/k{k}.toml"),
                    &format!(
                        "key = \"raw/k{k}\"\n# {}\n{}",
                        if k == n % 20 { n } else { 0 },
                        "x".repeat(500)
                    ),
                )
            })
            .collect()
    };
    import(&repo, "main", 10_000, |n| {
        if n == 0 {
            (0..60)
                .map(|f| file(&format!("src/f{f}"), &f.to_string()))
                .collect::<String>()
                + &keys(0)
        } else if n % 20 == 0 {
            file(
                &format!(".tether/objects/raw/k{}.toml", n % 400 / 20),
                &format!("key\n# {n}\n{}", "x".repeat(500)),
            )
        } else {
            file(&format!("src/f{}", n % 60), &n.to_string())
        }
    });
    repo.git(&["gc", "-q"]);
    repo.git(&["checkout", "-q", "main"]);
    let cache = repo.path.join(".git/tether-history.idx");
    for graph in [false, true] {
        if graph {
            repo.git(&["commit-graph", "write", "--reachable"]);
        } else {
            let _ = std::fs::remove_file(repo.path.join(".git/objects/info/commit-graph"));
        }
        let _ = std::fs::remove_file(&cache);
        for run in ["cold", "warm", "warm"] {
            let begin = Instant::now();
            let vcs = repo.vcs();
            let opened = begin.elapsed();
            let history = vcs.history("").unwrap();
            println!(
                "graph={graph} {run}: open {opened:?} history {:?} ({} trees)",
                begin.elapsed().saturating_sub(opened),
                history.trees.len()
            );
        }
        let vcs = repo.vcs();
        let head = vcs.position().unwrap().head.unwrap();
        let far = repo.rev("main~9000");
        let lost = CommitId::new(repo.git(&["commit-tree", "-m", "lost", "main^{tree}"]));
        for (name, id) in [("head", head), ("far", far), ("lost", lost)] {
            let vcs = repo.vcs();
            let begin = Instant::now();
            vcs.visible(&[id]).unwrap();
            println!("graph={graph} visible {name}: {:?}", begin.elapsed());
        }
    }
}

#[test]
#[ignore = "measures time, which other work on the machine changes"]
fn budget_of_opening() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    for _ in 0..3 {
        let begin = Instant::now();
        let vcs = repo.vcs();
        let opened = begin.elapsed();
        let position = vcs.position().unwrap();
        let at = begin.elapsed();
        vcs.tracked(&[
            ".tether/secrets.toml".to_owned(),
            ".tether/workspace.toml".to_owned(),
        ])
        .unwrap();
        let tracked = begin.elapsed();
        vcs.tree_at(&position.head.clone().unwrap(), "").unwrap();
        let tree = begin.elapsed();
        vcs.visible(&[position.head.unwrap()]).unwrap();
        println!(
            "open {opened:?} position {:?} tracked {:?} tree {:?} visible {:?}",
            at.saturating_sub(opened),
            tracked.saturating_sub(at),
            tree.saturating_sub(tracked),
            begin.elapsed().saturating_sub(tree)
        );
    }
}
