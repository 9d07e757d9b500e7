//! The two locks: the checkout's (`.tether/lock`) and the repository's (`<shared dir>/tether.lock`).
//!
//! Both are `flock`s on files that are never deleted or replaced; a left-over file is not a lock. Order: repository, then checkout.
//! A waiter says who holds the lock after one second and gives up after 30 s (checkout) or 60 s (repository).

use std::path::Path;

use crate::error::Result;

/// Which lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// Every writing command of one checkout.
    Checkout,
    /// Every command that writes to stores or history, of any checkout.
    Repository,
}

/// A held lock; released on drop, and by the system when the process ends. Children do not inherit it.
#[derive(Debug)]
#[must_use = "the lock is held only while this value lives"]
pub struct Lock {
    _file: std::fs::File,
}

impl Lock {
    /// Waits for the lock at `path`, and writes this process's pid and `command` into the file. `waiting` is called once, after a
    /// second, with a sentence that names the holder. Giving up is a `Locked` error that names path, pid and command.
    pub fn acquire(
        path: &Path,
        kind: LockKind,
        command: &str,
        waiting: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        let _ = (path, kind, command, waiting);
        todo!("oplog owner")
    }
}
