//! Forks, deletions, fast-forwards and merges.

use std::sync::Arc;

use tether_engine::ErrorKind;
use tether_engine::backend::{Backend, Effect, Expected, Merge, Move, Source};
use tether_engine::state::Locator;

use crate::git::{Fixture, commit, commit_on, effect, native, observed, source, state, value};

const WORK: &str = "tether.ws.0a1b2c3d.f";

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_is_made_found_moved_and_refused_by_what_is_expected() {
    let fx = Fixture::new();
    let (store, name) = (fx.store(), native(WORK));
    let one = fx.sha("main").unwrap();
    let fork = |sha: String, expected: Expected| {
        let (backend, store, name) = (fx.backend.clone(), store.clone(), name.clone());
        async move {
            backend
                .fork(&store, &source(&sha), &name, &expected)
                .await
                .unwrap()
        }
    };
    let made = fork(one.clone(), Expected::Absent).await;
    assert_eq!(effect(&made), Effect::Created);
    assert_eq!(value(made), name);
    assert_eq!(fx.sha(WORK), Some(one.clone()));
    assert_eq!(
        observed(&fork(one.clone(), Expected::Absent).await),
        Some(one.clone())
    );
    assert_eq!(
        effect(&fork(one.clone(), Expected::Any).await),
        Effect::Found
    );

    let two = fx.commit("b", "two\n");
    let at_one = Expected::At(state(&one));
    assert_eq!(
        effect(&fork(two.clone(), at_one.clone()).await),
        Effect::Changed
    );
    assert_eq!(
        effect(&fork(two.clone(), at_one.clone()).await),
        Effect::Found
    );
    let three = fx.commit("c", "three\n");
    assert_eq!(
        observed(&fork(three.clone(), at_one).await),
        Some(two.clone())
    );
    assert_eq!(
        observed(&fork(three.clone(), Expected::Absent).await),
        Some(two.clone())
    );
    assert_eq!(fx.sha(WORK), Some(two));
    assert_eq!(
        effect(&fork(three.clone(), Expected::Any).await),
        Effect::Changed
    );
    assert_eq!(fx.sha(WORK), Some(three));
}

/// E17
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn of_eight_racing_forks_exactly_one_wins_loose_and_packed() {
    let fx = Fixture::new();
    let base = fx.sha("main").unwrap();
    let targets: Vec<String> = (0..8)
        .map(|n| commit_on(&fx.code, &base, &format!("f{n}"), "x\n"))
        .collect();
    let name = native(WORK);
    for round in 0..20 {
        fx.git(&["update-ref", &format!("refs/heads/{WORK}"), &base]);
        if round % 2 == 1 {
            fx.git(&["pack-refs", "--all"]);
        }
        let start = Arc::new(tokio::sync::Barrier::new(targets.len()));
        let mut racers = tokio::task::JoinSet::new();
        for target in targets.clone() {
            let (backend, store, name) = (fx.backend.clone(), fx.store(), name.clone());
            let (start, expected) = (Arc::clone(&start), Expected::At(state(&base)));
            racers.spawn(async move {
                start.wait().await;
                let answer = backend
                    .fork(&store, &source(&target), &name, &expected)
                    .await;
                (target, answer.unwrap())
            });
        }
        let mut winners = Vec::new();
        while let Some(answer) = racers.join_next().await {
            if let (
                target,
                Move::Done {
                    effect: Effect::Changed,
                    ..
                },
            ) = answer.unwrap()
            {
                winners.push(target);
            }
        }
        assert_eq!(winners.len(), 1, "round {round}");
        assert_eq!(fx.sha(WORK).as_ref(), winners.first());
    }
}

