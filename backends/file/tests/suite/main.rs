//! The backend on real files: `directories` against the Python package's recorded answers, one module per hazard otherwise.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed helper fails its test"
)]

mod cache;
mod changes;
mod common;
mod conformance;
mod contract;
mod directories;
mod kinds;
