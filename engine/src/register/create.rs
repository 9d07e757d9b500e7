//! `add --create`: an empty store with an owner marker, registered in one operation.
//!
//! The clone's index names the store before it is made, so that one made by a killed command can still be found and reclaimed.

use serde_json::{Value, json};

use super::edit::{Edit, Editor, undo};
use crate::apply::publish::Record;
use crate::backend::{Backend, Capability, Expected, Move, Source, Store};
use crate::clock;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::index::{Indexes, StoreEntry};
use crate::manifest::{Manifest, Origin};
use crate::name::{BookmarkName, NativeRef, working_ref};
use crate::oplog::Journal;
use crate::state::State;

/// The actions of a created store and of its first branch in the journal.
const STORE: &str = "create-store";
const FORK: &str = "fork";

/// Makes the store and registers it; where it is. After an error the store is gone again, unless somebody wrote to it.
pub(super) async fn add(
    mut editor: Editor<'_>,
    manifest: &mut Manifest,
    backend: &dyn Backend,
    store: &Store,
) -> Result<String> {
    let dataset = editor.dataset;
    let named = |error: Error| error.for_object(&manifest.key, &manifest.kind);
    if !backend.effective(store).has(Capability::Create) {
        let error = backend.unsupported("cannot be created empty");
        return Err(named(error.with_hint(
            "make it with its own tools, then `tether add` it without --create",
        )));
    }
    let identity = backend.identity(&store.locator).map_err(named)?;
    let entry = StoreEntry {
        dataset_id: dataset.config.dataset.clone(),
        kind: manifest.kind.clone(),
        identity,
        locator: manifest.locator.clone(),
        key: manifest.key.to_string(),
        bookmark: editor.workspace.view.bookmark.clone(),
        at: clock::now(),
    };
    manifest.origin = Origin::Created;
    let edits = vec![Edit::write(dataset, manifest)?];
    let mut record = Record::new("add")?;
    let mut journal = editor.journal(&mut record, &edits)?;
    let made = Making {
        dataset,
        backend,
        store,
        entry: &entry,
        bookmark: fork_bookmark(dataset, &editor, backend, store),
    };
    let created = made.create(&mut journal).await;
    let branch = created.as_ref().ok();
    let branch = branch.and_then(|(state, fork)| Some((fork.clone()?, state.clone())));
    let finished = created.map_err(named).and_then(|(state, fork)| {
        record.result = made.result(manifest, fork.as_ref());
        let key = manifest.key.clone();
        editor.finish(&mut journal, record, &edits, |workspace| {
            if let Some(fork) = fork {
                workspace.view.working_refs.insert(key.clone(), fork);
                workspace.view.fork_points.insert(key, state);
            }
        })
    });
    if let Err(error) = finished {
        let taken_back = undo(dataset, &edits).and(made.take_back(&journal, branch).await);
        // What could not be taken back stays in the journal; the next command tries again.
        if taken_back.is_ok() {
            journal.rolled_back()?;
        }
        return Err(error);
    }
    journal.done()?;
    Ok(place(store))
}

/// The bookmark whose branch is forked at once: any but the trunk, for kinds with branches.
fn fork_bookmark(
    dataset: &Dataset,
    editor: &Editor<'_>,
    backend: &dyn Backend,
    store: &Store,
) -> Option<BookmarkName> {
    let can_fork = backend.effective(store).has(Capability::Fork);
    let bookmark = editor.workspace.view.bookmark.clone();
    bookmark.filter(|_| can_fork && !dataset.on_trunk(&editor.workspace))
}

struct Making<'a> {
    dataset: &'a Dataset,
    backend: &'a dyn Backend,
    store: &'a Store,
    entry: &'a StoreEntry,
    bookmark: Option<BookmarkName>,
}

