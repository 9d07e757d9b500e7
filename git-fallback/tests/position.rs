//! HEAD, branches, worktrees.

use tether_engine::vcs::{Checkout, Position, Vcs, VcsKind};

use crate::fixture::{Repo, Scratch, bookmark};

#[test]
fn head_is_born_unborn_or_detached() {
    let scratch = Scratch::new();
    let repo = scratch.empty("r", &[]);
    let vcs = repo.vcs();
    assert_eq!(vcs.kind(), VcsKind::Git);
    let unborn = Position {
        head: None,
        merged: Vec::new(),
        conflicted: std::collections::BTreeMap::new(),
        bookmarks: vec![bookmark("main")],
    };
    assert_eq!(vcs.position().unwrap(), unborn);
    assert_eq!(vcs.bookmarks().unwrap().len(), 0);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    let head = repo.rev("HEAD");
    let born = Position {
        head: Some(head.clone()),
        merged: Vec::new(),
        conflicted: std::collections::BTreeMap::new(),
        bookmarks: vec![bookmark("main")],
    };
    assert_eq!(vcs.position().unwrap(), born);
    repo.git(&["checkout", "-q", "--detach"]);
    let detached = Position {
        head: Some(head.clone()),
        merged: Vec::new(),
        conflicted: std::collections::BTreeMap::new(),
        bookmarks: vec![],
    };
    assert_eq!(vcs.position().unwrap(), detached);
    assert_eq!(vcs.default_trunk().unwrap(), bookmark("main"));
    repo.git(&["checkout", "-q", "-b", "feat/x"]);
    repo.git(&["pack-refs", "--all"]);
    assert_eq!(vcs.position().unwrap().bookmarks, [bookmark("feat/x")]);
    let names: Vec<String> = vcs
        .bookmarks()
        .unwrap()
        .into_iter()
        .map(|(name, id)| {
            assert_eq!(id, head);
            name.to_string()
        })
        .collect();
    assert_eq!(names, ["feat/x", "main"]);
}

/// 01 steps 16 to 18: the trunk of a dataset is the branch the repository is on, also an unborn one.
#[test]
fn the_trunk_is_the_current_branch() {
    let scratch = Scratch::new();
    let path = scratch.path("r");
    std::fs::create_dir(&path).unwrap();
    scratch.git(&path, &["init", "-q", "-b", "trunk"]);
    let repo = Repo::at(&scratch, path);
    assert_eq!(repo.vcs().default_trunk().unwrap(), bookmark("trunk"));
    repo.vcs().adopt_trunk(&bookmark("other/name")).unwrap();
    assert_eq!(repo.git(&["symbolic-ref", "HEAD"]), "refs/heads/other/name");
    repo.configure();
    repo.git(&["commit", "-q", "--allow-empty", "-m", "r"]);
    repo.vcs().adopt_trunk(&bookmark("third")).unwrap();
    assert_eq!(repo.git(&["symbolic-ref", "HEAD"]), "refs/heads/other/name");
    assert!(
        repo.vcs().adopt_trunk(&bookmark("a..b")).is_ok(),
        "nothing to do once there are commits"
    );
    repo.git(&["checkout", "-q", "--orphan", "fresh"]);
    assert!(
        repo.vcs()
            .adopt_trunk(&bookmark("a..b"))
            .unwrap_err()
            .message()
            .contains("a..b")
    );
    repo.vcs().adopt_trunk(&bookmark("other/name")).unwrap();
    assert_eq!(
        repo.git(&["symbolic-ref", "HEAD"]),
        "refs/heads/fresh",
        "an existing branch is not taken over"
    );
}

/// E55
#[test]
fn every_kind_of_git_file_shares_the_common_directory() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let linked = Repo::at(&scratch, scratch.path("w t"));
    repo.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "w",
        linked.path.to_str().unwrap(),
    ]);
    let (main, other) = (repo.vcs(), linked.vcs());
    assert_eq!(main.shared_dir(), repo.path.join(".git"));
    assert_eq!(other.shared_dir(), repo.path.join(".git"));
    assert_eq!(main.checkout_name(), "main");
    assert!(
        other.checkout_name().starts_with("worktree-w"),
        "{}",
        other.checkout_name()
    );
    assert!(
        other
            .checkout_name()
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-%".contains(&b))
    );
    let name = other.checkout_name();
    let entry = |name: &str, path: &std::path::Path, current| Checkout {
        name: name.to_owned(),
        path: path.to_owned(),
        current,
        readable: true,
    };
    assert_eq!(
        other.checkouts().unwrap(),
        [
            entry(&name, &linked.path, true),
            entry("main", &repo.path, false)
        ]
    );
    assert_eq!(
        main.checkouts().unwrap(),
        [
            entry("main", &repo.path, true),
            entry(&name, &linked.path, false)
        ]
    );
    std::fs::rename(&linked.path, scratch.path("moved")).unwrap();
    assert!(!main.checkouts().unwrap()[1].readable);

    let outer = scratch.repo("outer");
    outer.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        repo.path.to_str().unwrap(),
        "sub",
    ]);
    let sub = Repo::at(&scratch, outer.path.join("sub"));
    assert_eq!(sub.vcs().shared_dir(), outer.path.join(".git/modules/sub"));
    assert_eq!(sub.vcs().checkout_name(), "main");
    assert_eq!(
        sub.vcs().checkouts().unwrap(),
        [entry("main", &sub.path, true)]
    );

    let separate = scratch.empty("separate", &["--separate-git-dir", "../git.dir"]);
    assert_eq!(separate.vcs().shared_dir(), scratch.path("git.dir"));
    assert_eq!(
        separate.vcs().checkouts().unwrap(),
        [entry("main", &separate.path, true)]
    );

    scratch.git(&repo.path, &["clone", "-q", "--bare", ".", "../bare"]);
    let of_bare = Repo::at(&scratch, scratch.path("of-bare"));
    scratch.git(
        &scratch.path("bare"),
        &[
            "worktree",
            "add",
            "-q",
            "-b",
            "b",
            of_bare.path.to_str().unwrap(),
        ],
    );
    assert_eq!(of_bare.vcs().shared_dir(), scratch.path("bare"));
    assert_eq!(
        of_bare.vcs().checkouts().unwrap(),
        [entry("worktree-of-bare", &of_bare.path, true)]
    );
}

/// The worktree of a repository made with `--separate-git-dir` cannot be found from another one; it is not gone for that.
#[test]
fn a_main_worktree_that_cannot_be_found_is_unreadable_not_gone() {
    let scratch = Scratch::new();
    let repo = scratch.empty("separate", &["--separate-git-dir", "../git.dir"]);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "one"]);
    let linked = Repo::at(&scratch, scratch.path("w"));
    repo.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "w",
        linked.path.to_str().unwrap(),
    ]);
    let checkouts = linked.vcs().checkouts().unwrap();
    assert_eq!(checkouts.len(), 2, "{checkouts:?}");
    assert_eq!(checkouts[1].name, "main");
    assert!(!checkouts[1].current);
}

/// E32: `core.worktree` that points elsewhere is told, not followed.
#[test]
fn a_core_worktree_that_points_elsewhere_is_refused() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let other = scratch.repo("other");
    repo.git(&["config", "core.worktree", other.path.to_str().unwrap()]);
    let error = tether_git_fallback::GitVcs::open(&repo.path, None).unwrap_err();
    assert!(error.message().contains("core.worktree"), "{error}");
    assert_eq!(error.hint(), Some("git config --unset core.worktree"));
}
