//! Other git processes at the same time.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use tether_engine::ErrorKind;
use tether_engine::vcs::Vcs;

use crate::fixture::{MANIFEST, Scratch};

#[test]
fn a_held_index_is_waited_for_and_then_named() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let lock = repo.path.join(".git/index.lock");
    let head = repo.rev("HEAD");
    std::fs::write(&lock, "").unwrap();
    let begin = Instant::now();
    let error = repo.commit("x", &[(MANIFEST, Some("new\n"))]).unwrap_err();
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!(error.kind(), ErrorKind::Locked);
    assert!(error.message().contains(lock.to_str().unwrap()), "{error}");
    assert!(error.hint().unwrap().contains("rm "), "{error:?}");
    assert!(lock.exists());
    assert_eq!(repo.rev("HEAD"), head);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            std::fs::remove_file(&lock).unwrap();
        });
        repo.commit("x", &[(MANIFEST, Some("new\n"))]).unwrap();
    });
    repo.assert_sound();
}

/// A `git commit` while a dataset commit is prepared makes that one stale, and loses nothing.
#[test]
fn a_git_commit_meanwhile_lands_whole_and_makes_ours_stale() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    repo.write("file", "theirs\n");
    repo.git(&["add", "file"]);
    repo.write(MANIFEST, "ours\n");
    let request = repo.request("ours", &[(MANIFEST, Some("ours\n"))]);
    let error = repo
        .vcs()
        .commit(&request, &mut |_| {
            repo.git(&["commit", "-q", "-m", "theirs"]);
            Ok(None)
        })
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StalePlan);
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "theirs");
    assert_eq!(repo.git(&["show", "HEAD:file"]), "theirs");
    assert!(repo.status().ends_with(MANIFEST), "{}", repo.status());
    repo.assert_sound();
}

/// Plain commits of another file and dataset commits at the same time: each lands whole or says that it did not.
#[test]
fn commits_of_git_and_of_tether_interleave_without_loss() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let start = repo.rev("HEAD");
    let (mut theirs, mut ours) = (0, 0);
    std::thread::scope(|scope| {
        let git = scope.spawn(|| {
            let mut landed = 0;
            for n in 0..25 {
                repo.write("file", &format!("{n}\n"));
                let done =
                    scratch.try_git(&repo.path, &["commit", "-q", "-m", "theirs", "--", "file"]);
                landed += usize::from(done.status.success());
            }
            landed
        });
        for n in 0..25 {
            match repo.commit("ours", &[(MANIFEST, Some(&format!("{n}\n")))]) {
                Ok(_) => ours += 1,
                Err(error) => assert!(
                    matches!(error.kind(), ErrorKind::StalePlan | ErrorKind::Locked),
                    "{error:?}"
                ),
            }
        }
        theirs = git.join().unwrap();
    });
    let log = repo.git(&[
        "log",
        "--format=%s",
        "--name-only",
        &format!("{start}..HEAD"),
    ]);
    let count = |what: &str| log.lines().filter(|line| *line == what).count();
    assert_eq!((count("ours"), count("theirs")), (ours, theirs), "{log}");
    assert_eq!(
        (count(MANIFEST), count("file")),
        (ours, theirs),
        "each holds its own file alone"
    );
    repo.assert_sound();
}

