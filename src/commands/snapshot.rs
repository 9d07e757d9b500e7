//! `tether snapshot`.

use tether_engine::key::Selection;
use tether_engine::{Result, query};

use super::Outcome;
use crate::context::Context;
use crate::render::object;

/// Fingerprint every object and cache the result in the checkout
///
/// The cached states of objects not named stay as they were.
#[derive(Debug, clap::Args)]
pub struct SnapshotArgs {
    /// Objects to fingerprint: a key, or a prefix ending in '/' [default: every object]
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, args: &SnapshotArgs) -> Result<Outcome> {
    let dataset = context.dataset()?;
    let keys = Selection(args.keys.clone());
    let report = context.wait(
        "tether snapshot",
        query::snapshot::snapshot(&dataset, &keys),
    )?;
    context
        .console
        .answer(args.json, &report, |_| object::states(&report))?;
    Ok(Outcome::Fine)
}
