//! `tether ops`.

use std::num::NonZeroUsize;

use tether_engine::{Result, query};

use super::Outcome;
use crate::context::Context;
use crate::render;

/// Show this checkout's operation log: what tether did
///
/// Every command that changes the dataset appends an entry: the plan it applied, what it created or deleted, and what it replaced.
#[derive(Debug, clap::Args)]
pub struct OpsArgs {
    /// Show the newest N entries
    #[arg(short = 'n', long, value_name = "N", default_value = "20")]
    limit: NonZeroUsize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context<'_>, args: &OpsArgs) -> Result<Outcome> {
    let dataset = context.dataset()?;
    let rows = query::ops::ops(&dataset, args.limit.get())?;
    context
        .console
        .answer(args.json, &rows, |paint| render::ops::text(&rows, paint))?;
    Ok(Outcome::Fine)
}
