//! What a commit did, as text.

use std::fmt::Write as _;

use tether_engine::report::CommitReport;

use super::{clean, count};

/// One line per object that was pinned or recorded, and the commit. Says so when there was nothing to do.
pub fn text(report: &CommitReport, no_vcs: bool) -> String {
    let mut out = String::new();
    for (key, native) in &report.pinned {
        let key = clean(key.as_str());
        let _ = match native {
            Some(native) => writeln!(out, "  pinned {key} -> {}", clean(native)),
            None => writeln!(out, "  recorded {key} (state only)"),
        };
    }
    for key in &report.unrecoverable {
        let _ = writeln!(out, "  recorded {} (not recoverable)", clean(key.as_str()));
    }
    match &report.vcs_commit {
        Some(commit) => {
            let _ = writeln!(out, "committed {}", commit.short());
        }
        None if out.is_empty() => {
            let objects = count(report.unchanged.len(), "object");
            let _ = writeln!(out, "nothing to commit ({objects} unchanged)");
        }
        None if no_vcs => out.push_str("manifests written, not committed (--no-vcs)\n"),
        None => {}
    }
    out
}

#[cfg(test)]
mod tests {
    use tether_engine::id::CommitId;

    use super::*;

    #[test]
    fn pinned_recorded_and_unrecoverable_objects_are_told_apart() {
        let report = CommitReport {
            vcs_commit: Some(CommitId::new("0123456789abcdef")),
            pinned: [
                ("code".parse().unwrap(), Some("tether.x".to_owned())),
                ("rec".parse().unwrap(), None),
            ]
            .into(),
            unrecoverable: vec!["raw".parse().unwrap()],
            ..CommitReport::default()
        };
        assert_eq!(
            text(&report, false),
            "  pinned code -> tether.x\n  recorded rec (state only)\n  recorded raw (not recoverable)\ncommitted 0123456789ab\n"
        );
    }

    #[test]
    fn a_commit_with_nothing_to_do_says_so() {
        let report = CommitReport {
            unchanged: vec!["a".parse().unwrap()],
            ..CommitReport::default()
        };
        assert_eq!(
            text(&report, false),
            "nothing to commit (1 object unchanged)\n"
        );
        assert_eq!(
            text(&report, true),
            "nothing to commit (1 object unchanged)\n"
        );
    }
}
