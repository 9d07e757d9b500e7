//! DIFF: what changed between two states, and the listings that make it possible.

use tether_engine::backend::{Change, ObjectDiff, Store};
use tether_engine::state::State;

use crate::cx::{Cx, Verdict, checks, ensure};

checks! {
    [Diff]:
        a_state_does_not_differ_from_itself,
        a_write_shows_in_the_diff_and_its_counts_agree,
        a_diff_without_listings_still_says_that_something_changed,
        a_listing_describes_the_state_it_was_asked_for;
}

async fn diff(
    cx: &Cx<'_>,
    store: &Store,
    a: (&State, Option<&[u8]>),
    b: (&State, Option<&[u8]>),
) -> Verdict<ObjectDiff> {
    let diff = cx.backend.diff(store, a.0, b.0, (a.1, b.1)).await?;
    ensure!(!diff.unit.is_empty(), "a diff names no unit: {diff:?}");
    ensure!(!diff.summary.is_empty(), "a diff has no summary: {diff:?}");
    ensure!(
        diff.entries.len() <= ObjectDiff::MAX_ENTRIES,
        "a diff has {} entries",
        diff.entries.len()
    );
    let count = |changes: &[Change]| {
        let entries = diff
            .entries
            .iter()
            .filter(|entry| changes.contains(&entry.change));
        entries.count() as u64
    };
    let listed = (
        count(&[Change::Added]),
        count(&[Change::Removed]),
        count(&[Change::Modified, Change::Renamed]),
    );
    let counted = (diff.added, diff.removed, diff.modified);
    // A diff of counts alone has no entries, and says why in its note.
    let counts_only = diff.entries.is_empty() && !diff.note.is_empty();
    ensure!(
        diff.truncated || counts_only || listed == counted,
        "a diff counts {counted:?} (added, removed, modified) and lists {listed:?}"
    );
    Ok(diff)
}

async fn a_state_does_not_differ_from_itself(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let listing = cx.backend.listing(&store, &state).await?;
    for listing in [listing.as_deref(), None] {
        let same = diff(cx, &store, (&state, listing), (&state, listing)).await?;
        ensure!(
            same.is_empty() && same.entries.is_empty(),
            "a state differs from itself: {same:?}"
        );
    }
    Ok(())
}

async fn a_write_shows_in_the_diff_and_its_counts_agree(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let old = cx.now(&store, None).await?;
    let before = cx.backend.listing(&store, &old).await?;
    let new = cx.mutate(&store, None).await?;
    let after = cx.backend.listing(&store, &new).await?;
    let (old, new) = ((&old, before.as_deref()), (&new, after.as_deref()));
    let forth = diff(cx, &store, old, new).await?;
    ensure!(!forth.is_empty(), "a write does not show: {forth:?}");
    let back = diff(cx, &store, new, old).await?;
    ensure!(!back.is_empty(), "undoing a write does not show: {back:?}");
    Ok(())
}

async fn a_diff_without_listings_still_says_that_something_changed(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let old = cx.now(&store, None).await?;
    let new = cx.mutate(&store, None).await?;
    let listing = cx.backend.listing(&store, &new).await?;
    for listings in [(None, None), (None, listing.as_deref())] {
        let bare = diff(cx, &store, (&old, listings.0), (&new, listings.1)).await?;
        ensure!(
            !bare.is_empty() || !bare.note.is_empty(),
            "without both listings a write does not show, and no note says why: {bare:?}"
        );
    }
    Ok(())
}

async fn a_listing_describes_the_state_it_was_asked_for(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let old = cx.now(&store, None).await?;
    let listing = cx.backend.listing(&store, &old).await?;
    let again = cx.backend.listing(&store, &old).await?;
    ensure!(listing == again, "two listings of one state differ");
    let new = cx.mutate(&store, None).await?;
    let late = cx.backend.listing(&store, &old).await?;
    ensure!(
        late.is_none() || late == listing,
        "the object moved on, and the listing of its old state is another one now"
    );
    let current = cx.backend.listing(&store, &new).await?;
    ensure!(
        current.is_none() || current != listing,
        "two states have the same listing"
    );
    Ok(())
}
