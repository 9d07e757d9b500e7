//! `tether open`.
//!
//! Without a revision an object opens at this checkout's position, with one at that commit's recorded state, read-only. A pin is never
//! taken on trust: the backend compares it with the recorded state first.

use super::{manifest_at, manifest_of, no_object};
use crate::backend::{Backend, Capability, Store, Target};
use crate::dataset::Dataset;
use crate::error::{Error, ErrorKind, Result};
use crate::id::CommitId;
use crate::key::ObjectKey;
use crate::manifest::{Manifest, Manifests};
use crate::report::OpenReport;
use crate::workspace::Workspace;
use crate::world::{self, Place};

/// What the user asked `open` for.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// `-r`, else `TETHER_REV` when that is not empty.
    pub rev: Option<String>,
    /// `Some(true)`: `--writable`; `Some(false)`: `--read-only`.
    pub writable: Option<bool>,
}

/// The native address of an object.
///
/// Without a revision, objects whose system has branches open writable unless told otherwise, everything else read-only. A writable
/// handle is refused while the checkout is stale or on no bookmark. Takes no lock and writes nothing.
pub async fn open(dataset: &Dataset, key: &str, options: &OpenOptions) -> Result<OpenReport> {
    match &options.rev {
        Some(rev) if options.writable == Some(true) => Err(rev_and_writable(key, rev)),
        Some(rev) => open_at(dataset, key, rev).await,
        None => open_here(dataset, key, options.writable).await,
    }
}

async fn open_at(dataset: &Dataset, key: &str, rev: &str) -> Result<OpenReport> {
    let commit = super::resolve(dataset, rev)?;
    let parsed: ObjectKey = key.parse().map_err(|_| no_object(key))?;
    let manifest = manifest_at(dataset, &commit, &parsed)?.ok_or_else(|| {
        Error::user(format!("there is no object {key:?} at {rev}"))
            .with_hint(format!("`tether diff {rev}` shows what differs from here"))
    })?;
    let (backend, store) = dataset.store_of(&manifest)?;
    let target =
        recorded(&*backend, &store, &manifest).ok_or_else(|| not_recoverable(&manifest, rev))?;
    let mut report = address(&*backend, &store, &manifest, &target, false).await?;
    report.resolved = Some(commit);
    Ok(report)
}

/// The committed state as something to open; `None` when it cannot be read back, or there is none.
fn recorded(backend: &dyn Backend, store: &Store, manifest: &Manifest) -> Option<Target> {
    let state = manifest.state.clone()?;
    if let Some(pin) = manifest.pin.clone() {
        return Some(Target::Pinned(pin, state));
    }
    let readable = manifest.recoverable
        && backend.effective(store).has(Capability::Addressable)
        && backend.state_addressable(&store.locator, &state);
    readable.then_some(Target::State(state))
}

async fn open_here(dataset: &Dataset, key: &str, writable: Option<bool>) -> Result<OpenReport> {
    let manifest = manifest_of(dataset, key)?;
    let workspace = dataset.workspace()?;
    let (backend, mut store) = dataset.store_of(&manifest)?;
    let can_fork = backend.effective(&store).has(Capability::Fork);
    // An object registered at an older state stays there until a `pull` or a `new` gives it a branch.
    let has_branch = can_fork && !is_at_a_state(dataset, &manifest, &workspace);
    let writable = writable.unwrap_or(has_branch);
    let target = if writable {
        if !can_fork {
            return Err(not_writable(&manifest));
        }
        refuse_stale(dataset, &workspace)?;
        writable_target(dataset, &manifest, &workspace, &mut store)?
    } else {
        readable_target(dataset, &*backend, &store, &manifest, &workspace)
    };
    address(&*backend, &store, &manifest, &target, writable).await
}

/// Whether the object's position on the trunk is a state, and no branch.
fn is_at_a_state(dataset: &Dataset, manifest: &Manifest, workspace: &Workspace) -> bool {
    let has_ref = workspace.view.working_refs.contains_key(&manifest.key);
    dataset.on_trunk(workspace) && !has_ref && manifest.locator.get("at").is_some()
}

