//! What an undo did, as text.

use std::fmt::Write as _;

use tether_engine::report::UndoReport;

use super::{Paint, clean};

/// `undid 3f1c9a2b7d4e (add: zarr)`, and a line per thing that came back or stayed.
pub fn text(report: &UndoReport, paint: Paint) -> String {
    let mut out = String::new();
    let id = paint.news(report.undone.as_str());
    let what = match report.summary.as_str() {
        "" => report.command.clone(),
        words => format!("{}: {words}", report.command),
    };
    let _ = writeln!(out, "undid {id} ({})", clean(&what));
    for line in &report.restored {
        let _ = writeln!(out, "  {}  {}", paint.good("restored"), clean(line));
    }
    for line in &report.skipped {
        let _ = writeln!(out, "  {}   {}", paint.warning("skipped"), clean(line));
    }
    out
}

/// The lines for standard error about what cannot be taken back.
pub fn irreversible(report: &UndoReport) -> Vec<String> {
    let lines = report.irreversible.iter();
    lines
        .map(|line| format!("IRREVERSIBLE {}", clean(line)))
        .collect()
}
