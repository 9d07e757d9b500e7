//! FORK: writable branches, made or reset under a condition. CONDITIONAL_REF: compare and move are one step.

use std::sync::Arc;

use tether_engine::backend::{Backend as _, Effect, Expected, Source, Store};
use tether_engine::error::ErrorKind;
use tether_engine::id::DatasetId;
use tether_engine::name::NativeRef;
use tether_engine::state::State;

use crate::cx::{
    Cx, Verdict, checks, done, ensure, error, error_of_kind, finished, race, refused, skipped,
};
use crate::faults::{Fault, Faults, Faulty, Method};

checks! {
    [Fork]:
        a_fork_of_a_state_starts_there_and_leaves_the_base_alone,
        a_fork_of_a_branch_starts_at_its_head,
        a_fork_that_is_there_is_found,
        a_fork_is_reset_onto_its_source,
        a_fork_that_must_be_absent_and_is_not_is_left_alone,
        a_fork_that_moved_since_it_was_reviewed_is_left_alone,
        a_fork_that_was_reviewed_and_is_gone_is_not_made,
        a_fork_of_a_state_the_store_never_had_is_refused,
        a_fork_whose_reply_was_lost_is_found,
        a_first_fork_whose_reply_was_lost_is_observed_where_it_was_wanted;
    [Fork, Pin]:
        a_fork_of_a_pin_starts_there_and_leaves_the_base_alone,
        a_fork_of_an_older_pin_starts_there,
        a_fork_of_a_drifted_or_lost_pin_is_refused;
    [Fork, ConditionalRef]:
        of_racing_forks_that_must_be_absent_exactly_one_creates,
        of_racing_resets_exactly_one_moves;
}

/// Writes on a new fork of `source` and on the base, and sees that neither shows on the other side.
async fn fork_is_apart(cx: &Cx<'_>, store: &Store, source: &Source, start: &State) -> Verdict {
    let base = cx.now(store, None).await?;
    let name = cx.name(&DatasetId::random()?)?;
    let answer = cx
        .backend
        .fork(store, source, &name, &Expected::Absent)
        .await?;
    let fork = done(answer, Effect::Created, "a first fork")?;
    let head = cx.now(store, Some(&fork)).await?;
    ensure!(cx.same(&head, start), "a fork of {start:?} is at {head:?}");
    let listed = cx.backend.head(store, &fork).await?;
    ensure!(
        listed.as_ref().is_some_and(|listed| cx.same(listed, &head)),
        "head of the fork is {listed:?} and its fingerprint {head:?}"
    );
    let written = cx.mutate(store, Some(&fork)).await?;
    ensure!(
        !cx.same(&written, &head),
        "a write to a fork did not change its state"
    );
    let now = cx.now(store, None).await?;
    ensure!(
        cx.same(&now, &base),
        "a write to a fork moved the base from {base:?} to {now:?}"
    );
    cx.harness.mutate(store, None).await?;
    let now = cx.now(store, Some(&fork)).await?;
    ensure!(
        cx.same(&now, &written),
        "a write to the base moved a fork from {written:?} to {now:?}"
    );
    Ok(())
}

async fn a_fork_of_a_state_starts_there_and_leaves_the_base_alone(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    fork_is_apart(cx, &store, &Source::State(state.clone()), &state).await
}

async fn a_fork_of_a_pin_starts_there_and_leaves_the_base_alone(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let pin = cx.pinned(&store, &state).await?;
    fork_is_apart(cx, &store, &Source::Pinned(pin, state.clone()), &state).await
}

