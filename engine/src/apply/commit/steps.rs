//! The steps of a commit, and taking them back when one fails before the dataset commit stands.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::apply::files::{self, Rewrite, Rewrites};
use crate::apply::pins::{self, Cut, Job};
use crate::apply::publish::{self, Record};
use crate::apply::undo::{LEFT, fingerprint};
use crate::backend::Effect;
use crate::clock;
use crate::dataset::Dataset;
use crate::error::{Error, ErrorKind, Result};
use crate::fanout::{self, DEFAULT_BOUND};
use crate::fsutil;
use crate::id::{CommitId, OpId, PinId};
use crate::key::ObjectKey;
use crate::manifest::Manifest;
use crate::oplog::{Head, Journal};
use crate::plan::commit::{CommitOptions, Decided, Decision};
use crate::report::CommitReport;
use crate::state::State;
use crate::vcs::{CommitRequest, PathChange, VcsKind};
use crate::workspace::Workspace;
use crate::world::World;

/// The journal's names of the VCS steps.
pub(crate) const VCS_COMMIT: &str = "vcs-commit";
pub(crate) const VCS_PREPARED: &str = "vcs-prepared";

/// What `workspace.toml` and the operation record get once the commit stands: in the journal before it does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Key to the state its working ref corresponds to from now on.
    pub(crate) base_states: BTreeMap<ObjectKey, State>,
    /// Key to pin id; null where only the state is recorded.
    pub(crate) pinned: BTreeMap<ObjectKey, Option<PinId>>,
    /// Key to native ref, likewise.
    pub(crate) refs: BTreeMap<ObjectKey, Option<String>>,
    /// Keys recorded as not recoverable.
    pub(crate) unrecoverable: Vec<ObjectKey>,
    /// Keys whose removal is recorded.
    pub(crate) removed: Vec<ObjectKey>,
}

/// The dataset commit as the journal announces it: enough to find it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Announced {
    pub(crate) message: String,
    pub(crate) bookmark: crate::name::BookmarkName,
    pub(crate) head: Option<CommitId>,
    /// Path as the repository has it, and whether the commit removes it. The content is in the working tree.
    pub(crate) paths: Vec<(String, bool)>,
}

/// One commit on its way.
struct Run<'a> {
    dataset: &'a Dataset,
    options: &'a CommitOptions,
    world: World,
    decided: Decided,
    cuts: BTreeMap<PinId, Cut>,
    rewrites: Rewrites,
    outcome: Outcome,
    announced: bool,
    prepared: Option<CommitId>,
}

/// Applies what was decided. The second value are the pins the commit uses.
pub(super) async fn apply(
    dataset: &Dataset,
    mut world: World,
    decided: Decided,
    options: &CommitOptions,
) -> Result<(CommitReport, Vec<PinId>)> {
    if !options.no_snapshot {
        refresh_cache(&mut world);
    }
    if decided.plan.is_empty() {
        if !world.states.is_empty() && !options.no_snapshot {
            dataset.write_workspace(&world.workspace)?;
        }
        return Ok((report(&decided, &Outcome::default(), None), Vec::new()));
    }
    let mut run = Run {
        dataset,
        options,
        world,
        decided,
        cuts: BTreeMap::new(),
        rewrites: Rewrites::default(),
        outcome: Outcome::default(),
        announced: false,
        prepared: None,
    };
    run.preflight()?;
    publish::adopt_foreign(dataset, &mut run.world.workspace)?;
    let mut journal = Journal::begin(
        dataset.vcs.shared_dir(),
        OpId::random()?,
        &run.world.workspace.id,
        "commit",
        Some(run.decided.plan.to_value()),
        json!({ "head": run.world.position.head }),
    )?;
    let jobs = run.jobs();
    if !jobs.is_empty() {
        let (returned, made) = pins::make(dataset, jobs, journal).await;
        journal = returned;
        run.cuts = made.cuts;
        if let Err(error) = made.outcome {
            return Err(run.roll_back(journal, error).await);
        }
    }
    if let Err(error) = run.write_files(&mut journal).await {
        return Err(run.roll_back(journal, error).await);
    }
    let commit = match run.commit(&mut journal) {
        Ok(commit) => commit,
        Err(error) => match run.landed(&journal.operation) {
            Ok(Some(commit)) => Some(commit),
            Ok(None) => return Err(run.roll_back(journal, error).await),
            Err(unknown) => return Err(undecided(run.dataset.vcs.kind(), error, &unknown)),
        },
    };
    run.finish(journal, commit)
}

