//! The environment variables that point git at another repository or add configuration to it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What `git rev-parse --local-env-vars` lists, with the namespace and the quarantine of a receiving repository's hooks.
const LOCAL: [&str; 17] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

fn is_local(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    LOCAL.iter().any(|local| local.as_bytes() == bytes)
        || bytes.starts_with(b"GIT_CONFIG_KEY_")
        || bytes.starts_with(b"GIT_CONFIG_VALUE_")
}

/// What `git rev-parse --local-env-vars` lists, and `GIT_NAMESPACE`, `GIT_CONFIG_KEY_*`, `GIT_CONFIG_VALUE_*`: those that are set.
///
/// `GIT_CONFIG_GLOBAL` and `GIT_CONFIG_SYSTEM` are not among them: they are honoured.
pub fn poisoned() -> Vec<OsString> {
    std::env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| is_local(name))
        .collect()
}

/// When any is set, runs this program again with the same arguments and without them (`exec`, the process stays the same). Call first
/// thing in `main`, before any thread.
pub fn scrub() -> std::io::Result<()> {
    let names = poisoned();
    if names.is_empty() {
        return Ok(());
    }
    let mut arguments = std::env::args_os();
    let mut command = Command::new(std::env::current_exe()?);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    command.args(arguments);
    for name in names {
        command.env_remove(name);
    }
    Err(command.exec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_variables_that_point_elsewhere_are_local() {
        for name in [
            "GIT_DIR",
            "GIT_CONFIG_KEY_0",
            "GIT_CONFIG_VALUE_12",
            "GIT_NAMESPACE",
        ] {
            assert!(is_local(OsStr::new(name)), "{name}");
        }
        for name in [
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_SYSTEM",
            "GIT_AUTHOR_NAME",
            "git_dir",
            "GIT_DIRX",
        ] {
            assert!(!is_local(OsStr::new(name)), "{name}");
        }
    }
}
