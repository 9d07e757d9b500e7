//! `tether status`.
//!
//! Without a fan-out nothing but local files is read, and nothing is written. One broken manifest, an unknown kind or an unreadable
//! store is that object's `error`; the others are reported.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::recent::Recent;
use super::snapshot::{self, judged, native_of, observe};
use super::{absent, drift, immutable_drift, reason, verify};
use crate::apply::undo;
use crate::backend::{Capability, Tier};
use crate::clock;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::key::{ObjectKey, Selection};
use crate::lock::Lock;
use crate::manifest::{Manifest, Manifests, Origin, manifest_hash};
use crate::name::WORKING_REF_PREFIX;
use crate::oplog::Journal;
use crate::report::{Label, ObjectStatus, StatusReport};
use crate::state::State;
use crate::workspace::Workspace;
use crate::world::{self, Place};

/// From this many objects on, looking at their places is spread over the cores.
const PARALLEL_FROM: usize = 64;

/// Classifies objects. `snapshot`: `Some(true)` fingerprints now, `Some(false)` does not, `None` as `[snapshot] auto` says; a checkout
/// without a snapshot always takes one.
pub async fn status(
    dataset: &Dataset,
    keys: &Selection,
    snapshot: Option<bool>,
) -> Result<StatusReport> {
    let (manifests, broken) = dataset.manifests_tolerant()?;
    let workspace = dataset.workspace()?;
    let mut warnings = Vec::new();
    let mut rows = broken_rows(broken, &mut warnings);
    let known: BTreeSet<ObjectKey> = manifests.keys().chain(rows.keys()).cloned().collect();
    let selected = keys.resolve(&known)?;
    rows.retain(|key, _| selected.contains(key));

    let nothing_yet =
        workspace.last_snapshot.is_empty() && workspace.last_snapshot_errors.is_empty();
    let fresh = nothing_yet || snapshot.unwrap_or(dataset.config.snapshot_auto);
    let (seen, snapshot_at) = if fresh {
        fan_out(dataset, &manifests, &workspace, &selected, &mut warnings).await
    } else {
        (cached(&workspace), workspace.last_snapshot_at.clone())
    };
    let selected: Vec<&Manifest> = selected
        .iter()
        .filter_map(|key| manifests.get(key))
        .collect();
    let classified = |manifest: &&Manifest| {
        let row = classify(dataset, manifest, &workspace, seen.get(&manifest.key));
        (manifest.key.clone(), row)
    };
    if selected.len() >= PARALLEL_FROM {
        rows.par_extend(selected.par_iter().map(classified));
    } else {
        rows.extend(selected.iter().map(classified));
    }
    if dataset.config.verify_on_status {
        verdicts(dataset, &manifests, &mut rows).await;
    }

    let recent = or_warn(Recent::read(dataset), &mut warnings);
    warnings.extend(checkout_warnings(dataset, &manifests, &workspace));
    let lost = absent::warnings(dataset, &workspace, &known, &recent);
    let lost = or_warn(lost, &mut warnings);
    warnings.extend(lost);
    let bookmark_drift = or_warn(drift::bookmark(dataset, &workspace), &mut warnings);
    let vcs_drift = or_warn(drift::commits(dataset, &recent, &manifests), &mut warnings);
    let stale_keys = dataset.stale_keys(&manifests, &workspace);
    Ok(StatusReport {
        manifest_hash: manifest_hash(&manifests),
        stale: !stale_keys.is_empty(),
        stale_keys,
        fresh,
        snapshot_at,
        trunk: dataset.on_trunk(&workspace),
        bookmark: workspace.view.bookmark.clone(),
        bookmark_drift,
        vcs_drift,
        objects: rows.into_values().collect(),
        warnings,
    })
}

/// What is known of an object's state: a fingerprint, or why there is none.
type Seen = BTreeMap<ObjectKey, Result<State, String>>;

async fn fan_out(
    dataset: &Dataset,
    manifests: &Manifests,
    workspace: &Workspace,
    selected: &[ObjectKey],
    warnings: &mut Vec<String>,
) -> (Seen, Option<String>) {
    let observed = observe(dataset, manifests, workspace, selected, false).await;
    let observed = judged(dataset, manifests, observed);
    let at = if observed.is_empty() {
        clock::now()
    } else {
        remember(dataset, manifests, workspace, &observed).unwrap_or_else(|error| {
            warnings.push(format!(
                "what was fingerprinted could not be remembered: {}",
                reason(&error)
            ));
            clock::now()
        })
    };
    let seen = observed
        .into_iter()
        .map(|(key, state)| (key, state.map_err(|error| reason(&error))));
    (seen.collect(), Some(at))
}

