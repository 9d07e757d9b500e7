//! `tether verify`.

use tether_engine::backend::Verdict;
use tether_engine::key::Selection;
use tether_engine::query::verify::VerifyOptions;
use tether_engine::{Result, query};

use super::Outcome;
use crate::context::Context;
use crate::render;

/// Check that recorded states and pins still resolve
///
/// Reports ok, drifted, missing, or unknown per object; exits 1 if anything is not ok. KEY... verifies only those objects (with
/// --all-history, at every commit that has them).
#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// Objects to verify: a key, or a prefix ending in '/' [default: every object]
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    /// Verify the manifests at this revision
    #[arg(short, long, conflicts_with = "all_history")]
    rev: Option<String>,
    /// Verify every commit in the repository
    #[arg(long)]
    all_history: bool,
    /// Actually open recorded states (resolves `unknown`)
    #[arg(long)]
    deep: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, args: &VerifyArgs) -> Result<Outcome> {
    let options = VerifyOptions {
        keys: Selection(args.keys.clone()),
        rev: args.rev.clone(),
        all_history: args.all_history,
        deep: args.deep,
    };
    let dataset = context.dataset()?;
    let verify = query::verify::verify(&dataset, &options);
    let (result, warnings) = context.wait("tether verify", verify)?;
    for warning in &warnings {
        context.console.warn(warning);
    }
    context.console.answer(args.json, &result, |paint| {
        render::verify::text(&result, paint)
    })?;
    let fine = result.rows.values().all(|row| row.status == Verdict::Ok);
    Ok(Outcome::of(fine))
}
