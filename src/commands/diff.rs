//! `tether diff`.

use tether_engine::key::Selection;
use tether_engine::query::diff::DiffOptions;
use tether_engine::{Result, query};

use super::Outcome;
use crate::context::Context;
use crate::render;

/// Show object-level manifest differences between two revisions
///
/// Without revisions, the last commit is compared with the working tree; with one, that revision is. With --content, changed objects
/// whose backend supports it are compared natively (files, tables, commits) using metadata only. `--key` limits the diff, and the
/// stores it reads, to those objects.
#[derive(Debug, clap::Args)]
pub struct DiffArgs {
    /// From revision [default: the last commit]
    rev_a: Option<String>,
    /// To revision [default: the working tree]
    rev_b: Option<String>,
    /// Only this object: a key, or a prefix ending in '/' (repeatable) [default: every object]
    #[arg(long = "key", value_name = "KEY")]
    keys: Vec<String>,
    /// Also describe what changed inside each object
    #[arg(short, long)]
    content: bool,
    /// Show at most this many entries per object
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, args: &DiffArgs) -> Result<Outcome> {
    let options = DiffOptions {
        rev_a: args.rev_a.clone(),
        rev_b: args.rev_b.clone(),
        keys: Selection(args.keys.clone()),
        content: args.content,
    };
    let dataset = context.dataset()?;
    let rows = context.wait("tether diff", query::diff::diff(&dataset, &options))?;
    context.console.answer(args.json, &rows, |paint| {
        render::diff::text(&rows, args.limit, paint)
    })?;
    Ok(Outcome::Fine)
}
