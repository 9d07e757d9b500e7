//! E04: what cuts history is told, with the command that mends it.

use std::process::Command;

use tether_engine::vcs::{Completeness, Vcs};

use crate::fixture::{MANIFEST, Repo, Scratch};

fn reason_and_hint(repo: &Repo<'_>) -> (String, String) {
    match repo.vcs().completeness().unwrap() {
        Completeness::Cut { reason, hint } => (reason, hint),
        Completeness::Complete => panic!("the history is called whole"),
    }
}

/// Runs the hint as a person would paste it.
fn follow(repo: &Repo<'_>, hint: &str) {
    let output = repo
        .scratch
        .command("sh", &repo.path)
        .args(["-c", hint])
        .output()
        .unwrap();
    assert!(output.status.success(), "{hint}: {output:?}");
}

fn assert_whole(repo: &Repo<'_>) {
    assert_eq!(repo.vcs().completeness().unwrap(), Completeness::Complete);
}

/// A repository with three dataset commits, and a bare copy to clone from.
fn origin(scratch: &Scratch) -> Repo<'_> {
    let repo = scratch.repo("origin");
    for n in 2..4 {
        repo.commit(&n.to_string(), &[(MANIFEST, Some(&format!("{n}\n")))])
            .unwrap();
    }
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    repo.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    repo
}

fn clone<'s>(scratch: &'s Scratch, origin: &Repo<'_>, name: &str, args: &[&str]) -> Repo<'s> {
    let url = format!("file://{}", origin.path.display());
    let path = scratch.path(name);
    scratch.git(
        &origin.path,
        &[&["clone", "-q"], args, &[&url, path.to_str().unwrap()]].concat(),
    );
    Repo::at(scratch, path)
}

#[test]
fn shallow_clones_are_cut_until_they_are_deepened() {
    let scratch = Scratch::new();
    let origin = origin(&scratch);
    let whole = clone(&scratch, &origin, "whole", &[]);
    assert_whole(&whole);
    let shallow = clone(&scratch, &origin, "shallow", &["--depth", "1"]);
    // A whole clone becomes one by a fetch.
    whole.git(&["fetch", "-q", "--depth", "1", "origin", "main"]);
    for repo in [shallow, whole] {
        let (reason, hint) = reason_and_hint(&repo);
        assert!(reason.contains("shallow"), "{reason}");
        assert_eq!(repo.vcs().history("").unwrap().commits.len(), 1);
        let linked = Repo::at(&scratch, scratch.path("linked"));
        repo.git(&[
            "worktree",
            "add",
            "-q",
            "--detach",
            linked.path.to_str().unwrap(),
        ]);
        assert!(reason_and_hint(&linked).0.contains("shallow"));
        repo.git(&["worktree", "remove", linked.path.to_str().unwrap()]);
        follow(&repo, &hint);
        assert_whole(&repo);
        assert_eq!(repo.vcs().history("").unwrap().commits.len(), 3);
    }
}

#[test]
fn partial_clones_are_cut_until_they_are_refetched() {
    let scratch = Scratch::new();
    let origin = origin(&scratch);
    for filter in ["blob:none", "tree:0"] {
        let name = filter.replace(':', "-");
        let repo = clone(&scratch, &origin, &name, &[&format!("--filter={filter}")]);
        let (reason, hint) = reason_and_hint(&repo);
        assert!(reason.contains("partial"), "{reason}");
        // What is missing is an error with the command, never a commit without manifests.
        let error = repo.vcs().history("").unwrap_err();
        assert!(
            error.message().contains("missing from this clone"),
            "{error}"
        );
        assert!(
            error.hint().unwrap().starts_with("git fetch --refetch"),
            "{error:?}"
        );
        follow(&repo, &hint);
        assert_whole(&repo);
        assert_eq!(repo.vcs().history("").unwrap().trees.len(), 3);
        repo.assert_sound();
    }
}

#[test]
fn replace_refs_and_grafts_are_cuts_and_change_nothing_that_is_read() {
    let scratch = Scratch::new();
    let repo = origin(&scratch);
    let head = repo.rev("HEAD");
    repo.git(&["replace", "HEAD", "HEAD~2"]);
    let (reason, hint) = reason_and_hint(&repo);
    assert!(reason.contains("replace"), "{reason}");
    let vcs = repo.vcs();
    assert_eq!(vcs.history("").unwrap().commits.len(), 3);
    assert_eq!(vcs.read_at(&head, MANIFEST).unwrap().unwrap(), b"3\n");
    follow(&repo, &hint);
    assert_whole(&repo);
    repo.write(".git/info/grafts", "# a comment\n\n");
    assert_whole(&repo);
    repo.write(".git/info/grafts", &format!("{head}\n"));
    let (reason, hint) = reason_and_hint(&repo);
    assert!(reason.contains("grafts"), "{reason}");
    assert_eq!(repo.vcs().history("").unwrap().commits.len(), 3);
    follow(&repo, &hint);
    assert_whole(&repo);
}

#[test]
fn a_ref_that_cannot_be_read_is_a_cut_and_is_named() {
    let scratch = Scratch::new();
    let repo = origin(&scratch);
    let none = "1111111111111111111111111111111111111111";
    for (file, content) in [
        ("refs/heads/gone", format!("{none}\n")),
        ("refs/heads/torn", String::new()),
        ("refs/heads/garbage", "x\n".to_owned()),
        (
            "packed-refs",
            format!("# pack-refs with: peeled fully-peeled sorted \n{none} refs/tags/packed\n"),
        ),
    ] {
        let path = repo.path.join(".git").join(file);
        std::fs::write(&path, content).unwrap();
        let (reason, _) = reason_and_hint(&repo);
        let name = if file == "packed-refs" {
            "refs/tags/packed"
        } else {
            file
        };
        assert!(reason.contains(name), "{reason}");
        assert_eq!(repo.vcs().history("").unwrap().commits.len(), 3);
        std::fs::remove_file(path).unwrap();
        assert_whole(&repo);
    }
    // A symbolic ref to a deleted branch is what every clone has after the default branch was renamed.
    repo.git(&[
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/gone",
    ]);
    repo.git(&["tag", "tree", "HEAD^{tree}"]);
    assert_whole(&repo);
}

#[test]
fn a_missing_parent_is_an_error_and_no_shorter_history() {
    let scratch = Scratch::new();
    let repo = origin(&scratch);
    let parent = repo.rev("HEAD~1");
    let (folder, file) = parent.as_str().split_at(2);
    std::fs::remove_file(repo.path.join(".git/objects").join(folder).join(file)).unwrap();
    let vcs = repo.vcs();
    for error in [
        vcs.history("").unwrap_err(),
        vcs.history_digest().unwrap_err(),
    ] {
        assert!(error.message().contains(parent.as_str()), "{error}");
        assert_eq!(error.hint(), Some("git fsck"));
    }
}

/// E31: somebody else's repository is an error, never an empty history.
#[test]
fn another_owners_repository_is_an_error() {
    let scratch = Scratch::new();
    let repo = origin(&scratch);
    let chown = Command::new("chown")
        .args(["-R", "12345"])
        .arg(repo.path.join(".git"))
        .status();
    if !chown.is_ok_and(|status| status.success()) {
        return; // Only root can give files away.
    }
    let error = tether_git_fallback::GitVcs::open(&repo.path, None).unwrap_err();
    assert!(error.message().contains("dubious ownership"), "{error}");
    assert!(
        error.hint().unwrap().contains("safe.directory"),
        "{error:?}"
    );
}
