//! `tether diff`.

use std::collections::BTreeSet;

use super::{absent, reason};
use crate::backend::{Capability, ObjectDiff};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::fanout;
use crate::fsutil;
use crate::id::CommitId;
use crate::key::{ObjectKey, Selection};
use crate::manifest::{Manifest, Manifests};
use crate::report::{DiffRow, ObjectChange};
use crate::state::State;
use crate::vcs::Position;

/// What the user asked `diff` for.
#[derive(Clone, Debug, Default)]
pub struct DiffOptions {
    /// The earlier side; `None`: the last commit.
    pub rev_a: Option<String>,
    /// The later side; `None`: the working tree.
    pub rev_b: Option<String>,
    /// `--key`.
    pub keys: Selection,
    /// `--content`.
    pub content: bool,
}

/// Compares manifests, and with `content` the objects' insides. One row per object that either side has, by key.
pub async fn diff(dataset: &Dataset, options: &DiffOptions) -> Result<Vec<DiffRow>> {
    let a = Side::of(dataset, options.rev_a.as_deref(), Default::LastCommit)?;
    let mut b = Side::of(dataset, options.rev_b.as_deref(), Default::WorkingTree)?;
    if b.commit.is_none() {
        add_left_out(dataset, &mut b.manifests)?;
    }
    let known: BTreeSet<&ObjectKey> = a.manifests.keys().chain(b.manifests.keys()).collect();
    let keys = options.keys.resolve(known)?;
    let mut rows: Vec<DiffRow> = keys
        .iter()
        .map(|key| row(dataset, key, a.manifests.get(key), b.manifests.get(key)))
        .collect();
    if options.content {
        contents(dataset, &a, &b, &mut rows).await;
    }
    Ok(rows)
}

/// What a side is when no revision names it.
enum Default {
    LastCommit,
    WorkingTree,
}

/// One side: its manifests, and its commit unless it is the working tree.
struct Side {
    manifests: Manifests,
    commit: Option<CommitId>,
}

impl Side {
    fn of(dataset: &Dataset, rev: Option<&str>, default: Default) -> Result<Self> {
        let commit = match (rev, default) {
            (Some(rev), _) => Some(super::resolve(dataset, rev)?),
            (None, Default::LastCommit) => last_commit(&dataset.vcs.position()?)?,
            (None, Default::WorkingTree) => {
                return Ok(Self {
                    manifests: dataset.manifests()?,
                    commit: None,
                });
            }
        };
        Ok(Self {
            manifests: dataset.committed(commit.as_ref())?,
            commit,
        })
    }
}

/// The commit that the working copy is on; a merge is on several, and none of them is the last.
fn last_commit(position: &Position) -> Result<Option<CommitId>> {
    if position.merged.is_empty() {
        return Ok(position.head.clone());
    }
    let parents: Vec<&str> = position
        .head
        .iter()
        .chain(&position.merged)
        .map(CommitId::short)
        .collect();
    Err(Error::user(format!(
        "the working copy is a merge of {}, so there is no one commit to compare it with",
        parents.join(" and ")
    ))
    .with_hint(format!(
        "`tether diff {}` compares with one of them",
        parents[0]
    )))
}

/// Adds the committed manifests that a sparse checkout leaves out of the working tree: they are not removed.
fn add_left_out(dataset: &Dataset, manifests: &mut Manifests) -> Result<()> {
    let committed = dataset.committed(dataset.vcs.position()?.head.as_ref())?;
    let missing = committed.keys().filter(|key| !manifests.contains_key(*key));
    let left_out = absent::left_out(dataset, missing)?;
    let kept = committed
        .into_iter()
        .filter(|(key, _)| left_out.contains(key));
    manifests.extend(kept);
    Ok(())
}

fn row(dataset: &Dataset, key: &ObjectKey, a: Option<&Manifest>, b: Option<&Manifest>) -> DiffRow {
    let pin = |side: Option<&Manifest>| {
        let pin = side.and_then(|manifest| manifest.pin.as_ref());
        pin.map(|pin| pin.id.as_str().to_owned())
    };
    let why = match (a, b) {
        (Some(a), Some(b)) => why(dataset, a, b),
        _ => Vec::new(),
    };
    DiffRow {
        key: key.clone(),
        change: match (a, b) {
            (None, _) => ObjectChange::Added,
            (_, None) => ObjectChange::Removed,
            _ if why.is_empty() => ObjectChange::Unchanged,
            _ => ObjectChange::Changed,
        },
        a: pin(a),
        b: pin(b),
        detail: None,
        detail_error: None,
        why,
    }
}

