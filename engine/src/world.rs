//! What was observed, once: the input of every planner.

use std::collections::BTreeMap;

use crate::config::Config;
use crate::error::Error;
use crate::key::ObjectKey;
use crate::manifest::Manifests;
use crate::state::State;
use crate::vcs::Position;
use crate::workspace::Workspace;

/// An observation of the dataset and its stores.
#[derive(Debug)]
pub struct World {
    /// `tether.toml`.
    pub config: Config,
    /// The working tree's manifests.
    pub manifests: Manifests,
    /// The manifests at the head; empty before the first commit.
    pub committed: Manifests,
    /// The checkout's state.
    pub workspace: Workspace,
    /// Where the working copy is.
    pub position: Position,
    /// What each contacted object is now, or why it could not be read.
    pub states: BTreeMap<ObjectKey, Result<State, Error>>,
}
