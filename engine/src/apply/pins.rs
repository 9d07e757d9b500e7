//! Making the pins of a commit, and taking back those it made.
//!
//! Systems run concurrently, the pins of one system one after the other. Every pin is on the clone's record before it can exist, so
//! that none is ever an orphan nobody knows of; which ones this run *made* is in the journal, and only those are taken back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::backend::{Backend, Effect, Move, Store};
use crate::clock;
use crate::dataset::Dataset;
use crate::error::{Error, ErrorKind, Result};
use crate::fanout::{self, DEFAULT_BOUND};
use crate::id::PinId;
use crate::index::{Indexes, PinnedEntry, StoreEntry};
use crate::manifest::{Manifest, Pin};
use crate::oplog::Journal;
use crate::state::{Identity, State};
use crate::world::brief;

/// The journal's name of the step.
pub(crate) const ACTION: &str = "pin";

/// A pin to make: one per content address, whoever shares it.
#[derive(Clone)]
pub(crate) struct Job {
    /// The first object that uses it.
    pub(crate) manifest: Manifest,
    pub(crate) identity: Identity,
    pub(crate) state: State,
    pub(crate) id: PinId,
}

/// A pin that stands.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub(crate) manifest: Manifest,
    pub(crate) pin: Pin,
    pub(crate) effect: Effect,
}

impl Cut {
    /// The journal's form, enough to take the pin back.
    fn to_value(&self) -> Value {
        json!({
            "key": self.manifest.key,
            "kind": self.manifest.kind,
            "locator": self.manifest.locator,
            "policy": self.manifest.policy,
            "pin": self.pin,
            "created": self.effect != Effect::Found,
        })
    }

    /// Reads [`Cut::to_value`].
    pub(crate) fn from_value(value: &Value) -> Option<Self> {
        let field = |name: &str| value.get(name).cloned().unwrap_or_default();
        let manifest = Manifest::new(
            serde_json::from_value(field("key")).ok()?,
            value.get("kind")?.as_str()?,
            serde_json::from_value(field("locator")).ok()?,
            serde_json::from_value(field("policy")).ok()?,
        );
        let created = value.get("created")?.as_bool()?;
        Some(Self {
            manifest,
            pin: serde_json::from_value(field("pin")).ok()?,
            effect: if created {
                Effect::Created
            } else {
                Effect::Found
            },
        })
    }

    fn created(&self) -> bool {
        self.effect != Effect::Found
    }
}

/// What came of making the pins: those that stand, also when some failed.
pub(crate) struct Made {
    pub(crate) cuts: BTreeMap<PinId, Cut>,
    pub(crate) outcome: Result<()>,
}

/// Makes the pins of `jobs`. The journal must have begun.
pub(crate) async fn make(dataset: &Dataset, jobs: Vec<Job>, journal: Journal) -> (Journal, Made) {
    let journal = Arc::new(Mutex::new(Some(journal)));
    let made = make_journalled(dataset, jobs, &journal).await;
    let made = made.unwrap_or_else(|error| Made {
        cuts: BTreeMap::new(),
        outcome: Err(error),
    });
    (take(&journal), made)
}

/// Takes the journal back out of the tasks' hands; every task has ended.
fn take(journal: &Mutex<Option<Journal>>) -> Journal {
    let taken = journal
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    taken.unwrap_or_else(|| unreachable!("the journal is taken once, here"))
}

async fn make_journalled(
    dataset: &Dataset,
    jobs: Vec<Job>,
    journal: &Arc<Mutex<Option<Journal>>>,
) -> Result<Made> {
    let known = record(dataset, &jobs)?;
    let planned: Vec<Value> = jobs
        .iter()
        .map(|job| json!({"key": job.manifest.key, "pin_id": job.id}))
        .collect();
    with(journal, |journal| {
        journal.intent(ACTION, json!({ "pins": planned }))
    })?;
    let mut systems: BTreeMap<(String, String), Vec<Work>> = BTreeMap::new();
    for job in jobs {
        let (backend, store) = dataset.store_of(&job.manifest)?;
        let system = (job.manifest.kind.clone(), job.identity.canonical());
        systems.entry(system).or_default().push(Work {
            job,
            backend,
            store,
            journal: Arc::clone(journal),
        });
    }
    let groups: Vec<Vec<Work>> = systems.into_values().collect();
    let results = fanout::each(groups, DEFAULT_BOUND, |group| async move {
        let mut done = Vec::with_capacity(group.len());
        for work in group {
            let result = work.run().await;
            let failed = result.is_err();
            done.push(result);
            if failed {
                break;
            }
        }
        Ok(done)
    })
    .await;
    let mut cuts = BTreeMap::new();
    let mut errors = Vec::new();
    for result in results {
        match result {
            Ok(done) => {
                for one in done {
                    match one {
                        Ok(cut) => drop(cuts.insert(cut.pin.id.clone(), cut)),
                        Err(error) => errors.push(error),
                    }
                }
            }
            Err(error) => errors.push(error),
        }
    }
    errors.sort_by(|a, b| a.key().cmp(&b.key()));
    let outcome = if errors.is_empty() {
        forget_foreign(dataset, &cuts, &known)
    } else {
        Err(Error::several(errors))
    };
    Ok(Made { cuts, outcome })
}

