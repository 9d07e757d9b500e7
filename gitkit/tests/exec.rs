//! Finding and running git.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use tether_gitkit::exec::{Git, run};

use crate::fixture::Scratch;

#[test]
fn an_old_git_is_refused_by_number_and_a_missing_one_by_who_named_it() {
    let scratch = Scratch::new();
    let old = scratch.path("git");
    std::fs::write(&old, "#!/bin/sh\necho git version 2.9.5\n").unwrap();
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = Git::find(Some(&old)).unwrap_err();
    assert!(error.message().contains("is 2.9"), "{error}");
    let error = Git::find(Some(Path::new("/nowhere/git"))).unwrap_err();
    assert!(error.message().contains("git_path"), "{error}");
    assert!(error.hint().is_some());
}

/// P024: versions are compared as numbers, and below 2.38 is refused.
#[test]
fn versions_are_compared_by_number() {
    for (banner, accepted) in [
        ("git version 2.37.9", false),
        ("git version 2.9.5", false),
        ("git version 1.99.0", false),
        ("git version 2.38", true),
        ("git version 2.38.0", true),
        ("git version 2.45.2.windows.1", true),
        ("git version 2.100.1", true),
        ("git version 3.0.0", true),
        ("git version 2.39.5 (Apple Git-154)", true),
    ] {
        let scratch = Scratch::new();
        let shim = scratch.path("git");
        std::fs::write(&shim, format!("#!/bin/sh\necho '{banner}'\n")).unwrap();
        std::fs::set_permissions(&shim, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(Git::find(Some(&shim)).is_ok(), accepted, "{banner}");
    }
}

/// E51
#[test]
fn a_foreign_command_runs_neither_hooks_nor_fsmonitor() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let ran = scratch.path("RAN");
    let evil = scratch.path("evil");
    std::fs::write(&evil, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
    std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).unwrap();
    scratch.git(&repo, &["config", "core.fsmonitor", evil.to_str().unwrap()]);
    std::fs::create_dir_all(repo.join(".git/hooks")).unwrap();
    std::fs::copy(&evil, repo.join(".git/hooks/post-checkout")).unwrap();
    let git = Git::find(None).unwrap();
    let mut command = git.foreign(&repo);
    command.args(["checkout", "-q", "-b", "other"]);
    assert!(run(command, b"", Duration::from_secs(30)).unwrap().success);
    let mut command = git.foreign(&repo);
    command.arg("status");
    assert!(run(command, b"", Duration::from_secs(30)).unwrap().success);
    assert!(!ran.exists());
    let mut command = git.command(&repo);
    command.args(["checkout", "-q", "main"]);
    assert!(run(command, b"", Duration::from_secs(30)).unwrap().success);
    assert!(ran.exists(), "the fixture's hook must be able to run");
}