impl Run<'_> {
    /// Refuses what would make the dataset commit fail, before the first pin.
    fn preflight(&self) -> Result<()> {
        if !self.commits() {
            return Ok(());
        }
        self.dataset.vcs.check_can_commit()?;
        let mut paths: Vec<String> = self
            .changed_manifests()
            .map(|key| self.dataset.manifest_repo_path(key))
            .collect();
        paths.extend(self.files().map(|path| self.dataset.repo_path(path)));
        let ignored = self.dataset.vcs.ignored(&paths)?;
        let Some(path) = ignored.first() else {
            return Ok(());
        };
        Err(Error::vcs(format!(
            "an ignore rule of the repository covers {path}, so a commit would not hold it"
        ))
        .with_hint(format!(
            "`git check-ignore -v -- '{path}'` names the rule; change it and commit again"
        )))
    }

    /// Whether a dataset commit is to be made.
    fn commits(&self) -> bool {
        let mut actions = self.decided.plan.actions.iter();
        !self.options.no_vcs && actions.any(|it| it.op == VCS_COMMIT)
    }

    /// The selected keys whose manifest differs from the head's, now or after this commit.
    fn changed_manifests(&self) -> impl Iterator<Item = &ObjectKey> {
        self.decided
            .selected
            .iter()
            .filter(|key| self.world.edited.contains(*key) || self.rewrites_manifest(key))
    }

    fn rewrites_manifest(&self, key: &ObjectKey) -> bool {
        self.decided
            .decisions
            .get(key)
            .is_some_and(Decision::changes_manifest)
    }

    /// The files beside manifests and listings that go along.
    fn files(&self) -> impl Iterator<Item = &str> {
        let all = self.options.keys.is_all();
        let files = self.world.files.iter().filter(move |it| all || it.new);
        files.map(|it| it.path.as_str())
    }

    /// One pin per content address.
    fn jobs(&self) -> Vec<Job> {
        let mut jobs: Vec<Job> = Vec::new();
        let mut seen = BTreeSet::new();
        for (key, decision) in &self.decided.decisions {
            let Decision::Pin { state, pin, .. } = decision else {
                continue;
            };
            let (Some(manifest), Some(facts)) =
                (self.world.manifests.get(key), self.world.objects.get(key))
            else {
                continue;
            };
            if !seen.insert(pin) {
                continue;
            }
            jobs.push(Job {
                manifest: manifest.clone(),
                identity: facts.identity.clone(),
                state: state.clone(),
                id: pin.clone(),
            });
        }
        jobs
    }

    /// Listings and manifests.
    async fn write_files(&mut self, journal: &mut Journal) -> Result<()> {
        let manifests = self.new_manifests()?;
        let listings = self.new_listings(&manifests).await?;
        for manifest in &manifests {
            let old = self.dataset.manifest_bytes(&manifest.key)?;
            let old = old
                .map(|bytes| String::from_utf8(bytes).map_err(|_| not_text(&manifest.key)))
                .transpose()?;
            self.rewrites.manifests.push(Rewrite {
                path: format!(".tether/{}", manifest.key.manifest_path()),
                old,
                new: manifest.to_toml(),
            });
        }
        let paths = listings.iter().map(|(path, _)| path.clone());
        self.rewrites.listings = paths.collect();
        self.outcome = self.outcome_of(&manifests);
        journal.intent(
            files::ACTION,
            json!({ "files": self.rewrites, "outcome": self.outcome }),
        )?;
        for (path, content) in &listings {
            fsutil::write_atomic(&self.dataset.root.join(path), content)?;
        }
        self.rewrites.write_manifests(self.dataset)?;
        let keys: Vec<&ObjectKey> = manifests.iter().map(|it| &it.key).collect();
        journal.did(files::ACTION, json!({ "keys": keys }))
    }

    /// The manifests as they will be.
    fn new_manifests(&self) -> Result<Vec<Manifest>> {
        let at = clock::now();
        let mut manifests = Vec::new();
        for (key, decision) in &self.decided.decisions {
            if !decision.changes_manifest() {
                continue;
            }
            let Some(mut manifest) = self.world.manifests.get(key).cloned() else {
                continue;
            };
            manifest.captured_at = Some(at.clone());
            match decision {
                Decision::Pin { state, pin, .. } => {
                    let cut = self.cuts.get(pin).ok_or_else(|| {
                        Error::internal(format!("pin {pin} was planned and not made"))
                    })?;
                    manifest.state = Some(state.clone());
                    manifest.pin = Some(cut.pin.clone());
                    manifest.recoverable = true;
                }
                Decision::Record {
                    state, recoverable, ..
                } => {
                    manifest.state = Some(state.clone());
                    manifest.pin = None;
                    manifest.recoverable = *recoverable;
                }
                Decision::Unchanged => {}
            }
            manifests.push(manifest);
        }
        Ok(manifests)
    }

    /// Listings of the new states that the working tree does not have yet: path below the root, and content.
    async fn new_listings(&self, manifests: &[Manifest]) -> Result<Vec<(String, Vec<u8>)>> {
        let mut work = Vec::new();
        for manifest in manifests {
            let Some(state) = manifest.state.clone() else {
                continue;
            };
            let (backend, store) = self.dataset.store_of(manifest)?;
            let name = self.dataset.listing_name(manifest, &state)?;
            let key = (manifest.key.clone(), manifest.kind.clone());
            work.push((
                key,
                backend,
                store,
                state,
                format!(".tether/listings/{name}"),
            ));
        }
        let results = fanout::each(work, DEFAULT_BOUND, |work| async move {
            let ((key, kind), backend, store, state, path) = work;
            let listing = backend.listing(&store, &state).await;
            let listing = listing.map_err(|error| error.for_object(&key, &kind))?;
            Ok(listing.map(|content| (path, content)))
        })
        .await;
        let mut new = BTreeMap::new();
        for (path, content) in fanout::all(results)?.into_iter().flatten() {
            if fsutil::read_regular(&self.dataset.root.join(&path))?.as_ref() != Some(&content) {
                new.insert(path, content);
            }
        }
        Ok(new.into_iter().collect())
    }

    fn outcome_of(&self, manifests: &[Manifest]) -> Outcome {
        let view = &self.world.workspace.view;
        let mut outcome = Outcome::default();
        for manifest in manifests {
            let key = &manifest.key;
            let forked = view.base_states.contains_key(key)
                || view.working_refs.contains_key(key)
                || view.pending_forks.contains_key(key);
            if let (true, Some(state)) = (forked, &manifest.state) {
                outcome.base_states.insert(key.clone(), state.clone());
            }
            if manifest.recoverable {
                let pin = manifest.pin.as_ref();
                outcome
                    .pinned
                    .insert(key.clone(), pin.map(|pin| pin.id.clone()));
                outcome
                    .refs
                    .insert(key.clone(), pin.map(|pin| pin.native.to_string()));
            } else {
                outcome.unrecoverable.push(key.clone());
            }
        }
        // A pin that was made again: the manifest stays as it is.
        for (key, decision) in &self.decided.decisions {
            if let Decision::Pin {
                pin, missing: true, ..
            } = decision
            {
                let native = self.cuts.get(pin).map(|cut| cut.pin.native.to_string());
                outcome.pinned.insert(key.clone(), Some(pin.clone()));
                outcome.refs.insert(key.clone(), native);
            }
        }
        let removed = self.decided.selected.iter();
        outcome.removed = removed
            .filter(|key| self.world.removed.contains_key(*key))
            .cloned()
            .collect();
        outcome
    }

    /// The dataset commit.
    fn commit(&mut self, journal: &mut Journal) -> Result<Option<CommitId>> {
        if !self.commits() {
            return Ok(None);
        }
        let request = self.request(journal.operation.clone())?;
        if request.changes.is_empty() {
            return Ok(None);
        }
        let announced = Announced {
            message: request.message.clone(),
            bookmark: request.bookmark.clone(),
            head: request.expected_head.clone(),
            paths: request
                .changes
                .iter()
                .map(|change| (change.path.clone(), change.content.is_none()))
                .collect(),
        };
        journal.intent(VCS_COMMIT, json!(announced))?;
        self.announced = true;
        let operation = journal.operation.clone();
        let mut prepared = None;
        let commit = self.dataset.vcs.commit(&request, &mut |id| {
            prepared = Some(id.clone());
            journal.intent(VCS_PREPARED, json!({ "commit": id }))?;
            if !self.dataset.vcs.carries_operations() {
                return Ok(None);
            }
            let record = self.record(operation.clone(), Some(id));
            let mut workspace = self.world.workspace.clone();
            settle_view(&mut workspace, &self.outcome);
            let head = self.dataset.oplog.head()?;
            self.check_head(head.as_ref())?;
            publish::write(self.dataset, &workspace, record, head.as_ref()).map(Some)
        });
        self.prepared = prepared;
        let commit = commit?;
        // The commit stands from here on: the record of it may fail, and `finish` goes on all the same.
        let _ = journal.did(VCS_COMMIT, json!({ "commit": commit }));
        Ok(Some(commit))
    }

    /// Refuses when the log moved since the checkout's state was read: the commit would bring back what was undone.
    fn check_head(&self, head: Option<&Head>) -> Result<()> {
        let workspace = &self.world.workspace;
        let ours = match head {
            Some(head) if self.dataset.is_of(head, &workspace.id)? => {
                Some((head.operation.clone(), head.view.clone()))
            }
            _ => None,
        };
        if ours == workspace.materialised {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::StalePlan,
            "the repository's own undo or redo moved this checkout meanwhile",
        )
        .with_hint("run the command again"))
    }

    fn request(&self, operation: OpId) -> Result<CommitRequest> {
        let Some(bookmark) = self.world.workspace.view.bookmark.clone() else {
            return Err(Error::internal("a commit was planned on no bookmark"));
        };
        let mut changes: BTreeMap<String, Option<Vec<u8>>> = BTreeMap::new();
        for key in self.changed_manifests() {
            let content = self.dataset.manifest_bytes(key)?;
            changes.insert(self.dataset.manifest_repo_path(key), content);
            if let Some((path, content)) = self.listing_of(key)? {
                changes.insert(path, Some(content));
            }
        }
        for key in &self.outcome.removed {
            changes.insert(self.dataset.manifest_repo_path(key), None);
        }
        for path in self.files() {
            let content = fsutil::read_regular(&self.dataset.root.join(path))?;
            changes.insert(self.dataset.repo_path(path), content);
        }
        let mut differing = Vec::new();
        for (path, content) in changes {
            if self.at_head(&path)? != content {
                differing.push(PathChange { path, content });
            }
        }
        Ok(CommitRequest {
            changes: differing,
            message: self.options.message()?.to_owned(),
            bookmark,
            expected_head: self.world.position.head.clone(),
            operation,
        })
    }

    /// The listing of the state that `key`'s manifest names now, when the working tree has it.
    fn listing_of(&self, key: &ObjectKey) -> Result<Option<(String, Vec<u8>)>> {
        let Some(bytes) = self.dataset.manifest_bytes(key)? else {
            return Ok(None);
        };
        let manifest = Manifest::parse(key, &bytes)?;
        let Some(state) = &manifest.state else {
            return Ok(None);
        };
        let Ok(name) = self.dataset.listing_name(&manifest, state) else {
            return Ok(None);
        };
        let below = format!(".tether/listings/{name}");
        let Some(content) = fsutil::read_regular(&self.dataset.root.join(&below))? else {
            return Ok(None);
        };
        let path = self.dataset.repo_path(&below);
        Ok(Some((path, content)))
    }

    fn at_head(&self, path: &str) -> Result<Option<Vec<u8>>> {
        match &self.world.position.head {
            Some(head) => self.dataset.vcs.read_at(head, path),
            None => Ok(None),
        }
    }

    /// Whether the dataset commit stands although making it ended in an error.
    fn landed(&self, operation: &OpId) -> Result<Option<CommitId>> {
        if !self.announced {
            return Ok(None);
        }
        landed(self.dataset, self.prepared.as_ref(), || {
            self.request(operation.clone())
        })
    }

    /// Takes back what this run did, newest first. Returns `error`, with what could not be taken back.
    async fn roll_back(self, journal: Journal, error: Error) -> Error {
        let mut left = self.rewrites.restore(self.dataset);
        left.extend(pins::take_back(self.dataset, self.cuts.into_values().collect()).await);
        if let Err(more) = journal.rolled_back() {
            left.push(more);
        }
        if left.is_empty() {
            return error;
        }
        let what: Vec<String> = left.iter().map(Error::one_line).collect();
        let message = format!(
            "the commit failed, and not all of it could be taken back ({})",
            what.join("; ")
        );
        Error::new(error.kind(), message)
            .with_source(error)
            .with_hint(format!(
                "`tether verify` shows what is pinned, `{} status` what is changed; then commit again",
                self.dataset.vcs.kind().name()
            ))
    }

    /// Publishes the operation, writes `workspace.toml`, and closes the journal.
    fn finish(
        mut self,
        journal: Journal,
        commit: Option<CommitId>,
    ) -> Result<(CommitReport, Vec<PinId>)> {
        let record = self.record(journal.operation.clone(), commit.as_ref());
        let workspace = &mut self.world.workspace;
        settle_view(workspace, &self.outcome);
        let finished =
            publish::publish(self.dataset, workspace, record).and_then(|_| journal.done());
        if let Err(error) = finished {
            return Err(stands(error, commit.as_ref()));
        }
        let pins = self.cuts.into_keys().collect();
        Ok((report(&self.decided, &self.outcome, commit), pins))
    }

    fn record(&self, id: OpId, commit: Option<&CommitId>) -> Record {
        Record {
            id,
            command: "commit".to_owned(),
            plan: Some(self.decided.plan.to_value()),
            result: result(&self.outcome, commit),
            pre: self.pre(commit),
            commit: commit.cloned(),
            undoes: None,
            step_of: None,
            progress: self.progress(commit),
        }
    }

    /// What undo needs: the head before, and what the manifests held when no commit holds it.
    fn pre(&self, commit: Option<&CommitId>) -> Value {
        let mut pre = json!({ "head": self.world.position.head });
        if commit.is_none() {
            let manifests: BTreeMap<&str, &Option<String>> = self
                .rewrites
                .manifests
                .iter()
                .map(|file| (file.path.as_str(), &file.old))
                .collect();
            pre["files"] = json!(manifests);
            pre[LEFT] = json!(self.leaves());
        }
        pre
    }

    /// Key to a fingerprint of the manifest that was written.
    fn leaves(&self) -> BTreeMap<&ObjectKey, String> {
        let keys = self.decided.decisions.keys();
        let path = |key: &ObjectKey| format!(".tether/{}", key.manifest_path());
        keys.filter_map(|key| {
            let path = path(key);
            let file = self.rewrites.manifests.iter().find(|it| it.path == path)?;
            Some((key, fingerprint(file.new.as_bytes())))
        })
        .collect()
    }

    fn progress(&self, commit: Option<&CommitId>) -> Vec<Value> {
        let mut progress: Vec<Value> = self
            .cuts
            .values()
            .map(|cut| {
                json!({
                    "action": "pin",
                    "key": cut.manifest.key,
                    "ref": cut.pin.native,
                    "created": cut.effect != Effect::Found,
                })
            })
            .collect();
        let keys: Vec<&ObjectKey> = self
            .decided
            .decisions
            .keys()
            .filter(|key| self.rewrites_manifest(key))
            .collect();
        if !keys.is_empty() {
            progress.push(json!({ "action": "manifests", "keys": keys }));
        }
        if let Some(commit) = commit {
            progress.push(json!({ "action": VCS_COMMIT, "commit": commit }));
        }
        progress
    }
}

