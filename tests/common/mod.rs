//! What every story needs: a machine of its own, and what a command answered as one text.

mod environment;
mod output;

pub(crate) use environment::{DATASET, TestEnvironment, WorkDir};
pub(crate) use output::{Names, Output};
