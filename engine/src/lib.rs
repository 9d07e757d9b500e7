//! tether's model and rules, without any store SDK, jj-lib, gix or command line.
//!
//! ```text
//!   values      json id key name state manifest config workspace secrets listing clock
//!      |
//!   contracts   backend (a class of stores)      vcs (the enclosing repository)
//!      |
//!   facade      dataset
//!      |   \
//!      |    query   status snapshot verify diff log open ops      read-only answers
//!      |
//!   world -> plan -> apply                        observe, decide (pure), do (journalled)
//!                     |
//!                   oplog lock index fsutil       views, operations, journal, locks, clone indexes
//! ```
//!
//! Three types to know: [`dataset::Dataset`] is what commands hold, [`backend::Backend`] is what a store kind implements,
//! [`plan::Plan`] is what a writing command shows and applies. Formats are those of FORMAT.md, byte for byte.

pub mod apply;
pub mod backend;
pub mod clock;
pub mod config;
pub mod dataset;
pub mod error;
pub mod fanout;
pub mod fsutil;
pub mod id;
pub mod index;
pub mod json;
pub mod key;
pub mod listing;
pub mod lock;
pub mod manifest;
pub mod name;
pub mod oplog;
pub mod plan;
pub mod query;
pub mod register;
pub mod report;
pub mod secrets;
pub mod state;
mod toml_text;
pub mod vcs;
pub mod workspace;
pub mod world;

pub use error::{Error, ErrorKind, Result};