/// The dataset commit of an interrupted or failed run, when it stands.
pub(crate) fn landed(
    dataset: &Dataset,
    prepared: Option<&CommitId>,
    request: impl FnOnce() -> Result<CommitRequest>,
) -> Result<Option<CommitId>> {
    // Asked first: where it finds the commit, it also completes what a kill left of it (git's index).
    if let Some(id) = dataset.vcs.find_landed(&request()?)? {
        return Ok(Some(id));
    }
    if let Some(id) = prepared {
        let visible = dataset.vcs.visible(std::slice::from_ref(id))?;
        if visible.first() == Some(&true) {
            return Ok(Some(id.clone()));
        }
    }
    Ok(None)
}

/// The operation's `result`.
pub(crate) fn result(outcome: &Outcome, commit: Option<&CommitId>) -> Value {
    let mut result = json!({
        "vcs_commit": commit,
        "pinned": outcome.pinned,
        "unrecoverable": outcome.unrecoverable,
    });
    if !outcome.removed.is_empty() {
        result["removed"] = json!(outcome.removed);
    }
    result
}

/// Moves the view to what was committed.
pub(crate) fn settle_view(workspace: &mut Workspace, outcome: &Outcome) {
    let states = outcome.base_states.clone();
    workspace.view.base_states.extend(states);
}

