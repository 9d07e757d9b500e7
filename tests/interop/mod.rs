//! Interop with the Python package of the same format: both programs take turns on one dataset and must agree.
//!
//! The package is a black box: its executable is named by `TETHER_ORACLE`, which `dev/test` installs and sets together with
//! `TETHER_REQUIRE_ORACLE`. Without it these tests say so and pass; with the latter they fail instead.

mod fixture;
mod formats;
mod turns;
