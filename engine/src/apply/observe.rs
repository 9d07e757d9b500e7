//! Observing: filling a [`World`], first from files alone, then from the stores.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::backend::{Backend, Capability, Store, VerifyReport};
use crate::dataset::{Dataset, files};
use crate::error::{Error, Result};
use crate::fanout::{self, DEFAULT_BOUND};
use crate::fsutil;
use crate::key::ObjectKey;
use crate::manifest::{Manifest, Manifests};
use crate::oplog::Operation;
use crate::query;
use crate::state::State;
use crate::vcs::{Position, Tree};
use crate::workspace::Workspace;
use crate::world::{ChangedFile, Facts, Place, World, place};

/// Committed files beside the manifests and listings.
const COMMITTED_FILES: [&str; 2] = ["tether.toml", ".tether/.gitignore"];

/// How far back an operation that removed an object is looked for.
const OPERATIONS_SEARCHED: usize = 1000;

/// What can be known without contacting a store.
pub(crate) fn local(dataset: &Dataset, workspace: Workspace) -> Result<World> {
    let position = dataset.vcs.position()?;
    let tree = match &position.head {
        Some(head) => dataset.vcs.tree_at(head, &dataset.prefix)?,
        None => Tree::default(),
    };
    // What is committed and cannot be read must not keep a better version from being committed.
    let committed = files::readable(&tree);
    let mut manifests = dataset.manifests()?;
    let (left_out, gone) = missing(dataset, &manifests, &committed)?;
    for key in &left_out {
        if let Some(manifest) = committed.get(key) {
            manifests.insert(key.clone(), manifest.clone());
        }
    }
    let edited = edited(dataset, &manifests, &left_out, &tree)?;
    let mut world = World {
        config: dataset.config.clone(),
        vcs: dataset.vcs.kind(),
        files: changed_files(dataset, &position)?,
        removed: removals(dataset, gone)?,
        manifests,
        committed,
        edited,
        left_out,
        workspace,
        position,
        objects: BTreeMap::new(),
        states: BTreeMap::new(),
        pins: BTreeMap::new(),
    };
    world.objects = facts(dataset, &world);
    Ok(world)
}

/// Reads the `selected` objects that this checkout can have moved, and looks after the pins of those that did not.
///
/// `cached`: takes the states of the last snapshot instead. `force`: writers may be active.
pub(crate) async fn stores(
    dataset: &Dataset,
    world: &mut World,
    selected: &[ObjectKey],
    cached: bool,
    force: bool,
) -> Result<()> {
    let movable = movable(world, selected);
    if cached {
        world.states = from_cache(world, &movable);
        return Ok(());
    }
    if !force {
        quiescence(dataset, world, &movable).await?;
    }
    world.states =
        query::snapshot::observe(dataset, &world.manifests, &world.workspace, &movable, true).await;
    for key in &movable {
        refresh_addressable(dataset, world, key);
    }
    world.pins = pins(dataset, world).await;
    Ok(())
}

/// The selected objects that a commit reads.
fn movable(world: &World, selected: &[ObjectKey]) -> Vec<ObjectKey> {
    let reads = |key: &&ObjectKey| match (world.objects.get(*key), world.manifests.get(*key)) {
        (Some(facts), Some(_)) => facts.place != Place::Kept,
        // Its kind or locator is not usable. What was never committed must be read, and says why it cannot be.
        (None, Some(manifest)) => manifest.state.is_none(),
        (_, None) => false,
    };
    selected.iter().filter(reads).cloned().collect()
}

fn from_cache(world: &World, movable: &[ObjectKey]) -> BTreeMap<ObjectKey, Result<State>> {
    let cached = movable.iter().map(|key| {
        let state = world.workspace.last_snapshot.get(key).cloned();
        let kind = world.manifests.get(key).map_or("", |it| it.kind.as_str());
        let state = state.ok_or_else(|| {
            Error::user("--no-snapshot: the last snapshot holds no state of this object")
                .for_object(key, kind)
                .with_hint(format!("`tether snapshot {key}` takes one"))
        });
        (key.clone(), state)
    });
    cached.collect()
}

