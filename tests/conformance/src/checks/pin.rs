//! PIN: native refs that keep a state alive. ATOMIC_REF: they are created if absent.

use std::sync::Arc;

use tether_engine::backend::{Capability, Effect, Store, Target, Verdict as Status};
use tether_engine::error::ErrorKind;
use tether_engine::id::DatasetId;
use tether_engine::manifest::Pin;
use tether_engine::state::State;

use crate::cx::{
    Cx, Verdict, checks, done, ensure, error_of_kind, finished, race, refused, skipped,
};
use crate::faults::{Fault, Faults, Faulty, Method};

checks! {
    [Pin]:
        a_pin_is_created_once_and_then_found,
        a_pin_holds_its_state_while_the_object_moves_on,
        an_older_state_can_be_pinned,
        a_pin_at_another_state_is_not_moved,
        pins_of_every_dataset_are_listed,
        an_unpinned_pin_is_gone_and_can_be_made_again,
        a_drifted_pin_is_noticed,
        a_missing_pin_is_noticed,
        a_state_the_store_never_had_cannot_be_pinned,
        a_pin_whose_reply_was_lost_is_found,
        a_pin_that_failed_before_its_effect_is_created_by_the_next_call;
    [Pin, AtomicRef]:
        of_racing_pins_exactly_one_is_created;
}

async fn status(
    cx: &Cx<'_>,
    store: &Store,
    state: &State,
    pin: &Pin,
    deep: bool,
) -> Verdict<Status> {
    Ok(cx
        .backend
        .verify(store, state, Some(pin), deep)
        .await?
        .status)
}

async fn a_pin_is_created_once_and_then_found(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let id = cx.pin_id(&DatasetId::random()?, &store, &state)?;
    let pin = done(
        cx.backend.pin(&store, &state, &id).await?,
        Effect::Created,
        "a first pin",
    )?;
    ensure!(pin.id == id, "pin {id} answered {pin:?}");
    let refs = cx.refs(&store).await?;
    ensure!(
        refs.is_empty() || refs.keys().any(|name| name.contains(pin.native.as_str())),
        "the store has no ref {} among {refs:?}",
        pin.native
    );
    let again = done(
        cx.backend.pin(&store, &state, &id).await?,
        Effect::Found,
        "the same pin again",
    )?;
    ensure!(
        again == pin,
        "the second call answered {again:?}, the first {pin:?}"
    );
    ensure!(
        cx.refs(&store).await? == refs,
        "the second call changed the store's refs"
    );
    for deep in [false, true] {
        let status = status(cx, &store, &state, &pin, deep).await?;
        ensure!(
            status == Status::Ok,
            "a fresh pin is {status:?} (deep: {deep})"
        );
    }
    let pinned = cx
        .backend
        .open(&store, &Target::Pinned(pin, state), false)
        .await?;
    ensure!(pinned.read_only, "a pin is writable: {pinned:?}");
    Ok(())
}

async fn a_pin_holds_its_state_while_the_object_moves_on(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let pin = cx.pinned(&store, &state).await?;
    for _ in 0..2 {
        let now = cx.mutate(&store, None).await?;
        ensure!(
            !cx.same(&now, &state),
            "a write after a pin did not change the state"
        );
    }
    for deep in [false, true] {
        let status = status(cx, &store, &state, &pin, deep).await?;
        ensure!(
            status == Status::Ok,
            "after writes, a pin is {status:?} (deep: {deep})"
        );
    }
    cx.backend
        .open(&store, &Target::Pinned(pin, state), false)
        .await?;
    Ok(())
}

async fn an_older_state_can_be_pinned(cx: &Cx<'_>) -> Verdict {
    if !cx.has(Capability::Addressable) {
        return Err(skipped("the kind reads no older states"));
    }
    let store = cx.store().await?;
    let old = cx.now(&store, None).await?;
    let new = cx.mutate(&store, None).await?;
    let pin = cx.pinned(&store, &old).await?;
    let found = status(cx, &store, &old, &pin, false).await?;
    ensure!(found == Status::Ok, "a pin of an older state is {found:?}");
    let found = status(cx, &store, &new, &pin, false).await?;
    ensure!(
        found == Status::Drifted,
        "asked about the newer state, the pin is {found:?}"
    );
    Ok(())
}

