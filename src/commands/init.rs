//! `tether init`.

use std::path::{Path, PathBuf};

use tether_engine::id::DatasetId;
use tether_engine::{Error, Result, register};

use super::Outcome;
use crate::context::Context;
use crate::discover;
use crate::render::{clean, quoted};

/// Initialize a tether dataset in an existing jj or git repository
///
/// Writes `tether.toml` and `.tether/`, and puts the working copy on the trunk bookmark. Fails whole when there is no repository at or
/// above PATH: nothing stays behind.
#[derive(Debug, clap::Args)]
pub struct InitArgs {
    /// The dataset's root [default: the current directory]
    path: Option<PathBuf>,
    /// Use this dataset id (8 lower-case hexadecimal digits) instead of a fresh one
    ///
    /// A dataset whose repository was lost takes back the pins and working branches its stores still hold under it.
    #[arg(long, value_name = "ID")]
    dataset_id: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, args: &InitArgs) -> Result<Outcome> {
    let id: Option<DatasetId> = args.dataset_id.as_deref().map(str::parse).transpose()?;
    let path = args.path.as_deref().unwrap_or(Path::new(""));
    let root = absolute(&context.cwd.join(path))?;
    let found = discover::repository(&root, &context.jj)?.ok_or_else(|| no_repository(&root))?;
    let report = register::init(&root, &found.vcs, &found.oplog, id)?;
    context.console.answer(args.json, &report, |_| {
        let (root, id) = (clean(&report.root), &report.dataset_id);
        format!(
            "initialized tether dataset at {root} (dataset id {id}: its pins and working branches are tether.{id}.* / tether.ws.{id}.*)\n"
        )
    })?;
    Ok(Outcome::Fine)
}

fn no_repository(root: &Path) -> Error {
    let place = root.display().to_string();
    let quoted = quoted(&place);
    Error::vcs(format!("no git or jj repository found at or above {place}")).with_hint(format!(
        "make one first: `jj git init {quoted}` or `git init {quoted}`"
    ))
}

/// `path` with links, `.` and `..` resolved as far as it exists; the rest may be made by `init`.
fn absolute(path: &Path) -> Result<PathBuf> {
    let mut missing = Vec::new();
    let mut existing = path;
    loop {
        match existing.canonicalize() {
            Ok(found) => {
                missing.reverse();
                return Ok(missing.iter().fold(found, |path, name| path.join(name)));
            }
            Err(error) => match (existing.file_name(), existing.parent()) {
                (Some(name), Some(parent)) if error.kind() == std::io::ErrorKind::NotFound => {
                    missing.push(name);
                    existing = parent;
                }
                _ => return Err(Error::io("find", path, error)),
            },
        }
    }
}
