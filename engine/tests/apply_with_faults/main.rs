//! Committing on real files and a repository in memory, with a fault at each place that can have one.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which the lint's exception for tests does not reach"
)]

#[path = "../common/mod.rs"]
mod common;
mod failing;
mod landing;
mod opening;
mod pinning;
mod recovering;

use common::vcs::Trouble;
use common::{Fixture, delete_tag, key, keys, options, tags, write};
use std::sync::Arc;

use serde_json::{Value, json};
use tether_engine::apply;
use tether_engine::backend::Registry;
use tether_engine::dataset::{Dataset, Parts};
use tether_engine::error::ErrorKind;
use tether_engine::manifest::{FileMode, PinMode, Policy};
use tether_engine::oplog::FileHeads;
use tether_engine::plan::Plan;
use tether_engine::plan::commit::CommitOptions;
use tether_engine::state::{Locator, State};

/// Everything below the dataset's root and the shared directory, but locks: what "nothing was written" means.
fn everything(fixture: &Fixture) -> Vec<(String, String)> {
    fn walk(dir: &std::path::Path, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if !path.ends_with("lock") && !path.ends_with("tether.lock") {
                let text = std::fs::read(&path).unwrap();
                found.push((
                    path.display().to_string(),
                    String::from_utf8_lossy(&text).into_owned(),
                ));
            }
        }
    }
    let mut found = Vec::new();
    walk(fixture.dir.path(), &mut found);
    found.sort();
    found
}

fn saved(plan: &Plan) -> Plan {
    Plan::from_json(&plan.to_json(), "commit").unwrap()
}

async fn planned(fixture: &Fixture, options: &CommitOptions) -> Plan {
    apply::commit::plan(&fixture.dataset(), options, false)
        .await
        .unwrap()
}

async fn apply_saved(
    fixture: &Fixture,
    plan: Plan,
    options: &CommitOptions,
) -> tether_engine::Result<tether_engine::report::CommitReport> {
    apply::commit::apply_saved(&fixture.dataset(), plan, options, &mut |_| {}).await
}