async fn a_fork_of_a_branch_starts_at_its_head(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let base = cx.base(&store).await?;
    let (state, head) = (
        cx.now(&store, None).await?,
        cx.backend.head(&store, &base).await?,
    );
    ensure!(
        head.as_ref().is_some_and(|head| cx.same(head, &state)),
        "the head of {base} is {head:?} and the base's state {state:?}"
    );
    fork_is_apart(cx, &store, &Source::Ref(base), &state).await?;
    let missing = Source::Ref(cx.name(&DatasetId::random()?)?);
    let name = cx.name(&DatasetId::random()?)?;
    error(
        cx.backend
            .fork(&store, &missing, &name, &Expected::Any)
            .await,
        "a fork of a missing branch",
    )?;
    ensure!(
        cx.backend.head(&store, &name).await?.is_none(),
        "a failed fork made the branch"
    );
    Ok(())
}

async fn a_fork_of_an_older_pin_starts_there(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let pin = cx.pinned(&store, &state).await?;
    cx.harness.mutate(&store, None).await?;
    fork_is_apart(cx, &store, &Source::Pinned(pin, state.clone()), &state).await
}

async fn a_fork_of_a_drifted_or_lost_pin_is_refused(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let pin = cx.pinned(&store, &state).await?;
    let elsewhere = cx.mutate(&store, None).await?;
    let name = cx.name(&DatasetId::random()?)?;
    let source = Source::Pinned(pin.clone(), state);
    for to in [Some(&elsewhere), None] {
        cx.set_ref(&store, &pin.native, to).await?;
        let answer = cx
            .backend
            .fork(&store, &source, &name, &Expected::Any)
            .await;
        error_of_kind(
            answer,
            ErrorKind::PinDrift,
            "a fork of a pin that was moved or deleted",
        )?;
        ensure!(
            cx.backend.head(&store, &name).await?.is_none(),
            "a refused fork made the branch"
        );
    }
    Ok(())
}

async fn a_fork_that_is_there_is_found(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let source = cx.source(&store, &state).await?;
    let name = cx.name(&DatasetId::random()?)?;
    let answer = cx
        .backend
        .fork(&store, &source, &name, &Expected::Any)
        .await?;
    let fork = done(answer, Effect::Created, "a first fork, whatever is there")?;
    let refs = cx.refs(&store).await?;
    let old = cx.mutate(&store, None).await?;
    let base_moved = cx.refs(&store).await?;
    // The reply of the call that made it may have been lost, so a stale review of a branch that stands right is no reason to refuse.
    for expected in [
        Expected::Any,
        Expected::At(state.clone()),
        Expected::At(old),
    ] {
        let answer = cx.backend.fork(&store, &source, &fork, &expected).await?;
        let again = done(answer, Effect::Found, "a fork that is there")?;
        ensure!(
            again == fork,
            "a fork that is there is called {again}, not {fork}"
        );
    }
    ensure!(
        cx.refs(&store).await? == base_moved,
        "finding a fork changed refs ({refs:?} at first)"
    );
    Ok(())
}

async fn a_fork_is_reset_onto_its_source(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let source = cx.source(&store, &state).await?;
    let mut fork = cx.forked(&store).await?;
    for reviewed in [true, false] {
        let written = cx.mutate(&store, Some(&fork)).await?;
        let expected = if reviewed {
            Expected::At(written)
        } else {
            Expected::Any
        };
        let answer = cx.backend.fork(&store, &source, &fork, &expected).await?;
        // A store that cannot reset in place may answer a further generation of the name, which it may call created.
        let (after, effect) = finished(answer, "a reset")?;
        ensure!(
            effect != Effect::Found,
            "a reset of a branch that was elsewhere answered Found"
        );
        ensure!(
            after != fork || effect == Effect::Changed,
            "a reset in place answered {effect:?}, not Changed"
        );
        let head = cx.now(&store, Some(&after)).await?;
        ensure!(
            cx.same(&head, &state),
            "after a reset onto {state:?} the branch is at {head:?}"
        );
        fork = after;
    }
    Ok(())
}

