//! `tether backends`.

use std::fmt::Write as _;

use tether_engine::backend::Maturity;
use tether_engine::report::BackendRow;
use tether_engine::{Result, query};

use super::Outcome;
use crate::backends;
use crate::context::Context;

/// List backend kinds with their maturity, tier, and capabilities
#[derive(Debug, clap::Args)]
pub struct BackendsArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, args: &BackendsArgs) -> Result<Outcome> {
    let registry = backends::registry(None, None);
    let rows = query::backends::backends(&registry);
    context.console.answer(args.json, &rows, |_| text(&rows))?;
    Ok(Outcome::Fine)
}

fn text(rows: &[BackendRow]) -> String {
    rows.iter().fold(String::new(), |mut out, row| {
        let maturity = row.maturity.map_or("absent", |maturity| match maturity {
            Maturity::Stable => "stable",
            Maturity::Experimental => "experimental",
        });
        let tier = row.tier.map_or("", |tier| tier.name());
        let mut about = row.capabilities.join(", ");
        if let Some(note) = &row.note {
            let between = if about.is_empty() { "" } else { "; " };
            let _ = write!(about, "{between}{note}");
        }
        let line = format!("{:<9}  {maturity:<12}  {tier:<11}  {about}", row.kind);
        let _ = writeln!(out, "{}", line.trim_end());
        out
    })
}
