//! HISTORY: the system's own history, whose ids are positions.

use tether_engine::backend::{Store, Target};
use tether_engine::error::ErrorKind;

use crate::cx::{Cx, Verdict, checks, ensure, error};

checks! {
    [History]:
        the_newest_entry_is_the_current_state_and_an_older_one_another,
        every_listed_id_is_a_position,
        the_limit_bounds_the_history,
        a_history_starts_where_asked;
}

/// The store as registered at `id`.
fn at(store: &Store, id: &str) -> Store {
    let mut store = store.clone();
    store.locator = store.locator.with("at", id);
    store
}

/// A store with at least three entries.
async fn written(cx: &Cx<'_>) -> Verdict<Store> {
    let store = cx.store().await?;
    for _ in 0..2 {
        cx.harness.mutate(&store, None).await?;
    }
    Ok(store)
}

async fn the_newest_entry_is_the_current_state_and_an_older_one_another(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let older = cx.now(&store, None).await?;
    let newer = cx.mutate(&store, None).await?;
    let history = cx.backend.history(&store, None, 100).await?;
    ensure!(
        history.len() >= 2,
        "after a write the history has {} entries",
        history.len()
    );
    let newest = cx.now(&at(&store, &history[0].id), None).await?;
    ensure!(
        cx.same(&newest, &newer),
        "the newest entry is {newest:?}, the current state {newer:?}"
    );
    let second = cx.now(&at(&store, &history[1].id), None).await?;
    ensure!(
        !cx.same(&second, &newer),
        "the second entry is the current state as well: {second:?}"
    );
    let mut known = false;
    for entry in &history[1..] {
        let state = cx.now(&at(&store, &entry.id), None).await?;
        known = known || cx.same(&state, &older);
    }
    ensure!(
        known,
        "the state before the write, {older:?}, is no entry of {history:?}"
    );
    Ok(())
}

async fn every_listed_id_is_a_position(cx: &Cx<'_>) -> Verdict {
    let store = written(cx).await?;
    let plain = cx.backend.identity(&store.locator)?;
    let mut ids = Vec::new();
    for entry in cx.backend.history(&store, None, 100).await? {
        ensure!(!ids.contains(&entry.id), "{} is listed twice", entry.id);
        let store = at(&store, &entry.id);
        let state = cx.now(&store, None).await?;
        let again = cx.now(&store, None).await?;
        ensure!(
            cx.same(&state, &again),
            "position {} has two states",
            entry.id
        );
        cx.backend.open(&store, &Target::Base, false).await?;
        let identity = cx.backend.identity(&store.locator)?;
        ids.push(entry.id);
        ensure!(
            identity == plain,
            "the position is part of the identity {identity:?}"
        );
    }
    // A write after the position was noted does not move it.
    let newest = at(&store, &ids[0]);
    let before = cx.now(&newest, None).await?;
    cx.harness.mutate(&store, None).await?;
    let after = cx.now(&newest, None).await?;
    ensure!(
        cx.same(&before, &after),
        "position {} moved from {before:?} to {after:?}",
        ids[0]
    );
    Ok(())
}

async fn the_limit_bounds_the_history(cx: &Cx<'_>) -> Verdict {
    let store = written(cx).await?;
    let all = cx.backend.history(&store, None, 100).await?;
    for limit in 0..all.len() {
        let some = cx.backend.history(&store, None, limit).await?;
        ensure!(
            some.len() == limit,
            "with limit {limit} there are {} entries",
            some.len()
        );
        ensure!(
            some == all[..limit],
            "with limit {limit} the entries are not the newest: {some:?}"
        );
    }
    Ok(())
}

async fn a_history_starts_where_asked(cx: &Cx<'_>) -> Verdict {
    let store = written(cx).await?;
    let all = cx.backend.history(&store, None, 100).await?;
    let ids = |entries: &[tether_engine::backend::HistoryEntry]| -> Vec<String> {
        entries.iter().map(|entry| entry.id.clone()).collect()
    };
    for start in 0..all.len() {
        let expected = ids(&all[start..]);
        let from = ids(&cx
            .backend
            .history(&store, Some(&all[start].id), 100)
            .await?);
        ensure!(
            from == expected,
            "from {} the history is {from:?}, not {expected:?}",
            all[start].id
        );
        let positioned = at(&store, &all[start].id);
        let from = ids(&cx.backend.history(&positioned, None, 100).await?);
        ensure!(
            from == expected,
            "at {} the history is {from:?}, not {expected:?}",
            all[start].id
        );
    }
    let nowhere = cx.backend.history(&store, Some("no-such-entry"), 100).await;
    let error = error(nowhere, "the history from an id that does not exist")?;
    ensure!(
        matches!(
            error.kind(),
            ErrorKind::Store | ErrorKind::User | ErrorKind::Config
        ),
        "the history from an id that does not exist failed as {:?}",
        error.kind()
    );
    Ok(())
}