async fn a_fork_that_must_be_absent_and_is_not_is_left_alone(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let source = cx.source(&store, &state).await?;
    let fork = cx.forked(&store).await?;
    for written in [false, true] {
        let head = if written {
            cx.mutate(&store, Some(&fork)).await?
        } else {
            state.clone()
        };
        let answer = cx
            .backend
            .fork(&store, &source, &fork, &Expected::Absent)
            .await?;
        let observed = refused(answer, "a fork that must be absent and is not")?;
        unmoved(cx, &store, &fork, &head, observed.as_ref()).await?;
    }
    Ok(())
}

/// Sees that a refused move observed `head`, and left the branch there.
async fn unmoved(
    cx: &Cx<'_>,
    store: &Store,
    fork: &NativeRef,
    head: &State,
    observed: Option<&State>,
) -> Verdict {
    ensure!(
        observed.is_some_and(|observed| cx.same(observed, head)),
        "the branch is at {head:?}, and Moved observed {observed:?}"
    );
    let now = cx.now(store, Some(fork)).await?;
    ensure!(
        cx.same(&now, head),
        "a refused move moved the branch from {head:?} to {now:?}"
    );
    Ok(())
}

async fn a_fork_that_moved_since_it_was_reviewed_is_left_alone(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let source = cx.source(&store, &state).await?;
    let fork = cx.forked(&store).await?;
    let reviewed = cx.mutate(&store, Some(&fork)).await?;
    let head = cx.mutate(&store, Some(&fork)).await?;
    for stale in [reviewed, state] {
        let answer = cx
            .backend
            .fork(&store, &source, &fork, &Expected::At(stale))
            .await?;
        let observed = refused(
            answer,
            "a reset of a branch that moved since it was reviewed",
        )?;
        unmoved(cx, &store, &fork, &head, observed.as_ref()).await?;
    }
    Ok(())
}

async fn a_fork_that_was_reviewed_and_is_gone_is_not_made(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let source = cx.source(&store, &state).await?;
    let name = cx.name(&DatasetId::random()?)?;
    let answer = cx
        .backend
        .fork(&store, &source, &name, &Expected::At(state))
        .await?;
    let observed = refused(answer, "a reset of a branch that is gone")?;
    ensure!(
        observed.is_none(),
        "a branch that is gone was observed at {observed:?}"
    );
    ensure!(
        cx.backend.head(&store, &name).await?.is_none(),
        "a refused reset made the branch"
    );
    Ok(())
}

async fn a_fork_of_a_state_the_store_never_had_is_refused(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let source = Source::State(cx.unreachable(&store).await?);
    let name = cx.name(&DatasetId::random()?)?;
    let answer = cx
        .backend
        .fork(&store, &source, &name, &Expected::Any)
        .await;
    error_of_kind(
        answer,
        ErrorKind::Store,
        "a fork of a state the store never had",
    )?;
    ensure!(
        cx.backend.head(&store, &name).await?.is_none(),
        "a failed fork made the branch"
    );
    Ok(())
}

async fn a_fork_whose_reply_was_lost_is_found(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let source = cx.source(&store, &state).await?;
    let fork = cx.forked(&store).await?;
    for fault in [Fault::LostReply, Fault::After, Fault::Retried] {
        let written = Expected::At(cx.mutate(&store, Some(&fork)).await?);
        let backend = Faulty::new(Arc::clone(&cx.backend), Faults::default());
        backend.fail(Method::Fork, 1, fault);
        let mut answer = backend.fork(&store, &source, &fork, &written).await;
        if fault != Fault::Retried {
            error_of_kind(answer, ErrorKind::Store, "a fork with a planned fault")?;
            answer = backend.fork(&store, &source, &fork, &written).await;
        }
        let found = done(answer?, Effect::Found, "a reset after a lost reply")?;
        let head = cx.now(&store, Some(&found)).await?;
        ensure!(
            cx.same(&head, &state),
            "after a reset onto {state:?} the branch is at {head:?}"
        );
        if found != fork {
            return Err(skipped(
                "the kind resets into further generations; one round was checked",
            ));
        }
    }
    Ok(())
}

