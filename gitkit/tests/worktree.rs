//! What worktrees hold.

use tether_gitkit::open::{Role, open};
use tether_gitkit::refs::held_branches;
use tether_gitkit::worktree::list;

use crate::fixture::Scratch;

#[test]
fn branches_are_held_while_checked_out_rebased_or_bisected() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    for n in 2..4 {
        std::fs::write(repo.join("file"), format!("{n}\n")).unwrap();
        scratch.git(&repo, &["commit", "-qam", &n.to_string()]);
    }
    let tree = |name: &str| scratch.path(name);
    for name in ["linked", "rebasing", "bisecting", "gone", "locked"] {
        scratch.git(
            &repo,
            &[
                "worktree",
                "add",
                "-q",
                "-b",
                &format!("b/{name}"),
                tree(name).to_str().unwrap(),
            ],
        );
    }
    scratch.git(
        &tree("rebasing"),
        &["checkout", "-q", "-B", "b/rebasing", "HEAD~2"],
    );
    std::fs::write(tree("rebasing").join("file"), "other\n").unwrap();
    scratch.git(&tree("rebasing"), &["commit", "-qam", "other"]);
    assert!(
        !scratch
            .try_git(&tree("rebasing"), &["rebase", "main"])
            .status
            .success()
    );
    scratch.git(&tree("bisecting"), &["bisect", "start", "HEAD", "HEAD~2"]);
    scratch.git(
        &repo,
        &["worktree", "lock", tree("locked").to_str().unwrap()],
    );
    for name in ["gone", "locked"] {
        std::fs::remove_dir_all(tree(name)).unwrap();
    }
    for from in [repo.clone(), tree("linked")] {
        let opened = open(&from, Role::Own).unwrap();
        let held = held_branches(&opened).unwrap();
        let mut names: Vec<_> = held.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "refs/heads/b/bisecting",
                "refs/heads/b/linked",
                "refs/heads/b/locked",
                "refs/heads/b/rebasing",
                "refs/heads/main"
            ]
        );
        assert_eq!(held["refs/heads/main"], std::slice::from_ref(&repo));
        assert_eq!(held["refs/heads/b/rebasing"], [tree("rebasing")]);
        let listed = list(&opened).unwrap();
        assert_eq!(listed[0].id, None);
        assert_eq!(listed.iter().filter(|tree| !tree.readable()).count(), 2);
    }
}

#[test]
fn a_bare_repositorys_head_is_no_worktree() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    scratch.git(&repo, &["clone", "-q", "--bare", ".", "../bare"]);
    let bare = scratch.path("bare");
    scratch.git(&bare, &["worktree", "add", "-q", "-b", "w", "../w"]);
    for from in [bare, scratch.path("w")] {
        let held = held_branches(&open(&from, Role::Foreign).unwrap()).unwrap();
        assert_eq!(
            held.keys().collect::<Vec<_>>(),
            ["refs/heads/w"],
            "{}",
            from.display()
        );
    }
}
