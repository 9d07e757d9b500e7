//! Turns on one dataset: what one program wrote, the other reads, answers and continues.

use serde_json::{Value, json};

use super::fixture::{Fixture, ID, Program, Repository};

/// Every read-only answer, compared.
fn answers_agree(fixture: &Fixture) {
    let (now, before) = (&*fixture.rev(0), &*fixture.rev(1));
    let status = fixture.same(&["status"]);
    assert_eq!(status["bookmark"], "main");
    assert_eq!(status["stale"], false);
    fixture.same(&["status", "code", "tables/"]);
    fixture.same(&["verify"]);
    fixture.same(&["verify", "--deep"]);
    fixture.same(&["verify", "--rev", before]);
    let history = fixture.same(&["verify", "--all-history"]);
    assert!(
        history
            .as_object()
            .unwrap()
            .values()
            .all(|report| report["status"] == "ok"),
        "{history}"
    );
    fixture.same(&["verify", "--all-history", "--deep"]);
    fixture.same(&["diff"]);
    fixture.same(&["diff", before, now]);
    fixture.same(&["diff", before, now, "--key", "code"]);
    fixture.same(&["diff", before, now, "--content"]);
    fixture.same(&["diff", before, "--content"]);
    fixture.same(&["log", "code"]);
    fixture.same(&["log", "code", "-n", "1"]);
    fixture.same(&["snapshot", "code"]);
    for (key, extra) in [
        ("code", Some(before)),
        ("code", Some("main")),
        ("code", None),
        ("raw", None),
    ] {
        opened_agree(fixture, key, extra);
    }
    snapshots_agree(fixture);
}

/// `open --json`, but for `key`: the package answers the locator there, ours the object's key.
fn opened_agree(fixture: &Fixture, key: &str, rev: Option<&str>) {
    let mut args = vec!["open", key];
    args.extend(rev.iter().flat_map(|rev| ["--rev", *rev]));
    let (their_code, mut theirs) = fixture.json(Program::Package, &args);
    let (our_code, ours) = fixture.json(Program::Ours, &args);
    theirs["key"] = json!(key);
    assert_eq!((our_code, ours), (their_code, theirs), "{args:?}");
}

/// `status --snapshot --json`, but for the time.
fn snapshots_agree(fixture: &Fixture) {
    let (their_code, mut theirs) = fixture.json(Program::Package, &["status", "--snapshot"]);
    let (our_code, mut ours) = fixture.json(Program::Ours, &["status", "--snapshot"]);
    theirs["snapshot_at"] = Value::Null;
    ours["snapshot_at"] = Value::Null;
    assert_eq!((our_code, ours), (their_code, theirs));
}

#[test]
fn a_dataset_the_package_made_answers_the_same_and_both_continue_it() {
    both_continue(Repository::Git);
}

#[test]
fn a_dataset_the_package_made_in_a_jj_repository_is_continued_by_both() {
    both_continue(Repository::Jj);
}

fn both_continue(repository: Repository) {
    let Some(fixture) = Fixture::in_a(repository) else {
        return;
    };
    fixture.register(Program::Package);
    fixture.ok(Program::Package, &["commit", "-m", "one"]);
    fixture.advance_code("print(2)\n");
    fixture.ok(Program::Package, &["commit", "-m", "two"]);
    answers_agree(&fixture);

    // Ours commits on top; the package answers the same as ours.
    fixture.advance_code("print(3)\n");
    let report = fixture.json(Program::Ours, &["commit", "-m", "three"]).1;
    assert_eq!(report["unchanged"], json!(["raw", "tables/counts.csv"]));
    let pin = report["pinned"]["code"].as_str().unwrap();
    assert!(pin.contains(ID), "{pin}");
    answers_agree(&fixture);

    // And the other way round, twice; once under jj, where the package is slow.
    let rounds = if repository == Repository::Jj { 1 } else { 2 };
    for round in 4..4 + rounds {
        fixture.advance_code(&format!("print({round})\n"));
        fixture.ok(Program::Package, &["commit", "-m", "theirs"]);
        answers_agree(&fixture);
        fixture.advance_code(&format!("print({round}.5)\n"));
        fixture.ok(Program::Ours, &["commit", "-m", "ours"]);
        answers_agree(&fixture);
    }
    let commits = 3 + 2 * rounds;
    assert_eq!(
        fixture.git("ds", &["rev-list", "--count", "HEAD"]).trim(),
        commits.to_string()
    );
    fixture.clean();
    assert_eq!(fixture.git("code", &["tag"]).lines().count(), commits);
}

#[test]
fn an_object_one_program_registers_the_other_commits() {
    one_registers_the_other_commits(Repository::Git);
}

#[test]
fn an_object_one_program_registers_in_a_jj_repository_the_other_commits() {
    one_registers_the_other_commits(Repository::Jj);
}