impl Making<'_> {
    fn indexes(&self) -> Indexes {
        Indexes::new(self.dataset.vcs.shared_dir())
    }

    /// The store, and the bookmark's branch in it.
    async fn create(&self, journal: &mut Journal) -> Result<(State, Option<NativeRef>)> {
        let state = if self.is_ours_and_empty().await? {
            // Left by an `add --create` that was interrupted, or whose object was removed since.
            self.backend.fingerprint(self.store, None).await?
        } else {
            self.make(journal).await?
        };
        let fork = match &self.bookmark {
            Some(bookmark) => Some(self.fork(journal, &state, bookmark).await?),
            None => None,
        };
        Ok((state, fork))
    }

    async fn make(&self, journal: &mut Journal) -> Result<State> {
        let detail = json!({ "kind": self.entry.kind, "locator": self.entry.locator });
        let known = self.is_known()?;
        journal.intent(STORE, detail.clone())?;
        self.indexes().add_created(self.entry)?;
        let created = self.backend.create(self.store, &self.entry.dataset_id);
        match created.await {
            Ok(state) => {
                journal.did(STORE, detail)?;
                Ok(state)
            }
            Err(error) => {
                if !known {
                    self.forget()?;
                }
                Err(error)
            }
        }
    }

    async fn fork(
        &self,
        journal: &mut Journal,
        state: &State,
        bookmark: &BookmarkName,
    ) -> Result<NativeRef> {
        let name = working_ref(&self.entry.dataset_id, bookmark);
        journal.intent(FORK, json!({ "ref": name }))?;
        self.indexes().add_touched(self.entry)?;
        let source = Source::State(state.clone());
        let moved = self
            .backend
            .fork(self.store, &source, &name, &Expected::Absent);
        match moved.await? {
            Move::Done { value, .. } => {
                journal.did(FORK, json!({ "ref": value }))?;
                Ok(value)
            }
            // The branch of the run whose store this takes up again.
            Move::Moved {
                observed: Some(head),
            } if self.is_at(&head, state) => Ok(name),
            Move::Moved { .. } => Err(Error::store(format!(
                "somebody made the branch {name} in the new store meanwhile"
            ))
            .with_hint("look at the store; then `tether add` it without --create")),
        }
    }

    fn is_at(&self, head: &State, state: &State) -> bool {
        head.same_content(state, self.backend.volatile_keys())
    }

    /// Whether this clone made the store for this dataset, and nobody wrote to it.
    async fn is_ours_and_empty(&self) -> Result<bool> {
        if !self.is_known()? {
            return Ok(false);
        }
        let owner = self.backend.owner(self.store).await.unwrap_or_default();
        if owner.as_ref() != Some(&self.entry.dataset_id) {
            return Ok(false);
        }
        let empty = self
            .backend
            .is_ref_empty(self.store, &self.own_refs())
            .await?;
        Ok(empty == Some(true))
    }

    fn own_refs(&self) -> Vec<NativeRef> {
        let bookmark = self.bookmark.iter();
        bookmark
            .map(|bookmark| working_ref(&self.entry.dataset_id, bookmark))
            .collect()
    }

    fn is_known(&self) -> Result<bool> {
        let created = self.indexes().created(&self.entry.dataset_id)?;
        Ok(created
            .iter()
            .any(|entry| entry.identity == self.entry.identity))
    }

    fn forget(&self) -> Result<()> {
        self.indexes()
            .remove_created(&self.entry.dataset_id, &self.entry.identity)
    }

    /// Removes what [`Making::create`] made; a store that is not empty any more stays, in the index.
    async fn take_back(&self, journal: &Journal, branch: Option<(NativeRef, State)>) -> Result<()> {
        if let Some((native, state)) = branch {
            // A store with a branch in it is not empty. One that somebody wrote to meanwhile stays, and with it the store.
            let expected = Expected::At(state);
            let moved = self
                .backend
                .delete_working_ref(self.store, &native, &expected);
            if let Move::Moved { observed: Some(_) } = moved.await? {
                return Ok(());
            }
        }
        let made = journal_has(self.dataset, journal, STORE)?;
        if !made {
            return Ok(());
        }
        if self.backend.is_ref_empty(self.store, &[]).await? == Some(true) {
            self.backend
                .delete_store(self.store, &self.entry.dataset_id)
                .await?;
            self.forget()?;
        }
        Ok(())
    }

    fn result(&self, manifest: &Manifest, fork: Option<&NativeRef>) -> Value {
        let mut result = json!({
            "key": manifest.key,
            "created": {
                "kind": self.entry.kind,
                "identity": self.entry.identity,
                "locator": self.entry.locator,
            },
        });
        if let (Some(fork), Some(fields)) = (fork, result.as_object_mut()) {
            fields.insert("fork".to_owned(), json!(fork));
        }
        result
    }
}

/// Whether the journal says that `action` was done.
fn journal_has(dataset: &Dataset, journal: &Journal, action: &str) -> Result<bool> {
    let journals = Journal::unfinished(dataset.vcs.shared_dir())?;
    Ok(journals
        .iter()
        .filter(|other| other.operation == journal.operation)
        .flat_map(|other| &other.progress)
        .any(|step| step.action == action && step.phase == crate::oplog::Progress::DONE))
}

fn place(store: &Store) -> String {
    let text = ["uri", "path"]
        .iter()
        .find_map(|field| store.locator.str(field));
    text.map_or_else(|| store.locator.canonical(), str::to_owned)
}
