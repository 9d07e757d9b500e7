//! PROMOTE: the base follows a fork.

use std::sync::Arc;

use tether_engine::backend::{Backend as _, Capability, Effect, Expected, Source};
use tether_engine::error::ErrorKind;

use crate::cx::{
    Cx, RACERS, Verdict, checks, done, ensure, error_of_kind, finished, race, refused,
};
use crate::faults::{Fault, Faults, Faulty, Method};

checks! {
    [Promote, Fork]:
        the_base_follows_a_fork_and_a_second_promote_finds_it_there,
        a_base_that_moved_on_is_not_fast_forwarded,
        a_base_that_moved_since_it_was_reviewed_is_left_alone,
        ancestor_of_answers_in_the_right_direction_or_not_at_all,
        a_state_the_store_never_had_is_not_promoted,
        a_promote_whose_reply_was_lost_is_found;
    [Promote, Fork, ConditionalRef]:
        of_racing_promotes_exactly_one_moves_the_base;
}

async fn the_base_follows_a_fork_and_a_second_promote_finds_it_there(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    for kind in ["branch", "state", "pin"] {
        if kind == "pin" && !cx.has(Capability::Pin) {
            continue;
        }
        let base = cx.now(&store, None).await?;
        let fork = cx.forked(&store).await?;
        let head = cx.mutate(&store, Some(&fork)).await?;
        let source = match kind {
            "branch" => Source::Ref(fork.clone()),
            "state" => Source::State(head.clone()),
            _ => Source::Pinned(cx.pinned(&store, &head).await?, head.clone()),
        };
        let reviewed = Expected::At(base);
        let answer = cx.backend.promote(&store, &source, &reviewed).await?;
        let state = done(answer, Effect::Changed, &format!("promote of a {kind}"))?;
        let now = cx.now(&store, None).await?;
        ensure!(
            cx.same(&now, &head),
            "after promote of {head:?} the base is at {now:?}"
        );
        ensure!(
            cx.same(&now, &state),
            "promote answered {state:?} and the base is at {now:?}"
        );
        let fork_now = cx.now(&store, Some(&fork)).await?;
        ensure!(
            cx.same(&fork_now, &head),
            "promote moved the fork from {head:?} to {fork_now:?}"
        );
        for expected in [Expected::Any, reviewed, Expected::At(head.clone())] {
            let answer = cx.backend.promote(&store, &source, &expected).await?;
            let again = done(answer, Effect::Found, "a second promote")?;
            ensure!(
                cx.same(&again, &head),
                "a second promote answered {again:?}, not {head:?}"
            );
        }
    }
    Ok(())
}

async fn a_base_that_moved_on_is_not_fast_forwarded(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let fork = cx.forked(&store).await?;
    cx.harness.mutate(&store, Some(&fork)).await?;
    let base = cx.mutate(&store, None).await?;
    let source = Source::Ref(fork);
    for expected in [Expected::Any, Expected::At(base.clone())] {
        let answer = cx.backend.promote(&store, &source, &expected).await;
        error_of_kind(answer, ErrorKind::User, "promote onto a base that moved on")?;
        let now = cx.now(&store, None).await?;
        ensure!(
            cx.same(&now, &base),
            "a refused promote moved the base from {base:?} to {now:?}"
        );
    }
    Ok(())
}

async fn a_base_that_moved_since_it_was_reviewed_is_left_alone(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let reviewed = cx.now(&store, None).await?;
    let base = cx.mutate(&store, None).await?;
    // The fork holds the base's newest state, so only the stale review stands in the way.
    let fork = cx.forked(&store).await?;
    cx.harness.mutate(&store, Some(&fork)).await?;
    let source = Source::Ref(fork);
    for expected in [Expected::At(reviewed), Expected::Absent] {
        let answer = cx.backend.promote(&store, &source, &expected).await?;
        let observed = refused(
            answer,
            "promote onto a base that moved since it was reviewed",
        )?;
        ensure!(
            observed
                .as_ref()
                .is_some_and(|observed| cx.same(observed, &base)),
            "the base is at {base:?}, and Moved observed {observed:?}"
        );
        let now = cx.now(&store, None).await?;
        ensure!(
            cx.same(&now, &base),
            "a refused promote moved the base from {base:?} to {now:?}"
        );
    }
    Ok(())
}

