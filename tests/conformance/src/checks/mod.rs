//! The checks, one file per part of the contract.

mod addressable;
mod always;
mod create;
mod diff;
mod fork;
mod history;
mod merge;
mod pin;
mod promote;
mod working_refs;

use crate::cx::Entry;

/// Every check, in the order of running.
pub(crate) fn all() -> impl Iterator<Item = &'static Entry> {
    [
        always::CHECKS,
        addressable::CHECKS,
        pin::CHECKS,
        fork::CHECKS,
        working_refs::CHECKS,
        promote::CHECKS,
        merge::CHECKS,
        history::CHECKS,
        diff::CHECKS,
        create::CHECKS,
    ]
    .into_iter()
    .flatten()
}
