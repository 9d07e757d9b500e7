//! Who may depend on whom (docs/architecture.md): the rules, read from `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Each workspace package's direct dependencies, those of tests left out.
struct Graph(BTreeMap<String, BTreeSet<String>>);

impl Graph {
    fn of_the_workspace() -> Self {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let output = Command::new(cargo)
            .args([
                "metadata",
                "--format-version",
                "1",
                "--no-deps",
                "--offline",
            ])
            .current_dir(crate::common::checkout())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
        let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
        let packages = metadata["packages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|package| {
                let dependencies = package["dependencies"].as_array().unwrap().iter();
                let normal = dependencies.filter(|dependency| dependency["kind"] != "dev");
                (name(package), normal.map(name).collect())
            });
        Self(packages.collect())
    }

    fn naming(&self, dependency: &str) -> Vec<&str> {
        let packages = self.0.iter();
        packages
            .filter(|(_, dependencies)| dependencies.contains(dependency))
            .map(|(package, _)| package.as_str())
            .collect()
    }

    fn backends(&self) -> impl Iterator<Item = (&String, &BTreeSet<String>)> {
        self.0
            .iter()
            .filter(|(name, _)| name.starts_with("tether-backend-"))
    }
}

#[test]
fn the_engine_names_no_repository_no_store_and_no_command_line() {
    let graph = Graph::of_the_workspace();
    let engine = &graph.0["tether-engine"];
    let forbidden = [
        "gix",
        "jj-lib",
        "jj-cli",
        "clap",
        "object_store",
        "sqlx",
        "reqwest",
        "tether",
    ];
    let named: Vec<_> = forbidden
        .iter()
        .filter(|name| engine.contains(**name))
        .collect();
    assert!(named.is_empty(), "tether-engine depends on {named:?}");
    let ours: Vec<_> = engine
        .iter()
        .filter(|name| name.starts_with("tether"))
        .collect();
    assert!(
        ours.is_empty(),
        "the engine is at the bottom, but depends on {ours:?}"
    );
}

#[test]
fn only_the_packages_that_read_repositories_name_gix() {
    let graph = Graph::of_the_workspace();
    assert_eq!(
        graph.naming("gix"),
        [
            "tether-backend-git",
            "tether-git-fallback",
            "tether-gitkit",
            "tether-jj"
        ]
    );
}

#[test]
fn only_one_package_names_jj_and_pins_its_version() {
    let graph = Graph::of_the_workspace();
    assert_eq!(graph.naming("jj-lib"), ["tether-jj"]);
    assert_eq!(graph.naming("jj-cli"), ["tether-jj"]);
    let manifest = std::fs::read_to_string(crate::common::checkout().join("Cargo.toml")).unwrap();
    let pinned = format!("=\"={}\"", tether_jj_version());
    let manifest = manifest.replace(' ', "");
    assert!(manifest.contains(&format!("jj-cli{pinned}")));
    assert!(manifest.contains(&format!("jj-lib={{version{pinned}")));
}

fn tether_jj_version() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_stock-jj"))
        .arg("--version")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim().strip_prefix("jj ").unwrap().to_owned()
}

#[test]
fn only_the_packages_with_commands_name_the_command_line_parser() {
    let graph = Graph::of_the_workspace();
    assert_eq!(graph.naming("clap"), ["tether", "tether-jj"]);
}

#[test]
fn backends_depend_on_the_engine_and_not_on_each_other_or_on_the_root() {
    let graph = Graph::of_the_workspace();
    let allowed = ["tether-engine", "tether-gitkit"];
    let mut seen = 0;
    for (backend, dependencies) in graph.backends() {
        assert!(
            dependencies.contains("tether-engine"),
            "{backend} implements no contract"
        );
        for dependency in dependencies
            .iter()
            .filter(|name| name.starts_with("tether"))
        {
            assert!(
                allowed.contains(&dependency.as_str()),
                "{backend} depends on {dependency}"
            );
        }
        seen += 1;
    }
    assert!(seen >= 3, "only {seen} backends were found");
}

#[test]
fn only_the_root_package_and_tests_name_backends() {
    let graph = Graph::of_the_workspace();
    for (backend, _) in graph.backends() {
        let naming = graph.naming(backend);
        assert!(
            naming
                .iter()
                .all(|name| *name == "tether" || *name == "tether-conformance"),
            "{backend} is named by {naming:?}"
        );
    }
}

/// DESIGN, 'Build and test': start-up is part of every command, and a binary at a fixed address has nothing to relocate.
#[cfg(target_os = "linux")]
#[test]
fn the_binary_is_linked_at_a_fixed_address() {
    let binary = std::fs::read(env!("CARGO_BIN_EXE_tether")).unwrap();
    assert_eq!(&binary[..4], b"\x7fELF");
    let kind = u16::from_ne_bytes([binary[16], binary[17]]);
    let (fixed, relocatable) = (2, 3);
    assert_ne!(kind, relocatable, "build.rs passes -no-pie to the linker");
    assert_eq!(kind, fixed);
}

/// What the engine's closure holds, not only what it names.
#[test]
fn nothing_below_the_engine_is_a_repository_a_store_or_a_command_line() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["tree", "--offline", "--package", "tether-engine"])
        .args([
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ])
        .current_dir(crate::common::checkout())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let tree = String::from_utf8(output.stdout).unwrap();
    let packages: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert!(
        packages.contains("tether-engine") && packages.contains("blake2"),
        "{tree}"
    );
    for package in packages {
        let forbidden = [
            "gix",
            "clap",
            "jj-",
            "object_store",
            "sqlx",
            "reqwest",
            "hyper",
        ];
        assert!(
            !forbidden.iter().any(|start| package.starts_with(start)),
            "tether-engine brings in {package}"
        );
    }
}