/// Which parts differ. Volatile keys of a state are no difference, and neither is a further generation of the same pin.
fn why(dataset: &Dataset, a: &Manifest, b: &Manifest) -> Vec<&'static str> {
    let volatile = dataset.volatile_keys(&b.kind);
    let content = |manifest: &Manifest| {
        let state = manifest.state.as_ref();
        state.map(|state| state.content(volatile))
    };
    let pin = |manifest: &Manifest| manifest.pin.as_ref().map(|pin| pin.id.clone());
    let parts = [
        ("state", content(a) != content(b)),
        ("pin", pin(a) != pin(b)),
        ("locator", a.locator != b.locator || a.kind != b.kind),
        ("policy", a.policy != b.policy),
    ];
    parts
        .into_iter()
        .filter_map(|(part, differs)| differs.then_some(part))
        .collect()
}

/// Fills in what changed inside the objects whose state differs, concurrently.
async fn contents(dataset: &Dataset, a: &Side, b: &Side, rows: &mut [DiffRow]) {
    let mut indexes = Vec::new();
    let mut jobs = Vec::new();
    for (index, row) in rows.iter_mut().enumerate() {
        if !row.why.contains(&"state") {
            continue;
        }
        let (Some(old), Some(new)) = (a.manifests.get(&row.key), b.manifests.get(&row.key)) else {
            continue;
        };
        match job(dataset, (a, old), (b, new)) {
            Ok(Some(job)) => {
                indexes.push(index);
                jobs.push(job);
            }
            Ok(None) => {}
            Err(error) => row.detail_error = Some(reason(&error)),
        }
    }
    let details = fanout::each(
        jobs,
        fanout::DEFAULT_BOUND,
        |job| async move { job.run().await },
    );
    for (index, detail) in indexes.into_iter().zip(details.await) {
        match detail {
            Ok(detail) => rows[index].detail = Some(detail),
            Err(error) => rows[index].detail_error = Some(reason(&error)),
        }
    }
}

struct Job {
    backend: std::sync::Arc<dyn crate::backend::Backend>,
    store: crate::backend::Store,
    states: (State, State),
    listings: (Option<Vec<u8>>, Option<Vec<u8>>),
}

impl Job {
    async fn run(self) -> Result<ObjectDiff> {
        let (a, b) = &self.states;
        let listings = (self.listings.0.as_deref(), self.listings.1.as_deref());
        self.backend.diff(&self.store, a, b, listings).await
    }
}

/// `None` when there is nothing to compare, or the kind has no content diff.
fn job(dataset: &Dataset, old: (&Side, &Manifest), new: (&Side, &Manifest)) -> Result<Option<Job>> {
    let (Some(a), Some(b)) = (&old.1.state, &new.1.state) else {
        return Ok(None);
    };
    if old.1.kind != new.1.kind {
        return Ok(None);
    }
    let (backend, store) = dataset.store_of(new.1)?;
    if !backend.effective(&store).has(Capability::Diff) {
        return Ok(None);
    }
    let commits = [&new.0.commit, &old.0.commit].map(Option::as_ref);
    Ok(Some(Job {
        listings: (
            listing(dataset, old.1, a, commits)?,
            listing(dataset, new.1, b, commits)?,
        ),
        states: (a.clone(), b.clone()),
        backend,
        store,
    }))
}

/// The listing of a state, where one is stored. Its name says what is in it, so any place that has it will do: the working tree first,
/// then either side's commit.
fn listing(
    dataset: &Dataset,
    manifest: &Manifest,
    state: &State,
    commits: [Option<&CommitId>; 2],
) -> Result<Option<Vec<u8>>> {
    // Only states that are digests over files have one.
    if state.get("digest").is_none() {
        return Ok(None);
    }
    let name = dataset.listing_name(manifest, state)?;
    let below = format!(".tether/listings/{name}");
    if let Some(text) = fsutil::read_regular(&dataset.root.join(&below))? {
        return Ok(Some(text));
    }
    for commit in commits.into_iter().flatten() {
        if let Some(text) = dataset.vcs.read_at(commit, &dataset.repo_path(&below))? {
            return Ok(Some(text));
        }
    }
    Ok(None)
}
