//! Applying a commit plan (DESIGN, 'The dataset commit').
//!
//! [`plan`] observes and plans. [`run`] does the same under the locks and applies; [`apply_saved`] also checks that what it would do
//! is what the saved plan says. The steps themselves are in `steps`.

pub(crate) mod steps;

use serde_json::{Value, json};

use super::observe;
use super::recover;
use super::session::Session;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::key::{ObjectKey, Selection};
use crate::manifest::manifest_hash;
use crate::oplog::Journal;
use crate::plan::commit::{self, CommitOptions};
use crate::plan::{Plan, stale};
use crate::report::CommitReport;
use crate::state::State;
use crate::world::{World, brief};

/// Observes and plans; writes nothing.
///
/// `save`: the plan is for `--plan FILE`. A plan that binds to this checkout needs its id on disk; a checkout without the file is on no
/// bookmark, which is refused, so there is nothing left to write.
pub async fn plan(dataset: &Dataset, options: &CommitOptions, save: bool) -> Result<Plan> {
    let _ = save;
    options.message()?;
    let world = observed(dataset, options).await?;
    let mut plan = commit::plan(&world, options)?;
    let unfinished = Journal::unfinished(dataset.vcs.shared_dir())?;
    let own = unfinished
        .iter()
        .filter(|it| it.workspace == world.workspace.id);
    let before = plan.notes.len();
    plan.notes.extend(own.map(|it| {
        format!(
            "operation {} ({}) never finished; a commit finishes it or rolls it back first, and then plans again",
            it.operation, it.command
        )
    }));
    Ok(if plan.notes.len() == before {
        plan
    } else {
        plan.sealed()
    })
}

/// Takes the locks, recovers what was interrupted, plans, and applies.
pub async fn run(
    dataset: &Dataset,
    options: &CommitOptions,
    waiting: &mut (dyn FnMut(&str) + Send),
) -> Result<CommitReport> {
    options.message()?;
    let _session = Session::repository(dataset, "tether commit", waiting)?;
    dataset.oplog.begin()?;
    let recovered = recover::keeping_pins(dataset).await?;
    let outcome = run_locked(dataset, options, None).await;
    recovered.settle(dataset, outcome).await
}

/// Takes the locks, recovers what was interrupted, checks the saved plan, and applies it.
///
/// `options.message` overrides the plan's message: a message is no state of the world that was reviewed. `options.keys`, when given,
/// must select what the plan does. `options.no_vcs` leaves the VCS commit out.
pub async fn apply_saved(
    dataset: &Dataset,
    plan: Plan,
    options: &CommitOptions,
    waiting: &mut (dyn FnMut(&str) + Send),
) -> Result<CommitReport> {
    let options = saved_options(&plan, options)?;
    options.message()?;
    let _session = Session::repository(dataset, "tether commit --from-plan", waiting)?;
    dataset.oplog.begin()?;
    let recovered = recover::keeping_pins(dataset).await?;
    let outcome = run_locked(dataset, &options, Some(&plan)).await;
    recovered.settle(dataset, outcome).await
}

async fn run_locked(
    dataset: &Dataset,
    options: &CommitOptions,
    saved: Option<&Plan>,
) -> Result<(CommitReport, Vec<crate::id::PinId>)> {
    let workspace = dataset.workspace()?;
    let mut world = observe::local(dataset, workspace)?;
    if let Some(saved) = saved {
        preconditions(saved, &world)?;
    }
    let selected = commit::select(&world, options)?;
    observe::stores(
        dataset,
        &mut world,
        &selected,
        options.no_snapshot,
        options.force,
    )
    .await?;
    if let Some(saved) = saved {
        states(saved, &world)?;
    }
    let decided = commit::decided(&world, options)?;
    if let Some(saved) = saved {
        same_steps(saved, &decided.plan)?;
    }
    let notes = decided.remarks.clone();
    let (mut report, pins) = steps::apply(dataset, world, decided, options).await?;
    report.notes.extend(notes);
    Ok((report, pins))
}

