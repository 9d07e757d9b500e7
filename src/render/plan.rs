//! A plan as text: the same value that would be applied.

use std::fmt::Write as _;

use tether_engine::plan::{Action, Plan};

use super::{Paint, clean};

/// The number of writes, each action, and the remarks.
pub fn text(plan: &Plan, paint: Paint) -> String {
    let mut out = format!(
        "plan: {} ({} write(s))\n",
        plan.command,
        plan.writes().count()
    );
    if plan.is_empty() {
        let _ = writeln!(out, "  {}: nothing to do", plan.command);
    }
    let width = plan
        .actions
        .iter()
        .map(|action| width(&action.key))
        .max()
        .unwrap_or(0);
    for action in &plan.actions {
        out.push_str(&line(action, width, paint));
    }
    for note in &plan.notes {
        let _ = writeln!(out, "{:INDENT$}{}", "", clean(note));
    }
    out
}

/// Where the keys start.
const INDENT: usize = 22;

fn width(key: &str) -> usize {
    clean(key).chars().count()
}

fn line(action: &Action, key_width: usize, paint: Paint) -> String {
    let op = paint.good(&format!("{:>20}", action.op));
    let mut about: Vec<String> = Vec::new();
    if !action.kind.is_empty() {
        about.push(format!("[{}]", clean(&action.kind)));
    }
    if !action.target.is_empty() {
        about.push(clean(&action.target).into_owned());
    }
    let about = about.join(" ");
    let gap = if about.is_empty() { "" } else { "  " };
    let detail = clean(&action.detail);
    let key = clean(&action.key);
    let text = format!("{op}  {key:<key_width$}  {about}{gap}{detail}");
    format!("{}\n", text.trim_end())
}
