//! The `git` executable, for the five calls that gix cannot do.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tether_engine::Result;

/// A `git` executable of at least 2.38, found once.
#[derive(Clone, Debug)]
pub struct Git {
    path: PathBuf,
}

/// What a run printed.
#[derive(Clone, Debug)]
pub struct Output {
    /// Whether it exited with 0.
    pub success: bool,
    /// Exit code, when it exited.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

impl Git {
    /// `configured` (secrets `git_path`), else `TETHER_GIT`, else `PATH`. Checks the version (numerically, 2.38 or newer).
    pub fn find(configured: Option<&Path>) -> Result<Self> {
        let _ = configured;
        todo!("git-fallback owner")
    }

    /// A command in `dir`: environment scrubbed, `GIT_TERMINAL_PROMPT=0`, standard input from nowhere, no colour, no pager.
    pub fn command(&self, dir: &Path) -> Command {
        let _ = (&self.path, dir);
        todo!("git-fallback owner")
    }

    /// [`Git::command`] for a store's repository: also no hooks, no fsmonitor, no `ext::`, `safe.bareRepository=explicit`.
    pub fn foreign(&self, dir: &Path) -> Command {
        let _ = dir;
        todo!("git-fallback owner")
    }
}

/// Runs a command, feeding `input`, ending it after `limit`.
pub fn run(command: Command, input: &[u8], limit: Duration) -> Result<Output> {
    let _ = (command, input, limit);
    todo!("git-fallback owner")
}
