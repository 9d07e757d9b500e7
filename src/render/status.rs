//! `status` as text.
//!
//! ```text
//! dataset 3f9c2a1b7d0e (STALE: zarr/imaging); on bookmark relabel
//!   states as fingerprinted 3m ago; --snapshot to refresh
//!    modified  zarr/imaging  [icechunk/forkable]
//! ```

use std::fmt::Write as _;

use tether_engine::manifest::Origin;
use tether_engine::report::{Label, ObjectStatus, StatusReport, VcsDrift};
use tether_engine::{Error, clock};

use super::{Paint, clean};

/// The header, the age of what is shown, and one line per object.
pub fn text(report: &StatusReport, paint: Paint) -> String {
    let age = report
        .snapshot_at
        .as_deref()
        .filter(|_| !report.fresh)
        .and_then(|at| clock::seconds_since(at).ok());
    render(report, age, paint)
}

fn render(report: &StatusReport, age: Option<f64>, paint: Paint) -> String {
    let mut out = header(report, paint);
    if let Some(age) = age {
        let age = self::age(age);
        let _ = writeln!(
            out,
            "  states as fingerprinted {age} ago; --snapshot to refresh"
        );
    } else if !report.fresh && report.snapshot_at.is_none() && !report.objects.is_empty() {
        out.push_str("  no state was fingerprinted yet; --snapshot to do so\n");
    }
    for object in &report.objects {
        out.push_str(&line(object, paint));
    }
    if report.objects.is_empty() {
        out.push_str("  no objects; `tether add` registers one\n");
    }
    out
}

fn header(report: &StatusReport, paint: Paint) -> String {
    let hash = report.manifest_hash.get(..12).unwrap_or_default();
    let mut out = format!("dataset {hash}");
    if !report.stale_keys.is_empty() {
        let keys: Vec<_> = report
            .stale_keys
            .iter()
            .map(|key| clean(key.as_str()))
            .collect();
        let stale = format!("(STALE: {})", keys.join(", "));
        let _ = write!(out, " {}", paint.warning(&stale));
    }
    match &report.bookmark {
        None => out.push_str("; on no bookmark: read-only\n"),
        Some(bookmark) => {
            let trunk = if report.trunk { "trunk " } else { "" };
            let _ = writeln!(out, "; on {trunk}bookmark {}", clean(bookmark.as_str()));
        }
    }
    out
}

fn line(object: &ObjectStatus, paint: Paint) -> String {
    let label = format!("{:>11}", object.state.name());
    let label = match object.state {
        Label::New => paint.good(&label),
        Label::Modified => paint.changed(&label),
        Label::Clean => label,
        Label::Behind => paint.news(&label),
        Label::Error => paint.bad(&label),
    };
    let (key, kind) = (clean(object.key.as_str()), clean(&object.kind));
    let mut out = format!("{label}  {key}  [{kind}/{}]", object.tier.name());
    if !object.recoverable {
        out.push_str(" unrecoverable");
    }
    if object.origin == Origin::Created {
        out.push_str(" (created)");
    }
    if let Some(verdict) = &object.verify {
        let _ = write!(out, " verify={verdict}");
    }
    out.push('\n');
    out
}

