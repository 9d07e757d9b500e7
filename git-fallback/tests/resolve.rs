//! Revisions.

use tether_engine::vcs::Vcs;

use crate::fixture::Scratch;

/// E25
#[test]
fn a_bookmark_is_that_branch_whatever_shadows_it() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let first = repo.rev("HEAD");
    let second = repo.advance("two");
    let vcs = repo.vcs();
    repo.git(&["tag", "main", "HEAD~1"]);
    repo.git(&["update-ref", "refs/remotes/main", "HEAD~1"]);
    repo.git(&["branch", &second.as_str()[..8], "HEAD~1"]);
    repo.git(&["branch", second.as_str(), "HEAD~1"]);
    assert_eq!(vcs.resolve("main").unwrap(), second);
    assert_eq!(vcs.resolve("main~1").unwrap(), first);
    assert_eq!(vcs.resolve("main^{commit}").unwrap(), second);
    assert_eq!(vcs.resolve("main@{1}").unwrap(), first);
    assert_eq!(vcs.resolve(&second.as_str()[..8]).unwrap(), first);
    assert_eq!(vcs.resolve(second.as_str()).unwrap(), first);
    assert_eq!(vcs.resolve(&second.as_str()[..9]).unwrap(), second);
    assert_eq!(vcs.resolve("refs/tags/main").unwrap(), first);
    assert_eq!(vcs.resolve("tags/main").unwrap(), first);
    assert_eq!(vcs.resolve("HEAD").unwrap(), second);
    repo.git(&["update-ref", "refs/heads/HEAD", "HEAD~1"]);
    let error = vcs.resolve("HEAD").unwrap_err();
    assert!(error.message().contains("ambiguous"), "{error}");
    repo.git(&["update-ref", "refs/heads/HEAD", "main~0"]);
}

/// E25: where git warns and picks one, tether refuses.
#[test]
fn two_other_refs_of_one_name_are_ambiguous() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let first = repo.rev("HEAD");
    let second = repo.advance("two");
    let vcs = repo.vcs();
    repo.git(&["tag", "-m", "annotated", "x", "HEAD"]);
    assert_eq!(vcs.resolve("x").unwrap(), second);
    repo.git(&["update-ref", "refs/remotes/x", "HEAD"]);
    assert_eq!(
        vcs.resolve("x").unwrap(),
        second,
        "both mean the same commit"
    );
    repo.git(&["update-ref", "refs/remotes/x", "HEAD~1"]);
    for rev in ["x", "x~0"] {
        let error = vcs.resolve(rev).unwrap_err();
        assert!(
            error.message().contains("refs/tags/x, refs/remotes/x"),
            "{error}"
        );
    }
    repo.git(&["tag", &first.as_str()[..7], "HEAD"]);
    let error = vcs.resolve(&first.as_str()[..7]).unwrap_err();
    assert!(error.message().contains("ambiguous"), "{error}");
    assert_eq!(vcs.resolve(first.as_str()).unwrap(), first);
}

#[test]
fn revisions_are_resolved_as_git_does() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let first = repo.rev("HEAD");
    repo.advance("two");
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.advance("three");
    repo.git(&["tag", "-m", "t", "v1"]);
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    let vcs = repo.vcs();
    for rev in [
        "HEAD",
        "@",
        "HEAD^2",
        "HEAD~2",
        "main^",
        "v1",
        "v1^{}",
        "v1~1",
        "@{-1}",
        "main@{1}",
        ":/two",
        "HEAD^{/three}",
        "side@{0}",
        "heads/side",
    ] {
        assert_eq!(
            vcs.resolve(rev).unwrap(),
            repo.rev(&format!("{}^{{}}", repo.rev(rev))),
            "{rev}"
        );
    }
    assert_eq!(vcs.resolve(&first.as_str()[..6]).unwrap(), first);
}

/// E52, P079
#[test]
fn options_ranges_lists_and_what_is_no_commit_are_refused() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    repo.advance("two");
    repo.git(&["tag", "tree", "HEAD^{tree}"]);
    let vcs = repo.vcs();
    let marker = scratch.path("PWN");
    let output = format!("--output={}", marker.display());
    for rev in [
        "",
        " ",
        "nosuch",
        "-x",
        "--all",
        &output,
        "HEAD..main",
        "HEAD...HEAD~1",
        "..",
        "HEAD..",
        "^HEAD",
        "HEAD^@",
        "HEAD^!",
        "HEAD main",
        "a\0b",
        "HEAD\n",
        "tree",
        ":file",
        "HEAD:file",
        "main:",
        "ffffffffffffffffffffffffffffffffffffffff",
        "dead",
        "HEAD~99",
        "main@{99}",
        "ext::sh -c true",
        "*",
    ] {
        let error = match vcs.resolve(rev) {
            Err(error) => error,
            Ok(id) => panic!("{rev:?} gave {id}"),
        };
        assert!(
            error.message().contains(&format!("{rev:?}")),
            "{rev:?}: {error}"
        );
    }
    assert!(!marker.exists());
}

/// P014, E52: a branch whose real name begins with a dash is a name like any other.
#[test]
fn a_branch_that_looks_like_an_option_is_a_branch() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let first = repo.rev("HEAD");
    repo.git(&["update-ref", "refs/heads/-feat", "HEAD"]);
    repo.advance("two");
    let vcs = repo.vcs();
    assert_eq!(vcs.resolve("-feat").unwrap(), first);
    assert_eq!(vcs.resolve("-feat~0").unwrap(), first);
    assert!(
        vcs.bookmarks()
            .unwrap()
            .contains_key(&crate::fixture::bookmark("-feat"))
    );
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/-feat"]);
    let id = repo
        .commit("on it", &[(crate::fixture::MANIFEST, Some("new\n"))])
        .unwrap();
    assert_eq!(repo.rev("refs/heads/-feat"), id);
}

#[test]
fn sha256_repositories_work_throughout() {
    let scratch = Scratch::new();
    let repo = scratch.empty("r", &["--object-format=sha256"]);
    let first = repo
        .commit("one", &[(crate::fixture::MANIFEST, Some("a\n"))])
        .unwrap();
    let second = repo
        .commit("two", &[(crate::fixture::MANIFEST, Some("b\n"))])
        .unwrap();
    assert_eq!(second.as_str().len(), 64);
    let vcs = repo.vcs();
    assert_eq!(vcs.resolve("main~1").unwrap(), first);
    assert_eq!(vcs.resolve(second.as_str()).unwrap(), second);
    let history = vcs.history("").unwrap();
    assert_eq!(
        history
            .commits
            .iter()
            .map(|c| c.id.clone())
            .collect::<Vec<_>>(),
        [second, first]
    );
    assert_eq!(history.trees.len(), 2);
    repo.assert_sound();
}