fn report(decided: &Decided, outcome: &Outcome, commit: Option<CommitId>) -> CommitReport {
    let unchanged = decided.decisions.iter();
    CommitReport {
        vcs_commit: commit,
        pinned: outcome.refs.clone(),
        unrecoverable: outcome.unrecoverable.clone(),
        unchanged: unchanged
            .filter(|(_, decision)| **decision == Decision::Unchanged)
            .map(|(key, _)| key.clone())
            .collect(),
        notes: Vec::new(),
    }
}

/// Caches what was read, as `snapshot` does, for the objects that were read.
fn refresh_cache(world: &mut World) {
    let mut read = false;
    for (key, state) in &world.states {
        if let Ok(state) = state {
            read = true;
            world.workspace.last_snapshot_errors.remove(key);
            world
                .workspace
                .last_snapshot
                .insert(key.clone(), state.clone());
        }
    }
    if read {
        world.workspace.last_snapshot_at = Some(clock::now());
    }
}

fn not_text(key: &ObjectKey) -> Error {
    Error::config(format!("the manifest of {key} is not UTF-8"))
        .with_hint(format!("save .tether/objects/{key}.toml as UTF-8"))
}

/// The commit stands, and its record does not.
fn stands(error: Error, commit: Option<&CommitId>) -> Error {
    let what = commit.map_or_else(
        || "the manifests are written".to_owned(),
        |commit| format!("the dataset commit {} stands", commit.short()),
    );
    Error::new(
        error.kind(),
        format!("{what}, but recording it in the operation log failed"),
    )
    .with_source(error)
    .with_hint("the next writing command finishes the record: `tether commit -m MESSAGE`")
    .partly_done()
}

/// Nobody can say whether the commit stands.
fn undecided(vcs: VcsKind, error: Error, unknown: &Error) -> Error {
    Error::new(
        ErrorKind::Interrupted,
        format!(
            "making the dataset commit failed, and whether it stands cannot be told ({})",
            unknown.one_line()
        ),
    )
    .with_source(error)
    .with_hint(format!(
        "`{} log` shows whether it stands; the next writing command finishes it or rolls it back",
        vcs.name()
    ))
    .partly_done()
}
