//! The git backend on real repositories made with the `git` executable.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

mod conformance;
mod git;
mod harness;
mod locators;
mod moves;
mod pins;
mod reads;
mod remotes;
mod speed;
mod stores;
mod untrusted;
