//! `tether commit`.

use std::path::{Path, PathBuf};

use tether_engine::apply::commit;
use tether_engine::dataset::Dataset;
use tether_engine::key::Selection;
use tether_engine::plan::Plan;
use tether_engine::plan::commit::CommitOptions;
use tether_engine::report::CommitReport;
use tether_engine::{Error, ErrorKind, Result};

use super::Outcome;
use crate::context::Context;
use crate::render;

/// Pin objects and record their state in the manifests
///
/// Objects whose system has branches or tags get a native ref `tether.<pin id>`; others, and those with `pin = "record"`, are
/// recorded; states that cannot be read back are recorded as unrecoverable. Unchanged objects are skipped. Then the manifests are
/// committed. `--dry-run` and `--plan` preview the actions; `--from-plan` applies a saved plan after checking that nothing changed
/// underneath it.
///
/// KEY... commits only those objects, like `git commit PATH`: only they are fingerprinted and pinned, and only their manifests and
/// listings are committed. Every other edit under `.tether/` stays uncommitted.
#[derive(Debug, clap::Args)]
pub struct CommitArgs {
    /// Commit only these objects: a key, or a prefix ending in '/' [default: every object]
    ///
    /// Objects sharing a native branch space are named together. With --from-plan: the plan's selection, or refused.
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    /// Commit message (required unless --from-plan)
    #[arg(short, long, allow_hyphen_values = true)]
    message: Option<String>,
    /// Write manifests but skip the VCS commit
    #[arg(long)]
    no_vcs: bool,
    /// Fail instead of recording states that cannot be read back
    #[arg(long)]
    strict: bool,
    /// Skip quiescence checks (active writers)
    #[arg(long)]
    force: bool,
    /// Commit the cached fingerprints instead of fingerprinting first
    #[arg(long)]
    no_snapshot: bool,
    /// Show what would be pinned and recorded; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write the plan to FILE (implies --dry-run)
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Apply a plan saved with --plan instead of planning
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["dry_run", "plan", "strict", "force", "no_snapshot"]
    )]
    from_plan: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, args: &CommitArgs) -> Result<Outcome> {
    let options = args.options()?;
    let saved = args.from_plan.as_deref().map(load).transpose()?;
    let dataset = context.dataset()?;
    if args.dry_run || args.plan.is_some() {
        return preview(context, args, &dataset, &options);
    }
    let console = context.console;
    let mut waiting = |line: &str| console.note(line);
    let report = match saved {
        Some(plan) => context.wait(
            "tether commit",
            commit::apply_saved(&dataset, plan, &options, &mut waiting),
        ),
        None => context.wait(
            "tether commit",
            commit::run(&dataset, &options, &mut waiting),
        ),
    }?;
    notes(context, &report);
    console.answer(args.json, &report, |_| {
        render::commit::text(&report, options.no_vcs)
    })?;
    Ok(Outcome::Fine)
}

impl CommitArgs {
    fn options(&self) -> Result<CommitOptions> {
        if self.message.is_none() && self.from_plan.is_none() {
            return Err(Error::user("a message is required: -m/--message")
                .with_hint("tether commit -m MESSAGE"));
        }
        Ok(CommitOptions {
            message: self.message.clone(),
            keys: Selection(self.keys.clone()),
            no_vcs: self.no_vcs,
            strict: self.strict,
            force: self.force,
            no_snapshot: self.no_snapshot,
        })
    }
}

fn preview(
    context: &Context,
    args: &CommitArgs,
    dataset: &Dataset,
    options: &CommitOptions,
) -> Result<Outcome> {
    let plan = commit::plan(dataset, options, args.plan.is_some());
    let plan = context.wait("tether commit", plan)?;
    if let Some(path) = &args.plan {
        save(&plan, path)?;
        context
            .console
            .note(&format!("plan written to {}", path.display()));
    }
    context
        .console
        .answer(args.json, &plan, |paint| render::plan::text(&plan, paint))?;
    Ok(Outcome::Fine)
}

fn notes(context: &Context, report: &CommitReport) {
    for note in &report.notes {
        context.console.note(&format!("note: {note}"));
    }
}

fn save(plan: &Plan, path: &Path) -> Result<()> {
    let mut text = plan.to_json();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    std::fs::write(path, text).map_err(|error| {
        Error::user(format!("cannot write the plan to {}", path.display()))
            .with_source(error)
            .with_hint("name a file in a directory that exists")
    })
}

fn load(path: &Path) -> Result<Plan> {
    let bytes = std::fs::read(path).map_err(|error| {
        Error::user(format!("cannot read the plan {}", path.display()))
            .with_source(error)
            .with_hint("tether commit -m MESSAGE --plan FILE saves one")
    })?;
    let text = String::from_utf8(bytes).map_err(|_| {
        let message = format!("{} is not a plan: it is not text", path.display());
        Error::new(ErrorKind::StalePlan, message)
            .with_hint("tether commit -m MESSAGE --plan FILE saves one")
    })?;
    Plan::from_json(&text, "commit")
}
