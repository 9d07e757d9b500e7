//! tether under jj: the only crate that names jj-lib and jj-cli, which are pinned to one version.
//!
//! ```text
//!   run        the custom `jj`: every stock command, `jj tether`, and what follows a command that moved the operation log
//!   options    what a command line says about the repository: which operation, which settings
//! ```

mod options;
mod run;

pub use options::Options;
pub use run::{After, JJ_VERSION, run, stock};
