//! The environment variables that point git at another repository or add configuration to it.

use std::ffi::OsString;

/// What `git rev-parse --local-env-vars` lists, and `GIT_NAMESPACE`, `GIT_CONFIG_KEY_*`, `GIT_CONFIG_VALUE_*`: those that are set.
///
/// `GIT_CONFIG_GLOBAL` and `GIT_CONFIG_SYSTEM` are not among them: they are honoured.
pub fn poisoned() -> Vec<OsString> {
    todo!("git-fallback owner")
}

/// When any is set, runs this program again with the same arguments and without them (`exec`, the process stays the same). Call first
/// thing in `main`, before any thread.
pub fn scrub() -> std::io::Result<()> {
    todo!("git-fallback owner")
}
