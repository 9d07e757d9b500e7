//! `tether status`.

use tether_engine::key::Selection;
use tether_engine::report::{Label, StatusReport};
use tether_engine::{Result, query};

use super::Outcome;
use crate::context::Context;
use crate::render;

/// Classify every object against its committed manifest
///
/// Local by default: the manifests, working refs, staleness, and the last snapshot of each object's state, with its age. `--snapshot`
/// contacts every store and fingerprints every object first. A checkout with no snapshot yet takes one.
///
/// Labels: new (never committed), modified, clean, behind (the system moved past its pin), error (its store could not be read, now or
/// by the last snapshot; exit 1). `(STALE)` means the committed state changed since this checkout forked. KEY... limits all of it to
/// those objects: only they are contacted.
#[derive(Debug, clap::Args)]
pub struct StatusArgs {
    /// Objects to report: a key, or a prefix ending in '/' [default: every object]
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    /// Fingerprint every object now [default: as `[snapshot] auto` in tether.toml says]
    #[arg(long, conflicts_with = "no_snapshot")]
    snapshot: bool,
    /// Show the last snapshot and its age
    #[arg(long)]
    no_snapshot: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, args: &StatusArgs) -> Result<Outcome> {
    let snapshot = match (args.snapshot, args.no_snapshot) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let dataset = context.dataset()?;
    let keys = Selection(args.keys.clone());
    let status = query::status::status(&dataset, &keys, snapshot);
    let report = context.wait("tether status", status)?;
    context.console.answer(args.json, &report, |paint| {
        render::status::text(&report, paint)
    })?;
    warn(context, &report);
    let failed = report
        .objects
        .iter()
        .any(|object| object.state == Label::Error);
    Ok(Outcome::of(!failed))
}

fn warn(context: &Context, report: &StatusReport) {
    let drift = report.vcs_drift.iter().map(render::status::vcs_drift);
    let warnings = report.bookmark_drift.iter().chain(&report.warnings);
    for warning in warnings.cloned().chain(drift) {
        context.console.warn(&warning);
    }
    for object in &report.objects {
        if let Some(error) = render::status::object_error(object, report.fresh) {
            context.console.error(&error);
        }
    }
}
