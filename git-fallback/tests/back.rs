//! Taking dataset commits back.

use tether_engine::ErrorKind;
use tether_engine::id::{CommitId, OpId, ViewId, WorkspaceId};
use tether_engine::oplog::Operation;
use tether_engine::vcs::{UncommitRequest, Vcs};
use tether_engine::{Error, Result};

use crate::fixture::{MANIFEST, Repo, Scratch, bookmark};

const LISTING: &str = ".tether/listings/0123.jsonl";
const OTHER: &str = ".tether/objects/b.toml";

fn operation() -> Operation {
    Operation {
        id: OpId::random().unwrap(),
        previous: None,
        at: String::new(),
        command: "undo".to_owned(),
        workspace: WorkspaceId::random().unwrap(),
        view: "0".repeat(ViewId::DIGITS).parse().unwrap(),
        plan: None,
        result: serde_json::Value::Null,
        pre: serde_json::Value::Null,
        commit: None,
        undoes: None,
        step_of: None,
        progress: Vec::new(),
    }
}

fn request(commit: &CommitId) -> UncommitRequest {
    UncommitRequest {
        commit: commit.clone(),
        bookmark: bookmark("main"),
    }
}

fn check(repo: &Repo<'_>, commit: &CommitId) -> Result<()> {
    repo.vcs().check_can_uncommit(&request(commit))
}

fn uncommit(repo: &Repo<'_>, commit: &CommitId) -> Result<()> {
    check(repo, commit)?;
    repo.vcs().uncommit(&request(commit), &operation())
}

fn staged(repo: &Repo<'_>) -> String {
    repo.git(&["diff", "--cached", "--name-status"])
}

/// Both must say the same, and nothing may change.
fn refused(repo: &Repo<'_>, commit: &CommitId, word: &str) -> Error {
    let head = repo.git(&["rev-parse", "HEAD"]);
    let status = repo.status();
    let error = check(repo, commit).unwrap_err();
    assert!(error.message().contains(word), "{error}");
    assert!(error.hint().is_some(), "{error}");
    repo.vcs()
        .uncommit(&request(commit), &operation())
        .unwrap_err();
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(repo.status(), status);
    error
}

/// Surprise 38: what a commit changed, added and removed are edits again, and none of it is staged.
#[test]
fn the_branch_goes_back_and_nothing_stays_staged() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    repo.commit("b", &[(OTHER, Some("b\n"))]).unwrap();
    let before = repo.rev("HEAD");
    let files = [
        (MANIFEST, Some("new\n")),
        (LISTING, Some("{}\n")),
        (OTHER, None),
    ];
    let commit = repo.commit("three", &files).unwrap();
    assert_eq!(repo.status(), "");
    uncommit(&repo, &commit).unwrap();
    assert_eq!(repo.rev("main"), before);
    assert_eq!(repo.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(staged(&repo), "");
    assert_eq!(
        repo.git(&["status", "--porcelain", "--untracked-files=all"]),
        format!(" M {MANIFEST}\n D {OTHER}\n?? {LISTING}")
    );
    assert_eq!(std::fs::read(repo.path.join(MANIFEST)).unwrap(), b"new\n");
    // The next commit of anything else takes nothing of it along.
    repo.write("file", "theirs\n");
    repo.git(&["commit", "-q", "-m", "theirs", "file"]);
    assert_eq!(
        repo.git(&["show", "--format=", "--name-only", "HEAD"]),
        "file"
    );
    let reflog = repo.git(&["reflog", "-2", "--format=%gs"]);
    assert!(reflog.contains("tether undo "), "{reflog}");
    repo.assert_sound();
}

#[test]
fn the_first_commit_leaves_an_unborn_branch() {
    let scratch = Scratch::new();
    let repo = scratch.empty("r", &[]);
    repo.write("mine", "x\n");
    repo.git(&["add", "mine"]);
    let commit = repo
        .commit(
            "first",
            &[("tether.toml", Some("t\n")), (MANIFEST, Some("a\n"))],
        )
        .unwrap();
    uncommit(&repo, &commit).unwrap();
    assert_eq!(repo.vcs().position().unwrap().head, None);
    assert_eq!(repo.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(
        repo.git(&["status", "--porcelain", "--untracked-files=all"]),
        format!("A  mine\n?? {MANIFEST}\n?? tether.toml")
    );
    // And it can be made again.
    let again = repo
        .commit(
            "first",
            &[("tether.toml", Some("t\n")), (MANIFEST, Some("a\n"))],
        )
        .unwrap();
    assert_eq!(repo.rev("main"), again);
    repo.assert_sound();
}

/// What the user staged or edited stays as it is, also in the commit's files.
#[test]
fn a_dirty_index_and_a_dirty_tree_stay_the_users() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let commit = repo
        .commit("two", &[(MANIFEST, Some("new\n")), (OTHER, Some("b\n"))])
        .unwrap();
    repo.write("file", "edited\n");
    repo.write("added", "x\n");
    repo.git(&["add", "added"]);
    repo.write(OTHER, "staged\n");
    repo.git(&["add", OTHER]);
    repo.write(OTHER, "edited\n");
    repo.git(&["update-index", "--assume-unchanged", MANIFEST]);
    uncommit(&repo, &commit).unwrap();
    assert_eq!(staged(&repo), format!("A\t{OTHER}\nA\tadded"));
    assert_eq!(repo.git(&["show", &format!(":{OTHER}")]), "staged");
    assert_eq!(std::fs::read(repo.path.join(OTHER)).unwrap(), b"edited\n");
    assert_eq!(repo.git(&["show", &format!(":{MANIFEST}")]), "first");
    assert_eq!(
        repo.git(&["ls-files", "-v", MANIFEST]),
        format!("h {MANIFEST}")
    );
    repo.assert_sound();
}