/// The branch moved by something that does not lock the index (a push into it, `git update-ref`).
#[test]
fn a_branch_that_moves_under_the_commit_is_a_stale_plan() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let other = repo.git(&["commit-tree", "-p", "HEAD", "-m", "pushed", "HEAD^{tree}"]);
    repo.write(MANIFEST, "ours\n");
    let status = repo.status();
    let request = repo.request("ours", &[(MANIFEST, Some("ours\n"))]);
    let error = repo
        .vcs()
        .commit(&request, &mut |_| {
            repo.git(&["update-ref", "refs/heads/main", &other]);
            Ok(None)
        })
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StalePlan);
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), other);
    assert_eq!(repo.status(), status, "nothing is staged");
    assert_eq!(repo.vcs().find_landed(&request).unwrap(), None);

    // The same while a hook runs: git itself notices, and where it would not, its commit is taken back.
    let repo = scratch.repo("h");
    let other = repo.git(&["commit-tree", "-p", "HEAD", "-m", "pushed", "HEAD^{tree}"]);
    repo.hook(
        "pre-commit",
        &format!("git update-ref refs/heads/main {other}"),
    );
    repo.write(MANIFEST, "ours\n");
    let request = repo.request("ours", &[(MANIFEST, Some("ours\n"))]);
    assert!(repo.vcs().commit(&request, &mut |_| Ok(None)).is_err());
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), other);
    repo.assert_sound();
}

/// `git commit` reads HEAD after tether did; a branch moved in between would lose the other's change.
#[test]
fn a_hooked_commit_on_a_moved_branch_is_taken_back() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    repo.hook("pre-commit", "true");
    // Stands for the move in between: a git that moves the branch before it does what it was asked.
    let tree = "file\n";
    repo.write("moved", tree);
    let index = scratch.path("index");
    let mut other = scratch.command("git", &repo.path);
    other.env("GIT_INDEX_FILE", &index).args(["add", "-A"]);
    assert!(other.status().unwrap().success());
    let mut other = scratch.command("git", &repo.path);
    let written = other
        .env("GIT_INDEX_FILE", &index)
        .arg("write-tree")
        .output()
        .unwrap();
    let written = String::from_utf8(written.stdout).unwrap();
    let pushed = repo.git(&["commit-tree", "-p", "HEAD", "-m", "pushed", written.trim()]);
    let script = scratch.path("git-moves");
    crate::fixture::executable(
        &script,
        &format!(
            "#!/bin/sh\ncase \"$*\" in *commit*) git update-ref refs/heads/main {pushed};; esac\nexec git \"$@\"\n"
        ),
    );
    repo.write(MANIFEST, "ours\n");
    let request = repo.request("ours", &[(MANIFEST, Some("ours\n"))]);
    let vcs = tether_git_fallback::GitVcs::open(&repo.path, Some(script)).unwrap();
    let error = vcs.commit(&request, &mut |_| Ok(None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StalePlan, "{error}");
    assert_eq!(
        repo.git(&["rev-parse", "HEAD"]),
        pushed,
        "the pushed commit stands"
    );
    assert_eq!(
        repo.git(&["ls-tree", "--name-only", "HEAD", "moved"]),
        "moved"
    );
}

#[test]
fn of_racing_commits_of_one_plan_one_lands() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    for packed in [false, true] {
        if packed {
            repo.git(&["pack-refs", "--all"]);
        }
        let head = repo.rev("HEAD");
        let request = repo.request("ours", &[(MANIFEST, Some(&format!("{packed}\n")))]);
        let barrier = Barrier::new(8);
        let landed: Vec<_> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..8)
                .map(|n| {
                    let (repo, barrier, mut request) = (&repo, &barrier, request.clone());
                    request.message = format!("ours {n}");
                    scope.spawn(move || {
                        let vcs = repo.vcs();
                        barrier.wait();
                        vcs.commit(&request, &mut |_| Ok(None))
                    })
                })
                .collect();
            handles
                .into_iter()
                .map(|handle| handle.join().unwrap())
                .collect()
        });
        let won: Vec<_> = landed
            .iter()
            .filter_map(|result| result.as_ref().ok())
            .collect();
        assert_eq!(won.len(), 1, "{landed:?}");
        for error in landed.iter().filter_map(|result| result.as_ref().err()) {
            assert!(
                matches!(error.kind(), ErrorKind::StalePlan | ErrorKind::Locked),
                "{error:?}"
            );
        }
        assert_eq!(repo.rev("HEAD"), *won[0]);
        assert_eq!(repo.rev("HEAD~1"), head);
    }
    repo.assert_sound();
}