fn one_registers_the_other_commits(repository: Repository) {
    let Some(fixture) = Fixture::in_a(repository) else {
        return;
    };
    fixture.register(Program::Package);
    fixture.ok(Program::Ours, &["commit", "-m", "one"]);
    fixture.write("late/x.bin", "late");
    fixture.ok(Program::Ours, &["add", "late", "--kind", "file", "../late"]);
    fixture.ok(Program::Package, &["commit", "-m", "two"]);
    answers_agree(&fixture);
    fixture.ok(Program::Package, &["remove", "late"]);
    fixture.ok(Program::Ours, &["commit", "late", "-m", "three"]);
    answers_agree(&fixture);
    fixture.clean();
}

#[test]
fn nothing_to_commit_is_said_the_same_way() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.register(Program::Package);
    fixture.ok(Program::Package, &["commit", "-m", "one"]);
    let report = fixture.same(&["commit", "-m", "again"]);
    assert_eq!(report["vcs_commit"], Value::Null);
    assert_eq!(
        fixture.git("ds", &["rev-list", "--count", "HEAD"]).trim(),
        "1"
    );
}

#[test]
fn a_drifted_and_a_lost_pin_are_judged_the_same() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.register(Program::Package);
    fixture.ok(Program::Package, &["commit", "-m", "one"]);
    fixture.advance_code("print(2)\n");
    fixture.ok(Program::Ours, &["commit", "-m", "two"]);
    let tags = fixture.git("code", &["tag"]);
    let (first, second) = tags.trim().split_once('\n').expect("two pins");
    fixture.git("code", &["tag", "-d", first]);
    let root = fixture.git("code", &["rev-list", "--max-parents=0", "HEAD"]);
    let tip = fixture.git("code", &["rev-parse", "HEAD"]);
    let at = fixture.git("code", &["rev-parse", second]);
    let other = if at == tip { root } else { tip };
    fixture.git("code", &["tag", "-f", second, other.trim()]);
    let statuses = |program| -> Vec<(String, Value)> {
        let (code, reports) = fixture.json(program, &["verify", "--all-history"]);
        assert_eq!(code, Some(1));
        let reports = reports.as_object().unwrap();
        let mut rows: Vec<_> = reports
            .iter()
            .map(|(label, report)| (label.clone(), report["status"].clone()))
            .collect();
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        rows
    };
    let ours = statuses(Program::Ours);
    assert_eq!(ours, statuses(Program::Package));
    let mut words: Vec<&str> = ours
        .iter()
        .map(|(_, status)| status.as_str().unwrap())
        .collect();
    words.sort_unstable();
    assert_eq!(words, ["drifted", "missing"]);
}

#[test]
fn a_file_changed_from_outside_becomes_a_new_view() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.register(Program::Ours);
    fixture.ok(Program::Ours, &["commit", "-m", "one"]);
    let before = std::fs::read_to_string(fixture.path("ds/.tether/workspace.toml")).unwrap();
    assert!(
        before.contains("operation = \"") && before.contains("view = \""),
        "{before}"
    );
    // The package rewrites the file without our keys.
    fixture.advance_code("print(2)\n");
    fixture.ok(Program::Package, &["commit", "-m", "two"]);
    fixture.advance_code("print(3)\n");
    fixture.ok(Program::Ours, &["commit", "-m", "three"]);
    let after = std::fs::read_to_string(fixture.path("ds/.tether/workspace.toml")).unwrap();
    assert!(
        after.contains("operation = \"") && after.contains("view = \""),
        "{after}"
    );
    let commands: Vec<Value> = fixture
        .json(Program::Ours, &["ops"])
        .1
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["command"].clone())
        .collect();
    assert_eq!(
        commands
            .iter()
            .filter(|command| *command == "commit")
            .count(),
        2,
        "{commands:?}"
    );
    answers_agree(&fixture);
}

#[test]
fn the_hash_cache_of_the_package_is_read() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.register(Program::Package);
    // Old enough that a hash taken now is trusted.
    let old = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    std::fs::File::options()
        .append(true)
        .open(fixture.path("counts.csv"))
        .unwrap()
        .set_modified(old)
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2200));
    fixture.ok(Program::Package, &["snapshot"]);
    let cache = fixture.path("ds/.tether/cache/file-hashes.json");
    let text = std::fs::read_to_string(&cache).unwrap();
    assert!(text.contains("counts.csv"), "{text}");
    // A hash put there by hand comes out again: it was read, and the file was not.
    let mut entries: Value = serde_json::from_str(&text).unwrap();
    let key = fixture.path("counts.csv").to_string_lossy().into_owned();
    let forged = "f".repeat(64);
    let table = if entries.get(&key).is_some() {
        &mut entries
    } else {
        &mut entries["files"]
    };
    table[&key][4] = json!(forged);
    std::fs::write(&cache, entries.to_string()).unwrap();
    let states = fixture.json(Program::Ours, &["snapshot", "tables/"]).1;
    assert_eq!(states["tables/counts.csv"]["sha256"], json!(forged));
}
