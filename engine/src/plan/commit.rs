//! `commit` as a pure function: world and request in, plan or refusal out.
//!
//! [`select`] does the refusals that need no store, so that `apply` contacts none when one of them holds; [`plan`] does them again
//! and decides object by object.

mod decide;
mod refuse;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Action, Plan, Precondition};
use crate::backend::Verdict;
use crate::error::{Error, Result};
use crate::json::Map;
use crate::key::{ObjectKey, Selection};
use crate::manifest::manifest_hash;
use crate::name::pin_ref;
use crate::world::{World, brief};

pub use decide::Decision;

/// What the user asked `commit` for.
#[derive(Clone, Debug, Default)]
pub struct CommitOptions {
    /// `-m`.
    pub message: Option<String>,
    /// `KEY...`.
    pub keys: Selection,
    /// `--no-vcs`.
    pub no_vcs: bool,
    /// `--strict`.
    pub strict: bool,
    /// `--force`.
    pub force: bool,
    /// `--no-snapshot`.
    pub no_snapshot: bool,
}

impl CommitOptions {
    /// The message; missing and blank ones are refused. Checked before anything else.
    pub fn message(&self) -> Result<&str> {
        let hint = "`tether commit -m MESSAGE`";
        match &self.message {
            None => Err(Error::user("a commit needs a message").with_hint(hint)),
            Some(message) if message.trim().is_empty() => {
                Err(Error::user("the message is blank").with_hint(hint))
            }
            Some(message) if message.contains('\0') => {
                Err(Error::user("the message holds a NUL character").with_hint(hint))
            }
            Some(message) => Ok(message),
        }
    }
}

/// The selected keys, those of removed manifests included, after every refusal that needs no store.
pub fn select(world: &World, options: &CommitOptions) -> Result<Vec<ObjectKey>> {
    options.message()?;
    refuse::position(world)?;
    refuse::stale_checkout(world)?;
    let known = world.manifests.keys().chain(world.removed.keys());
    let selected = options.keys.resolve(known)?;
    if options.keys.is_all() {
        refuse::unrecorded_removals(world)?;
    } else {
        refuse::split_scopes(world, &selected)?;
    }
    Ok(selected)
}

/// Plans a commit.
pub fn plan(world: &World, options: &CommitOptions) -> Result<Plan> {
    decided(world, options).map(|decided| decided.plan)
}

/// A plan with the decisions it was made from.
#[derive(Clone, Debug)]
pub(crate) struct Decided {
    pub(crate) plan: Plan,
    /// The notes that a person should see beside the report, too.
    pub(crate) remarks: Vec<String>,
    pub(crate) selected: Vec<ObjectKey>,
    pub(crate) decisions: BTreeMap<ObjectKey, Decision>,
}

pub(crate) fn decided(world: &World, options: &CommitOptions) -> Result<Decided> {
    let selected = select(world, options)?;
    let decisions = decide::all(world, &selected)?;
    if options.strict {
        refuse::unpinned(world, &decisions)?;
    }
    let message = options.message()?;
    let mut plan = Plan::new("commit");
    plan.context = context(world, options, message, &selected);
    plan.preconditions = preconditions(world);
    plan.actions = decisions
        .iter()
        .filter_map(|(key, decision)| action(world, key, decision))
        .collect();
    if !options.no_vcs && changes_history(world, &selected, &decisions, options) {
        let detail = format!("{} commit: '{}'", world.vcs.name(), first_line(message));
        plan.actions
            .push(Action::new("vcs-commit", "", "", "", detail));
    }
    let (notes, remarks) = notes(world, options, &selected, &decisions);
    plan.notes = notes;
    Ok(Decided {
        plan: plan.sealed(),
        remarks,
        selected,
        decisions,
    })
}

/// Whether the dataset commit would differ from the head.
fn changes_history(
    world: &World,
    selected: &[ObjectKey],
    decisions: &BTreeMap<ObjectKey, Decision>,
    options: &CommitOptions,
) -> bool {
    let manifests = selected.iter().any(|key| {
        world.edited.contains(key)
            || world.removed.contains_key(key)
            || decisions.get(key).is_some_and(Decision::changes_manifest)
    });
    manifests || (options.keys.is_all() && !world.files.is_empty())
}

fn context(world: &World, options: &CommitOptions, message: &str, selected: &[ObjectKey]) -> Map {
    let states: Map = selected
        .iter()
        .filter_map(|key| {
            let seen = world.states.get(key).and_then(|state| state.as_ref().ok());
            let kept = || world.manifests.get(key)?.state.as_ref();
            let state = seen.or_else(kept)?;
            Some((key.to_string(), Value::Object(state.0.clone())))
        })
        .collect();
    let mut context = Map::new();
    context.insert("message".to_owned(), message.into());
    context.insert(
        "manifest_hash".to_owned(),
        manifest_hash(&world.manifests).into(),
    );
    context.insert("states".to_owned(), Value::Object(states));
    context.insert(
        "workspace_id".to_owned(),
        world.workspace.id.as_str().into(),
    );
    context.insert("pull".to_owned(), false.into());
    if !options.keys.is_all() {
        context.insert("keys".to_owned(), json!(selected));
    }
    for (name, set) in [("no_vcs", options.no_vcs), ("force", options.force)] {
        if set {
            context.insert(name.to_owned(), true.into());
        }
    }
    context
}

