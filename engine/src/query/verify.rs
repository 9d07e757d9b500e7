//! `tether verify`.
//!
//! The states are grouped by store, so that a backend opens each store once, and each distinct state of a store is asked for once.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures::future::join_all;
use indexmap::IndexMap;

use super::{history, reason, skipped_kinds};
use crate::backend::{Backend, Store, Verdict, VerifyReport};
use crate::dataset::Dataset;
use crate::error::{Error, ErrorKind, Result};
use crate::fanout;
use crate::json;
use crate::key::{ObjectKey, Selection};
use crate::manifest::{Manifest, Manifests, Pin};
use crate::report::VerifyResult;
use crate::state::State;

/// What the user asked `verify` for.
#[derive(Clone, Debug, Default)]
pub struct VerifyOptions {
    /// `KEY...`.
    pub keys: Selection,
    /// `-r`.
    pub rev: Option<String>,
    /// `--all-history`.
    pub all_history: bool,
    /// `--deep`.
    pub deep: bool,
}

/// Checks recorded states and pins. The second value are warnings (cut history, unknown kinds, ...).
///
/// Objects that were never committed have nothing to check and no row. With `all_history` the rows are every visible commit's,
/// newest first, and states that were recorded as not recoverable (a local file's) have none: they were true once and are no promise.
/// A store that cannot be asked makes `unknown` rows with the reason.
pub async fn verify(
    dataset: &Dataset,
    options: &VerifyOptions,
) -> Result<(VerifyResult, Vec<String>)> {
    if options.all_history {
        if options.rev.is_some() {
            return Err(Error::new(
                ErrorKind::Usage,
                "--all-history is every revision; it cannot be combined with --rev",
            )
            .with_hint("`tether verify --all-history`, or `tether verify -r REV`"));
        }
        return history::verify(dataset, &options.keys, options.deep).await;
    }
    let mut warnings = Vec::new();
    let (manifests, broken) = manifests(dataset, options.rev.as_deref(), &mut warnings)?;
    let known: std::collections::BTreeSet<&ObjectKey> =
        manifests.keys().chain(broken.keys()).collect();
    let keys = options.keys.resolve(known.iter().copied())?;
    let selected: Vec<&Manifest> = keys.iter().filter_map(|key| manifests.get(key)).collect();
    warnings.extend(skipped_kinds(
        dataset,
        selected.iter().copied(),
        "not verified",
    ));
    let mut rows: BTreeMap<ObjectKey, VerifyReport> = current(dataset, &selected, options.deep)
        .await
        .into_iter()
        .collect();
    for (key, error) in broken {
        if keys.contains(&key) {
            rows.insert(key, unknown(&error));
        }
    }
    let rows = rows
        .into_iter()
        .map(|(key, report)| (key.to_string(), report));
    Ok((
        VerifyResult {
            rows: rows.collect(),
        },
        warnings,
    ))
}

fn manifests(
    dataset: &Dataset,
    rev: Option<&str>,
    warnings: &mut Vec<String>,
) -> Result<(Manifests, BTreeMap<ObjectKey, Error>)> {
    if let Some(rev) = rev {
        let commit = super::resolve(dataset, rev)?;
        return Ok((dataset.manifests_at(&commit)?, BTreeMap::new()));
    }
    let (manifests, broken) = dataset.manifests_tolerant()?;
    let mut errors = BTreeMap::new();
    for (key, error) in broken {
        match key {
            Some(key) => {
                errors.insert(key, error);
            }
            // It stands where no object's manifest can.
            None => warnings.push(reason(&error)),
        }
    }
    Ok((manifests, errors))
}

/// The verdicts on the committed states of `manifests`, in their order. Objects without one, and of kinds this build does not have,
/// are left out.
pub(super) async fn current(
    dataset: &Dataset,
    manifests: &[&Manifest],
    deep: bool,
) -> Vec<(ObjectKey, VerifyReport)> {
    let asked: Vec<&Manifest> = manifests
        .iter()
        .copied()
        .filter(|manifest| manifest.state.is_some() && dataset.registry.get(&manifest.kind).is_ok())
        .collect();
    let reports = ask(dataset, &asked, deep).await;
    asked
        .iter()
        .zip(reports)
        .map(|(manifest, report)| (manifest.key.clone(), report))
        .collect()
}

