//! tether under jj: the only crate that names jj-lib and jj-cli, which are pinned to one version.
//!
//! ```text
//!   run        the custom `jj`: every stock command, `jj tether`, and what follows a command that moved the operation log
//!   options    what a command line says about the repository: which operation, which settings
//!
//!   changes    what a commit did to the datasets
//!   templates  ... in the templates of `jj log` and `jj op log`
//!   revsets    ... in revsets
//!   config     the defaults that show it
//!
//!   repo       a repository opened at one operation, its locks
//!   settings   jj's configuration
//!   vcs        the `Vcs`: position, bookmarks, files, history
//!     revisions, trees, checkouts, commit
//!   log        the operation log: begin (what git and the user did), publish, undo
//!     anchor     the head, inside jj's View
//!     diverged   merging the heads that divergent operations left
//!     snapshot   the working copy with tether's matchers
//!     change     one operation of jj's, with everything jj's own commands do
//!     describe   its line in `jj op log`
//!     killed     what a killed jj left in git
//!     exclude    files of one checkout stay out of every snapshot
//! ```
//!
//! jj's code is asynchronous and its futures stay on their thread: everything here blocks on them.

mod anchor;
mod change;
mod changes;
mod checkouts;
mod commit;
mod config;
mod describe;
mod diverged;
mod exclude;
mod killed;
mod log;
mod options;
mod repo;
mod revisions;
mod revsets;
mod run;
mod settings;
mod snapshot;
mod templates;
mod trees;
mod vcs;

pub use log::JjLog;
pub use options::Options;
pub use repo::Jj;
pub use run::{After, JJ_VERSION, run, stock};
pub use vcs::JjVcs;

use tether_engine::Error;

/// An error of jj about what tether was doing.
fn failed(
    what: impl Into<String>,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::vcs(what).with_source(error)
}
