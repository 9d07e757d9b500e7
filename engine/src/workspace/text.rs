//! The TOML text of `workspace.toml`.

use std::collections::BTreeMap;
use std::str::FromStr;

use toml::Spanned;
use toml::de::DeValue;

use super::{SnapshotError, Workspace};
use crate::error::Result;
use crate::id::WorkspaceId;
use crate::key::ObjectKey;
use crate::state::State;
use crate::toml_text::{File, Item, Source, render as render_toml, tick};

pub(super) fn parse(text: &[u8]) -> Result<Workspace> {
    let source = Source::new(File::Workspace, text)?;
    let (mut id, mut operation, mut view) = (None, None, None);
    let mut rest = Vec::new();
    for (name, value) in source.root()? {
        match name.get_ref().as_ref() {
            "workspace_id" => {
                let wanted = "32 lower-case hexadecimal digits";
                let parse = |text: &str| text.parse().ok();
                id = Some(source.parsed("workspace_id", value, wanted, parse)?);
            }
            // Another hand may have touched these two: anything but our own ids counts as absent.
            "operation" => operation = id_of(&value),
            "view" => view = id_of(&value),
            _ => rest.push((name.into_inner().into_owned(), value)),
        }
    }
    let id: WorkspaceId = id.ok_or_else(|| source.missing("`workspace_id`"))?;
    let mut workspace = Workspace::new(id);
    workspace.materialised = operation.zip(view);
    for (name, value) in rest {
        read(&mut workspace, &source, name, value)?;
    }
    Ok(workspace)
}

fn id_of<T: FromStr>(value: &Spanned<DeValue<'_>>) -> Option<T> {
    value.get_ref().as_str()?.parse().ok()
}

fn read<'a>(
    workspace: &mut Workspace,
    source: &Source<'a>,
    name: String,
    value: Spanned<DeValue<'a>>,
) -> Result<()> {
    let view = &mut workspace.view;
    match name.as_str() {
        "bookmark" => {
            let wanted = "a bookmark name";
            let parse = |text: &str| text.parse().ok();
            view.bookmark = Some(source.parsed("bookmark", value, wanted, parse)?);
        }
        "last_snapshot_at" => {
            workspace.last_snapshot_at = Some(source.string("last_snapshot_at", value)?);
        }
        "working_refs" => view.working_refs = by_key(source, &name, value, native)?,
        "pending_forks" => view.pending_forks = by_key(source, &name, value, native)?,
        "pending_resets" => view.pending_resets = by_key(source, &name, value, state)?,
        "fork_points" => view.fork_points = by_key(source, &name, value, state)?,
        "base_states" => view.base_states = by_key(source, &name, value, state)?,
        "last_snapshot" => workspace.last_snapshot = by_key(source, &name, value, state)?,
        "last_snapshot_errors" => {
            workspace.last_snapshot_errors = by_key(source, &name, value, snapshot_error)?;
        }
        _ => workspace.extra.0.push((name, Source::keep(value))),
    }
    Ok(())
}

/// A table with an entry per object.
fn by_key<'a, T>(
    source: &Source<'a>,
    table: &str,
    value: Spanned<DeValue<'a>>,
    read: impl Fn(&Source<'a>, &str, Spanned<DeValue<'a>>) -> Result<T>,
) -> Result<BTreeMap<ObjectKey, T>> {
    let mut entries = BTreeMap::new();
    for (key, value) in source.table(table, value)? {
        let name = format!("{table}.{}", key.get_ref());
        let Ok(key) = key.get_ref().parse() else {
            let problem = format!("{} does not name an object", tick(&name));
            return Err(source.at(&key.span(), &problem));
        };
        entries.insert(key, read(source, &name, value)?);
    }
    Ok(entries)
}

fn native<'a, T: FromStr>(
    source: &Source<'a>,
    name: &str,
    value: Spanned<DeValue<'a>>,
) -> Result<T> {
    source.parsed(name, value, "a name of a ref", |text| text.parse().ok())
}

fn state<'a>(source: &Source<'a>, name: &str, value: Spanned<DeValue<'a>>) -> Result<State> {
    source.map(name, value).map(State)
}

fn snapshot_error<'a>(
    source: &Source<'a>,
    name: &str,
    value: Spanned<DeValue<'a>>,
) -> Result<SnapshotError> {
    let mut error = SnapshotError::default();
    for (field, value) in source.table(name, value)? {
        match field.get_ref().as_ref() {
            "ref" => error.native = source.string(name, value)?,
            "error" => error.error = source.string(name, value)?,
            _ => {}
        }
    }
    Ok(error)
}

pub(super) fn render(workspace: &Workspace) -> String {
    let mut root = vec![entry("workspace_id", Item::string(workspace.id.as_str()))];
    let view = &workspace.view;
    if let Some(bookmark) = &view.bookmark {
        root.push(entry("bookmark", Item::string(bookmark.as_str())));
    }
    if let Some(at) = &workspace.last_snapshot_at {
        root.push(entry("last_snapshot_at", Item::string(at)));
    }
    if let Some((operation, view)) = &workspace.materialised {
        root.push(entry("operation", Item::string(operation.as_str())));
        root.push(entry("view", Item::string(view.as_str())));
    }
    let native = |native: &crate::name::NativeRef| Item::string(native.as_str());
    let state = |state: &State| Item::table(&state.0);
    push_table(&mut root, "working_refs", &view.working_refs, native);
    push_table(&mut root, "pending_forks", &view.pending_forks, native);
    push_table(&mut root, "pending_resets", &view.pending_resets, state);
    push_table(&mut root, "fork_points", &view.fork_points, state);
    push_table(&mut root, "base_states", &view.base_states, state);
    push_table(&mut root, "last_snapshot", &workspace.last_snapshot, state);
    let errors = &workspace.last_snapshot_errors;
    push_table(&mut root, "last_snapshot_errors", errors, |error| {
        Item::Table(vec![
            entry("ref", Item::string(&error.native)),
            entry("error", Item::string(&error.error)),
        ])
    });
    root.extend(workspace.extra.0.iter().cloned());
    render_toml(&root)
}

fn entry(name: &str, item: Item) -> (String, Item) {
    (name.to_owned(), item)
}

/// Adds a table with an entry per object, unless there is none.
fn push_table<T>(
    root: &mut Vec<(String, Item)>,
    name: &str,
    entries: &BTreeMap<ObjectKey, T>,
    item: impl Fn(&T) -> Item,
) {
    if !entries.is_empty() {
        let entries = entries
            .iter()
            .map(|(key, value)| (key.to_string(), item(value)));
        root.push(entry(name, Item::Table(entries.collect())));
    }
}
