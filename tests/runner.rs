//! The one test binary of package `tether`: linking is the slow part. A file that is not listed here fails a test.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod architecture;
mod common;
mod interop;

mod cli {
    mod test_add;
    mod test_backends;
    mod test_bad_input;
    mod test_command_line;
    mod test_commit;
    mod test_diff;
    mod test_discover;
    mod test_housekeeping;
    mod test_init;
    mod test_kill_commit;
    mod test_kill_edits;
    mod test_kill_undo;
    mod test_locks;
    mod test_log;
    mod test_not_yet;
    mod test_open;
    mod test_ops;
    mod test_output;
    mod test_plan;
    mod test_reference;
    mod test_remove;
    mod test_secrets;
    mod test_set;
    mod test_snapshot;
    mod test_status;
    mod test_undo;
    mod test_verify;
}

mod jj {
    mod property;
    mod story;
    mod test_big;
    mod test_code_repo;
    mod test_conflicts;
    mod test_display;
    mod test_help;
    mod test_history;
    mod test_hostile_config;
    mod test_kill;
    mod test_kill_edits;
    mod test_loop;
    mod test_machine;
    mod test_mixed;
    mod test_names;
    mod test_one_stack;
    mod test_op_log;
    mod test_page;
    mod test_peers;
    mod test_revsets;
    mod test_rows;
    mod test_undo;
}

#[test]
fn no_test_file_is_forgotten() {
    let tests = common::checkout().join("tests");
    let runner = std::fs::read_to_string(tests.join("runner.rs")).unwrap();
    let listed = |name: &str| runner.contains(&format!("mod {name};"));
    let mut seen = 0;
    for folder in ["", "cli", "common", "jj"] {
        for entry in std::fs::read_dir(tests.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let is_test =
                ["cli", "jj"].contains(&folder) || !["runner", "mod"].contains(&name.as_str());
            if path.extension().is_some_and(|ext| ext == "rs") && is_test && folder != "common" {
                assert!(
                    listed(&name),
                    "{} is not listed in tests/runner.rs",
                    path.display()
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 10, "the walk found only {seen} files");
}