/// Splits the committed keys without a manifest into those the VCS left out and those that are gone.
fn missing(
    dataset: &Dataset,
    manifests: &Manifests,
    committed: &Manifests,
) -> Result<(BTreeSet<ObjectKey>, BTreeSet<ObjectKey>)> {
    let absent: Vec<&ObjectKey> = committed
        .keys()
        .filter(|key| !manifests.contains_key(*key))
        .collect();
    if absent.is_empty() {
        return Ok((BTreeSet::new(), BTreeSet::new()));
    }
    let paths: Vec<String> = absent
        .iter()
        .map(|key| dataset.manifest_repo_path(key))
        .collect();
    let skipped: BTreeSet<String> = dataset.vcs.left_out(&paths)?.into_iter().collect();
    let (left_out, gone): (Vec<_>, Vec<_>) = absent
        .into_iter()
        .zip(paths)
        .partition(|(_, path)| skipped.contains(path));
    let keys =
        |found: Vec<(&ObjectKey, String)>| found.into_iter().map(|(key, _)| key.clone()).collect();
    Ok((keys(left_out), keys(gone)))
}

/// Whether an operation of this checkout took each of the `gone` manifests away.
fn removals(dataset: &Dataset, gone: BTreeSet<ObjectKey>) -> Result<BTreeMap<ObjectKey, bool>> {
    if gone.is_empty() {
        return Ok(BTreeMap::new());
    }
    let operations = match dataset.oplog.head()? {
        Some(head) => dataset
            .op_store()
            .chain(&head.operation, OPERATIONS_SEARCHED)?,
        None => Vec::new(),
    };
    let undone: BTreeSet<&str> = operations
        .iter()
        .filter_map(|it| Some(it.undoes.as_ref()?.as_str()))
        .collect();
    let mut removed = BTreeMap::new();
    for key in gone {
        // The newest operation about the object that stands says what became of it.
        let newest = operations
            .iter()
            .filter(|it| !undone.contains(it.id.as_str()))
            .find(|it| names(&it.result, key.as_str()) || names(&it.pre, key.as_str()));
        let recorded = newest.is_some_and(|it| takes_away(it, &operations));
        removed.insert(key, recorded);
    }
    Ok(removed)
}

/// Whether an operation that is about an object can have removed its manifest.
fn takes_away(operation: &Operation, operations: &[Operation]) -> bool {
    match operation.command.as_str() {
        "remove" | "import" | "upgrade" => true,
        "undo" => operations
            .iter()
            .find(|it| Some(&it.id) == operation.undoes.as_ref())
            .is_some_and(|undone| undone.command == "add" || undone.command == "import"),
        _ => false,
    }
}

/// Whether `value` holds `key` as a string or as a field's name.
fn names(value: &Value, key: &str) -> bool {
    match value {
        Value::String(text) => text == key,
        Value::Array(items) => items.iter().any(|item| names(item, key)),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| name == key || names(value, key)),
        _ => false,
    }
}

/// The keys whose manifest file differs from the head's.
fn edited(
    dataset: &Dataset,
    manifests: &Manifests,
    left_out: &BTreeSet<ObjectKey>,
    tree: &Tree,
) -> Result<BTreeSet<ObjectKey>> {
    let head: BTreeMap<&str, &[u8]> = tree
        .objects
        .iter()
        .map(|(path, blob)| (path.as_str(), &*blob.data))
        .collect();
    let mut edited = BTreeSet::new();
    for key in manifests.keys().filter(|key| !left_out.contains(*key)) {
        let committed = head.get(format!("{key}.toml").as_str());
        let here = dataset.manifest_bytes(key)?;
        if !same_text(here.as_deref(), committed.copied()) {
            edited.insert(key.clone());
        }
    }
    Ok(edited)
}

/// Whether two files are the same text, whatever their line ends: a checkout may have others than the repository.
fn same_text(a: Option<&[u8]>, b: Option<&[u8]>) -> bool {
    fn unix(text: &[u8]) -> impl Iterator<Item = u8> {
        let pairs = text.iter().zip(text.iter().skip(1).chain(&[0]));
        pairs
            .filter(|pair| *pair != (&b'\r', &b'\n'))
            .map(|(byte, _)| *byte)
    }
    match (a, b) {
        (Some(a), Some(b)) => a == b || unix(a).eq(unix(b)),
        (None, None) => true,
        _ => false,
    }
}