async fn ancestor_of_answers_in_the_right_direction_or_not_at_all(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let old = cx.now(&store, None).await?;
    let fork = cx.forked(&store).await?;
    let new = cx.mutate(&store, Some(&fork)).await?;
    let other = cx.mutate(&store, None).await?;
    let cases = [
        (&old, &new, true),
        (&old, &other, true),
        (&new, &new, true),
        (&new, &old, false),
        (&new, &other, false),
        (&other, &new, false),
    ];
    for (ancestor, descendant, expected) in cases {
        let answer = cx.backend.ancestor_of(&store, ancestor, descendant).await?;
        ensure!(
            answer.is_none_or(|answer| answer == expected),
            "that {ancestor:?} is an ancestor of {descendant:?} is {answer:?}, not {expected}"
        );
    }
    Ok(())
}

async fn a_state_the_store_never_had_is_not_promoted(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let base = cx.now(&store, None).await?;
    let source = Source::State(cx.unreachable(&store).await?);
    let answer = cx.backend.promote(&store, &source, &Expected::Any).await;
    error_of_kind(
        answer,
        ErrorKind::Store,
        "promote of a state the store never had",
    )?;
    let now = cx.now(&store, None).await?;
    ensure!(
        cx.same(&now, &base),
        "a failed promote moved the base from {base:?} to {now:?}"
    );
    Ok(())
}

async fn a_promote_whose_reply_was_lost_is_found(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    for fault in [Fault::LostReply, Fault::After, Fault::Retried] {
        let reviewed = Expected::At(cx.now(&store, None).await?);
        let fork = cx.forked(&store).await?;
        let head = cx.mutate(&store, Some(&fork)).await?;
        let source = Source::State(head.clone());
        let backend = Faulty::new(Arc::clone(&cx.backend), Faults::default());
        backend.fail(Method::Promote, 1, fault);
        let mut answer = backend.promote(&store, &source, &reviewed).await;
        if fault != Fault::Retried {
            error_of_kind(answer, ErrorKind::Store, "a promote with a planned fault")?;
            answer = backend.promote(&store, &source, &reviewed).await;
        }
        let state = done(answer?, Effect::Found, "a promote after a lost reply")?;
        ensure!(
            cx.same(&state, &head),
            "a promote of {head:?} answered {state:?}"
        );
    }
    Ok(())
}

async fn of_racing_promotes_exactly_one_moves_the_base(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    for _ in 0..cx.harness.rounds() {
        let reviewed = Expected::At(cx.now(&store, None).await?);
        let mut heads = Vec::new();
        for _ in 0..RACERS {
            let fork = cx.forked(&store).await?;
            heads.push(cx.mutate(&store, Some(&fork)).await?);
        }
        let answers = race(|number| {
            let (backend, store) = (cx.backend.clone(), store.clone());
            let (source, expected) = (Source::State(heads[number].clone()), reviewed.clone());
            async move { backend.promote(&store, &source, &expected).await }
        })
        .await?;
        let answers = answers.into_iter().map(|answer| finished(answer, "").ok());
        let winners: Vec<usize> = answers
            .enumerate()
            .filter_map(|(number, answer)| answer.map(|_| number))
            .collect();
        ensure!(
            winners.len() == 1,
            "of racing promotes from one reviewed base, these were done: {winners:?}"
        );
        let (now, head) = (cx.now(&store, None).await?, &heads[winners[0]]);
        ensure!(
            cx.same(&now, head),
            "the winner promoted {head:?}, and the base is at {now:?}"
        );
    }
    Ok(())
}
