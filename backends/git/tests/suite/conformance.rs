//! The contract, on every layout of a repository.

use crate::harness::{Layout, Repositories};

async fn conforms(layout: Layout) {
    let report = tether_conformance::run(&Repositories::new(layout)).await;
    assert!(report.passed(), "{layout:?}\n{report}");
    assert!(!report.checks.is_empty(), "nothing was checked");
    let skipped: Vec<_> = report.skipped().collect();
    assert!(skipped.is_empty(), "{layout:?} skipped {skipped:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_with_another_branch_checked_out_conforms() {
    conforms(Layout::OtherBranch).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_with_its_base_checked_out_conforms() {
    conforms(Layout::CheckedOut).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_repository_conforms() {
    conforms(Layout::Bare).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_linked_worktree_conforms() {
    conforms(Layout::Worktree).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_colocated_jj_repository_conforms() {
    conforms(Layout::Colocated).await;
}
