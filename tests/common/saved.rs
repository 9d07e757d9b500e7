//! A machine that can be put back to how it was: for tests that end a process at each of its steps.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::{TestEnvironment, WorkDir};

/// A machine that can be put back to how it was when it was saved, at the same path.
pub(crate) struct Saved {
    pub(crate) env: TestEnvironment,
    copy: tempfile::TempDir,
}

impl Saved {
    pub(crate) fn new(env: TestEnvironment) -> Self {
        let copy = tempfile::tempdir().unwrap();
        copy_tree(env.root(), copy.path());
        Self { env, copy }
    }

    /// Puts the machine back; the dataset in `ds`.
    pub(crate) fn restore(&self) -> WorkDir<'_> {
        for entry in std::fs::read_dir(self.env.root()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                std::fs::remove_dir_all(path).unwrap();
            } else {
                std::fs::remove_file(path).unwrap();
            }
        }
        copy_tree(self.copy.path(), self.env.root());
        self.env.work_dir("ds")
    }

    /// The steps that a whole run of `tether ARGS...` passes: `name#n`, in order.
    pub(crate) fn steps(&self, args: &[&str]) -> Vec<String> {
        let dir = self.restore();
        let trace = self.env.root().join("trace");
        let mut command = dir.command(args);
        command.env("TETHER_TEST_TRACE_STEPS", &trace);
        dir.run(command).success();
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        let names = std::fs::read_to_string(trace).unwrap();
        names
            .lines()
            .map(|name| {
                let count = counts.entry(name.to_owned()).or_default();
                *count += 1;
                format!("{name}#{count}")
            })
            .collect()
    }
}

fn copy_tree(from: &Path, to: &Path) {
    let status = Command::new("cp")
        .arg("-a")
        .arg(format!("{}/.", from.display()))
        .arg(to)
        .status()
        .unwrap();
    assert!(status.success());
}