/// Caches a fan-out, unless another command holds the checkout just now: `status` waits for nobody, and the next one tries again.
fn remember(
    dataset: &Dataset,
    manifests: &Manifests,
    workspace: &Workspace,
    observed: &BTreeMap<ObjectKey, Result<State>>,
) -> Result<String> {
    let path = dataset.tether_path("lock");
    match Lock::try_acquire(&path, "status")? {
        Some(_lock) => snapshot::store(dataset, manifests, workspace, observed),
        None => Ok(clock::now()),
    }
}

fn cached(workspace: &Workspace) -> Seen {
    let errors = workspace
        .last_snapshot_errors
        .iter()
        .filter(|(key, error)| {
            // An error on another bookmark's branch says nothing about this one's.
            !error.native.starts_with(WORKING_REF_PREFIX)
                || error.native == native_of(workspace, key)
        });
    let errors = errors.map(|(key, error)| (key.clone(), Err(error.error.clone())));
    let states = workspace.last_snapshot.iter();
    states
        .map(|(key, state)| (key.clone(), Ok(state.clone())))
        .chain(errors)
        .collect()
}

fn classify(
    dataset: &Dataset,
    manifest: &Manifest,
    workspace: &Workspace,
    seen: Option<&Result<State, String>>,
) -> ObjectStatus {
    let mut row = ObjectStatus {
        key: manifest.key.clone(),
        kind: manifest.kind.clone(),
        tier: Tier::Observed,
        state: Label::Error,
        pinned: manifest.pin.is_some(),
        recoverable: manifest.recoverable,
        origin: manifest.origin,
        verify: None,
        error: None,
    };
    let (backend, store) = match dataset.store_of(manifest) {
        Ok(found) => found,
        Err(error) => {
            if let Ok(backend) = dataset.registry.get(&manifest.kind) {
                row.tier = backend.capabilities().tier();
            }
            row.error = Some(reason(&error));
            return row;
        }
    };
    let capabilities = backend.effective(&store);
    row.tier = capabilities.tier();
    let place = world::place(manifest, workspace, &dataset.config.trunk, capabilities);
    let on_trunk = dataset.on_trunk(workspace);
    let Some(committed) = &manifest.state else {
        let error = seen.and_then(|seen| seen.as_ref().err());
        row.state = error.map_or(Label::New, |_| Label::Error);
        row.error = error.cloned();
        return row;
    };
    // Elsewhere than on the trunk an object without a branch is at its pin, whatever its system does.
    if place == Place::Kept && !on_trunk {
        row.state = Label::Clean;
        return row;
    }
    let volatile = backend.volatile_keys();
    match seen {
        None => row.state = Label::Clean,
        Some(Err(error)) => row.error = Some(error.clone()),
        Some(Ok(state)) if state.same_content(committed, volatile) => row.state = Label::Clean,
        Some(Ok(state)) => {
            if let Some(error) = immutable_drift(manifest, state, volatile) {
                row.error = Some(reason(&error));
            } else if place == Place::Kept || !capabilities.has(Capability::Fork) {
                row.state = Label::Behind;
            } else {
                row.state = Label::Modified;
            }
        }
    }
    row
}

/// Rows for the manifests that cannot be read; a file whose place is no key's becomes a warning.
fn broken_rows(
    broken: Vec<(Option<ObjectKey>, Error)>,
    warnings: &mut Vec<String>,
) -> BTreeMap<ObjectKey, ObjectStatus> {
    let mut rows = BTreeMap::new();
    for (key, error) in broken {
        let Some(key) = key else {
            warnings.push(reason(&error));
            continue;
        };
        let row = ObjectStatus {
            key: key.clone(),
            kind: "unknown".to_owned(),
            tier: Tier::Observed,
            state: Label::Error,
            pinned: false,
            recoverable: false,
            origin: Origin::Adopted,
            verify: None,
            error: Some(reason(&error)),
        };
        rows.insert(key, row);
    }
    rows
}

