//! `tether ops`.

use tether_engine::{Result, query};

use super::Outcome;
use crate::cli::at_least_one;
use crate::context::Context;
use crate::render;

/// Show this checkout's operation log: what tether did
///
/// Every command that changes the dataset appends an entry: the plan it applied, what it created or deleted, and what it replaced.
#[derive(Debug, clap::Args)]
pub struct OpsArgs {
    /// Show the newest N entries
    #[arg(short = 'n', long, value_name = "N", default_value = "20")]
    #[arg(allow_negative_numbers = true, value_parser = at_least_one)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, args: &OpsArgs) -> Result<Outcome> {
    let dataset = context.dataset()?;
    let rows = query::ops::ops(&dataset, args.limit)?;
    context
        .console
        .answer(args.json, &rows, |paint| render::ops::text(&rows, paint))?;
    Ok(Outcome::Fine)
}
