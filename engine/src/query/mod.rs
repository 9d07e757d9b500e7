//! Read-only answers: nothing here writes an operation, a ref or a commit.

pub mod backends;
pub mod diff;
pub mod log;
pub mod open;
pub mod ops;
pub mod snapshot;
pub mod status;
pub mod verify;