/// `[verify] on_status`: a cheap verify of each committed object.
async fn verdicts(
    dataset: &Dataset,
    manifests: &Manifests,
    rows: &mut BTreeMap<ObjectKey, ObjectStatus>,
) {
    let committed: Vec<&Manifest> = rows.keys().filter_map(|key| manifests.get(key)).collect();
    let verdicts = verify::current(dataset, &committed, false).await;
    for (key, report) in verdicts {
        if let Some(row) = rows.get_mut(&key) {
            row.verify = Some(report.status.name().to_owned());
        }
    }
}

/// Warnings that local files alone give.
fn checkout_warnings(
    dataset: &Dataset,
    manifests: &Manifests,
    workspace: &Workspace,
) -> Vec<String> {
    let mut warnings = Vec::new();
    warnings.extend(lost_records(dataset));
    warnings.extend(unfinished(dataset, workspace));
    let pending = or_warn(undo::pending::warnings(dataset), &mut warnings);
    warnings.extend(pending);
    warnings.extend(foreign_pins(dataset, manifests));
    warnings.extend(unprotected(manifests, workspace));
    warnings
}

/// E07: `git clean -x` takes the ignored per-checkout files along.
fn lost_records(dataset: &Dataset) -> Option<String> {
    let gone = !dataset.tether_path("workspace.toml").exists();
    // Under jj the log itself says where the checkout is.
    let had = !dataset.oplog.moves_with_vcs() && matches!(dataset.oplog.head(), Ok(Some(_)));
    (gone && had).then(|| {
        format!(
            "this checkout's own records are gone (.tether/workspace.toml; `git clean -x` deletes ignored files): it is on no bookmark now; `tether new {}` returns to the trunk, `tether new NAME --adopt` to a bookmark with its writes",
            dataset.config.trunk
        )
    })
}

fn unfinished(dataset: &Dataset, workspace: &Workspace) -> Vec<String> {
    let journals = match Journal::unfinished(dataset.vcs.shared_dir()) {
        Ok(journals) => journals,
        Err(error) => return vec![reason(&error)],
    };
    let ours: Vec<_> = journals
        .into_iter()
        .filter(|journal| journal.workspace == workspace.id)
        .collect();
    // A command that still runs holds the lock; its operation is on its way.
    if ours.is_empty() || Lock::is_held(&dataset.tether_path("lock")) {
        return Vec::new();
    }
    ours.iter()
        .map(|journal| {
            format!(
                "operation {} ({}) was interrupted: the next `tether {}` finishes it or rolls it back; `tether ops` shows how far it got",
                journal.operation, journal.command, journal.command
            )
        })
        .collect()
}

/// Pins of another dataset id: `[dataset] id` was changed after they were made.
fn foreign_pins(dataset: &Dataset, manifests: &Manifests) -> Option<String> {
    let id = dataset.config.dataset.as_str();
    let foreign: Vec<&str> = manifests
        .values()
        .filter_map(|manifest| manifest.pin.as_ref())
        .map(|pin| pin.id.dataset())
        .filter(|dataset| *dataset != id)
        .collect();
    let other = foreign.first()?;
    Some(format!(
        "{} object(s) are pinned under another dataset id ({other}, here {id}): `gc` takes those pins for another dataset's; put `id = \"{other}\"` back under [dataset] in tether.toml",
        foreign.len()
    ))
}

/// Recorded states of pin-less objects whose fork was deferred: nothing of tether's holds them.
fn unprotected(manifests: &Manifests, workspace: &Workspace) -> Vec<String> {
    let pending = workspace.view.pending_forks.keys();
    pending
        .filter_map(|key| manifests.get(key))
        .filter(|manifest| manifest.state.is_some() && manifest.pin.is_none())
        .map(|manifest| {
            let key = &manifest.key;
            format!(
                "{key}: nothing of tether's holds its recorded state until its branch is forked; `tether open {key} --writable` or `tether new --no-defer-record` forks it"
            )
        })
        .collect()
}

/// A part of the answer that failed must not hide the rest.
fn or_warn<T: Default>(result: Result<T>, warnings: &mut Vec<String>) -> T {
    result.unwrap_or_else(|error| {
        warnings.push(reason(&error));
        T::default()
    })
}