async fn a_pin_at_another_state_is_not_moved(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let old = cx.now(&store, None).await?;
    let id = cx.pin_id(&DatasetId::random()?, &store, &old)?;
    let pin = done(
        cx.backend.pin(&store, &old, &id).await?,
        Effect::Created,
        "a first pin",
    )?;
    let new = cx.mutate(&store, None).await?;
    let answer = cx.backend.pin(&store, &new, &id).await?;
    let observed = refused(answer, "a pin that exists at another state")?;
    ensure!(
        observed.as_ref().is_some_and(|state| cx.same(state, &old)),
        "the pin is at {old:?}, and Moved observed {observed:?}"
    );
    let found = status(cx, &store, &old, &pin, false).await?;
    ensure!(
        found == Status::Ok,
        "after a refused pin, the first one is {found:?}"
    );
    Ok(())
}

async fn pins_of_every_dataset_are_listed(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let before = cx.backend.list_pins(&store).await?;
    ensure!(before.is_empty(), "a new store lists pins: {before:?}");
    let (one, two) = (
        cx.pinned(&store, &state).await?,
        cx.pinned(&store, &state).await?,
    );
    cx.forked_if_it_can(&store).await?;
    let pins = cx.backend.list_pins(&store).await?;
    for pin in [&one, &two] {
        let count = pins.iter().filter(|id| **id == pin.id).count();
        ensure!(
            count == 1,
            "pin {} is listed {count} times in {pins:?}",
            pin.id
        );
    }
    ensure!(
        pins.len() == 2 + usize::from(cx.has(Capability::Fork)),
        "what is no pin is listed: {pins:?}"
    );
    Ok(())
}

async fn an_unpinned_pin_is_gone_and_can_be_made_again(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let refs = cx.refs(&store).await?;
    let id = cx.pin_id(&DatasetId::random()?, &store, &state)?;
    let mut pin = done(
        cx.backend.pin(&store, &state, &id).await?,
        Effect::Created,
        "a first pin",
    )?;
    for _ in 0..2 {
        let effect = cx.backend.unpin(&store, &pin).await?;
        ensure!(
            effect == Effect::Changed,
            "unpin of a pin that was there answered {effect:?}"
        );
        ensure!(
            cx.backend.list_pins(&store).await?.is_empty(),
            "an unpinned pin is listed"
        );
        ensure!(
            cx.refs(&store).await? == refs,
            "unpin left other refs than before the pin"
        );
        let found = status(cx, &store, &state, &pin, false).await?;
        ensure!(found == Status::Missing, "an unpinned pin is {found:?}");
        let effect = cx.backend.unpin(&store, &pin).await?;
        ensure!(
            effect == Effect::Found,
            "unpin of a pin that was gone answered {effect:?}"
        );
        // The ref may be a further generation now; the id is the same.
        let answer = cx.backend.pin(&store, &state, &id).await?;
        pin = done(answer, Effect::Created, "a pin made again")?;
        let found = status(cx, &store, &state, &pin, true).await?;
        ensure!(found == Status::Ok, "a pin made again is {found:?}");
        ensure!(
            cx.backend.list_pins(&store).await? == [id.clone()],
            "a pin made again is not listed once"
        );
    }
    Ok(())
}

async fn a_drifted_pin_is_noticed(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let pin = cx.pinned(&store, &state).await?;
    let elsewhere = cx.mutate(&store, None).await?;
    cx.set_ref(&store, &pin.native, Some(&elsewhere)).await?;
    for deep in [false, true] {
        let found = status(cx, &store, &state, &pin, deep).await?;
        ensure!(
            found == Status::Drifted,
            "a pin that was moved away is {found:?} (deep: {deep})"
        );
    }
    let target = Target::Pinned(pin.clone(), state.clone());
    let opened = cx.backend.open(&store, &target, false).await;
    error_of_kind(
        opened,
        ErrorKind::PinDrift,
        "opening a pin that was moved away",
    )?;
    let observed = refused(
        cx.backend.pin(&store, &state, &pin.id).await?,
        "pinning over a moved pin",
    )?;
    ensure!(
        observed
            .as_ref()
            .is_some_and(|found| cx.same(found, &elsewhere)),
        "the pin is at {elsewhere:?}, and Moved observed {observed:?}"
    );
    Ok(())
}