/// The branch that writes go to.
fn writable_target(
    dataset: &Dataset,
    manifest: &Manifest,
    workspace: &Workspace,
    store: &mut Store,
) -> Result<Target> {
    let (key, view) = (&manifest.key, &workspace.view);
    if is_at_a_state(dataset, manifest, workspace) {
        let trunk = &dataset.config.trunk;
        return Err(Error::new(
            ErrorKind::StaleWorkingCopy,
            "it is at an older state of its branch (`at`), which nothing writes to",
        )
        .for_object(key, &manifest.kind)
        .with_hint(format!(
            "`tether new {trunk}` gives it its upstream branch, `tether open {key} --read-only` reads it"
        )));
    }
    if dataset.on_trunk(workspace) {
        // The upstream branch itself, also for an object that was registered at an older state of it.
        store.locator.0.shift_remove("at");
        return Ok(Target::Base);
    }
    let Some(bookmark) = &view.bookmark else {
        return Err(Error::new(
            ErrorKind::StaleWorkingCopy,
            "this checkout is on no bookmark and is read-only",
        )
        .for_object(key, &manifest.kind)
        .with_hint(format!(
            "`tether open {key} --read-only` to read, `tether new -b NAME` to write"
        )));
    };
    if let Some(native) = view.working_refs.get(key) {
        return Ok(Target::Ref(native.clone()));
    }
    let error = if view.pending_forks.contains_key(key) {
        Error::capability(format!(
            "its branch on bookmark {bookmark} is not created yet, and this build cannot create it"
        ))
        .with_hint(format!(
            "`tether open {key} --read-only` reads the state it would start from"
        ))
    } else {
        Error::new(
            ErrorKind::StaleWorkingCopy,
            format!("it has no branch on bookmark {bookmark}"),
        )
        .with_hint("`tether new` decides on one")
    };
    Err(error.for_object(key, &manifest.kind))
}

/// What this checkout shows of the object.
fn readable_target(
    dataset: &Dataset,
    backend: &dyn Backend,
    store: &Store,
    manifest: &Manifest,
    workspace: &Workspace,
) -> Target {
    let trunk = &dataset.config.trunk;
    match world::place(manifest, workspace, trunk, backend.effective(store)) {
        Place::Upstream => Target::Base,
        Place::Ref(native) => Target::Ref(native),
        // At its pin. What cannot be read back opens as it is now: there is nothing else to hand out.
        Place::Kept => recorded(backend, store, manifest).unwrap_or(Target::Base),
    }
}

fn refuse_stale(dataset: &Dataset, workspace: &Workspace) -> Result<()> {
    // Only the objects this checkout has branches of can be stale, so only their manifests are read.
    let mut manifests = Manifests::new();
    for key in workspace.view.base_states.keys() {
        match manifest_of(dataset, key.as_str()) {
            Ok(manifest) => {
                manifests.insert(key.clone(), manifest);
            }
            // A removed object is not stale.
            Err(error) if error.kind() == ErrorKind::User => {}
            Err(error) => return Err(error),
        }
    }
    let stale = dataset.stale_keys(&manifests, workspace);
    if stale.is_empty() {
        return Ok(());
    }
    let keys: Vec<&str> = stale.iter().map(ObjectKey::as_str).collect();
    Err(Error::new(
        ErrorKind::StaleWorkingCopy,
        format!(
            "the working copy is stale: the committed state of {} changed since this checkout forked",
            keys.join(", ")
        ),
    )
    .with_hint("`tether new` forks again; reading works: `--read-only`"))
}

async fn address(
    backend: &dyn Backend,
    store: &Store,
    manifest: &Manifest,
    target: &Target,
    writable: bool,
) -> Result<OpenReport> {
    let address = backend
        .open(store, target, writable)
        .await
        .map_err(|error| drift_hint(error, manifest).for_object(&manifest.key, &manifest.kind))?;
    Ok(OpenReport {
        key: manifest.key.clone(),
        read_only: address.read_only || !writable,
        address: address.address,
        handle: address.handle,
        secret_address: address.secret_address,
        resolved: None::<CommitId>,
    })
}

/// A moved pin would hand back wrong data under a commit's name.
fn drift_hint(error: Error, manifest: &Manifest) -> Error {
    if error.kind() == ErrorKind::PinDrift && error.hint().is_none() {
        let key = &manifest.key;
        return error.with_hint(format!(
            "move the ref back, or delete it and run `tether repair {key}`; `tether verify {key}` shows where it is"
        ));
    }
    error
}

fn rev_and_writable(key: &str, rev: &str) -> Error {
    Error::user(format!(
        "{rev} is a commit's recorded state, which nothing writes to: a revision (-r or TETHER_REV) and --writable exclude each other"
    ))
    .with_hint(format!(
        "`env -u TETHER_REV tether open {key} --writable` to write, or leave --writable out to read {rev}"
    ))
}

fn not_recoverable(manifest: &Manifest, rev: &str) -> Error {
    let what = if manifest.state.is_none() {
        format!("it has no committed state at {rev}")
    } else {
        format!("its state at {rev} was recorded and cannot be read back")
    };
    Error::capability(what)
        .for_object(&manifest.key, &manifest.kind)
        .with_hint(format!(
            "`tether open {}` opens it as it is now",
            manifest.key
        ))
}

fn not_writable(manifest: &Manifest) -> Error {
    Error::capability("it has no branches, so there is no writable handle")
        .for_object(&manifest.key, &manifest.kind)
        .with_hint(format!("`tether open {} --read-only`", manifest.key))
}