/// Whoever asks for a branch that must be absent learns from `observed` that it stands where it should.
async fn a_first_fork_whose_reply_was_lost_is_observed_where_it_was_wanted(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let source = cx.source(&store, &state).await?;
    let name = cx.name(&DatasetId::random()?)?;
    let backend = Faulty::new(Arc::clone(&cx.backend), Faults::default());
    backend.fail(Method::Fork, 1, Fault::LostReply);
    let lost = backend
        .fork(&store, &source, &name, &Expected::Absent)
        .await;
    error_of_kind(lost, ErrorKind::Store, "a fork with a planned fault")?;
    let answer = backend
        .fork(&store, &source, &name, &Expected::Absent)
        .await?;
    let observed = refused(answer, "a fork that must be absent, again")?;
    unmoved(cx, &store, &name, &state, observed.as_ref()).await
}

async fn of_racing_forks_that_must_be_absent_exactly_one_creates(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let old = cx.now(&store, None).await?;
    let new = cx.mutate(&store, None).await?;
    let sources = [
        cx.source(&store, &old).await?,
        cx.source(&store, &new).await?,
    ];
    for _ in 0..cx.harness.rounds() {
        let name = cx.name(&DatasetId::random()?)?;
        let answers = race(|number| {
            let (backend, store, name) = (cx.backend.clone(), store.clone(), name.clone());
            let source = sources[number % 2].clone();
            async move {
                backend
                    .fork(&store, &source, &name, &Expected::Absent)
                    .await
            }
        })
        .await?;
        let mut winners = Vec::new();
        for (number, answer) in answers.into_iter().enumerate() {
            if let Ok((_, effect)) = finished(answer, "") {
                winners.push((number, effect));
            }
        }
        let [(winner, Effect::Created)] = winners[..] else {
            ensure!(
                false,
                "of {} racing forks these were done: {winners:?}",
                crate::cx::RACERS
            );
            continue;
        };
        let wanted = if winner % 2 == 0 { &old } else { &new };
        let head = cx.now(&store, Some(&name)).await?;
        ensure!(
            cx.same(&head, wanted),
            "racer {winner} made the branch at {wanted:?}; it is at {head:?}"
        );
    }
    Ok(())
}

/// Half of the racers reset the branch onto one state, half onto another; all reviewed the same head.
async fn of_racing_resets_exactly_one_moves(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let old = cx.now(&store, None).await?;
    let new = cx.mutate(&store, None).await?;
    let sources = [
        cx.source(&store, &old).await?,
        cx.source(&store, &new).await?,
    ];
    let fork = cx.forked(&store).await?;
    for _ in 0..cx.harness.rounds() {
        let reviewed = Expected::At(cx.mutate(&store, Some(&fork)).await?);
        let answers = race(|number| {
            let (backend, store, name) = (cx.backend.clone(), store.clone(), fork.clone());
            let (source, expected) = (sources[number % 2].clone(), reviewed.clone());
            async move { backend.fork(&store, &source, &name, &expected).await }
        })
        .await?;
        let mut movers = Vec::new();
        let mut found = Vec::new();
        for (number, answer) in answers.into_iter().enumerate() {
            match finished(answer, "") {
                Ok((_, Effect::Found)) => found.push(number),
                Ok(_) => movers.push(number),
                Err(_) => {}
            }
        }
        ensure!(
            movers.len() == 1,
            "of racing resets from one reviewed head, these moved it: {movers:?}"
        );
        let winner = movers[0];
        ensure!(
            found.iter().all(|number| number % 2 == winner % 2),
            "racer {winner} moved the branch, and {found:?} found it where they want it"
        );
        let wanted = if winner % 2 == 0 { &old } else { &new };
        let head = cx.now(&store, Some(&fork)).await?;
        ensure!(
            cx.same(&head, wanted),
            "racer {winner} moved the branch to {wanted:?}; it is at {head:?}"
        );
    }
    Ok(())
}
