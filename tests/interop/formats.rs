//! The same commands by either program leave the same bytes: files, refs, indexes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fixture::{Fixture, ID, Program, Repository};

#[derive(Debug, PartialEq)]
struct Left {
    files: BTreeMap<String, String>,
    subjects: String,
    refs: String,
    indexes: Vec<(String, Value)>,
}

/// What two dataset commits by `program` leave: one at each of the code repository's commits.
fn two_commits(fixture: &Fixture, program: Program, code: [&str; 2]) -> Left {
    fixture.git("code", &["reset", "-q", "--hard", code[0]]);
    fixture.register(program);
    fixture.ok(program, &["commit", "-m", "one"]);
    fixture.git("code", &["reset", "-q", "--hard", code[1]]);
    fixture.ok(program, &["commit", "-m", "two"]);
    fixture.clean();
    Left {
        files: fixture.committed_files(),
        subjects: fixture.git("ds", &["log", "--format=%s %an <%ae>"]),
        refs: fixture.code_refs(),
        indexes: indexes(fixture),
    }
}

/// The clone's indexes: each line's text with its time taken out, and its values.
fn indexes(fixture: &Fixture) -> Vec<(String, Value)> {
    let mut entries = Vec::new();
    for name in ["tether-pinned.jsonl", "tether-touched.jsonl"] {
        for line in std::fs::read_to_string(fixture.shared().join(name))
            .unwrap()
            .lines()
        {
            let entry: Value = serde_json::from_str(line).unwrap();
            let at = entry["at"].as_str().unwrap();
            assert!(at.ends_with("+00:00"), "{line}");
            let mut values = entry.clone();
            values["at"] = Value::Null;
            entries.push((line.replace(at, "TIME"), values));
        }
    }
    entries
}

#[test]
fn both_programs_leave_the_same_files_refs_and_indexes() {
    leave_the_same(Repository::Git);
}

#[test]
fn both_programs_leave_the_same_files_refs_and_indexes_in_a_jj_repository() {
    leave_the_same(Repository::Jj);
}

fn leave_the_same(repository: Repository) {
    let Some(fixture) = Fixture::in_a(repository) else {
        return;
    };
    fixture.advance_code("print(2)\n");
    let commits = fixture.git("code", &["rev-list", "--reverse", "HEAD"]);
    let [first, second] = commits.lines().collect::<Vec<_>>()[..] else {
        panic!("{commits}")
    };

    let theirs = two_commits(&fixture, Program::Package, [first, second]);
    assert_eq!(
        theirs
            .refs
            .matches(&format!("refs/tags/tether.{ID}."))
            .count(),
        2,
        "{}",
        theirs.refs
    );

    // The same folder made anew: paths are part of the identities that pins are made from.
    fixture.fresh_repository();
    for name in fixture.git("code", &["tag"]).lines() {
        fixture.git("code", &["tag", "-d", name]);
    }
    let ours = two_commits(&fixture, Program::Ours, [first, second]);
    assert_eq!(ours, theirs);
}

#[test]
fn captured_at_is_written_in_the_same_form() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.register(Program::Ours);
    fixture.ok(Program::Ours, &["commit", "-m", "one"]);
    let manifest = fixture.git("ds", &["show", "HEAD:.tether/objects/code.toml"]);
    let line = manifest
        .lines()
        .find(|line| line.starts_with("captured_at"))
        .unwrap();
    let shape: String = line
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    assert_eq!(shape, "captured_at = \"0000-00-00T00:00:00.000000+00:00\"");
}
