//! FORK: listing, opening and deleting branches.

use std::sync::Arc;

use tether_engine::backend::{Backend as _, Effect, Expected, Source, Target, Verdict as Status};
use tether_engine::error::ErrorKind;
use tether_engine::id::DatasetId;

use crate::cx::{Cx, Verdict, checks, done, ensure, error, error_of_kind, refused, skipped};
use crate::faults::{Fault, Faults, Faulty, Method};

checks! {
    [Fork]:
        working_branches_of_every_dataset_are_listed,
        a_working_branch_opens_as_asked,
        a_missing_branch_is_an_error_and_never_the_base,
        a_deleted_branch_is_gone_and_deleting_it_again_is_success,
        a_branch_that_moved_since_it_was_reviewed_is_not_deleted,
        the_base_is_not_deleted,
        a_deletion_whose_reply_was_lost_is_found;
    [Fork, BranchIsStorage]:
        deleting_a_branch_deletes_what_only_it_held;
}

async fn working_branches_of_every_dataset_are_listed(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let before = cx.backend.list_working_refs(&store).await?;
    ensure!(
        before.is_empty(),
        "a new store lists working branches: {before:?}"
    );
    let mut forks = vec![cx.forked(&store).await?, cx.forked(&store).await?];
    let mut listed = cx.backend.list_working_refs(&store).await?;
    forks.sort();
    listed.sort();
    ensure!(
        listed == forks,
        "the branches are {forks:?}, listed are {listed:?}"
    );
    Ok(())
}

async fn a_working_branch_opens_as_asked(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let fork = cx.forked(&store).await?;
    // An address may name the state (`PATH@COMMIT`), so the two have to differ.
    cx.mutate(&store, Some(&fork)).await?;
    let target = Target::Ref(fork);
    let read = cx.backend.open(&store, &target, false).await?;
    ensure!(
        read.read_only,
        "an address to read from is writable: {read:?}"
    );
    let write = cx.backend.open(&store, &target, true).await?;
    ensure!(
        !write.read_only,
        "an address to write to is read-only: {write:?}"
    );
    let base = cx.backend.open(&store, &Target::Base, false).await?;
    ensure!(
        base.address != read.address,
        "a branch and the base have one address: {read:?}"
    );
    Ok(())
}

async fn a_missing_branch_is_an_error_and_never_the_base(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let missing = cx.name(&DatasetId::random()?)?;
    error(
        cx.now(&store, Some(&missing)).await,
        "the fingerprint of a missing branch",
    )?;
    ensure!(
        cx.backend.head(&store, &missing).await?.is_none(),
        "a missing branch has a head"
    );
    for writable in [false, true] {
        let opened = cx
            .backend
            .open(&store, &Target::Ref(missing.clone()), writable)
            .await;
        error(opened, "opening a missing branch")?;
    }
    ensure!(
        cx.backend.list_working_refs(&store).await?.is_empty(),
        "reading a missing branch made it"
    );
    Ok(())
}

async fn a_deleted_branch_is_gone_and_deleting_it_again_is_success(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let base = cx.now(&store, None).await?;
    for reviewed in [true, false] {
        let fork = cx.forked(&store).await?;
        let head = cx.mutate(&store, Some(&fork)).await?;
        if let Some(why) = cx.backend.working_ref_blockers(&store, &fork).await? {
            return Err(skipped(format!(
                "the store says that a new branch cannot be deleted: {why}"
            )));
        }
        let expected = if reviewed {
            Expected::At(head)
        } else {
            Expected::Any
        };
        let answer = cx
            .backend
            .delete_working_ref(&store, &fork, &expected)
            .await?;
        done(answer, Effect::Changed, "deleting a branch")?;
        ensure!(
            cx.backend.head(&store, &fork).await?.is_none(),
            "a deleted branch has a head"
        );
        ensure!(
            cx.backend.list_working_refs(&store).await?.is_empty(),
            "a deleted branch is listed"
        );
        error(
            cx.now(&store, Some(&fork)).await,
            "the fingerprint of a deleted branch",
        )?;
        for expected in [expected, Expected::Any] {
            let answer = cx
                .backend
                .delete_working_ref(&store, &fork, &expected)
                .await?;
            done(answer, Effect::Found, "deleting a branch that is gone")?;
        }
    }
    let now = cx.now(&store, None).await?;
    ensure!(
        cx.same(&base, &now),
        "deleting branches moved the base from {base:?} to {now:?}"
    );
    Ok(())
}

async fn a_branch_that_moved_since_it_was_reviewed_is_not_deleted(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let fork = cx.forked(&store).await?;
    let reviewed = cx.now(&store, Some(&fork)).await?;
    let head = cx.mutate(&store, Some(&fork)).await?;
    let expected = Expected::At(reviewed);
    let answer = cx
        .backend
        .delete_working_ref(&store, &fork, &expected)
        .await?;
    let observed = refused(answer, "deleting a branch that moved since it was reviewed")?;
    ensure!(
        observed
            .as_ref()
            .is_some_and(|observed| cx.same(observed, &head)),
        "the branch is at {head:?}, and Moved observed {observed:?}"
    );
    let now = cx.now(&store, Some(&fork)).await?;
    ensure!(
        cx.same(&now, &head),
        "a refused deletion moved the branch from {head:?} to {now:?}"
    );
    Ok(())
}

async fn the_base_is_not_deleted(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let (base, state) = (cx.base(&store).await?, cx.now(&store, None).await?);
    for expected in [Expected::Any, Expected::At(state.clone())] {
        error(
            cx.backend
                .delete_working_ref(&store, &base, &expected)
                .await,
            "deleting the base",
        )?;
    }
    let now = cx.now(&store, None).await?;
    ensure!(
        cx.same(&state, &now),
        "a refused deletion moved the base from {state:?} to {now:?}"
    );
    Ok(())
}

async fn a_deletion_whose_reply_was_lost_is_found(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    for fault in [Fault::LostReply, Fault::Retried] {
        let state = cx.now(&store, None).await?;
        let name = cx.name(&DatasetId::random()?)?;
        let answer = cx
            .backend
            .fork(&store, &Source::State(state), &name, &Expected::Absent)
            .await?;
        let fork = done(answer, Effect::Created, "a first fork")?;
        let expected = Expected::At(cx.now(&store, Some(&fork)).await?);
        let backend = Faulty::new(Arc::clone(&cx.backend), Faults::default());
        backend.fail(Method::DeleteWorkingRef, 1, fault);
        let mut answer = backend.delete_working_ref(&store, &fork, &expected).await;
        if fault != Fault::Retried {
            error_of_kind(answer, ErrorKind::Store, "a deletion with a planned fault")?;
            answer = backend.delete_working_ref(&store, &fork, &expected).await;
        }
        done(answer?, Effect::Found, "a deletion after a lost reply")?;
    }
    Ok(())
}

async fn deleting_a_branch_deletes_what_only_it_held(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let fork = cx.forked(&store).await?;
    let head = cx.mutate(&store, Some(&fork)).await?;
    let expected = Expected::At(head.clone());
    let answer = cx
        .backend
        .delete_working_ref(&store, &fork, &expected)
        .await?;
    done(answer, Effect::Changed, "deleting a branch")?;
    let found = cx.backend.verify(&store, &head, None, true).await?;
    ensure!(
        found.status == Status::Missing,
        "deleting a branch is said to delete its data, and a deep verify of its head is {found:?}"
    );
    Ok(())
}
