//! `tether backends`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

/// Surprise 17: `memory` is for tests and is not listed.
#[test]
fn backends_lists_the_kinds_of_this_build_and_those_it_lacks() {
    let env = TestEnvironment::new();
    // Works without a dataset.
    let dir = env.work_dir(".");
    assert_snapshot!(dir.tether(["backends"]), @r"
    delta      absent                     it comes in a later build
    dolt       absent                     it comes in a later build
    ducklake   absent                     it comes in a later build
    file       stable        addressable  fingerprint, addressable, cheap_fingerprint, diff, create
    git        stable        forkable     fingerprint, addressable, pin, fork, cheap_fingerprint, atomic_ref, diff, history, promote, merge, create, conditional_ref
    iceberg    absent                     it comes in a later build
    icechunk   absent                     it comes in a later build
    lance      absent                     it comes in a later build
    neon       absent                     it comes in a later build
    ");
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
    assert_snapshot!(serde_json::to_string_pretty(&rows[0]).unwrap(), @r#"
    {
      "kind": "delta",
      "installed": false,
      "maturity": null,
      "tier": null,
      "capabilities": [],
      "note": "it comes in a later build"
    }
    "#);
    assert_snapshot!(serde_json::to_string_pretty(&rows[4]).unwrap(), @r#"
    {
      "kind": "git",
      "installed": true,
      "maturity": "stable",
      "tier": "forkable",
      "capabilities": [
        "fingerprint",
        "addressable",
        "pin",
        "fork",
        "cheap_fingerprint",
        "atomic_ref",
        "diff",
        "history",
        "promote",
        "merge",
        "create",
        "conditional_ref"
      ],
      "note": null
    }
    "#);
}
