//! `verify` as text.

use std::fmt::Write as _;

use tether_engine::backend::Verdict;
use tether_engine::report::VerifyResult;

use super::{Paint, clean};

/// One line per recorded state.
pub fn text(result: &VerifyResult, paint: Paint) -> String {
    let mut out = String::new();
    for (label, report) in &result.rows {
        let verdict = format!("{:>10}", report.status.name());
        let verdict = match report.status {
            Verdict::Ok => paint.good(&verdict),
            Verdict::Unknown => paint.changed(&verdict),
            Verdict::Drifted | Verdict::Missing => paint.bad(&verdict),
        };
        let line = format!("{verdict}  {}  {}", clean(label), clean(&report.message));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    if out.is_empty() {
        out.push_str("nothing to verify: no object has a committed state\n");
    }
    out
}
