//! `tether log`.

use std::fmt::Write as _;

use tether_engine::register::AddOptions;
use tether_engine::state::Locator;
use tether_engine::{Result, query};

use super::Outcome;
use super::add::with_set;
use crate::cli::at_least_one;
use crate::context::Context;
use crate::render::object;

/// List an object's native history, newest first
///
/// Entry ids are valid values for `tether add --at`; native branches, tags, and tether pins pointing at an entry are shown in
/// brackets.
#[derive(Debug, clap::Args)]
pub struct LogArgs {
    /// The object's key; with --kind, a locator (a path or URI) to browse
    #[arg(value_name = "KEY|LOCATOR")]
    target: String,
    /// Browse an unregistered object of this backend kind
    #[arg(long)]
    kind: Option<String>,
    /// Start from this branch, tag or id [default: the working ref or base]
    #[arg(long = "ref", value_name = "REF")]
    from: Option<String>,
    /// Show at most this many entries
    #[arg(short = 'n', long, value_name = "N", default_value = "20")]
    #[arg(allow_negative_numbers = true, value_parser = at_least_one)]
    limit: usize,
    /// With --kind: base branch
    #[arg(long, requires = "kind")]
    branch: Option<String>,
    /// With --kind: extra locator field (repeatable)
    #[arg(long = "set", value_name = "FIELD=VALUE", requires = "kind")]
    fields: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, args: &LogArgs) -> Result<Outcome> {
    let object = args
        .kind
        .as_deref()
        .map(|kind| args.object(kind))
        .transpose()?;
    let dataset = context.dataset()?;
    let from = args.from.as_deref();
    let entries = if let Some(object) = &object {
        let log = query::log::log_locator(&dataset, &context.cwd, object, from, args.limit);
        context.wait("tether log", log)
    } else {
        let log = query::log::log(&dataset, &args.target, from, args.limit);
        context.wait("tether log", log)
    }?;
    context.console.answer(args.json, &entries, |_| {
        entries.iter().fold(String::new(), |mut out, entry| {
            let _ = writeln!(out, "{}", object::history_line(entry));
            out
        })
    })?;
    Ok(Outcome::Fine)
}

impl LogArgs {
    fn object(&self, kind: &str) -> Result<AddOptions> {
        let mut fields = Locator::default();
        if let Some(branch) = &self.branch {
            fields = fields.with("branch", branch.as_str());
        }
        Ok(AddOptions {
            locator: Some(self.target.clone()),
            kind: kind.to_owned(),
            fields: with_set(fields, &self.fields)?,
            ..AddOptions::default()
        })
    }
}
