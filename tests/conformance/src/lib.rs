//! The contract of a backend as checks that any backend runs.
//!
//! A backend's own test implements [`Harness`] and asserts that [`run`] passed, on a multi-thread runtime with its timer on:
//!
//! ```ignore
//! #[tokio::test(flavor = "multi_thread")]
//! async fn the_contract_holds() {
//!     let report = tether_conformance::run(&MyHarness::new()).await;
//!     assert!(report.passed(), "{report}");
//! }
//! ```
//!
//! - `harness`: what the test provides; [`Decorated`] puts a decorator around its backend.
//! - `checks/`: one file per part of the contract, each check named by the sentence it checks. A capability that is declared and not
//!   honoured fails its checks.
//! - [`faults`]: decorators for the tests of backends and engine alike: [`faults::Faulty`], [`faults::Slow`], [`faults::Recording`].

mod checks;
mod cx;
pub mod faults;
mod harness;
mod hooked;
mod report;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;

pub use harness::{Decorated, Harness};
pub use report::{Check, Failure, Outcome, Report};

use cx::{Cx, Entry, Stop};

/// The longest a check may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_mins(2);

/// Runs every check of the capabilities that the harness's stores have.
pub async fn run(harness: &dyn Harness) -> Report {
    run_where(harness, |_| true).await
}

/// Runs the checks called `names`, where the stores have their capabilities.
pub async fn run_only(harness: &dyn Harness, names: &[&str]) -> Report {
    run_where(harness, |name| names.contains(&name)).await
}

/// The names of all checks.
pub fn names() -> impl Iterator<Item = &'static str> {
    checks::all().map(|entry| entry.name)
}

async fn run_where(harness: &dyn Harness, chosen: impl Fn(&str) -> bool) -> Report {
    let mut report = Report::default();
    for entry in checks::all().filter(|entry| chosen(entry.name)) {
        let outcome = match AssertUnwindSafe(check(harness, entry)).catch_unwind().await {
            Ok(None) => continue,
            Ok(Some(outcome)) => outcome,
            Err(panic) => Outcome::Failed(Failure(format!("it panicked: {}", text(&*panic)))),
        };
        report.checks.push(Check {
            name: entry.name,
            capability: entry.needs[0],
            outcome,
        });
    }
    report
}

/// The outcome of one check; `None` when the stores lack what it is about.
async fn check(harness: &dyn Harness, entry: &Entry) -> Option<Outcome> {
    let capabilities = match harness.new_store().await {
        Ok(store) => harness.capabilities(&store),
        Err(error) => return Some(Outcome::Failed(error.into())),
    };
    if !entry.needs.iter().all(|need| capabilities.has(*need)) {
        return None;
    }
    let cx = Cx::new(harness, capabilities);
    let outcome = match tokio::time::timeout(PATIENCE, (entry.run)(&cx)).await {
        Ok(Ok(())) => Outcome::Passed,
        Ok(Err(Stop::Skipped(why))) => Outcome::Skipped(why),
        Ok(Err(Stop::Failed(failure))) => Outcome::Failed(failure),
        Err(_) => Outcome::Failed(Failure(format!("it hung for {} s", PATIENCE.as_secs()))),
    };
    Some(outcome)
}

fn text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}
