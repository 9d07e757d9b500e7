//! `commit` as a pure function: world and request in, plan or refusal out.

use super::Plan;
use crate::error::Result;
use crate::key::Selection;
use crate::world::World;

/// What the user asked `commit` for.
#[derive(Clone, Debug, Default)]
pub struct CommitOptions {
    /// `-m`.
    pub message: Option<String>,
    /// `KEY...`.
    pub keys: Selection,
    /// `--no-vcs`.
    pub no_vcs: bool,
    /// `--strict`.
    pub strict: bool,
    /// `--force`.
    pub force: bool,
    /// `--no-snapshot`.
    pub no_snapshot: bool,
}

/// Plans a commit.
pub fn plan(world: &World, options: &CommitOptions) -> Result<Plan> {
    let _ = (world, options);
    todo!("commit owner")
}