/// P061
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_checked_out_in_a_worktree_is_neither_moved_nor_deleted() {
    let fx = Fixture::new();
    let (store, name, one) = (fx.store(), native(WORK), fx.sha("main").unwrap());
    value(
        fx.backend
            .fork(&store, &source(&one), &name, &Expected::Any)
            .await
            .unwrap(),
    );
    let tree = fx.root.join("tree");
    fx.git(&["worktree", "add", "-q", tree.to_str().unwrap(), WORK]);
    let two = fx.commit("b", "two\n");

    let error = fx
        .backend
        .fork(&store, &source(&two), &name, &Expected::Any)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(error.message().contains(tree.to_str().unwrap()), "{error}");
    let error = fx
        .backend
        .delete_working_ref(&store, &name, &Expected::Any)
        .await
        .unwrap_err();
    assert!(error.message().contains(tree.to_str().unwrap()), "{error}");
    let why = fx
        .backend
        .working_ref_blockers(&store, &name)
        .await
        .unwrap();
    assert_eq!(why, Some(format!("checked out in {}", tree.display())));
    assert_eq!(fx.sha(WORK), Some(one.clone()));
    // Where it should be already is no move.
    let found = fx
        .backend
        .fork(&store, &source(&one), &name, &Expected::Any)
        .await
        .unwrap();
    assert_eq!(effect(&found), Effect::Found);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_branch_takes_its_configuration_along_and_no_other() {
    let fx = Fixture::new();
    let (store, name, one) = (fx.store(), native(WORK), fx.sha("main").unwrap());
    value(
        fx.backend
            .fork(&store, &source(&one), &name, &Expected::Any)
            .await
            .unwrap(),
    );
    fx.git(&["config", &format!("branch.{WORK}.remote"), "origin"]);
    fx.git(&["config", &format!("branch.{WORK}.merge"), "refs/heads/x"]);
    fx.git(&["config", "branch.main.remote", "origin"]);
    assert_eq!(
        fx.backend.list_working_refs(&store).await.unwrap(),
        std::slice::from_ref(&name)
    );

    let two = fx.commit("b", "two\n");
    let stale = Expected::At(state(&two));
    let moved = fx
        .backend
        .delete_working_ref(&store, &name, &stale)
        .await
        .unwrap();
    assert_eq!(observed(&moved), Some(one.clone()));
    let at = Expected::At(state(&one));
    let gone = fx
        .backend
        .delete_working_ref(&store, &name, &at)
        .await
        .unwrap();
    assert_eq!(effect(&gone), Effect::Changed);
    assert_eq!(fx.sha(WORK), None);
    let sections = fx.git(&["config", "--get-regexp", "^branch\\."]);
    assert_eq!(sections, "branch.main.remote origin");
    let again = fx
        .backend
        .delete_working_ref(&store, &name, &at)
        .await
        .unwrap();
    assert_eq!(effect(&again), Effect::Found);
    assert!(
        fx.backend
            .list_working_refs(&store)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_base_is_never_forked_over_or_deleted() {
    let fx = Fixture::new();
    let two = fx.commit("b", "two\n");
    fx.git(&["branch", "other", "HEAD~1"]);
    let main = native("main");
    let other = fx.sha("other").unwrap();
    for result in [
        fx.backend
            .fork(&fx.store(), &source(&other), &main, &Expected::Any)
            .await
            .map(drop),
        fx.backend
            .delete_working_ref(&fx.store(), &main, &Expected::Any)
            .await
            .map(drop),
    ] {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::User);
    }
    assert_eq!(fx.sha("main"), Some(two));
}

#[tokio::test(flavor = "multi_thread")]
async fn promote_onto_a_base_that_is_not_checked_out_moves_the_ref_alone() {
    let fx = Fixture::new();
    fx.git(&["switch", "-q", "-c", "dev"]);
    let store = fx.with("ref", "main");
    let one = fx.sha("main").unwrap();
    let two = commit_on(&fx.code, &one, "b", "two\n");
    let promote = |expected: Expected| {
        let (backend, store, two) = (fx.backend.clone(), store.clone(), two.clone());
        async move {
            backend
                .promote(&store, &source(&two), &expected)
                .await
                .unwrap()
        }
    };
    assert_eq!(
        observed(&promote(Expected::At(state(&"2".repeat(40)))).await),
        Some(one.clone())
    );
    let done = promote(Expected::At(state(&one))).await;
    assert_eq!(effect(&done), Effect::Changed);
    assert_eq!(value(done).str("sha"), Some(two.as_str()));
    assert_eq!(
        effect(&promote(Expected::At(state(&one))).await),
        Effect::Found
    );
    assert_eq!(fx.sha("main"), Some(two));
    assert_eq!(fx.sha("HEAD"), Some(one.clone()));
    assert_eq!(fx.git(&["status", "--porcelain"]), "");
    // A side branch is no fast-forward.
    let side = commit_on(&fx.code, &one, "s", "s\n");
    let error = fx
        .backend
        .promote(&store, &source(&side), &Expected::Any)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::User);
    assert!(
        error.hint().unwrap().contains("--strategy merge"),
        "{error:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn promote_onto_the_checked_out_base_moves_files_index_and_ref_together() {
    let fx = Fixture::new();
    let one = fx.sha("main").unwrap();
    let two = commit_on(&fx.code, &one, "b", "two\n");
    std::fs::write(fx.code.join("stray"), "mine").unwrap();
    let at_one = Expected::At(state(&one));
    let done = fx
        .backend
        .promote(&fx.store(), &source(&two), &at_one)
        .await
        .unwrap();
    assert_eq!(effect(&done), Effect::Changed);
    assert_eq!(fx.sha("main"), Some(two.clone()));
    assert_eq!(std::fs::read_to_string(fx.code.join("b")).unwrap(), "two\n");
    assert_eq!(fx.git(&["status", "--porcelain"]), "?? stray");
    assert_eq!(fx.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    let again = fx
        .backend
        .promote(&fx.store(), &source(&two), &at_one)
        .await
        .unwrap();
    assert_eq!(effect(&again), Effect::Found);
}

#[tokio::test(flavor = "multi_thread")]
async fn promote_onto_a_checked_out_base_refuses_what_would_be_lost() {
    let fx = Fixture::new();
    let one = fx.sha("main").unwrap();
    let two = commit_on(&fx.code, &one, "b", "two\n");
    let promote = async || {
        let store = fx.store();
        fx.backend
            .promote(&store, &source(&two), &Expected::Any)
            .await
    };
    // A changed file.
    std::fs::write(fx.code.join("a"), "edited\n").unwrap();
    let error = promote().await.unwrap_err();
    assert!(
        error.message().ends_with("with uncommitted changes: a"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("stash"), "{error:?}");
    fx.git(&["checkout", "-q", "a"]);
    // An untracked file in the way, and an ignored one.
    std::fs::write(fx.code.join("b"), "mine\n").unwrap();
    let error = promote().await.unwrap_err();
    assert!(
        error.message().ends_with("these files are in the way: b"),
        "{error}"
    );
    std::fs::write(fx.code.join(".git/info/exclude"), "b\n").unwrap();
    let error = promote().await.unwrap_err();
    assert!(
        error.message().ends_with("these files are in the way: b"),
        "{error}"
    );
    assert_eq!(
        std::fs::read_to_string(fx.code.join("b")).unwrap(),
        "mine\n"
    );
    std::fs::remove_file(fx.code.join("b")).unwrap();
    // Another worktree's branch.
    fx.git(&["switch", "-q", "-c", "dev"]);
    let tree = fx.root.join("tree");
    fx.git(&["worktree", "add", "-q", tree.to_str().unwrap(), "main"]);
    let other = fx.with("ref", "main");
    let error = fx
        .backend
        .promote(&other, &source(&two), &Expected::Any)
        .await
        .unwrap_err();
    assert!(error.message().contains(tree.to_str().unwrap()), "{error}");
    // An operation in progress.
    fx.git(&["worktree", "remove", tree.to_str().unwrap()]);
    fx.git(&["switch", "-q", "main"]);
    std::fs::write(fx.code.join(".git/MERGE_HEAD"), format!("{one}\n")).unwrap();
    let error = promote().await.unwrap_err();
    assert!(error.message().contains("another git operation"), "{error}");
    assert_eq!(fx.sha("main"), Some(one));
}

/// E17
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn of_eight_racing_promotes_onto_a_checked_out_base_exactly_one_lands() {
    let fx = Fixture::new();
    for round in 0..4 {
        let base = fx.sha("main").unwrap();
        let mut racers = tokio::task::JoinSet::new();
        for n in 0..8 {
            let target = commit_on(&fx.code, &base, &format!("r{round}-{n}"), "x\n");
            let (backend, store) = (fx.backend.clone(), fx.store());
            let expected = Expected::At(state(&base));
            racers.spawn(async move {
                let answer = backend.promote(&store, &source(&target), &expected).await;
                (target, answer.unwrap())
            });
        }
        let mut landed = Vec::new();
        while let Some(answer) = racers.join_next().await {
            if let (target, Move::Done { .. }) = answer.unwrap() {
                landed.push(target);
            }
        }
        assert_eq!(landed.len(), 1, "round {round}");
        assert_eq!(fx.sha("main").as_ref(), landed.first());
        assert_eq!(fx.git(&["status", "--porcelain"]), "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_index_lock_is_named_and_left_alone() {
    let fx = Fixture::new();
    let two = commit_on(&fx.code, &fx.sha("main").unwrap(), "b", "two\n");
    let lock = fx.code.join(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    let error = fx
        .backend
        .promote(&fx.store(), &source(&two), &Expected::Any)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
    assert!(error.message().contains("index.lock"), "{error}");
    assert!(lock.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn merge_makes_a_commit_of_both_sides_without_a_checkout() {
    let fx = Fixture::new();
    fx.git(&["switch", "-q", "-c", "dev"]);
    let store = fx.with("ref", "main");
    let one = fx.sha("main").unwrap();
    let ours = commit_on(&fx.code, &one, "ours", "o\n");
    fx.git(&["update-ref", "refs/heads/main", &ours]);
    let theirs = commit_on(&fx.code, &one, "theirs", "t\n");
    let expected = Expected::At(state(&ours));
    let merge = async || {
        fx.backend
            .merge(&store, &source(&theirs), "tether promote f", &expected)
            .await
    };
    let Merge::Base(done) = merge().await.unwrap() else {
        panic!("a conflict")
    };
    assert_eq!(effect(&done), Effect::Changed);
    let head = fx.sha("main").unwrap();
    assert_eq!(value(done).str("sha"), Some(head.as_str()));
    assert_eq!(
        fx.git(&["log", "-1", "--format=%P|%s", "main"]),
        format!("{ours} {theirs}|tether promote f")
    );
    assert_eq!(
        fx.git(&["ls-tree", "--name-only", "main"]),
        "a\nours\ntheirs"
    );
    // Again with the same arguments: found.
    let Merge::Base(again) = merge().await.unwrap() else {
        panic!("a conflict")
    };
    assert_eq!(effect(&again), Effect::Found);
    // Somebody committed on top since: the reviewed head is gone.
    let next = commit_on(&fx.code, &head, "next", "n\n");
    fx.git(&["update-ref", "refs/heads/main", &next]);
    let Merge::Base(moved) = merge().await.unwrap() else {
        panic!("a conflict")
    };
    assert_eq!(observed(&moved), Some(next));
}

#[tokio::test(flavor = "multi_thread")]
async fn merge_moves_a_checkout_on_the_base_along() {
    let fx = Fixture::new();
    let one = fx.sha("main").unwrap();
    let theirs = commit_on(&fx.code, &one, "theirs", "t\n");
    fx.commit("ours", "o\n");
    let answer = fx
        .backend
        .merge(&fx.store(), &source(&theirs), "m", &Expected::Any)
        .await
        .unwrap();
    let Merge::Base(done) = answer else {
        panic!("a conflict")
    };
    assert_eq!(effect(&done), Effect::Changed);
    assert_eq!(fx.git(&["status", "--porcelain"]), "");
    assert_eq!(
        std::fs::read_to_string(fx.code.join("theirs")).unwrap(),
        "t\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_that_conflicts_lists_the_paths_and_writes_nothing() {
    let fx = Fixture::new();
    let one = fx.sha("main").unwrap();
    let theirs = commit_on(&fx.code, &one, "a", "theirs\n");
    let theirs = commit_on(&fx.code, &theirs, "fine", "t\n");
    let ours = fx.commit("a", "ours\n");
    let before = fx.git(&["count-objects"]);
    let answer = fx
        .backend
        .merge(&fx.store(), &source(&theirs), "m", &Expected::Any)
        .await
        .unwrap();
    assert_eq!(answer, Merge::Conflict(vec!["a".into()]));
    assert_eq!(fx.sha("main"), Some(ours));
    assert_eq!(fx.git(&["status", "--porcelain"]), "");
    // Only `git merge-tree`, asked for its opinion, leaves loose objects.
    let after = fx.git(&["count-objects"]);
    assert!(after >= before, "{before} {after}");
}

/// Identical additions on both sides are no conflict (gitoxide #2968).
#[tokio::test(flavor = "multi_thread")]
async fn the_same_file_added_on_both_sides_merges() {
    let fx = Fixture::new();
    let one = fx.sha("main").unwrap();
    let mut theirs = one.clone();
    for file in ["x/same", "x/one", "y/same", "z"] {
        theirs = commit_on(&fx.code, &theirs, file, &format!("{file}\n"));
    }
    for file in ["x/same", "x/two", "y/same", "w"] {
        fx.commit(file, &format!("{file}\n"));
    }
    let ours = fx.sha("main").unwrap();
    let wanted = fx.git(&["merge-tree", "--write-tree", &ours, &theirs]);
    let answer = fx
        .backend
        .merge(&fx.store(), &source(&theirs), "m", &Expected::Any)
        .await
        .unwrap();
    let Merge::Base(done) = answer else {
        panic!("a conflict")
    };
    value(done);
    assert_eq!(fx.git(&["rev-parse", "main^{tree}"]), wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn unrelated_histories_are_not_merged() {
    let fx = Fixture::new();
    let tree = fx.git(&["rev-parse", "HEAD^{tree}"]);
    let other = fx.git(&["commit-tree", &tree, "-m", "another root"]);
    let error = fx
        .backend
        .merge(&fx.store(), &source(&other), "m", &Expected::Any)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::User);
    assert!(error.message().contains("no commit in common"), "{error}");
}

/// E17
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn racing_merges_of_one_reviewed_head_land_once() {
    let fx = Fixture::new();
    fx.git(&["switch", "-q", "-c", "dev"]);
    let store = fx.with("ref", "main");
    let one = fx.sha("main").unwrap();
    let ours = commit_on(&fx.code, &one, "ours", "o\n");
    fx.git(&["update-ref", "refs/heads/main", &ours]);
    let mut racers = tokio::task::JoinSet::new();
    for n in 0..8 {
        let theirs = commit_on(&fx.code, &one, &format!("t{n}"), "t\n");
        let (backend, store, expected) = (
            fx.backend.clone(),
            store.clone(),
            Expected::At(state(&ours)),
        );
        racers.spawn(async move {
            backend
                .merge(&store, &source(&theirs), "m", &expected)
                .await
                .unwrap()
        });
    }
    let mut landed = 0;
    while let Some(answer) = racers.join_next().await {
        landed += usize::from(matches!(answer.unwrap(), Merge::Base(Move::Done { .. })));
    }
    assert_eq!(landed, 1);
    assert_eq!(fx.git(&["rev-parse", "main^1"]), ours);
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_start_at_branches_and_states_and_unreachable_ones_are_refused() {
    let fx = Fixture::new();
    let one = fx.sha("main").unwrap();
    fx.git(&["branch", "tether.ws.0a1b2c3d.from", &one]);
    let from = Source::Ref(native("tether.ws.0a1b2c3d.from"));
    let name = native(WORK);
    value(
        fx.backend
            .fork(&fx.store(), &from, &name, &Expected::Absent)
            .await
            .unwrap(),
    );
    assert_eq!(fx.sha(WORK), Some(one));
    let gone = "3".repeat(40);
    let blob = fx.git(&["hash-object", "-w", "a"]);
    for sha in [&gone, &blob] {
        let error = fx
            .backend
            .fork(&fx.store(), &source(sha), &name, &Expected::Any)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Store, "{error}");
    }
    for sha in [
        "",
        "main",
        "--output=x",
        "HEAD",
        &gone[..39],
        &gone.to_uppercase().replace('3', "A"),
    ] {
        let error = fx
            .backend
            .fork(&fx.store(), &source(sha), &name, &Expected::Any)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_below_another_branch_is_refused_with_both_names() {
    let fx = Fixture::new();
    let one = fx.sha("main").unwrap();
    fx.git(&["branch", "feat"]);
    fx.git(&["pack-refs", "--all"]);
    let name = native("feat/x");
    let error = fx
        .backend
        .fork(&fx.store(), &source(&one), &name, &Expected::Any)
        .await
        .unwrap_err();
    assert!(
        error.message().contains("feat/x") && error.message().contains("refs/heads/feat"),
        "{error}"
    );
}

/// The base of a detached `HEAD`, as every colocated jj repository has one.
#[tokio::test(flavor = "multi_thread")]
async fn a_detached_head_finds_its_base_or_names_the_candidates() {
    let fx = Fixture::new();
    let base = async || fx.backend.base_ref(&fx.store()).await.unwrap();
    fx.git(&["checkout", "-q", "--detach"]);
    assert_eq!(base().await, Some(native("main")));
    // Ahead of it.
    commit(&fx.code, "b", "two\n");
    assert_eq!(base().await, Some(native("main")));
    // Nearer branches win, tether's own never do.
    fx.git(&["branch", "near"]);
    commit(&fx.code, "c", "three\n");
    fx.git(&["branch", "tether.ws.0a1b2c3d.x"]);
    assert_eq!(base().await, Some(native("near")));
    // Two at one commit: unclear, unless one is a trunk.
    fx.git(&["branch", "near2", "near"]);
    assert_eq!(base().await, None);
    let target = fx.sha("HEAD").unwrap();
    let error = fx
        .backend
        .promote(&fx.store(), &source(&target), &Expected::Any)
        .await
        .unwrap_err();
    assert!(error.message().contains("near, near2"), "{error}");
    assert!(
        error.hint().unwrap().contains("--set ref=near"),
        "{error:?}"
    );
    fx.git(&["branch", "-f", "main", "near"]);
    assert_eq!(base().await, Some(native("main")));
    let done = fx
        .backend
        .promote(&fx.store(), &source(&target), &Expected::Any)
        .await
        .unwrap();
    assert_eq!(effect(&done), Effect::Changed);
    assert_eq!(fx.sha("main"), Some(target));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_at_a_tag_has_no_base() {
    let fx = Fixture::new();
    fx.git(&["tag", "v1"]);
    let two = fx.commit("b", "two\n");
    let store = fx.with("ref", "v1");
    assert_eq!(fx.backend.base_ref(&store).await.unwrap(), None);
    let error = fx
        .backend
        .promote(&store, &source(&two), &Expected::Any)
        .await
        .unwrap_err();
    assert!(
        error.message().contains("\"v1\" is not a branch"),
        "{error}"
    );
    // `at` alone is a position, the base stays.
    let store = fx.with("at", "v1");
    assert_eq!(
        fx.backend.base_ref(&store).await.unwrap(),
        Some(native("main"))
    );
}

/// A branch shadows a tag of the same name.
#[tokio::test(flavor = "multi_thread")]
async fn a_branch_is_meant_before_a_tag_of_the_same_name() {
    let fx = Fixture::new();
    fx.git(&["tag", "main"]);
    let two = fx.commit("b", "two\n");
    for (field, name) in [("ref", "main"), ("at", "main"), ("ref", "refs/heads/main")] {
        let state = fx
            .backend
            .fingerprint(&fx.with(field, name), None)
            .await
            .unwrap();
        assert_eq!(state.str("sha"), Some(two.as_str()), "{name}");
    }
    let one = fx
        .backend
        .fingerprint(&fx.with("at", "main~1"), None)
        .await
        .unwrap();
    assert_eq!(one.str("sha"), fx.sha("refs/tags/main").as_deref());
    let store = fx.at(Locator::default().with("ref", "main"));
    assert_eq!(
        fx.backend.base_ref(&store).await.unwrap(),
        Some(native("main"))
    );
}
