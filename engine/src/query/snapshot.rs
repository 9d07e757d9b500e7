//! `tether snapshot`, and the fan-out that `status --snapshot`, `commit` and `verify` share.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;

use super::{immutable_drift, selected};
use crate::apply::session::Session;
use crate::backend::{Backend, Store};
use crate::clock;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::fanout;
use crate::fsutil;
use crate::id::WorkspaceId;
use crate::key::{ObjectKey, Selection};
use crate::manifest::{Manifest, Manifests};
use crate::name::NativeRef;
use crate::report::SnapshotReport;
use crate::state::State;
use crate::workspace::{SnapshotError, Workspace};
use crate::world::{self, Place};

/// Fingerprints objects concurrently at their position in this checkout, each failure kept with its object.
///
/// Objects that this checkout cannot have moved (the guide's 'Positions') are left out with `only_movable`, as `commit` does. Without
/// it they are read upstream on the trunk, to see what a `pull` would take, and are at their committed state elsewhere. A `file`
/// object whose committed bytes may not change is not judged here.
pub async fn observe(
    dataset: &Dataset,
    manifests: &Manifests,
    workspace: &Workspace,
    keys: &[ObjectKey],
    only_movable: bool,
) -> BTreeMap<ObjectKey, Result<State>> {
    let mut found = BTreeMap::new();
    let mut by_kind = BTreeMap::<&str, Vec<Job>>::new();
    for manifest in keys.iter().filter_map(|key| manifests.get(key)) {
        match look(dataset, manifest, workspace) {
            Ok(Look::Upstream(_) | Look::Committed(_)) if only_movable => {}
            Ok(Look::Read(job) | Look::Upstream(job)) => {
                by_kind.entry(&manifest.kind).or_default().push(job);
            }
            Ok(Look::Committed(state)) => {
                found.insert(manifest.key.clone(), Ok(state));
            }
            Err(error) => {
                found.insert(manifest.key.clone(), Err(error));
            }
        }
    }
    // One bound per kind: a slow service must not keep the others waiting.
    for states in join_all(by_kind.into_values().map(fingerprint)).await {
        found.extend(states);
    }
    found
}

/// Where an object's state comes from.
enum Look {
    /// Its position.
    Read(Job),
    /// The store, although this checkout cannot have moved it.
    Upstream(Job),
    /// The manifest: it is at its pin.
    Committed(State),
}

struct Job {
    key: ObjectKey,
    kind: String,
    backend: Arc<dyn Backend>,
    store: Store,
    working_ref: Option<NativeRef>,
}

fn look(dataset: &Dataset, manifest: &Manifest, workspace: &Workspace) -> Result<Look> {
    let (backend, mut store) = dataset.store_of(manifest)?;
    let capabilities = backend.effective(&store);
    let place = world::place(manifest, workspace, &dataset.config.trunk, capabilities);
    let job = |store, working_ref| Job {
        key: manifest.key.clone(),
        kind: manifest.kind.clone(),
        backend: Arc::clone(&backend),
        store,
        working_ref,
    };
    Ok(match (place, &manifest.state) {
        (Place::Kept, Some(state)) if !dataset.on_trunk(workspace) => {
            Look::Committed(state.clone())
        }
        (Place::Kept, _) => {
            // `at` was the position of the first commit; what a pull would take is beyond it.
            store.locator.0.shift_remove("at");
            Look::Upstream(job(store, None))
        }
        (place, _) => Look::Read(job(store, place.working_ref().cloned())),
    })
}

async fn fingerprint(jobs: Vec<Job>) -> Vec<(ObjectKey, Result<State>)> {
    let names: Vec<_> = jobs
        .iter()
        .map(|job| (job.key.clone(), job.kind.clone()))
        .collect();
    let states = fanout::each(jobs, fanout::DEFAULT_BOUND, |job| async move {
        job.backend
            .fingerprint(&job.store, job.working_ref.as_ref())
            .await
    });
    names
        .into_iter()
        .zip(states.await)
        .map(|((key, kind), state)| {
            let state = state.map_err(|error| error.for_object(&key, &kind));
            (key, state)
        })
        .collect()
}

