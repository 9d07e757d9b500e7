//! gitkit against repositories that the `git` executable made.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod env;
mod exec;
mod fixture;
mod history;
mod open;
mod refs;
mod worktree;
