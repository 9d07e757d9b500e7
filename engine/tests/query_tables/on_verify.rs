//! What `verify` answers, at the working tree and over history.

use std::sync::Arc;

use tether_backend_file::FileBackend;
use tether_backend_memory::system;
use tether_engine::ErrorKind;
use tether_engine::backend::{Registry, Verdict};
use tether_engine::manifest::{FileMode, PinMode, Policy};
use tether_engine::query::open::{OpenOptions, open};
use tether_engine::query::verify::{VerifyOptions, verify};
use tether_engine::report::VerifyResult;
use tether_engine::state::Locator;

use crate::common::{self, Faulty, Fixture, keys, write};
use crate::{add_file, commit, head, open_with, real};

#[tokio::test]
async fn history_is_verified_with_each_distinct_state_once() {
    let fixture = Fixture::new();
    let system = fixture.add_memory("mem");
    let policy = Policy {
        pin: PinMode::Record,
        ..Policy::default()
    };
    let locator = tether_backend_memory::new_system(&format!("{}-rec", fixture.name));
    fixture.add("rec", "memory", locator, policy);
    add_file(&fixture, "file", "one", FileMode::Versioned);
    let faulty = Registry::new()
        .with(Arc::new(Faulty::new(Arc::clone(&fixture.faults))))
        .with(Arc::new(FileBackend::new(None)));
    let dataset = open_with(&fixture, faulty);
    let mut commits = Vec::new();
    for round in ["one", "two", "three"] {
        if round == "two" {
            // A commit that only touches another object.
            add_file(&fixture, "other", "one", FileMode::Versioned);
        } else {
            write(&system, "main", round);
        }
        let options = common::options(round);
        tether_engine::apply::commit::run(&dataset, &options, &mut |_| {})
            .await
            .unwrap();
        commits.push(head(&fixture)[..12].to_owned());
    }
    fixture.faults.calls();
    let options = VerifyOptions {
        all_history: true,
        ..VerifyOptions::default()
    };
    let (result, warnings) = verify(&dataset, &options).await.unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    // Every commit, newest first; P110: the state that is only recorded too; not the file, which no old state can be read back of.
    let expected: Vec<String> = commits
        .iter()
        .rev()
        .flat_map(|commit| [format!("{commit}:mem"), format!("{commit}:rec")])
        .collect();
    assert_eq!(result.rows.keys().cloned().collect::<Vec<_>>(), expected);
    assert!(
        result.rows.iter().all(|(label, row)| {
            let expected = if label.ends_with("rec") {
                Verdict::Unknown
            } else {
                Verdict::Ok
            };
            row.status == expected
        }),
        "{result:?}"
    );
    assert_eq!(fixture.faults.calls().len(), 3);

    let one = VerifyOptions {
        keys: keys(&["mem"]),
        all_history: true,
        deep: true,
        ..VerifyOptions::default()
    };
    assert_eq!(verify(&dataset, &one).await.unwrap().0.rows.len(), 3);
    let none = VerifyOptions {
        keys: keys(&["nosuch"]),
        all_history: true,
        ..VerifyOptions::default()
    };
    assert_eq!(
        verify(&dataset, &none).await.unwrap_err().kind(),
        ErrorKind::User
    );
}

/// The rows of one commit: key and verdict.
fn rows_of(result: &VerifyResult, commit: &str) -> Vec<(String, Verdict)> {
    let start = format!("{}:", &commit[..12]);
    let rows = result.rows.iter();
    rows.filter_map(|(label, row)| Some((label.strip_prefix(&start)?.to_owned(), row.status)))
        .collect()
}

