//! Saved plans: the digest, and reading one back.

use serde_json::Value;

use super::{PLAN_FORMAT, Plan, VERSION, stale};
use crate::error::{Error, ErrorKind, Result};
use crate::json;

/// The digest of a plan's JSON: over everything in it but the digest itself, unknown fields included.
pub(super) fn digest(plan: &Value) -> String {
    let mut rest = plan.clone();
    if let Some(fields) = rest.as_object_mut() {
        fields.remove("digest");
    }
    json::hash(32, [json::canonical(&rest).as_bytes()])
}

/// The precondition kinds a plan of `command` must have.
fn required(command: &str) -> &'static [&'static str] {
    match command {
        "commit" | "restore" => &["workspace_id", "workspace_bookmark", "manifest_hash"],
        "new" => &["workspace_id", "manifest_hash"],
        "promote" => &[
            "workspace_id",
            "workspace_bookmark",
            "bookmark_head",
            "manifest_hash",
        ],
        "drop" => &[
            "workspace_id",
            "workspace_bookmark",
            "bookmark_head",
            "no_new_holders",
            "vcs_head",
            "history_digest",
        ],
        "gc" | "repair" => &["workspace_id", "history_digest"],
        "import" => &["manifest_hash"],
        _ => &[],
    }
}

pub(super) fn read(text: &str, command: &str) -> Result<Plan> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        not_a_plan("it is not JSON", command).with_source(format!(
            "line {}, column {}",
            error.line(),
            error.column()
        ))
    })?;
    let fields = value
        .as_object()
        .ok_or_else(|| not_a_plan("it is not a JSON object", command))?;
    check_format(fields.get("format"), command)?;
    check_version(fields.get("tether_version"), command)?;
    let found = fields.get("command").and_then(Value::as_str);
    match found {
        Some(found) if found == command => {}
        Some(found) => {
            return Err(Error::user(format!(
                "this is a plan of `tether {found}`, not of `tether {command}`"
            ))
            .with_hint(format!("`tether {found} --from-plan FILE` applies it")));
        }
        None => return Err(not_a_plan("it names no command", command)),
    }
    let recorded = fields.get("digest").and_then(Value::as_str);
    if recorded != Some(digest(&value).as_str()) {
        return Err(stale(
            format!(
                "this {command} plan was edited after it was saved: its digest is not that of its content, so nothing vouches for what it would do"
            ),
            command,
        ));
    }
    let plan: Plan = serde_json::from_value(value.clone())
        .map_err(|_| not_a_plan("a field is missing or has a wrong type", command))?;
    check_required(&plan, command)?;
    Ok(plan)
}

fn check_format(format: Option<&Value>, command: &str) -> Result<()> {
    match format {
        Some(format) if format.as_u64() == Some(u64::from(PLAN_FORMAT)) => Ok(()),
        Some(format) => Err(stale(
            format!("this plan has format {format}; this tether reads format {PLAN_FORMAT}"),
            command,
        )),
        None => Err(not_a_plan("it names no plan format", command)),
    }
}

fn check_version(version: Option<&Value>, command: &str) -> Result<()> {
    let by = match version.and_then(Value::as_str) {
        Some(version) if version == VERSION => return Ok(()),
        Some(version) => format!("tether {version}"),
        None => "an older tether".to_owned(),
    };
    Err(stale(
        format!("this plan was made by {by}; this is tether {VERSION}"),
        command,
    ))
}

fn check_required(plan: &Plan, command: &str) -> Result<()> {
    let lacking: Vec<&str> = required(command)
        .iter()
        .copied()
        .filter(|kind| !plan.preconditions.iter().any(|it| it.kind == *kind))
        .collect();
    if lacking.is_empty() {
        return Ok(());
    }
    Err(stale(
        format!(
            "this {command} plan lacks the precondition(s) that tether requires of it: {}",
            lacking.join(", ")
        ),
        command,
    ))
}

fn not_a_plan(why: &str, command: &str) -> Error {
    Error::new(
        ErrorKind::User,
        format!("the file does not hold a saved plan: {why}"),
    )
    .with_hint(format!("`tether {command} ... --plan FILE` saves one"))
}
