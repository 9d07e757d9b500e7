//! The `file` backend: local files and directories.
//!
//! A file's state is its size and sha256, a directory's a digest over one line per file. Nothing is pinned and no old state can be
//! read back (tier Observed), but every change of a byte is seen, and a warm look at a million files takes about a second.
//!
//! ```text
//! backend (the contract) -> locator  which path is meant
//!                        -> scans    one scan at a time per root, kept in memory and in the cache
//!                             -> scan   walk, hash, tree
//!                             -> cache  hashes between runs
//!                        -> state, diff, store
//! ```

mod backend;
mod cache;
mod diff;
mod locator;
mod scan;
mod scans;
mod state;
mod store;

pub use backend::FileBackend;
