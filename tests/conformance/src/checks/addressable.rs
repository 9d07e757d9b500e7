//! ADDRESSABLE: a recorded state can be read back without a pin.

use tether_engine::backend::{Target, Verdict as Status};
use tether_engine::error::ErrorKind;

use crate::cx::{Cx, Verdict, checks, ensure, error, skipped};

checks! {
    [Addressable]:
        a_recorded_state_opens_also_after_the_object_moved_on,
        a_state_the_store_never_had_is_not_there;
}

async fn a_recorded_state_opens_also_after_the_object_moved_on(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let old = cx.now(&store, None).await?;
    if !cx.backend.state_addressable(&store.locator, &old) {
        return Err(skipped(
            "the harness's states have no coordinate to be read back by",
        ));
    }
    let first = cx
        .backend
        .open(&store, &Target::State(old.clone()), false)
        .await?;
    let new = cx.mutate(&store, None).await?;
    let again = cx.backend.open(&store, &Target::State(old), false).await?;
    ensure!(
        first.address == again.address,
        "a state's address moved from {first:?} to {again:?}"
    );
    ensure!(again.read_only, "a recorded state is writable: {again:?}");
    let current = cx.backend.open(&store, &Target::State(new), false).await?;
    ensure!(
        current.address != again.address,
        "two states have one address: {current:?}"
    );
    Ok(())
}

async fn a_state_the_store_never_had_is_not_there(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let lost = cx.unreachable(&store).await?;
    let opened = cx
        .backend
        .open(&store, &Target::State(lost.clone()), false)
        .await;
    let error = error(opened, "opening a state the store never had")?;
    ensure!(
        matches!(error.kind(), ErrorKind::Store | ErrorKind::Config),
        "opening a state the store never had failed as {:?}",
        error.kind()
    );
    let verified = cx.backend.verify(&store, &lost, None, true).await?;
    ensure!(
        verified.status == Status::Missing,
        "a deep verify of a state the store never had is {verified:?}"
    );
    Ok(())
}
