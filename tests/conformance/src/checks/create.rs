//! CREATE: whole stores, made with an owner marker and removed by its word alone.

use tether_engine::backend::{Expected, Source, Store};
use tether_engine::error::ErrorKind;
use tether_engine::id::DatasetId;

use crate::cx::{Cx, Verdict, checks, ensure, error, error_of_kind, failed, finished};

checks! {
    [Create]:
        a_store_lives_from_create_to_delete_and_again,
        what_is_there_is_not_adopted_by_create,
        a_store_with_content_is_not_empty_and_not_deleted,
        only_the_owner_deletes_a_store;
    [Create, Fork]:
        a_store_with_a_branch_is_empty_but_for_that_branch;
    [Create, Pin]:
        a_store_with_a_pin_is_empty_but_for_that_pin;
}

async fn fresh(cx: &Cx<'_>) -> Verdict<Store> {
    let store = cx.harness.fresh_store().await?;
    store.ok_or_else(|| failed("CREATE is declared and the harness has no fresh store"))
}

async fn created(cx: &Cx<'_>, owner: &DatasetId) -> Verdict<Store> {
    let store = fresh(cx).await?;
    cx.backend.create(&store, owner).await?;
    Ok(store)
}

async fn is_owned(cx: &Cx<'_>, store: &Store, owner: Option<&DatasetId>) -> Verdict {
    let found = cx.backend.owner(store).await?;
    ensure!(
        found.as_ref() == owner,
        "the owner is {found:?}, not {owner:?}"
    );
    Ok(())
}

async fn a_store_lives_from_create_to_delete_and_again(cx: &Cx<'_>) -> Verdict {
    let owner = DatasetId::random()?;
    let store = fresh(cx).await?;
    is_owned(cx, &store, None).await?;
    for _ in 0..2 {
        let created = cx.backend.create(&store, &owner).await?;
        let now = cx.now(&store, None).await?;
        ensure!(
            cx.same(&created, &now),
            "create answered {created:?}, the state is {now:?}"
        );
        is_owned(cx, &store, Some(&owner)).await?;
        ensure!(
            cx.backend.list_pins(&store).await?.is_empty(),
            "the owner marker is listed as a pin"
        );
        ensure!(
            cx.backend.list_working_refs(&store).await?.is_empty(),
            "a new store lists branches"
        );
        let empty = cx.backend.is_ref_empty(&store, &[]).await?;
        ensure!(
            empty == Some(true),
            "is_ref_empty of a new store is {empty:?}"
        );
        cx.backend.delete_store(&store, &owner).await?;
        is_owned(cx, &store, None).await?;
        error(
            cx.now(&store, None).await,
            "the fingerprint of a deleted store",
        )?;
        // The reply to the deletion may have been lost: gone already is success.
        cx.backend.delete_store(&store, &owner).await?;
    }
    Ok(())
}

async fn what_is_there_is_not_adopted_by_create(cx: &Cx<'_>) -> Verdict {
    let owner = DatasetId::random()?;
    let made = created(cx, &owner).await?;
    let state = cx.now(&made, None).await?;
    for dataset in [owner.clone(), DatasetId::random()?] {
        error_of_kind(
            cx.backend.create(&made, &dataset).await,
            ErrorKind::User,
            "a second create",
        )?;
    }
    let now = cx.now(&made, None).await?;
    ensure!(
        cx.same(&state, &now),
        "a second create changed {state:?} to {now:?}"
    );
    is_owned(cx, &made, Some(&owner)).await?;
    let adopted = cx.store().await?;
    let state = cx.now(&adopted, None).await?;
    let answer = cx.backend.create(&adopted, &owner).await;
    error_of_kind(answer, ErrorKind::User, "create where a store is already")?;
    let now = cx.now(&adopted, None).await?;
    ensure!(
        cx.same(&state, &now),
        "a refused create changed {state:?} to {now:?}"
    );
    is_owned(cx, &adopted, None).await
}

