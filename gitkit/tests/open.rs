//! The guards around opening.

use std::path::Path;
use std::process::Command;

use tether_engine::ErrorKind;
use tether_gitkit::open::{Role, discover, open};

use crate::fixture::Scratch;

#[test]
fn a_reftable_is_refused_with_the_command_that_migrates_it() {
    let scratch = Scratch::new();
    let path = scratch.path("r");
    std::fs::create_dir(&path).unwrap();
    scratch.git(&path, &["init", "-q", "--ref-format=reftable"]);
    let error = open(&path, Role::Own).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Vcs);
    assert!(
        error
            .hint()
            .unwrap()
            .ends_with("refs migrate --ref-format=files"),
        "{error:?}"
    );
    assert_eq!(
        open(&path, Role::Foreign).unwrap_err().kind(),
        ErrorKind::Store
    );
    scratch.git(&path, &["refs", "migrate", "--ref-format=files"]);
    open(&path, Role::Own).unwrap();
}

#[test]
fn unknown_extensions_and_format_versions_are_refused_and_known_ones_are_not() {
    let scratch = Scratch::new();
    let path = scratch.repo("r");
    scratch.git(&path, &["config", "core.repositoryFormatVersion", "1"]);
    for (name, value) in [
        ("worktreeConfig", "true"),
        ("preciousObjects", "true"),
        ("objectFormat", "sha1"),
    ] {
        scratch.git(&path, &["config", &format!("extensions.{name}"), value]);
    }
    open(&path, Role::Own).unwrap();
    scratch.git(&path, &["config", "extensions.frobnicate", "yes"]);
    let error = open(&path, Role::Own).unwrap_err();
    assert!(error.message().contains("frobnicate"), "{error}");
    assert!(open(&path, Role::Foreign).is_err());
    let path = scratch.repo("v2");
    scratch.git(&path, &["config", "core.repositoryFormatVersion", "2"]);
    let error = open(&path, Role::Own).unwrap_err();
    assert!(error.one_line().contains("version 2"), "{error}");
}

#[test]
fn a_bare_repository_is_not_a_working_tree() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    scratch.git(&repo, &["clone", "-q", "--bare", ".", "buried"]);
    let buried = repo.join("buried");
    let error = open(&buried, Role::Own).unwrap_err();
    assert!(error.message().contains("not the root"), "{error}");
    assert_eq!(discover(&buried).unwrap().as_deref(), Some(repo.as_path()));
    assert_eq!(
        discover(&buried.join("refs")).unwrap().as_deref(),
        Some(repo.as_path())
    );
    assert!(open(&buried, Role::Foreign).unwrap().workdir().is_none());
    scratch.git(&repo, &["config", "core.bare", "true"]);
    let error = open(&repo, Role::Own).unwrap_err();
    assert!(error.message().contains("bare"), "{error}");
}

#[test]
fn discovery_ends_at_the_nearest_working_tree_and_names_a_broken_link() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let deep = repo.join("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    assert_eq!(discover(&deep).unwrap().as_deref(), Some(repo.as_path()));
    std::fs::create_dir(repo.join("a/.git")).unwrap();
    assert_eq!(discover(&deep).unwrap().as_deref(), Some(repo.as_path()));
    std::fs::write(deep.join(".git"), "gitdir: /nowhere\n").unwrap();
    let error = discover(&deep).unwrap_err();
    assert!(error.message().contains("does not lead"), "{error}");
    assert_eq!(discover(Path::new("/")).unwrap(), None);
}

/// E31
#[test]
fn somebody_elses_repository_is_refused_with_gits_own_line() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let chown = Command::new("chown")
        .args(["-R", "12345"])
        .arg(repo.join(".git"))
        .status();
    if !chown.is_ok_and(|status| status.success()) {
        return; // Only root can give files away.
    }
    let error = open(&repo, Role::Own).unwrap_err();
    assert!(error.message().contains("dubious ownership"), "{error}");
    assert_eq!(
        error.hint().unwrap(),
        format!(
            "git config --global --add safe.directory {}",
            repo.display()
        )
    );
    assert!(open(&repo, Role::Foreign).is_err());
}

/// E04
#[test]
fn replaced_objects_are_read_as_they_are() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let other = scratch.commits(&repo, 1).remove(0);
    let head = scratch.git(&repo, &["rev-parse", "HEAD"]);
    scratch.git(&repo, &["replace", &head, &other.to_string()]);
    for value in ["true", "false"] {
        scratch.git(&repo, &["config", "core.useReplaceRefs", value]);
        let opened = open(&repo, Role::Own).unwrap();
        let commit = opened.head_commit().unwrap();
        assert_eq!(
            commit.message_raw().unwrap(),
            "one\n",
            "useReplaceRefs={value}"
        );
    }
}

/// E53: a configuration with a secret on a broken line is not quoted.
#[test]
fn a_broken_configuration_is_not_quoted() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    std::fs::write(repo.join(".git/config"), "[core]\n\tx = \"hunter2\n[[[\n").unwrap();
    let error = open(&repo, Role::Own).unwrap_err();
    assert!(
        !error.one_line().contains("hunter2"),
        "{}",
        error.one_line()
    );
    assert!(error.hint().is_some());
}

#[test]
fn sha256_and_git_files_open() {
    let scratch = Scratch::new();
    let path = scratch.path("s");
    std::fs::create_dir(&path).unwrap();
    scratch.git(&path, &["init", "-q", "--object-format=sha256"]);
    assert_eq!(
        open(&path, Role::Own).unwrap().object_hash(),
        gix::hash::Kind::Sha256
    );
    let path = scratch.path("t");
    std::fs::create_dir(&path).unwrap();
    let elsewhere = scratch.path("elsewhere");
    scratch.git(
        &path,
        &[
            "init",
            "-q",
            &format!("--separate-git-dir={}", elsewhere.display()),
        ],
    );
    let opened = open(&path, Role::Own).unwrap();
    assert_eq!(opened.common_dir(), elsewhere);
    assert_eq!(opened.workdir().unwrap(), path);
}