/// The parent's modes come back as they were.
#[test]
fn executables_and_links_of_the_parent_come_back() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    repo.git(&["update-index", "--chmod=+x", MANIFEST]);
    std::os::unix::fs::symlink("elsewhere", repo.path.join(OTHER)).unwrap();
    repo.git(&["add", OTHER]);
    repo.git(&["commit", "-q", "-m", "odd"]);
    let before = repo.git(&["ls-files", "-s"]);
    std::fs::remove_file(repo.path.join(OTHER)).unwrap();
    let commit = repo
        .commit("plain", &[(MANIFEST, Some("new\n")), (OTHER, Some("b\n"))])
        .unwrap();
    assert_ne!(repo.git(&["ls-files", "-s"]), before);
    uncommit(&repo, &commit).unwrap();
    assert_eq!(repo.git(&["ls-files", "-s"]), before);
    repo.assert_sound();
}

#[test]
fn a_commit_that_is_not_the_head_is_refused() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let commit = repo.commit("one", &[(MANIFEST, Some("new\n"))]).unwrap();
    let error = |word: &str| refused(&repo, &commit, word);

    repo.advance("on top");
    assert!(error("on top of").hint().unwrap().contains("git revert"));
    repo.git(&["reset", "-q", "--hard", "HEAD~"]);
    check(&repo, &commit).unwrap();

    repo.git(&["checkout", "-q", "-b", "side"]);
    assert!(
        error("HEAD is on side")
            .hint()
            .unwrap()
            .contains("git switch main")
    );
    repo.git(&["checkout", "-q", "--detach"]);
    error("HEAD is on no branch");
    repo.git(&["checkout", "-q", "main"]);

    repo.git(&["commit", "-q", "--amend", "-m", "amended"]);
    error("not on main any more");
    repo.git(&["reset", "-q", "--hard", commit.as_str()]);
    check(&repo, &commit).unwrap();
}

#[test]
fn an_operation_in_progress_a_conflict_or_a_sparse_checkout_is_refused() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    repo.write(MANIFEST, "stashed\n");
    repo.git(&["stash"]);
    let commit = repo.commit("one", &[(MANIFEST, Some("new\n"))]).unwrap();

    repo.git(&["bisect", "start"]);
    refused(&repo, &commit, "a bisection");
    repo.git(&["bisect", "reset"]);

    scratch.try_git(&repo.path, &["stash", "pop"]);
    refused(&repo, &commit, "unresolved conflict");
    repo.git(&["reset", "-q", "--hard"]);

    repo.git(&["update-index", "--skip-worktree", MANIFEST]);
    refused(&repo, &commit, "sparse");
    repo.git(&["update-index", "--no-skip-worktree", MANIFEST]);
    check(&repo, &commit).unwrap();

    let error = check(&repo, &CommitId::new("0".repeat(40))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Vcs);
}

/// A run that was killed between the branch and the index is completed by the next one.
#[test]
fn it_is_completed_when_only_the_branch_went_back() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let commit = repo
        .commit("two", &[(MANIFEST, Some("new\n")), (OTHER, Some("b\n"))])
        .unwrap();
    repo.git(&["reset", "-q", "--soft", "HEAD~"]);
    assert_ne!(staged(&repo), "");
    repo.vcs()
        .uncommit(&request(&commit), &operation())
        .unwrap();
    assert_eq!(staged(&repo), "");
    repo.vcs()
        .uncommit(&request(&commit), &operation())
        .unwrap();
    assert_eq!(repo.git(&["log", "--format=%s"]), "one");
    repo.assert_sound();
}

#[test]
fn no_hook_runs() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let commit = repo.commit("one", &[(MANIFEST, Some("new\n"))]).unwrap();
    for hook in [
        "pre-commit",
        "post-commit",
        "reference-transaction",
        "post-index-change",
        "post-checkout",
    ] {
        repo.hook(hook, "echo ran >> ran; exit 1");
    }
    uncommit(&repo, &commit).unwrap();
    assert!(!repo.path.join("ran").exists());
}

/// A held index lock refuses before the branch moves.
#[test]
fn a_held_index_leaves_the_branch_where_it_is() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let commit = repo.commit("one", &[(MANIFEST, Some("new\n"))]).unwrap();
    let lock = repo.path.join(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    let error = uncommit(&repo, &commit).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
    std::fs::remove_file(&lock).unwrap();
    assert_eq!(repo.rev("main"), commit);
    uncommit(&repo, &commit).unwrap();
}

/// Commits of git at the same time: each stands, or the undo happened before it; none is lost.
#[test]
fn a_commit_of_git_at_the_same_time_is_never_lost() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    for n in 0..20 {
        let commit = repo
            .commit("ours", &[(MANIFEST, Some(&format!("{n}\n")))])
            .unwrap();
        repo.write("file", &format!("{n}\n"));
        let taken_back = std::thread::scope(|scope| {
            let git = scope.spawn(|| {
                let args = ["commit", "-q", "-m", "theirs", "--", "file"];
                scratch.try_git(&repo.path, &args).status.success()
            });
            let undo = uncommit(&repo, &commit);
            if git.join().unwrap() {
                assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "theirs");
                assert_eq!(repo.git(&["show", "HEAD:file"]), n.to_string());
            }
            undo.is_ok()
        });
        let log = repo.git(&["log", "--format=%H"]);
        assert_eq!(!log.contains(commit.as_str()), taken_back, "{n}");
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-q", "--allow-empty", "-m", "round"]);
    }
    repo.assert_sound();
}
