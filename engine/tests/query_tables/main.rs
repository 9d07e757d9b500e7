//! `status`, `snapshot`, `verify`, `open`, `diff`, `log`, `ops` and `backends` as tables of small stories.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: a failure is a failed test"
)]

#[path = "../common/mod.rs"]
mod common;
mod on_contents;
mod on_open;
mod on_status;
mod on_verify;

use std::sync::Arc;

use common::{Fixture, Shelf};
use tether_backend_file::FileBackend;
use tether_backend_memory::Memory;
use tether_engine::backend::Registry;
use tether_engine::dataset::{Dataset, Parts};
use tether_engine::key::Selection;
use tether_engine::manifest::{FileMode, Policy};
use tether_engine::oplog::FileHeads;
use tether_engine::query::status::status;
use tether_engine::report::{Label, StatusReport};
use tether_engine::state::Locator;

/// The dataset with the real backends this crate can be tested with.
fn real(fixture: &Fixture) -> Dataset {
    let registry = Registry::new()
        .with(Arc::new(Memory))
        .with(Arc::new(FileBackend::new(None)))
        .with(Arc::new(Shelf::new(Arc::clone(&fixture.faults))))
        .without("lance", "not in this build");
    open_with(fixture, registry)
}

fn open_with(fixture: &Fixture, registry: Registry) -> Dataset {
    Dataset::open(Parts {
        root: fixture.root(),
        vcs: Arc::clone(&fixture.vcs) as _,
        oplog: Arc::new(FileHeads::new(&fixture.dir.path().join("shared"), "main")),
        registry,
    })
    .unwrap()
}

async fn report(fixture: &Fixture, fresh: Option<bool>) -> StatusReport {
    status(&real(fixture), &Selection::all(), fresh)
        .await
        .unwrap()
}

fn labels(report: &StatusReport) -> Vec<(&str, Label)> {
    let objects = report.objects.iter();
    objects
        .map(|object| (object.key.as_str(), object.state))
        .collect()
}

fn error_of<'a>(report: &'a StatusReport, key: &str) -> &'a str {
    let object = report
        .objects
        .iter()
        .find(|object| object.key.as_str() == key);
    object.unwrap().error.as_deref().unwrap()
}

fn add_file(fixture: &Fixture, key: &str, content: &str, mode: FileMode) {
    let path = fixture.dir.path().join(key);
    std::fs::write(&path, content).unwrap();
    let policy = Policy {
        file: mode,
        ..Policy::default()
    };
    fixture.add(
        key,
        "file",
        Locator::default().with("uri", path.to_str().unwrap()),
        policy,
    );
}

fn head(fixture: &Fixture) -> String {
    fixture.vcs.head().unwrap().to_string()
}

async fn commit(fixture: &Fixture, message: &str) -> String {
    let dataset = real(fixture);
    let options = common::options(message);
    tether_engine::apply::commit::run(&dataset, &options, &mut |_| {})
        .await
        .unwrap();
    head(fixture)
}

fn move_to_bookmark(fixture: &Fixture, bookmark: &str) {
    let mut workspace = fixture.workspace();
    workspace.view.bookmark = Some(bookmark.parse().unwrap());
    fixture.write_workspace(&workspace);
    fixture.vcs.switch(Some(bookmark));
}