/// One report per manifest, in order. Each manifest has a state and a kind this build has.
pub(super) async fn ask(
    dataset: &Dataset,
    manifests: &[&Manifest],
    deep: bool,
) -> Vec<VerifyReport> {
    let mut groups = IndexMap::<String, Group>::new();
    let places: Vec<Result<(usize, usize), VerifyReport>> = manifests
        .iter()
        .map(|manifest| place(dataset, manifest, &mut groups).map_err(|error| unknown(&error)))
        .collect();
    let answers = run(groups, deep).await;
    places
        .into_iter()
        .map(|place| {
            place.map_or_else(
                |report| report,
                |(group, index)| answers[group][index].clone(),
            )
        })
        .collect()
}

/// The states to ask one store for.
struct Group {
    backend: Arc<dyn Backend>,
    store: Store,
    states: Vec<(State, Option<Pin>)>,
    known: HashMap<String, usize>,
}

/// Puts a manifest's state into the group of its store; the group and the index in it.
fn place(
    dataset: &Dataset,
    manifest: &Manifest,
    groups: &mut IndexMap<String, Group>,
) -> Result<(usize, usize)> {
    let (backend, store) = dataset.store_of(manifest)?;
    let system = format!(
        "{}\0{}\0{:?}\0{}",
        manifest.kind,
        store.locator.canonical(),
        store.policy,
        json::canonical_map(&store.options.0)
    );
    let entry = groups.entry(system);
    let index = entry.index();
    let group = entry.or_insert_with(|| Group {
        backend,
        store,
        states: Vec::new(),
        known: HashMap::new(),
    });
    let state = manifest.state.clone().unwrap_or_default();
    let pin = manifest.pin.clone();
    let id = format!("{}\0{pin:?}", state.canonical());
    let next = group.states.len();
    let place = *group.known.entry(id).or_insert(next);
    if place == next {
        group.states.push((state, pin));
    }
    Ok((index, place))
}

/// Asks every store, kinds side by side, each with its bound.
async fn run(groups: IndexMap<String, Group>, deep: bool) -> Vec<Vec<VerifyReport>> {
    let mut answers: Vec<Vec<VerifyReport>> = Vec::new();
    let mut by_kind = BTreeMap::<&'static str, (Vec<usize>, Vec<Group>)>::new();
    for (index, group) in groups.into_values().enumerate() {
        answers.push(Vec::new());
        let (indexes, jobs) = by_kind.entry(group.backend.kind()).or_default();
        indexes.push(index);
        jobs.push(group);
    }
    let kinds = by_kind.into_values().map(|(indexes, jobs)| async move {
        let sizes: Vec<usize> = jobs.iter().map(|group| group.states.len()).collect();
        let found = fanout::each(jobs, fanout::DEFAULT_BOUND, move |group| async move {
            Ok(group
                .backend
                .verify_many(&group.store, &group.states, deep)
                .await)
        });
        (indexes, sizes, found.await)
    });
    for (indexes, sizes, found) in join_all(kinds).await {
        for ((index, size), reports) in indexes.into_iter().zip(sizes).zip(found) {
            answers[index] = reports_of(reports, size);
        }
    }
    answers
}

fn reports_of(reports: Result<Vec<Result<VerifyReport>>>, size: usize) -> Vec<VerifyReport> {
    let mut rows: Vec<VerifyReport> = match reports {
        Ok(reports) => reports
            .into_iter()
            .map(|report| report.unwrap_or_else(|error| unknown(&error)))
            .collect(),
        Err(error) => vec![unknown(&error); size],
    };
    // A backend that answers too few states must not shift the others' verdicts.
    let missing = VerifyReport::new(Verdict::Unknown, "the backend gave no answer");
    rows.resize(size, missing);
    rows
}

pub(super) fn unknown(error: &Error) -> VerifyReport {
    VerifyReport::new(Verdict::Unknown, reason(error))
}
