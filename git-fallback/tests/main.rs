//! `GitVcs` against repositories that the `git` executable made, checked with it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod back;
mod commit;
mod completeness;
mod environment;
mod fixture;
mod history;
mod paths;
mod position;
mod race;
mod resolve;
mod signing;
mod table;
