//! Manifests that the last commit has and the working tree has not: removed, lost, or left out on purpose.

use std::collections::BTreeSet;

use super::recent::Recent;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::key::ObjectKey;
use crate::workspace::Workspace;

/// Warnings about missing manifests.
///
/// Reading the last commit costs more than the rest of a local `status`, so it is asked only when something speaks for a loss: there is
/// no manifest at all, the checkout remembers an object that is not there, or it never took a snapshot.
pub(super) fn warnings(
    dataset: &Dataset,
    workspace: &Workspace,
    present: &BTreeSet<ObjectKey>,
    recent: &Recent,
) -> Result<Vec<String>> {
    if !suspicious(workspace, present) {
        return Ok(Vec::new());
    }
    let Some(head) = dataset.vcs.position()?.head else {
        return Ok(Vec::new());
    };
    let tree = dataset.vcs.tree_at(&head, &dataset.prefix)?;
    let committed: Vec<ObjectKey> = tree
        .objects
        .iter()
        .filter_map(|(path, _)| path.strip_suffix(".toml")?.parse().ok())
        .collect();
    let missing: Vec<&ObjectKey> = committed
        .iter()
        .filter(|key| !present.contains(*key))
        .collect();
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let left_out = left_out(dataset, missing.iter().copied())?;
    let removed = recent.removed();
    let lost = missing
        .iter()
        .filter(|key| !left_out.contains(**key) && !removed.contains(key.as_str()))
        .count();
    let mut warnings = Vec::new();
    if !left_out.is_empty() {
        warnings.push(format!(
            "this checkout is sparse: it leaves out {} of {} objects, which stay as committed; `{}` brings them in",
            left_out.len(),
            committed.len(),
            dataset.vcs.kind().unsparse(&dataset.repo_path(".tether"))
        ));
    }
    if lost > 1 && lost * 2 >= committed.len() || lost == committed.len() {
        warnings.push(format!(
            "{lost} of {} objects have no manifest here, though no `tether remove` took them away: `tether commit` would record their removal; `{}` brings them back",
            committed.len(),
            dataset.vcs.kind().restore(&dataset.repo_path(".tether/objects"))
        ));
    }
    Ok(warnings)
}

/// Which of the objects have a manifest that the VCS left out of the working copy on purpose.
pub(super) fn left_out<'a>(
    dataset: &Dataset,
    keys: impl IntoIterator<Item = &'a ObjectKey>,
) -> Result<BTreeSet<ObjectKey>> {
    let keys: Vec<&ObjectKey> = keys.into_iter().collect();
    if keys.is_empty() {
        return Ok(BTreeSet::new());
    }
    let paths: Vec<String> = keys
        .iter()
        .map(|key| dataset.manifest_repo_path(key))
        .collect();
    let left_out: BTreeSet<String> = dataset.vcs.left_out(&paths)?.into_iter().collect();
    Ok(keys
        .into_iter()
        .zip(&paths)
        .filter(|(_, path)| left_out.contains(*path))
        .map(|(key, _)| key.clone())
        .collect())
}

fn suspicious(workspace: &Workspace, present: &BTreeSet<ObjectKey>) -> bool {
    let view = &workspace.view;
    let remembered = (workspace.last_snapshot.keys())
        .chain(workspace.last_snapshot_errors.keys())
        .chain(view.base_states.keys());
    present.is_empty()
        || workspace.last_snapshot_at.is_none()
        || remembered.into_iter().any(|key| !present.contains(key))
}