/// Fingerprints and caches in `workspace.toml`. What could be read is cached even when the answer is an error.
pub async fn snapshot(dataset: &Dataset, keys: &Selection) -> Result<SnapshotReport> {
    let manifests = dataset.manifests()?;
    let workspace = dataset.workspace()?;
    let keys = selected(keys, &manifests)?;
    let observed = observe(dataset, &manifests, &workspace, &keys, false).await;
    let observed = judged(dataset, &manifests, observed);
    let session = Session::checkout(dataset, "snapshot", &mut |_| {})?;
    store(dataset, &manifests, &workspace, &observed)?;
    drop(session);
    let mut report = SnapshotReport::default();
    let mut errors = Vec::new();
    for (key, state) in observed {
        match state {
            Ok(state) => {
                report.states.insert(key, state);
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        Ok(report)
    } else {
        Err(Error::several(errors))
    }
}

/// Turns the state of a changed immutable file into its error.
pub(super) fn judged(
    dataset: &Dataset,
    manifests: &Manifests,
    observed: BTreeMap<ObjectKey, Result<State>>,
) -> BTreeMap<ObjectKey, Result<State>> {
    let judge = |key: &ObjectKey, state: Result<State>| {
        let manifest = manifests.get(key);
        match (state, manifest) {
            (Ok(state), Some(manifest)) => {
                let volatile = dataset.volatile_keys(&manifest.kind);
                match immutable_drift(manifest, &state, volatile) {
                    Some(error) => Err(error.for_object(key, &manifest.kind)),
                    None => Ok(state),
                }
            }
            (state, _) => state,
        }
    };
    observed
        .into_iter()
        .map(|(key, state)| {
            let state = judge(&key, state);
            (key, state)
        })
        .collect()
}

/// Caches what a fan-out found, with the checkout's lock held. Nothing but the `last_snapshot` part of the file changes: it is an
/// observation and no operation (DESIGN, 'The view store', 6). Nothing is written when no store was asked. Returns the time.
pub(super) fn store(
    dataset: &Dataset,
    manifests: &Manifests,
    seen: &Workspace,
    observed: &BTreeMap<ObjectKey, Result<State>>,
) -> Result<String> {
    // The file as it stands, not as the operation log has it, and as it stands now: another command may have written it meanwhile.
    let mut file = read_file(dataset, &seen.id)?;
    let now = clock::now();
    let mut recorded = false;
    for (key, state) in observed {
        let Some(manifest) = manifests.get(key) else {
            continue;
        };
        match state {
            Ok(state) if is_kept(dataset, manifest, seen, state) => continue,
            Ok(state) => {
                file.last_snapshot_errors.remove(key);
                file.last_snapshot.insert(key.clone(), state.clone());
            }
            Err(error) => {
                file.last_snapshot.remove(key);
                let entry = SnapshotError {
                    native: native_of(seen, key),
                    error: super::reason(error),
                };
                file.last_snapshot_errors.insert(key.clone(), entry);
            }
        }
        recorded = true;
    }
    if recorded {
        file.last_snapshot_at = Some(now.clone());
        dataset.write_workspace(&file)?;
    }
    Ok(now)
}

fn read_file(dataset: &Dataset, id: &WorkspaceId) -> Result<Workspace> {
    let path = dataset.tether_path("workspace.toml");
    match fsutil::read_regular(&path)? {
        Some(text) => Workspace::parse(&text),
        None => Ok(Workspace::new(id.clone())),
    }
}

/// Whether the state came from the manifest and not from the store.
fn is_kept(dataset: &Dataset, manifest: &Manifest, workspace: &Workspace, state: &State) -> bool {
    !dataset.on_trunk(workspace)
        && !workspace.view.working_refs.contains_key(&manifest.key)
        && manifest.state.as_ref() == Some(state)
}

/// The branch a fingerprint read; empty for upstream.
pub(super) fn native_of(workspace: &Workspace, key: &ObjectKey) -> String {
    let native = workspace.view.working_refs.get(key);
    native.map_or_else(String::new, |native| native.as_str().to_owned())
}
