//! `init`, `add`, `set`, `remove`: what is tracked. Manifests only, logged; `add --create` makes a store first.
//!
//! ```text
//! init     a dataset, whole or not at all
//! locator  what was typed -> a manifest: local paths made absolute, the key derived
//! checks   what is refused or worth a note before anything is written
//! edit     manifests written as one journalled operation
//! create   `add --create`: the store, its index entry, its first branch
//! ```

mod checks;
mod create;
mod edit;
mod init;
mod locator;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::key::{ObjectKey, Selection};
use crate::manifest::{FileMode, Manifest, Manifests, PinMode};
use crate::report::{AddReport, FieldChange, SetReport};
use crate::state::Locator;

pub(crate) use edit::{MANIFEST, put, recover, roll_back};
pub use init::init;
pub(crate) use locator::unregistered;

/// What the user asked `add` for.
#[derive(Clone, Debug, Default)]
pub struct AddOptions {
    /// KEY as typed, when it was given.
    pub key: Option<String>,
    /// LOCATOR as typed (or the lone positional).
    pub locator: Option<String>,
    /// `--kind`.
    pub kind: String,
    /// Named locator options and `--set`, in the order given.
    pub fields: Locator,
    /// `--file`.
    pub file: Option<FileMode>,
    /// `--pin`.
    pub pin: Option<PinMode>,
    /// `--create`.
    pub create: bool,
}

/// A sentence for someone who waits for a lock.
pub type Waiting<'a> = &'a mut (dyn FnMut(&str) + Send);

/// Registers an object. Relative local paths are resolved against `cwd`.
///
/// A store on this machine must be there: what it lacks would only show when a commit fails. Remote stores are not contacted. Refused
/// with nothing changed: a key that exists (also in another case), a blank field, a local path inside the repository's checkout.
pub async fn add(
    dataset: &Dataset,
    cwd: &Path,
    options: &AddOptions,
    waiting: Waiting<'_>,
) -> Result<AddReport> {
    let (mut manifest, derived) = locator::manifest(dataset, cwd, options)?;
    let reach = if options.create {
        edit::Reach::Stores
    } else {
        edit::Reach::Checkout
    };
    let mut editor = edit::Editor::begin(dataset, "add", reach, waiting).await?;
    checks::key_is_free(dataset, &manifest.key, derived)?;
    let (backend, store) = dataset.store_of(&manifest)?;
    let named = |error: Error| error.for_object(&manifest.key, &manifest.kind);
    checks::locator(dataset, &*backend, &store).map_err(named)?;
    checks::can_be_committed(dataset, &manifest.key)?;
    let mut report = AddReport {
        key: manifest.key.clone(),
        kind: manifest.kind.clone(),
        derived,
        created: None,
        notes: checks::notes(&*backend, &store, options.create),
    };
    if options.create {
        let created = create::add(editor, &mut manifest, &*backend, &store);
        report.created = Some(created.await?);
        return Ok(report);
    }
    checks::store_is_there(&*backend, &store)
        .await
        .map_err(named)?;
    let edits = vec![edit::Edit::write(dataset, &manifest)?];
    editor.apply(edits, json!({ "key": manifest.key }), |_| {})?;
    Ok(report)
}

/// Changes policies in place. Objects that have these values already are reported as unchanged and not written.
pub async fn set(
    dataset: &Dataset,
    keys: &Selection,
    file: Option<FileMode>,
    pin: Option<PinMode>,
    waiting: Waiting<'_>,
) -> Result<SetReport> {
    if file.is_none() && pin.is_none() {
        return Err(Error::user("there is no policy to set")
            .with_hint("`tether set KEY --file immutable|versioned` or `--pin native|record`"));
    }
    let mut session = edit::Editor::begin(dataset, "set", edit::Reach::Checkout, waiting).await?;
    let manifests = selected(dataset, keys)?;
    let mut report = SetReport::default();
    let mut edits = Vec::new();
    for (key, mut manifest) in manifests {
        let changes = change(&mut manifest, file, pin);
        if changes.is_empty() {
            report.unchanged.push(key);
        } else {
            edits.push(edit::Edit::write(dataset, &manifest)?);
            report.changed.insert(key, changes);
        }
    }
    if !edits.is_empty() {
        let changed = serde_json::to_value(&report.changed).unwrap_or_default();
        session.apply(edits, json!({ "changed": changed }), |_| {})?;
    }
    Ok(report)
}

/// The selected manifests. One that cannot be read is an error only when it is selected.
fn selected(dataset: &Dataset, keys: &Selection) -> Result<Manifests> {
    let (mut manifests, broken) = dataset.manifests_tolerant()?;
    let broken_keys = broken.iter().filter_map(|(key, _)| key.as_ref());
    let known: std::collections::BTreeSet<&ObjectKey> =
        manifests.keys().chain(broken_keys).collect();
    let keys = keys.resolve(known)?;
    let errors: Vec<Error> = broken
        .into_iter()
        .filter(|(key, _)| key.as_ref().is_some_and(|key| keys.contains(key)))
        .map(|(_, error)| error)
        .collect();
    if !errors.is_empty() {
        return Err(Error::several(errors));
    }
    manifests.retain(|key, _| keys.contains(key));
    Ok(manifests)
}

fn change(
    manifest: &mut Manifest,
    file: Option<FileMode>,
    pin: Option<PinMode>,
) -> BTreeMap<String, FieldChange> {
    let policy = &mut manifest.policy;
    let mut changes = BTreeMap::new();
    if let Some(file) = file.filter(|file| *file != policy.file) {
        let old = std::mem::replace(&mut policy.file, file);
        changes.insert("file".to_owned(), field_change(old.name(), file.name()));
    }
    if let Some(pin) = pin.filter(|pin| *pin != policy.pin) {
        let old = std::mem::replace(&mut policy.pin, pin);
        changes.insert("pin".to_owned(), field_change(old.name(), pin.name()));
    }
    changes
}

fn field_change(from: &str, to: &str) -> FieldChange {
    FieldChange {
        from: from.to_owned(),
        to: to.to_owned(),
    }
}

/// Unregisters an object; its store is not touched. A manifest that cannot be read can be removed too.
///
/// The checkout forgets what it knew of the object, but for its branch, which `gc` releases.
pub async fn remove(dataset: &Dataset, key: &ObjectKey, waiting: Waiting<'_>) -> Result<()> {
    let mut session =
        edit::Editor::begin(dataset, "remove", edit::Reach::Checkout, waiting).await?;
    let edit =
        edit::Edit::remove(dataset, key)?.ok_or_else(|| crate::query::no_object(key.as_str()))?;
    session.apply(vec![edit], json!({ "key": key }), |workspace| {
        let view = &mut workspace.view;
        view.base_states.remove(key);
        view.fork_points.remove(key);
        view.pending_forks.remove(key);
        view.pending_resets.remove(key);
        workspace.last_snapshot.remove(key);
        workspace.last_snapshot_errors.remove(key);
    })
}
