//! Applying a commit plan (DESIGN, 'The dataset commit').

use crate::dataset::Dataset;
use crate::error::Result;
use crate::plan::Plan;
use crate::plan::commit::CommitOptions;
use crate::report::CommitReport;

/// Observes and plans; writes nothing (not even `workspace.toml`, except its id when the plan is to be saved: `save`).
pub async fn plan(dataset: &Dataset, options: &CommitOptions, save: bool) -> Result<Plan> {
    let _ = (dataset, options, save);
    todo!("commit owner")
}

/// Takes the locks, recovers what was interrupted, plans, and applies.
pub async fn run(
    dataset: &Dataset,
    options: &CommitOptions,
    waiting: &mut (dyn FnMut(&str) + Send),
) -> Result<CommitReport> {
    let _ = (dataset, options, waiting);
    todo!("commit owner")
}

/// Takes the locks, recovers what was interrupted, checks the saved plan, and applies it.
pub async fn apply_saved(
    dataset: &Dataset,
    plan: Plan,
    options: &CommitOptions,
    waiting: &mut (dyn FnMut(&str) + Send),
) -> Result<CommitReport> {
    let _ = (dataset, plan, options, waiting);
    todo!("commit owner")
}