fn with(
    journal: &Mutex<Option<Journal>>,
    write: impl FnOnce(&mut Journal) -> Result<()>,
) -> Result<()> {
    let mut guard = journal.lock().unwrap_or_else(PoisonError::into_inner);
    match guard.as_mut() {
        Some(journal) => write(journal),
        None => Err(Error::internal(
            "the journal was closed while pins were made",
        )),
    }
}

struct Work {
    job: Job,
    backend: Arc<dyn Backend>,
    store: Store,
    journal: Arc<Mutex<Option<Journal>>>,
}

impl Work {
    async fn run(self) -> Result<Cut> {
        let Job {
            manifest,
            state,
            id,
            ..
        } = self.job;
        let named = |error: Error| error.for_object(&manifest.key, &manifest.kind);
        let answer = self
            .backend
            .pin(&self.store, &state, &id)
            .await
            .map_err(named)?;
        let (pin, effect) = match answer {
            Move::Done { value, effect } => (value, effect),
            Move::Moved { observed } => return Err(named(drifted(&id, observed.as_ref()))),
        };
        let cut = Cut {
            manifest: manifest.clone(),
            pin,
            effect,
        };
        with(&self.journal, |journal| journal.did(ACTION, cut.to_value()))?;
        Ok(cut)
    }
}

fn drifted(id: &PinId, observed: Option<&State>) -> Error {
    let at = observed.map_or_else(
        || "which does not resolve".to_owned(),
        |state| format!("which is at {}", brief(state)),
    );
    Error::new(
        ErrorKind::PinDrift,
        format!(
            "the store holds a ref tether.{id}, {at}, not at the state it stands for; it is not overwritten"
        ),
    )
    .with_hint("delete that ref with the store's own tools, or move it back, and commit again")
}

/// Puts pins and stores on the clone's record. Returns the pins that were on it already.
fn record(dataset: &Dataset, jobs: &[Job]) -> Result<Vec<PinId>> {
    let indexes = Indexes::new(dataset.vcs.shared_dir());
    let dataset_id = &dataset.config.dataset;
    let known = indexes.pinned(dataset_id)?;
    let known: Vec<PinId> = known.into_iter().map(|entry| entry.pin_id).collect();
    let at = clock::now();
    let pinned: Vec<PinnedEntry> = jobs
        .iter()
        .map(|job| PinnedEntry {
            dataset_id: dataset_id.clone(),
            pin_id: job.id.clone(),
            kind: job.manifest.kind.clone(),
            key: job.manifest.key.to_string(),
            at: at.clone(),
        })
        .collect();
    indexes.add_pinned(&pinned)?;
    let touched: Vec<StoreEntry> = jobs
        .iter()
        .map(|job| StoreEntry {
            dataset_id: dataset_id.clone(),
            kind: job.manifest.kind.clone(),
            identity: job.identity.clone(),
            locator: job.manifest.locator.clone(),
            key: job.manifest.key.to_string(),
            at: at.clone(),
            bookmark: None,
        })
        .collect();
    indexes.add_touched_stores(&touched)?;
    Ok(known)
}

/// Takes pins off the record again that another clone made: they stood there, and this clone never had them.
fn forget_foreign(dataset: &Dataset, cuts: &BTreeMap<PinId, Cut>, known: &[PinId]) -> Result<()> {
    let foreign: Vec<PinId> = cuts
        .iter()
        .filter(|(id, cut)| !cut.created() && !known.contains(id))
        .map(|(id, _)| id.clone())
        .collect();
    if foreign.is_empty() {
        return Ok(());
    }
    Indexes::new(dataset.vcs.shared_dir()).remove_pinned(&dataset.config.dataset, &foreign)
}

/// Deletes the pins of `cuts` that were made, and takes them off the record. Returns what could not be deleted; that stays on record,
/// where `gc` finds it.
pub(crate) async fn take_back(dataset: &Dataset, cuts: Vec<Cut>) -> Vec<Error> {
    let made: Vec<Cut> = cuts.into_iter().filter(Cut::created).collect();
    let mut ids = Vec::new();
    let mut work = Vec::new();
    let mut errors = Vec::new();
    for cut in made {
        match dataset.store_of(&cut.manifest) {
            Ok((backend, store)) => {
                ids.push(cut.pin.id.clone());
                work.push((cut, backend, store));
            }
            Err(error) => errors.push(error),
        }
    }
    let results = fanout::each(work, DEFAULT_BOUND, |(cut, backend, store)| async move {
        backend
            .unpin(&store, &cut.pin)
            .await
            .map_err(|error| error.for_object(&cut.manifest.key, &cut.manifest.kind))
    })
    .await;
    let mut gone = Vec::new();
    for (id, result) in ids.into_iter().zip(results) {
        match result {
            Ok(_) => gone.push(id),
            Err(error) => errors.push(error),
        }
    }
    let forgotten =
        Indexes::new(dataset.vcs.shared_dir()).remove_pinned(&dataset.config.dataset, &gone);
    errors.extend(forgotten.err());
    errors
}