#[tokio::test]
async fn the_worst_side_of_a_conflict_is_the_commits_verdict() {
    let fixture = Fixture::new();
    let system = fixture.add_memory("mem");
    let mut commits = Vec::new();
    let mut tags = Vec::<String>::new();
    for round in ["lost", "drifted", "fine", "torn"] {
        if round == "torn" {
            commits.push(
                fixture
                    .vcs
                    .edit(".tether/objects/mem.toml", "= =")
                    .to_string(),
            );
            continue;
        }
        if round == "fine" {
            fixture.add_memory("young");
        }
        write(&system, "main", round);
        commits.push(commit(&fixture, round).await);
        let now = common::tags(&system).into_iter().map(|(name, _)| name);
        let new: Vec<String> = now.filter(|name| !tags.contains(name)).collect();
        tags.extend(new);
    }
    let [lost, drifted, fine, torn] = &commits[..] else {
        panic!("{commits:?}");
    };
    let newest = common::tags(&system)
        .into_iter()
        .find(|(name, _)| *name == tags[2])
        .unwrap()
        .1;
    common::delete_tag(&system, &tags[0]);
    system::with(|systems| {
        let tags_there = &mut systems.get_mut(&system).unwrap().tags;
        tags_there.insert(tags[1].clone(), newest);
    });
    let options = VerifyOptions {
        all_history: true,
        ..VerifyOptions::default()
    };
    let mem = |verdict| ("mem".to_owned(), verdict);
    let young = ("young".to_owned(), Verdict::Ok);
    let dataset = real(&fixture);
    let alone = verify(&dataset, &options).await.unwrap().0;
    assert_eq!(rows_of(&alone, lost), [mem(Verdict::Missing)]);
    assert_eq!(rows_of(&alone, drifted), [mem(Verdict::Drifted)]);
    assert_eq!(rows_of(&alone, fine), [mem(Verdict::Ok), young.clone()]);
    assert_eq!(
        rows_of(&alone, torn),
        [mem(Verdict::Unknown), young.clone()]
    );

    // Whichever side comes first; and a key that only one side has is a row too.
    for (commit, sides, worst) in [
        (lost, vec![fine, drifted, torn], Verdict::Missing),
        (fine, vec![torn, drifted, lost], Verdict::Missing),
        (drifted, vec![torn, fine], Verdict::Drifted),
        (torn, vec![fine, drifted], Verdict::Drifted),
        (fine, vec![torn], Verdict::Unknown),
        (torn, vec![fine], Verdict::Unknown),
    ] {
        let sides: Vec<&str> = sides.into_iter().map(String::as_str).collect();
        fixture.vcs.conflict(commit, &sides);
        let result = verify(&dataset, &options).await.unwrap().0;
        assert_eq!(
            rows_of(&result, commit),
            [mem(worst), young.clone()],
            "{commit} with {sides:?}"
        );
        let added = 2 - rows_of(&alone, commit).len();
        assert_eq!(result.rows.len(), alone.rows.len() + added);
        fixture.vcs.conflict(commit, &[]);
    }
}

#[tokio::test]
async fn verify_judges_each_object_on_its_own() {
    let fixture = Fixture::new();
    let system = fixture.add_memory("drifted");
    let lost = fixture.add_memory("lost");
    let dead = fixture.add_memory("dead");
    add_file(&fixture, "file", "one", FileMode::Versioned);
    let first = commit(&fixture, "base").await;
    fixture.add_memory("young");
    fixture.add("later", "lance", Locator::default(), Policy::default());
    std::fs::write(fixture.path(".tether/objects/torn.toml"), "= =").unwrap();
    let tag = common::tags(&system)[0].0.clone();
    let other = write(&system, "main", "other")
        .str("snapshot_id")
        .unwrap()
        .to_owned();
    system::with(|systems| systems.get_mut(&system).unwrap().tags.insert(tag, other));
    common::delete_tag(&lost, &common::tags(&lost)[0].0);
    system::with(|systems| systems.remove(&dead));
    std::fs::write(fixture.dir.path().join("file"), "two").unwrap();

    let (result, warnings) = verify(&real(&fixture), &VerifyOptions::default())
        .await
        .unwrap();
    let verdicts: Vec<(&str, Verdict)> = result
        .rows
        .iter()
        .map(|(label, row)| (label.as_str(), row.status))
        .collect();
    assert_eq!(
        verdicts,
        [
            ("dead", Verdict::Unknown),
            ("drifted", Verdict::Drifted),
            ("file", Verdict::Drifted),
            ("lost", Verdict::Missing),
            ("torn", Verdict::Unknown),
        ]
    );
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("lance") && warnings[0].contains("not verified"),
        "{warnings:?}"
    );

    let at = VerifyOptions {
        rev: Some(first),
        keys: keys(&["lost"]),
        ..VerifyOptions::default()
    };
    let (result, _) = verify(&real(&fixture), &at).await.unwrap();
    assert_eq!(result.rows["lost"].status, Verdict::Missing);
    // P089: what drifted is never opened under the commit's name.
    let at = OpenOptions {
        rev: at.rev,
        writable: None,
    };
    let error = open(&real(&fixture), "drifted", &at).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.key()),
        (ErrorKind::PinDrift, Some("drifted"))
    );
    // A pin that is gone falls back to the recorded state.
    assert!(open(&real(&fixture), "lost", &at).await.unwrap().read_only);
}