fn changed_files(dataset: &Dataset, position: &Position) -> Result<Vec<ChangedFile>> {
    let mut changed = Vec::new();
    for path in COMMITTED_FILES {
        let here = fsutil::read_regular(&dataset.root.join(path))?;
        let Some(here) = here else { continue };
        let there = match &position.head {
            Some(head) => dataset.vcs.read_at(head, &dataset.repo_path(path))?,
            None => None,
        };
        if !same_text(there.as_deref(), Some(&here)) {
            changed.push(ChangedFile {
                path: path.to_owned(),
                new: there.is_none(),
            });
        }
    }
    Ok(changed)
}

fn facts(dataset: &Dataset, world: &World) -> BTreeMap<ObjectKey, Facts> {
    let known = world.manifests.iter().filter_map(|(key, manifest)| {
        let (backend, store) = dataset.store_of(manifest).ok()?;
        let mut facts = facts_of(dataset, world, manifest, &*backend, &store).ok()?;
        if world.left_out.contains(key) {
            facts.place = Place::Kept;
        }
        Some((key.clone(), facts))
    });
    known.collect()
}

fn facts_of(
    dataset: &Dataset,
    world: &World,
    manifest: &Manifest,
    backend: &dyn Backend,
    store: &Store,
) -> Result<Facts> {
    let capabilities = backend.effective(store);
    let addressable = manifest
        .state
        .as_ref()
        .is_some_and(|state| backend.state_addressable(&manifest.locator, state));
    Ok(Facts {
        capabilities,
        kind_capabilities: backend.capabilities(),
        volatile: backend.volatile_keys(),
        identity: backend.identity(&manifest.locator)?,
        branch_scope: backend.branch_scope(&manifest.locator)?,
        place: place(
            manifest,
            &world.workspace,
            &dataset.config.trunk,
            capabilities,
        ),
        addressable,
    })
}

/// Judges again whether the state, now that it was read, can be read back.
fn refresh_addressable(dataset: &Dataset, world: &mut World, key: &ObjectKey) {
    let Some(Ok(state)) = world.states.get(key) else {
        return;
    };
    let Some(manifest) = world.manifests.get(key) else {
        return;
    };
    let Ok(backend) = dataset.registry.get(&manifest.kind) else {
        return;
    };
    if let Some(facts) = world.objects.get_mut(key) {
        facts.addressable = backend.state_addressable(&manifest.locator, state);
    }
}

/// Refuses while writers are active in a store that needs quiet ones.
async fn quiescence(dataset: &Dataset, world: &World, movable: &[ObjectKey]) -> Result<()> {
    let mut checks = Vec::new();
    for key in movable {
        let (Some(facts), Some(manifest)) = (world.objects.get(key), world.manifests.get(key))
        else {
            continue;
        };
        if facts.capabilities.has(Capability::NeedsQuiescence) {
            let (backend, store) = dataset.store_of(manifest)?;
            let native = facts.place.working_ref().cloned();
            checks.push((manifest.clone(), backend, store, native));
        }
    }
    let results = fanout::each(checks, DEFAULT_BOUND, |check| async move {
        let (manifest, backend, store, native) = check;
        backend
            .check_quiescence(&store, native.as_ref())
            .await
            .map_err(|error| error.for_object(&manifest.key, &manifest.kind))
    })
    .await;
    fanout::all(results).map(drop)
}

/// What the stores say of the recorded pins of objects that were read and found as committed.
async fn pins(dataset: &Dataset, world: &World) -> BTreeMap<ObjectKey, Result<VerifyReport>> {
    let mut keys = Vec::new();
    let mut checks = Vec::new();
    for (key, state) in &world.states {
        let (Ok(state), Some(facts), Some(manifest)) =
            (state, world.objects.get(key), world.manifests.get(key))
        else {
            continue;
        };
        let (Some(committed), Some(pin)) = (&manifest.state, &manifest.pin) else {
            continue;
        };
        let same = committed.same_content(state, facts.volatile);
        if !same || !facts.capabilities.has(Capability::Pin) {
            continue;
        }
        let Ok((backend, store)) = dataset.store_of(manifest) else {
            continue;
        };
        keys.push(key.clone());
        checks.push((backend, store, committed.clone(), pin.clone()));
    }
    let results = fanout::each(
        checks,
        DEFAULT_BOUND,
        |(backend, store, state, pin): (Arc<dyn Backend>, _, _, _)| async move {
            backend.verify(&store, &state, Some(&pin), false).await
        },
    )
    .await;
    keys.into_iter().zip(results).collect()
}