async fn a_missing_pin_is_noticed(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let pin = cx.pinned(&store, &state).await?;
    cx.set_ref(&store, &pin.native, None).await?;
    for deep in [false, true] {
        let found = status(cx, &store, &state, &pin, deep).await?;
        ensure!(
            found == Status::Missing,
            "a pin that was deleted is {found:?} (deep: {deep})"
        );
    }
    let effect = cx.backend.unpin(&store, &pin).await?;
    ensure!(
        effect == Effect::Found,
        "unpin of a deleted pin answered {effect:?}"
    );
    let target = Target::Pinned(pin, state.clone());
    let opened = cx.backend.open(&store, &target, false).await;
    if cx.has(Capability::Addressable) && cx.backend.state_addressable(&store.locator, &state) {
        ensure!(
            opened.is_ok(),
            "the pin is gone, the state is there, and open answered {opened:?}"
        );
    } else {
        error_of_kind(
            opened,
            ErrorKind::PinDrift,
            "opening a pin that was deleted",
        )?;
    }
    Ok(())
}

async fn a_state_the_store_never_had_cannot_be_pinned(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let lost = cx.unreachable(&store).await?;
    let id = cx.pin_id(&DatasetId::random()?, &store, &lost)?;
    let answer = cx.backend.pin(&store, &lost, &id).await;
    error_of_kind(
        answer,
        ErrorKind::Store,
        "pinning a state the store never had",
    )?;
    ensure!(
        cx.backend.list_pins(&store).await?.is_empty(),
        "a failed pin is listed"
    );
    Ok(())
}

fn faulty(cx: &Cx<'_>, method: Method, fault: Fault) -> Faulty {
    let faulty = Faulty::new(Arc::clone(&cx.backend), Faults::default());
    faulty.fail(method, 1, fault);
    faulty
}

async fn a_pin_whose_reply_was_lost_is_found(cx: &Cx<'_>) -> Verdict {
    use tether_engine::backend::Backend as _;
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    for fault in [Fault::LostReply, Fault::After, Fault::Retried] {
        let backend = faulty(cx, Method::Pin, fault);
        let id = cx.pin_id(&DatasetId::random()?, &store, &state)?;
        let mut answer = backend.pin(&store, &state, &id).await;
        if fault != Fault::Retried {
            error_of_kind(answer, ErrorKind::Store, "a pin with a planned fault")?;
            answer = backend.pin(&store, &state, &id).await;
        }
        let pin = done(answer?, Effect::Found, "a pin after a lost reply")?;
        let backend = faulty(cx, Method::Unpin, Fault::Retried);
        let effect = backend.unpin(&store, &pin).await?;
        ensure!(
            effect == Effect::Found,
            "an unpin after a lost reply answered {effect:?}"
        );
    }
    ensure!(
        cx.backend.list_pins(&store).await?.is_empty(),
        "pins are left after unpin"
    );
    Ok(())
}

async fn a_pin_that_failed_before_its_effect_is_created_by_the_next_call(cx: &Cx<'_>) -> Verdict {
    use tether_engine::backend::Backend as _;
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let backend = faulty(cx, Method::Pin, Fault::Before);
    let id = cx.pin_id(&DatasetId::random()?, &store, &state)?;
    let answer = backend.pin(&store, &state, &id).await;
    error_of_kind(answer, ErrorKind::Store, "a pin with a planned fault")?;
    done(
        backend.pin(&store, &state, &id).await?,
        Effect::Created,
        "a pin after a failed one",
    )?;
    Ok(())
}

async fn of_racing_pins_exactly_one_is_created(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    for _ in 0..cx.harness.rounds() {
        let id = cx.pin_id(&DatasetId::random()?, &store, &state)?;
        let answers = race(|_| {
            let (backend, store, state, id) =
                (cx.backend.clone(), store.clone(), state.clone(), id.clone());
            async move { backend.pin(&store, &state, &id).await }
        })
        .await?;
        let mut created = 0;
        let mut pins = Vec::new();
        for answer in answers {
            let (pin, effect) = finished(answer, "a racing pin at one state")?;
            created += usize::from(effect == Effect::Created);
            pins.push(pin);
        }
        ensure!(
            created == 1,
            "{created} of the racing pins say that they created it"
        );
        ensure!(
            pins.iter().all(|pin| *pin == pins[0]),
            "racing pins answered different refs: {pins:?}"
        );
    }
    Ok(())
}
