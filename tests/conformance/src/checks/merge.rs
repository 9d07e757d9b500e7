//! MERGE: the base takes in a fork that it is no ancestor of.

use std::sync::Arc;

use tether_engine::backend::{Backend as _, Effect, Expected, Merge, Source, Store};
use tether_engine::error::ErrorKind;
use tether_engine::name::NativeRef;
use tether_engine::state::State;

use crate::cx::{
    Cx, Verdict, checks, done, ensure, error_of_kind, failed, merged, refused, skipped,
};
use crate::faults::{Fault, Faults, Faulty, Method};

checks! {
    [Merge, Fork]:
        two_sides_that_diverged_merge_and_a_second_merge_finds_it,
        a_merge_onto_a_base_that_moved_since_it_was_reviewed_is_refused,
        a_merge_that_conflicts_names_what_does_and_leaves_the_base_alone,
        a_merge_whose_reply_was_lost_is_found;
}

/// A fork and a base that have gone different ways: the fork, its head, the base's.
async fn diverged(cx: &Cx<'_>, store: &Store) -> Verdict<(NativeRef, State, State)> {
    let fork = cx.forked(store).await?;
    let head = cx.mutate(store, Some(&fork)).await?;
    let base = cx.mutate(store, None).await?;
    Ok((fork, head, base))
}

async fn two_sides_that_diverged_merge_and_a_second_merge_finds_it(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let (fork, head, base) = diverged(cx, &store).await?;
    let source = Source::State(head.clone());
    let reviewed = Expected::At(base.clone());
    let answer = cx
        .backend
        .merge(&store, &source, "Merge a fork", &reviewed)
        .await?;
    let state = done(merged(answer, "a merge")?, Effect::Changed, "a merge")?;
    let now = cx.now(&store, None).await?;
    ensure!(
        cx.same(&now, &state),
        "merge answered {state:?} and the base is at {now:?}"
    );
    for side in [&head, &base] {
        ensure!(
            !cx.same(&now, side),
            "the merge of two sides is one of them: {side:?}"
        );
        let inside = cx.backend.ancestor_of(&store, side, &now).await?;
        ensure!(
            inside.is_none_or(|inside| inside),
            "{side:?} is not in the history of its merge"
        );
    }
    let kept = cx.now(&store, Some(&fork)).await?;
    ensure!(
        cx.same(&kept, &head),
        "a merge moved the fork from {head:?} to {kept:?}"
    );
    for expected in [Expected::Any, reviewed, Expected::At(now.clone())] {
        let answer = cx
            .backend
            .merge(&store, &source, "Merge a fork", &expected)
            .await?;
        let again = done(
            merged(answer, "a second merge")?,
            Effect::Found,
            "a second merge",
        )?;
        ensure!(
            cx.same(&again, &now),
            "a second merge answered {again:?}, not {now:?}"
        );
    }
    let after = cx.now(&store, None).await?;
    ensure!(
        cx.same(&after, &now),
        "a second merge moved the base from {now:?} to {after:?}"
    );
    Ok(())
}

async fn a_merge_onto_a_base_that_moved_since_it_was_reviewed_is_refused(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let reviewed = cx.now(&store, None).await?;
    let (_, head, base) = diverged(cx, &store).await?;
    let source = Source::State(head);
    for expected in [Expected::At(reviewed), Expected::Absent] {
        let answer = cx.backend.merge(&store, &source, "m", &expected).await?;
        let observed = refused(merged(answer, "a merge")?, "a merge onto a base that moved")?;
        ensure!(
            observed
                .as_ref()
                .is_some_and(|observed| cx.same(observed, &base)),
            "the base is at {base:?}, and Moved observed {observed:?}"
        );
        let now = cx.now(&store, None).await?;
        ensure!(
            cx.same(&now, &base),
            "a refused merge moved the base from {base:?} to {now:?}"
        );
    }
    Ok(())
}

async fn a_merge_that_conflicts_names_what_does_and_leaves_the_base_alone(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let fork = cx.forked(&store).await?;
    if !cx.harness.diverge(&store, &fork).await? {
        return Err(skipped("the harness cannot make a conflict"));
    }
    let (base, head) = (
        cx.now(&store, None).await?,
        cx.now(&store, Some(&fork)).await?,
    );
    let refs = cx.refs(&store).await?;
    let reviewed = Expected::At(base.clone());
    let answer = cx
        .backend
        .merge(&store, &Source::Ref(fork.clone()), "m", &reviewed)
        .await?;
    let Merge::Conflict(units) = answer else {
        return Err(failed(format!(
            "a merge of two changes of one unit was answered with {answer:?}"
        )));
    };
    ensure!(!units.is_empty(), "a conflict names no unit");
    let now = cx.now(&store, None).await?;
    ensure!(
        cx.same(&now, &base),
        "a conflict moved the base from {base:?} to {now:?}"
    );
    let kept = cx.now(&store, Some(&fork)).await?;
    ensure!(
        cx.same(&kept, &head),
        "a conflict moved the fork from {head:?} to {kept:?}"
    );
    ensure!(
        cx.refs(&store).await? == refs,
        "a conflict changed the store's refs"
    );
    Ok(())
}

async fn a_merge_whose_reply_was_lost_is_found(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    for fault in [Fault::LostReply, Fault::After, Fault::Retried] {
        let (_, head, base) = diverged(cx, &store).await?;
        let (source, reviewed) = (Source::State(head), Expected::At(base));
        let backend = Faulty::new(Arc::clone(&cx.backend), Faults::default());
        backend.fail(Method::Merge, 1, fault);
        let mut answer = backend.merge(&store, &source, "m", &reviewed).await;
        if fault != Fault::Retried {
            error_of_kind(answer, ErrorKind::Store, "a merge with a planned fault")?;
            answer = backend.merge(&store, &source, "m", &reviewed).await;
        }
        let state = done(
            merged(answer?, "a merge")?,
            Effect::Found,
            "a merge after a lost reply",
        )?;
        let now = cx.now(&store, None).await?;
        ensure!(
            cx.same(&now, &state),
            "merge answered {state:?} and the base is at {now:?}"
        );
    }
    Ok(())
}
