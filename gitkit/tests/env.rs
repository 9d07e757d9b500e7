//! The poisoned environment.

use std::process::Command;

use tether_gitkit::env::{poisoned, scrub};

const CHILD: &str = "TETHER_TEST_SCRUBBED";

/// E32: runs this test binary again with every variable set, and looks at what is left after scrubbing.
#[test]
fn scrubbing_keeps_the_arguments_and_loses_the_variables() {
    if std::env::var_os(CHILD).is_some() {
        scrub().unwrap();
        assert_eq!(poisoned(), Vec::<std::ffi::OsString>::new());
        assert_eq!(std::env::var("GIT_CONFIG_GLOBAL").unwrap(), "/nowhere");
        // Printed only by a run that got through with the arguments it was given.
        assert!(std::env::args().any(|argument| argument == "--nocapture"));
        std::fs::write(std::env::var_os(CHILD).unwrap(), "done").unwrap();
        return;
    }
    let mark = tempfile::NamedTempFile::new().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args([
        "env::scrubbing_keeps_the_arguments_and_loses_the_variables",
        "--exact",
        "--nocapture",
    ]);
    for name in [
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_CONFIG_KEY_0",
        "GIT_QUARANTINE_PATH",
    ] {
        child.env(name, "/elsewhere");
    }
    let output = child
        .env("GIT_CONFIG_GLOBAL", "/nowhere")
        .env(CHILD, mark.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(std::fs::read_to_string(mark.path()).unwrap(), "done");
}
