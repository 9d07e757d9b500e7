//! `tether open`.

use tether_engine::query::open::OpenOptions;
use tether_engine::{Error, ErrorKind, Result, query};

use super::Outcome;
use crate::context::Context;
use crate::render::clean;

/// Print a native address of an object
///
/// Without --rev, an object that can fork opens writable at its working ref, and everything else read-only at the base. A connection
/// URL is printed with its password redacted unless --with-password (for `psql "$(tether open db --with-password)"`); --json is
/// always redacted.
#[derive(Debug, clap::Args)]
pub struct OpenArgs {
    /// The object's key
    key: String,
    /// Open read-only at this revision's pinned state [default: $TETHER_REV]
    #[arg(short, long, conflicts_with = "writable")]
    rev: Option<String>,
    /// Refuse writes through the address
    #[arg(long, conflicts_with = "writable")]
    read_only: bool,
    /// Fail when the object cannot be written
    #[arg(long)]
    writable: bool,
    /// Print a connection URL with its password; never honoured under --json
    #[arg(long)]
    with_password: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, args: &OpenArgs) -> Result<Outcome> {
    let rev = match &args.rev {
        Some(rev) => Some(rev.clone()),
        None => rev_of_environment()?,
    };
    if rev.is_some() && args.writable {
        return Err(Error::new(
            ErrorKind::Usage,
            "TETHER_REV is set, and a revision's state is read-only: --writable contradicts it",
        )
        .with_hint("unset TETHER_REV"));
    }
    let writable = match (args.writable, args.read_only) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    let dataset = context.dataset()?;
    let options = OpenOptions { rev, writable };
    let open = query::open::open(&dataset, &args.key, &options);
    let report = context.wait("tether open", open)?;
    if let (Some(commit), Some(rev)) = (&report.resolved, &options.rev)
        && !commit.as_str().starts_with(rev.as_str())
    {
        context
            .console
            .note(&format!("{rev} is commit {}", commit.short()));
    }
    let console = context.console;
    console.answer(args.json, &report, |_| {
        let secret = report
            .secret_address
            .as_ref()
            .filter(|_| args.with_password);
        let address = secret.unwrap_or(&report.address);
        if console.out_is_terminal() {
            format!("{}\n", clean(address))
        } else {
            format!("{address}\n")
        }
    })?;
    Ok(Outcome::Fine)
}

/// `TETHER_REV`; empty is as good as unset.
fn rev_of_environment() -> Result<Option<String>> {
    match std::env::var("TETHER_REV") {
        Ok(rev) if rev.trim().is_empty() => Ok(None),
        Ok(rev) => Ok(Some(rev)),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Error::user("TETHER_REV is not text").with_hint("unset TETHER_REV"))
        }
    }
}
