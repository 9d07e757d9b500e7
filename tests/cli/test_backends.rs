//! `tether backends`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

/// Surprise 17: `memory` is for tests and is not listed.
#[test]
fn backends_lists_the_kinds_of_this_build_and_those_it_lacks() {
    let env = TestEnvironment::new();
    // Works without a dataset.
    let dir = env.work_dir(".");
    assert_snapshot!(dir.tether(["backends"]), @"");
    let rows = dir.tether(["backends", "--json"]).success().json();
    let kinds: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "delta", "dolt", "ducklake", "file", "git", "iceberg", "icechunk", "lance", "neon"
        ]
    );
    assert_snapshot!(serde_json::to_string_pretty(&rows[0]).unwrap(), @"");
    assert_snapshot!(serde_json::to_string_pretty(&rows[4]).unwrap(), @"");
}
