//! What tether does right after a command of the repository's own tool.

use super::pending;
use crate::apply::session::Session;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::oplog::Journal;

/// Follows where a command of jj moved this checkout, and with `settle` takes back in stores what that undid. What there is to say, a
/// line each. Does nothing, and takes no lock, when nothing moved and nothing is pending.
///
/// A checkout with an interrupted operation is left to the next writing command, which ends that first.
pub async fn after_vcs(dataset: &Dataset, settle: bool) -> Result<Vec<String>> {
    if !pending::is_due(dataset)? {
        return Ok(Vec::new());
    }
    let mut waiting = |_: &str| {};
    let _session = if settle {
        Session::repository(dataset, "jj", &mut waiting)?
    } else {
        Session::checkout(dataset, "jj", &mut waiting)?
    };
    let workspace = dataset.workspace()?;
    let unfinished = Journal::unfinished(dataset.vcs.shared_dir())?;
    if unfinished.iter().any(|it| it.workspace == workspace.id) {
        return Ok(Vec::new());
    }
    pending::follow(dataset, &workspace)?;
    let open = pending::read(dataset)?;
    // What was redone waits for nothing any more.
    pending::keep(dataset, &workspace.id, &open)?;
    if open.is_empty() {
        return Ok(Vec::new());
    }
    if !settle {
        return pending::warnings(dataset);
    }
    let outcome = pending::settle(dataset, &open, false).await;
    outcome.follow(dataset)?;
    Ok(outcome.lines())
}
