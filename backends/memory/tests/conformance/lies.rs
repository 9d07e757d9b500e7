//! Each capability that is declared and not honoured is caught, and so is each sentence of the contract that is broken.

use std::sync::Arc;

use tether_conformance::{Decorated, run_only};
use tether_engine::backend::Capability;

use crate::harness::MemoryHarness;
use crate::lying::{Lie, Lying};

/// Runs one check on a backend with one lie, and asserts that it fails.
async fn is_caught(lie: Lie, by: &str) {
    let harness = Decorated::new(&MemoryHarness, |_| Arc::new(Lying(lie)));
    let report = run_only(&harness, &[by]).await;
    assert_eq!(
        report.failures().count(),
        1,
        "{lie:?} was not caught by {by}:\n{report}"
    );
}

macro_rules! lies {
    ($($name:ident: $lie:expr => $check:literal;)+) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            is_caught($lie, $check).await;
        }
    )+};
}

lies! {
    pin_that_is_declared_and_refused:
        Lie::Cannot(Capability::Pin) => "a_pin_is_created_once_and_then_found";
    fork_that_is_declared_and_refused:
        Lie::Cannot(Capability::Fork) => "a_fork_of_a_state_starts_there_and_leaves_the_base_alone";
    addressable_that_is_declared_and_refused:
        Lie::Cannot(Capability::Addressable) => "a_recorded_state_opens_also_after_the_object_moved_on";
    promote_that_is_declared_and_refused:
        Lie::Cannot(Capability::Promote) => "the_base_follows_a_fork_and_a_second_promote_finds_it_there";
    merge_that_is_declared_and_refused:
        Lie::Cannot(Capability::Merge) => "two_sides_that_diverged_merge_and_a_second_merge_finds_it";
    history_that_is_declared_and_refused:
        Lie::Cannot(Capability::History) => "the_newest_entry_is_the_current_state_and_an_older_one_another";
    diff_that_is_declared_and_refused:
        Lie::Cannot(Capability::Diff) => "a_write_shows_in_the_diff_and_its_counts_agree";
    create_that_is_declared_and_refused:
        Lie::Cannot(Capability::Create) => "a_store_lives_from_create_to_delete_and_again";
    quiescence_that_is_declared_and_not_checked:
        Lie::Declares(Capability::NeedsQuiescence) => "a_busy_store_is_not_quiet";
    storage_branches_that_are_declared_and_keep_their_data:
        Lie::Declares(Capability::BranchIsStorage) => "deleting_a_branch_deletes_what_only_it_held";
    a_backend_that_panics:
        Lie::Panics => "fingerprint_is_stable_and_changes_with_the_content";
    a_fingerprint_that_never_changes:
        Lie::FingerprintIsConstant => "fingerprint_is_stable_and_changes_with_the_content";
    a_fingerprint_that_always_changes:
        Lie::FingerprintIsRandom => "fingerprint_is_stable_and_changes_with_the_content";
    a_missing_branch_read_as_the_base:
        Lie::MissingBranchIsBase => "a_missing_branch_is_an_error_and_never_the_base";
    an_identity_with_a_position:
        Lie::IdentityHasPosition => "another_spelling_of_a_store_is_the_same_store";
    a_read_that_writes:
        Lie::FingerprintMakesARef => "reading_writes_nothing";
    a_state_that_opens_the_base:
        Lie::StateOpensTheBase => "a_recorded_state_opens_also_after_the_object_moved_on";
    a_pin_that_is_not_made:
        Lie::PinIsNotMade => "a_pin_is_created_once_and_then_found";
    a_pin_that_moves:
        Lie::PinMoves => "a_pin_at_another_state_is_not_moved";
    atomic_ref_that_looks_first_and_makes_later:
        Lie::PinLooksThenMakes => "of_racing_pins_exactly_one_is_created";
    a_verify_that_does_not_look:
        Lie::VerifyIsAlwaysOk => "a_drifted_pin_is_noticed";
    an_unpin_that_does_nothing:
        Lie::UnpinDoesNothing => "an_unpinned_pin_is_gone_and_can_be_made_again";
    pins_that_are_not_listed:
        Lie::PinsAreNotListed => "pins_of_every_dataset_are_listed";
    a_fork_that_starts_elsewhere:
        Lie::ForkStartsAtTheBase => "a_fork_of_an_older_pin_starts_there";
    a_fork_that_is_not_reset:
        Lie::ForkIsNotReset => "a_fork_is_reset_onto_its_source";
    an_expectation_that_is_ignored_by_fork:
        Lie::ExpectedIsIgnored => "a_fork_that_moved_since_it_was_reviewed_is_left_alone";
    an_expectation_that_is_ignored_by_deletion:
        Lie::ExpectedIsIgnored => "a_branch_that_moved_since_it_was_reviewed_is_not_deleted";
    an_expectation_that_is_ignored_by_promote:
        Lie::ExpectedIsIgnored => "a_base_that_moved_since_it_was_reviewed_is_left_alone";
    an_expectation_that_is_ignored_by_merge:
        Lie::ExpectedIsIgnored => "a_merge_onto_a_base_that_moved_since_it_was_reviewed_is_refused";
    conditional_ref_that_compares_and_then_creates:
        Lie::CompareThenMove => "of_racing_forks_that_must_be_absent_exactly_one_creates";
    conditional_ref_that_compares_and_then_resets:
        Lie::CompareThenMove => "of_racing_resets_exactly_one_moves";
    a_lost_reply_reported_as_a_conflict:
        Lie::LostReplyIsMoved => "a_fork_whose_reply_was_lost_is_found";
    an_effect_that_is_never_found:
        Lie::EffectIsNeverFound => "a_fork_that_is_there_is_found";
    a_base_that_can_be_deleted:
        Lie::BaseCanBeDeleted => "the_base_is_not_deleted";
    a_promote_that_forces:
        Lie::PromoteForces => "a_base_that_moved_on_is_not_fast_forwarded";
    a_promote_that_does_nothing:
        Lie::PromoteDoesNothing => "the_base_follows_a_fork_and_a_second_promote_finds_it_there";
    a_second_merge_that_says_changed:
        Lie::MergeAnswersChangedAgain => "a_merge_whose_reply_was_lost_is_found";
    a_conflict_that_is_an_error:
        Lie::ConflictIsAnError => "a_merge_that_conflicts_names_what_does_and_leaves_the_base_alone";
    ancestors_the_wrong_way_round:
        Lie::AncestorsAreReversed => "ancestor_of_answers_in_the_right_direction_or_not_at_all";
    a_history_without_a_limit:
        Lie::HistoryIsUnbounded => "the_limit_bounds_the_history";
    a_history_that_begins_with_the_oldest:
        Lie::HistoryIsOldestFirst => "the_newest_entry_is_the_current_state_and_an_older_one_another";
    a_diff_that_is_always_empty:
        Lie::DiffIsEmpty => "a_write_shows_in_the_diff_and_its_counts_agree";
    a_diff_whose_counts_are_wrong:
        Lie::DiffCountsAreWrong => "a_write_shows_in_the_diff_and_its_counts_agree";
    a_create_that_adopts:
        Lie::CreateAdopts => "what_is_there_is_not_adopted_by_create";
    a_deletion_by_whoever_asks:
        Lie::DeleteIgnoresTheOwner => "only_the_owner_deletes_a_store";
    an_error_that_tells_a_secret:
        Lie::ErrorsTellSecrets => "errors_name_no_object_and_no_secret";
}