/// Whole units, the largest that fits: `0s`, `3m`, `2h`, `5d`.
fn age(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// What to say about a dataset commit that left history without tether.
pub fn vcs_drift(drift: &VcsDrift) -> String {
    let (commit, op) = (drift.commit.short(), &drift.op);
    let mut text = format!(
        "dataset commit {commit} (op {op}) is no longer in VCS history: undone or abandoned outside tether"
    );
    let keys = |referenced: bool| {
        let keys: Vec<&str> = drift
            .referenced
            .iter()
            .filter(|(_, value)| **value == referenced)
            .map(|(key, _)| key.as_str())
            .collect();
        (!keys.is_empty()).then(|| keys.join(", "))
    };
    if let Some(keys) = keys(true) {
        let _ = write!(
            text,
            "; its pins for {keys} are still named by the working tree (commit again, or restore the manifests to drop them)"
        );
    }
    if let Some(keys) = keys(false) {
        let _ = write!(text, "; its pins for {keys} are unreferenced");
    }
    text
}

/// The reason an object is labelled `error`, to print like an error. A reason of the last snapshot (not `fresh`) may be over.
pub fn object_error(object: &ObjectStatus, fresh: bool) -> Option<Error> {
    let reason = object.error.as_deref()?;
    let prefix = format!("{} ({}): ", object.key, object.kind);
    let reason = reason.strip_prefix(&prefix).unwrap_or(reason);
    let error = Error::store(reason).for_object(&object.key, &object.kind);
    if fresh {
        return Some(error);
    }
    let key = super::object::quoted_key(&object.key);
    Some(error.with_hint(format!("tether status --snapshot {key} looks again")))
}

#[cfg(test)]
mod tests {
    use tether_engine::backend::Tier;

    use super::*;

    fn object(key: &str, state: Label) -> ObjectStatus {
        ObjectStatus {
            key: key.parse().unwrap(),
            kind: "git".to_owned(),
            tier: Tier::Forkable,
            state,
            pinned: true,
            recoverable: true,
            origin: Origin::Adopted,
            verify: None,
            error: None,
        }
    }

    fn report() -> StatusReport {
        StatusReport {
            manifest_hash: "0123456789abcdef".to_owned(),
            stale: false,
            stale_keys: Vec::new(),
            fresh: true,
            snapshot_at: None,
            bookmark: Some("main".parse().unwrap()),
            trunk: true,
            bookmark_drift: Vec::new(),
            vcs_drift: Vec::new(),
            objects: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn plain(report: &StatusReport, age: Option<f64>) -> String {
        render(report, age, Paint::new(false))
    }

    #[test]
    fn labels_are_aligned_and_marks_follow() {
        let mut made = object("raw/plate1", Label::New);
        made.recoverable = false;
        made.origin = Origin::Created;
        made.verify = Some("ok".to_owned());
        let report = StatusReport {
            objects: vec![object("code", Label::Modified), made],
            fresh: false,
            ..report()
        };
        assert_eq!(
            plain(&report, Some(61.9)),
            "dataset 0123456789ab; on trunk bookmark main\n\
             \x20 states as fingerprinted 1m ago; --snapshot to refresh\n\
             \x20  modified  code  [git/forkable]\n\
             \x20       new  raw/plate1  [git/forkable] unrecoverable (created) verify=ok\n"
        );
    }

    #[test]
    fn staleness_and_a_missing_bookmark_are_in_the_header() {
        let report = StatusReport {
            stale: true,
            stale_keys: vec!["a".parse().unwrap(), "b/c".parse().unwrap()],
            bookmark: None,
            trunk: false,
            objects: vec![object("a", Label::Clean)],
            ..report()
        };
        assert_eq!(
            plain(&report, None).lines().next(),
            Some("dataset 0123456789ab (STALE: a, b/c); on no bookmark: read-only")
        );
    }

    #[test]
    fn ages_are_whole_units() {
        let ages = [-1.0, 59.9, 60.0, 7199.0, 172_800.0].map(age);
        assert_eq!(ages, ["0s", "59s", "1m", "1h", "2d"]);
    }

    #[test]
    fn a_commit_that_left_history_is_told_with_what_became_of_its_pins() {
        let drift = VcsDrift {
            op: "0123456789ab".parse().unwrap(),
            commit: tether_engine::id::CommitId::new("c".repeat(40)),
            referenced: [("a", true), ("b", false), ("c", false)]
                .map(|(key, value)| (key.parse().unwrap(), value))
                .into(),
        };
        assert_eq!(
            vcs_drift(&drift),
            "dataset commit cccccccccccc (op 0123456789ab) is no longer in VCS history: undone or abandoned outside tether; \
             its pins for a are still named by the working tree (commit again, or restore the manifests to drop them); \
             its pins for b, c are unreferenced"
        );
    }
}
