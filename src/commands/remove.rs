//! `tether remove`.

use tether_engine::{Result, register};

use super::Outcome;
use crate::context::Context;
use crate::render::clean;

/// Unregister an object; its store is not touched
#[derive(Debug, clap::Args)]
pub struct RemoveArgs {
    /// The object's key
    key: String,
}

pub(super) fn run(context: &Context, args: &RemoveArgs) -> Result<Outcome> {
    let dataset = context.dataset()?;
    let key = args.key.parse()?;
    let console = context.console;
    let mut waiting = |line: &str| console.note(line);
    let remove = register::remove(&dataset, &key, &mut waiting);
    context.wait("tether remove", remove)?;
    let line = format!("removed {}\n", clean(key.as_str()));
    context.console.print(&line)?;
    Ok(Outcome::Fine)
}