/// Sees that the store is not deleted, not even by its owner, and still is what it was.
async fn stays(cx: &Cx<'_>, store: &Store, owner: &DatasetId, why: &str) -> Verdict {
    let state = cx.now(store, None).await?;
    let marker = cx.backend.owner(store).await?;
    error(
        cx.backend.delete_store(store, owner).await,
        &format!("delete_store of a store {why}"),
    )?;
    let now = cx.now(store, None).await?;
    ensure!(
        cx.same(&state, &now),
        "a refused delete_store changed {state:?} to {now:?}"
    );
    is_owned(cx, store, marker.as_ref()).await
}

async fn a_store_with_content_is_not_empty_and_not_deleted(cx: &Cx<'_>) -> Verdict {
    let owner = DatasetId::random()?;
    let store = created(cx, &owner).await?;
    cx.harness.mutate(&store, None).await?;
    let empty = cx.backend.is_ref_empty(&store, &[]).await?;
    ensure!(
        empty != Some(true),
        "is_ref_empty of a store with content is {empty:?}"
    );
    stays(cx, &store, &owner, "with content").await
}

async fn only_the_owner_deletes_a_store(cx: &Cx<'_>) -> Verdict {
    let owner = DatasetId::random()?;
    let store = created(cx, &owner).await?;
    stays(cx, &store, &DatasetId::random()?, "of another dataset").await?;
    let adopted = cx.store().await?;
    stays(cx, &adopted, &owner, "without a marker").await?;
    cx.backend.delete_store(&store, &owner).await?;
    Ok(())
}

async fn a_store_with_a_branch_is_empty_but_for_that_branch(cx: &Cx<'_>) -> Verdict {
    let owner = DatasetId::random()?;
    let store = created(cx, &owner).await?;
    let base = cx.base(&store).await?;
    let name = cx.name(&owner)?;
    let source = Source::Ref(base);
    let expected = Expected::Absent;
    let answer = cx.backend.fork(&store, &source, &name, &expected).await?;
    let (fork, _) = finished(answer, "a fork in a created store")?;
    let empty = cx.backend.is_ref_empty(&store, &[]).await?;
    ensure!(
        empty == Some(false),
        "is_ref_empty of a store with a branch is {empty:?}"
    );
    let empty = cx
        .backend
        .is_ref_empty(&store, std::slice::from_ref(&fork))
        .await?;
    ensure!(
        empty == Some(true),
        "is_ref_empty but for the only branch is {empty:?}"
    );
    stays(cx, &store, &owner, "with a branch").await?;
    let answer = cx
        .backend
        .delete_working_ref(&store, &fork, &Expected::Any)
        .await?;
    finished(answer, "deleting the branch")?;
    let empty = cx.backend.is_ref_empty(&store, &[]).await?;
    ensure!(
        empty == Some(true),
        "is_ref_empty after the branch was deleted is {empty:?}"
    );
    Ok(())
}

async fn a_store_with_a_pin_is_empty_but_for_that_pin(cx: &Cx<'_>) -> Verdict {
    let owner = DatasetId::random()?;
    let store = created(cx, &owner).await?;
    let state = cx.now(&store, None).await?;
    let pin = cx.pinned(&store, &state).await?;
    let empty = cx.backend.is_ref_empty(&store, &[]).await?;
    ensure!(
        empty == Some(false),
        "is_ref_empty of a store with a pin is {empty:?}"
    );
    let empty = cx
        .backend
        .is_ref_empty(&store, std::slice::from_ref(&pin.native))
        .await?;
    ensure!(
        empty == Some(true),
        "is_ref_empty but for the only pin is {empty:?}"
    );
    stays(cx, &store, &owner, "with a pin").await?;
    cx.backend.unpin(&store, &pin).await?;
    cx.backend.delete_store(&store, &owner).await?;
    Ok(())
}
