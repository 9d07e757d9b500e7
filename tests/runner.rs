//! The one test binary of package `tether`: linking is the slow part. A file that is not listed here fails a test.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod architecture;
mod common;

mod cli {
    mod test_command_line;
    mod test_init;
    mod test_not_yet;
    mod test_reference;
}

#[test]
fn no_test_file_is_forgotten() {
    let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let runner = std::fs::read_to_string(tests.join("runner.rs")).unwrap();
    let listed = |name: &str| runner.contains(&format!("mod {name};"));
    let mut seen = 0;
    for folder in ["", "cli", "common"] {
        for entry in std::fs::read_dir(tests.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let is_test = folder == "cli" || !["runner", "mod"].contains(&name.as_str());
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
    assert!(seen > 3, "the walk found only {seen} files");
}
