//! Stores that tether makes and removes.

use std::path::Path;

use tether_backend_git::EMPTY_ROOT_SHA;
use tether_engine::ErrorKind;
use tether_engine::backend::{Backend, Expected, Store};
use tether_engine::state::Locator;

use crate::git::{Fixture, commit, dataset, git, native, pin_id, source, store, value};

fn made(fx: &Fixture) -> Store {
    store(Locator::default().with("uri", fx.root.join("made/deep").to_str().unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_created_store_is_an_ordinary_repository_with_the_fixed_root() {
    let fx = Fixture::new();
    let store = made(&fx);
    let state = fx.backend.create(&store, &dataset()).await.unwrap();
    assert_eq!(state.str("sha"), Some(EMPTY_ROOT_SHA));
    let dir = fx.root.join("made/deep");
    assert_eq!(git(&dir, &["rev-parse", "HEAD"]), EMPTY_ROOT_SHA);
    assert_eq!(git(&dir, &["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(git(&dir, &["config", "tether.owner"]), "0a1b2c3d");
    assert_eq!(git(&dir, &["fsck", "--strict"]), "");
    assert_eq!(git(&dir, &["status", "--porcelain", "--ignored"]), "");
    assert_eq!(
        git(&dir, &["log", "-1", "--format=%an|%ae|%at|%s|%T"]),
        "tether|tether@localhost|946684800|tether: created store|4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    );
    assert_eq!(fx.backend.fingerprint(&store, None).await.unwrap(), state);
    assert_eq!(fx.backend.owner(&store).await.unwrap(), Some(dataset()));
    assert_eq!(
        fx.backend.is_ref_empty(&store, &[]).await.unwrap(),
        Some(true)
    );
    let mode = std::os::unix::fs::PermissionsExt::mode(&dir.metadata().unwrap().permissions());
    let parent = std::os::unix::fs::PermissionsExt::mode(
        &dir.parent().unwrap().metadata().unwrap().permissions(),
    );
    assert_eq!(mode, parent);
    assert_eq!(std::fs::read_dir(dir.parent().unwrap()).unwrap().count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn create_adopts_nothing_and_takes_the_branch_from_ref() {
    let fx = Fixture::new();
    for name in ["dir", "file", "link", "dangling"] {
        let path = fx.root.join(name);
        match name {
            "dir" => std::fs::create_dir(&path).unwrap(),
            "file" => std::fs::write(&path, "").unwrap(),
            "link" => std::os::unix::fs::symlink(&fx.code, &path).unwrap(),
            _ => std::os::unix::fs::symlink("nowhere", &path).unwrap(),
        }
        let taken = store(Locator::default().with("path", path.to_str().unwrap()));
        let error = fx.backend.create(&taken, &dataset()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::User, "{name}");
        assert!(error.message().contains("exists already"), "{error}");
    }
    assert_eq!(fx.backend.owner(&fx.store()).await.unwrap(), None);
    let mut store = made(&fx);
    store.locator = store.locator.with("ref", "trunk");
    fx.backend.create(&store, &dataset()).await.unwrap();
    assert_eq!(
        git(
            &fx.root.join("made/deep"),
            &["symbolic-ref", "--short", "HEAD"]
        ),
        "trunk"
    );
    assert_eq!(
        fx.backend.base_ref(&store).await.unwrap(),
        Some(native("trunk"))
    );
    for (field, text) in [("ref", "a.lock"), ("ref", "refs/tags/x"), ("at", "v1")] {
        let mut other =
            crate::git::store(Locator::default().with("path", fx.root.join("n").to_str().unwrap()));
        other.locator = other.locator.with(field, text);
        let result = fx.backend.create(&other, &dataset()).await;
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Config, "{text}");
        assert!(!fx.root.join("n").exists());
    }
}

fn put(what: &str, dir: &Path) {
    let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).unwrap();
    let remove = |name: &str| std::fs::remove_file(dir.join(name)).unwrap();
    let run = |args: &[&str]| drop(git(dir, args));
    match what {
        "an untracked file" => write("f", ""),
        "an ignored file" => {
            write(".git/info/exclude", "f\n");
            write("f", "");
        }
        "an empty directory" => std::fs::create_dir(dir.join("d")).unwrap(),
        "a staged file" => {
            write("f", "");
            run(&["add", "f"]);
            remove("f");
        }
        "a commit" => {
            commit(dir, "f", "x");
            remove("f");
        }
        "a branch" => run(&["branch", "x"]),
        "a tag" => run(&["tag", "x"]),
        "a stash" => run(&["update-ref", "refs/stash", "HEAD"]),
        "a note" => run(&["notes", "add", "-m", "x"]),
        "a detached head" => run(&["checkout", "-q", "--detach"]),
        "a worktree" => run(&["worktree", "add", "-q", "--detach", "../tree"]),
        "a hook" => {
            std::fs::create_dir_all(dir.join(".git/hooks")).unwrap();
            write(".git/hooks/pre-push", "");
        }
        other => panic!("no such thing: {other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_in_a_store_keeps_it() {
    let fx = Fixture::new();
    let store = made(&fx);
    let dir = fx.root.join("made/deep");
    for what in [
        "an untracked file",
        "an ignored file",
        "an empty directory",
        "a staged file",
        "a commit",
        "a branch",
        "a tag",
        "a stash",
        "a note",
        "a detached head",
        "a worktree",
        "a hook",
    ] {
        fx.backend.create(&store, &dataset()).await.unwrap();
        put(what, &dir);
        assert_eq!(
            fx.backend.is_ref_empty(&store, &[]).await.unwrap(),
            Some(false),
            "{what}"
        );
        fx.backend
            .delete_store(&store, &dataset())
            .await
            .unwrap_err();
        assert!(dir.join(".git/HEAD").exists(), "{what}");
        std::fs::remove_dir_all(fx.root.join("made")).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refs_that_are_about_to_be_deleted_do_not_keep_a_store() {
    let fx = Fixture::new();
    let store = made(&fx);
    let state = fx.backend.create(&store, &dataset()).await.unwrap();
    let pin = value(
        fx.backend
            .pin(&store, &state, &pin_id(&state))
            .await
            .unwrap(),
    );
    let work = native("tether.ws.0a1b2c3d.f");
    value(
        fx.backend
            .fork(&store, &source(EMPTY_ROOT_SHA), &work, &Expected::Any)
            .await
            .unwrap(),
    );
    let empty = |ignoring: Vec<_>| {
        let (backend, store) = (fx.backend.clone(), store.clone());
        async move { backend.is_ref_empty(&store, &ignoring).await.unwrap() }
    };
    assert_eq!(empty(vec![]).await, Some(false));
    assert_eq!(empty(vec![work.clone()]).await, Some(false));
    assert_eq!(
        empty(vec![work.clone(), pin.native.clone()]).await,
        Some(true)
    );
    fx.backend
        .delete_store(&store, &dataset())
        .await
        .unwrap_err();
    fx.backend.unpin(&store, &pin).await.unwrap();
    value(
        fx.backend
            .delete_working_ref(&store, &work, &Expected::Any)
            .await
            .unwrap(),
    );
    let other = "ffffffff".parse().unwrap();
    let error = fx.backend.delete_store(&store, &other).await.unwrap_err();
    assert!(
        error
            .message()
            .contains("not a store that dataset ffffffff made"),
        "{error}"
    );
    fx.backend.delete_store(&store, &dataset()).await.unwrap();
    assert!(!fx.root.join("made/deep").exists());
    assert_eq!(fx.backend.owner(&store).await.unwrap(), None);
    // The reply may have been lost: gone already is success.
    fx.backend.delete_store(&store, &dataset()).await.unwrap();
    fx.backend.create(&store, &dataset()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_removal_is_finished_by_the_next() {
    let fx = Fixture::new();
    let store = made(&fx);
    fx.backend.create(&store, &dataset()).await.unwrap();
    let dir = fx.root.join("made/deep");
    std::fs::rename(dir.join(".git"), dir.join(".tether-deleted")).unwrap();
    fx.backend
        .delete_store(&store, &"ffffffff".parse().unwrap())
        .await
        .unwrap_err();
    assert!(dir.join(".tether-deleted").exists());
    fx.backend.delete_store(&store, &dataset()).await.unwrap();
    assert!(!dir.exists());
}

/// As the Python package makes one: `git init`, then the root commit, then the marker.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_made_with_git_itself_is_as_empty() {
    let fx = Fixture::new();
    let ours = made(&fx);
    fx.backend.create(&ours, &dataset()).await.unwrap();
    let dir = fx.root.join("theirs");
    std::fs::create_dir(&dir).unwrap();
    git(&dir, &["init", "-q", "-b", "main"]);
    let from = fx.root.join("made/deep");
    git(&dir, &["fetch", "-q", from.to_str().unwrap(), "main"]);
    git(&dir, &["reset", "-q", "--hard", EMPTY_ROOT_SHA]);
    git(&dir, &["config", "tether.owner", "0a1b2c3d"]);
    let store = store(Locator::default().with("path", dir.to_str().unwrap()));
    assert_eq!(fx.backend.owner(&store).await.unwrap(), Some(dataset()));
    assert_eq!(
        fx.backend.is_ref_empty(&store, &[]).await.unwrap(),
        Some(true)
    );
    fx.backend.delete_store(&store, &dataset()).await.unwrap();
    assert!(!dir.exists());
}

/// The marker is the whole basis of a deletion: a repository of the user's is never one.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_tether_did_not_make_is_never_deleted() {
    let fx = Fixture::new();
    let error = fx
        .backend
        .delete_store(&fx.store(), &dataset())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    // A global setting is no marker, and neither is an included file.
    std::fs::write(fx.root.join("inc"), "[tether]\n\towner = 0a1b2c3d\n").unwrap();
    fx.git(&[
        "config",
        "include.path",
        fx.root.join("inc").to_str().unwrap(),
    ]);
    assert_eq!(fx.backend.owner(&fx.store()).await.unwrap(), None);
    fx.backend
        .delete_store(&fx.store(), &dataset())
        .await
        .unwrap_err();
    assert!(fx.sha("main").is_some());
}