fn preconditions(world: &World) -> Vec<Precondition> {
    let bookmark = world
        .workspace
        .view
        .bookmark
        .as_ref()
        .map_or_else(String::new, ToString::to_string);
    vec![
        Precondition::new(
            "workspace_id",
            world.workspace.id.as_str(),
            "this commit plan was made in another checkout; plan again here",
        ),
        Precondition::new(
            "workspace_bookmark",
            bookmark.as_str(),
            format!(
                "this commit plan was made on {bookmark}; the checkout is on {{observed}} now; plan again"
            ),
        ),
        Precondition::new(
            "manifest_hash",
            manifest_hash(&world.manifests),
            "manifests changed since the plan was made; plan again",
        ),
    ]
}

fn action(world: &World, key: &ObjectKey, decision: &Decision) -> Option<Action> {
    let manifest = world.manifests.get(key)?;
    let action = match decision {
        Decision::Unchanged => return None,
        Decision::Pin {
            state,
            pin,
            missing,
        } => {
            let native = pin_ref(pin, 1);
            let detail = if *missing {
                format!("native ref is missing; made again at {}", brief(state))
            } else {
                format!("native ref at {}", brief(state))
            };
            Action::new("pin", key.as_str(), &manifest.kind, native.as_str(), detail)
                .with("state", Value::Object(state.0.clone()))
                .with("pin_id", pin.as_str())
        }
        Decision::Record {
            state,
            recoverable,
            by_policy,
        } => {
            let detail = match (recoverable, by_policy) {
                (false, _) => "Observed: recorded, not recoverable".to_owned(),
                (true, true) => format!("pin=record: state {}, no native ref", brief(state)),
                (true, false) => format!("Addressable: state {}, no native ref", brief(state)),
            };
            Action::new("record", key.as_str(), &manifest.kind, "", detail)
                .with("state", Value::Object(state.0.clone()))
                .with("recoverable", *recoverable)
        }
    };
    Some(action)
}

/// What a plan says beside its actions, and which of it a person should see beside the report as well.
fn notes(
    world: &World,
    options: &CommitOptions,
    selected: &[ObjectKey],
    decisions: &BTreeMap<ObjectKey, Decision>,
) -> (Vec<String>, Vec<String>) {
    let mut notes = Vec::new();
    let mut remarks = Vec::new();
    for key in selected {
        match note(world, key, decisions.get(key)) {
            Some((note, true)) => {
                notes.push(note.clone());
                remarks.push(note);
            }
            Some((note, false)) => notes.push(note),
            None => {}
        }
    }
    if options.keys.is_all() {
        let changed = world.files.iter().filter(|file| !file.new);
        notes.extend(changed.map(|file| format!("{}: changed", file.path)));
    }
    for (key, report) in &world.pins {
        let note = match report {
            Ok(report) if report.status == Verdict::Drifted => format!(
                "{key}: its pin points at another state than recorded; `tether verify {key}` says where"
            ),
            Err(error) => format!("{key}: its pin could not be checked: {}", error.one_line()),
            Ok(_) => continue,
        };
        notes.push(note.clone());
        remarks.push(note);
    }
    (notes, remarks)
}

/// The note about one object, and whether it is a remark.
fn note(world: &World, key: &ObjectKey, decision: Option<&Decision>) -> Option<(String, bool)> {
    let Some(manifest) = world.manifests.get(key) else {
        return Some((format!("{key}: removed"), false));
    };
    if world.left_out.contains(key) {
        let note = format!("{key}: left out of this sparse checkout; stays as committed");
        return Some((note, true));
    }
    if manifest.state.is_some() && !world.objects.contains_key(key) {
        let note =
            format!("{key}: not looked at, and stays as committed; `tether status {key}` says why");
        return Some((note, true));
    }
    let committed = world.committed.get(key);
    let policy = committed.is_some_and(|committed| committed.policy != manifest.policy);
    match decision {
        None | Some(Decision::Unchanged) if !world.edited.contains(key) => {
            Some(match drift(world, key) {
                Some(seen) => (
                    format!("{key}: unchanged; not read, and the last snapshot {seen}"),
                    true,
                ),
                None => (format!("{key}: unchanged"), false),
            })
        }
        None | Some(Decision::Unchanged) => {
            let why = match committed {
                None => "not committed yet",
                Some(_) if policy => "policy changed",
                Some(committed) if committed.locator != manifest.locator => "locator changed",
                Some(_) => "manifest changed",
            };
            Some((format!("{key}: {why}"), false))
        }
        Some(Decision::Record { .. }) if policy && manifest.pin.is_some() => {
            Some((format!("{key}: policy changed; pin released"), false))
        }
        Some(_) if policy => Some((format!("{key}: policy changed"), false)),
        Some(_) => None,
    }
}

/// What the last snapshot said of an object that this commit does not read, when that is not its committed state.
fn drift(world: &World, key: &ObjectKey) -> Option<String> {
    if world.states.contains_key(key) {
        return None;
    }
    let committed = world.manifests.get(key)?.state.as_ref()?;
    if let Some(failed) = world.workspace.last_snapshot_errors.get(key) {
        return Some(format!("failed: {}", failed.error));
    }
    let seen = world.workspace.last_snapshot.get(key)?;
    let volatile = world.objects.get(key).map_or(&[][..], |it| it.volatile);
    let same = seen.same_content(committed, volatile);
    (!same).then(|| "found it changed (`tether status --snapshot`)".to_owned())
}

fn first_line(message: &str) -> &str {
    message.trim_start().lines().next().unwrap_or_default()
}
