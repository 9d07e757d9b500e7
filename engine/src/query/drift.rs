//! What the VCS did behind tether's back: bookmarks that were moved, left, renamed or deleted, dataset commits that left history.

use std::collections::BTreeMap;

use super::recent::Recent;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::id::{CommitId, OpId};
use crate::key::ObjectKey;
use crate::manifest::Manifests;
use crate::name::BookmarkName;
use crate::report::VcsDrift;
use crate::vcs::Position;
use crate::workspace::Workspace;

/// What to say about this checkout's bookmark; nothing while the working copy is on it.
pub(super) fn bookmark(dataset: &Dataset, workspace: &Workspace) -> Result<Vec<String>> {
    let mut warnings: Vec<String> = dataset.vcs.unseen()?.into_iter().collect();
    if let Some(bookmark) = &workspace.view.bookmark {
        warnings.extend(about(dataset, workspace, bookmark)?);
    }
    Ok(warnings)
}

fn about(
    dataset: &Dataset,
    workspace: &Workspace,
    bookmark: &BookmarkName,
) -> Result<Option<String>> {
    let position = dataset.vcs.position()?;
    if let Some(targets) = position.conflicted.get(bookmark) {
        let (what, hint) = conflicted(bookmark, targets);
        return Ok(Some(format!("{what}; {hint}")));
    }
    if position.bookmarks.contains(bookmark) {
        return moved(dataset, workspace, &position, bookmark);
    }
    if let Some(there) = dataset.ahead(workspace)? {
        return Ok(Some(format!(
            "bookmark '{bookmark}' moved on to {}, where another checkout committed on it; `tether new {bookmark}` takes that in",
            there.short()
        )));
    }
    let exists = dataset.vcs.bookmarks()?.contains_key(bookmark);
    Ok(Some(left(bookmark, &position, exists)))
}

/// A bookmark that is at several places at once, and the way out.
pub(crate) fn conflicted(bookmark: &BookmarkName, targets: &[CommitId]) -> (String, String) {
    let places: Vec<&str> = targets.iter().map(CommitId::short).collect();
    let places = match places.as_slice() {
        [] => "it was deleted in two ways".to_owned(),
        [one] => format!("it was moved to {one} and deleted at the same time"),
        many => format!("it may be at {}", many.join(" or ")),
    };
    (
        format!("bookmark '{bookmark}' is conflicted: {places}"),
        format!("`jj bookmark set {bookmark} -r REVISION` decides"),
    )
}

fn left(bookmark: &BookmarkName, position: &Position, exists: bool) -> String {
    let here: Vec<&str> = position
        .bookmarks
        .iter()
        .map(BookmarkName::as_str)
        .collect();
    match here.first() {
        _ if exists => {
            let here = if here.is_empty() {
                "no bookmark".to_owned()
            } else {
                here.join(", ")
            };
            format!(
                "the working copy has left bookmark '{bookmark}' (now on {here}); `tether new {bookmark}` returns to it, `tether new` works where you are"
            )
        }
        Some(other) => format!(
            "bookmark '{bookmark}' is gone and '{other}' sits where the working copy is -- renamed? `tether new {other}` continues there (its store branches are forked anew; those of '{bookmark}' go to `gc --prune-bookmarks`)"
        ),
        None => format!(
            "bookmark '{bookmark}' no longer exists in the VCS; `tether new -b {bookmark}` recreates it here, `tether new NAME` joins another; its store branches stay until `gc --prune-bookmarks`"
        ),
    }
}

/// The commit the bookmark is at records other states than the checkout's branches correspond to.
fn moved(
    dataset: &Dataset,
    workspace: &Workspace,
    position: &Position,
    bookmark: &BookmarkName,
) -> Result<Option<String>> {
    let view = &workspace.view;
    let Some(head) = position
        .head
        .as_ref()
        .filter(|_| !view.working_refs.is_empty())
    else {
        return Ok(None);
    };
    let mut keys = Vec::new();
    for key in view.working_refs.keys() {
        let Some(base) = view.base_states.get(key) else {
            continue;
        };
        let Some(manifest) = super::manifest_at(dataset, head, key)? else {
            continue;
        };
        let volatile = dataset.volatile_keys(&manifest.kind);
        if manifest
            .state
            .is_some_and(|state| !state.same_content(base, volatile))
        {
            keys.push(key.as_str());
        }
    }
    if keys.is_empty() {
        return Ok(None);
    }
    Ok(Some(format!(
        "bookmark '{bookmark}' was moved to {}: its commit no longer records what the store branches of {} hold; `tether new {bookmark}` resets them onto the pins there (refused while they hold unpinned writes; --discard to drop those)",
        head.short(),
        keys.join(", ")
    )))
}

/// The dataset commits that left history without tether, newest first, with what became of their pins.
pub(super) fn commits(
    dataset: &Dataset,
    recent: &Recent,
    manifests: &Manifests,
) -> Result<Vec<VcsDrift>> {
    let drift = |(op, commit): &(OpId, CommitId)| {
        let operation = dataset.op_store().summary(op)?;
        let referenced = operation
            .map(|operation| referenced(&operation.result, manifests))
            .unwrap_or_default();
        Ok(VcsDrift {
            op: op.clone(),
            commit: commit.clone(),
            referenced,
        })
    };
    recent.gone.iter().map(drift).collect()
}

/// Key to whether the working tree still names the pin, for each pin an operation's result lists.
fn referenced(result: &serde_json::Value, manifests: &Manifests) -> BTreeMap<ObjectKey, bool> {
    let pinned = result.get("pinned").and_then(serde_json::Value::as_object);
    pinned
        .into_iter()
        .flatten()
        .filter_map(|(key, pin)| {
            let (key, pin): (ObjectKey, &str) = (key.parse().ok()?, pin.as_str()?);
            let here = manifests
                .get(&key)
                .and_then(|manifest| manifest.pin.as_ref());
            // The result names the pin's id, or the ref that holds it.
            let named =
                here.is_some_and(|here| here.id.as_str() == pin || here.native.as_str() == pin);
            Some((key, named))
        })
        .collect()
}