async fn observed(dataset: &Dataset, options: &CommitOptions) -> Result<World> {
    let mut world = observe::local(dataset, dataset.workspace()?)?;
    let selected = commit::select(&world, options)?;
    observe::stores(
        dataset,
        &mut world,
        &selected,
        options.no_snapshot,
        options.force,
    )
    .await?;
    Ok(world)
}

/// The options a saved plan was made with, under those it is applied with.
fn saved_options(plan: &Plan, given: &CommitOptions) -> Result<CommitOptions> {
    let flag = |name: &str| plan.context.get(name).and_then(Value::as_bool) == Some(true);
    let message = plan.context.get("message").and_then(Value::as_str);
    let keys = match plan.context.get("keys") {
        None => Selection::all(),
        Some(keys) => serde_json::from_value(keys.clone())
            .map_err(|_| stale("this commit plan names no objects", "commit"))?,
    };
    if !given.keys.is_all() {
        let known: Vec<ObjectKey> = keys.0.iter().filter_map(|key| key.parse().ok()).collect();
        let same = given
            .keys
            .resolve(&known)
            .is_ok_and(|chosen| chosen.len() == known.len());
        if !same {
            let planned = if keys.is_all() {
                "every object".to_owned()
            } else {
                keys.0.join(", ")
            };
            return Err(Error::user(format!(
                "the plan commits {planned}, which is another selection than the keys given"
            ))
            .with_hint(
                "leave the keys out: `tether commit --from-plan FILE` applies what was planned",
            ));
        }
    }
    Ok(CommitOptions {
        message: given.message.clone().or(message.map(ToOwned::to_owned)),
        keys,
        no_vcs: given.no_vcs || flag("no_vcs"),
        strict: given.strict,
        force: given.force || flag("force"),
        no_snapshot: false,
    })
}

fn preconditions(plan: &Plan, world: &World) -> Result<()> {
    let workspace = &world.workspace;
    plan.check("workspace_id", &json!(workspace.id))?;
    let bookmark = workspace.view.bookmark.as_ref();
    let seen = match bookmark {
        Some(name) if world.position.bookmarks.contains(name) => Some(name),
        // The VCS moved off the bookmark: where it is now is the answer.
        Some(_) => world.position.bookmarks.first(),
        None => None,
    };
    plan.check("workspace_bookmark", &json!(seen))?;
    plan.check("manifest_hash", &json!(manifest_hash(&world.manifests)))
}

/// Refuses when an object that is read was at another state when the plan was made.
fn states(plan: &Plan, world: &World) -> Result<()> {
    let planned = plan.context.get("states").and_then(Value::as_object);
    for (key, now) in &world.states {
        let Ok(now) = now else { continue };
        let then = planned
            .and_then(|states| states.get(key.as_str()))
            .and_then(Value::as_object)
            .map(|state| State(state.clone()));
        let volatile = world.objects.get(key).map_or(&[][..], |it| it.volatile);
        let moved = match &then {
            Some(then) => !then.same_content(now, volatile),
            None => true,
        };
        if moved {
            let then = then.map_or_else(|| "not read".to_owned(), |then| brief(&then));
            return Err(stale(
                format!(
                    "{key} changed since the plan was made ({then} -> {})",
                    brief(now)
                ),
                "commit",
            ));
        }
    }
    Ok(())
}

/// Refuses when the same world would now be committed by other steps than those reviewed: a pin vanished, a removal was recorded, ...
fn same_steps(saved: &Plan, now: &Plan) -> Result<()> {
    let steps = |plan: &Plan| -> Vec<(String, String, String, Option<Value>)> {
        let objects = plan.actions.iter().filter(|it| it.op != "vcs-commit");
        objects
            .map(|it| {
                let pin = it.params.get("pin_id").cloned();
                (it.op.clone(), it.key.clone(), it.target.clone(), pin)
            })
            .collect()
    };
    let commits = |plan: &Plan| plan.actions.iter().any(|it| it.op == "vcs-commit");
    if steps(saved) != steps(now) || (commits(now) && !commits(saved)) {
        return Err(stale(
            "what there is to commit changed since the plan was made",
            "commit",
        ));
    }
    Ok(())
}
