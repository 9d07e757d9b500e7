//! What was typed, as a manifest: fields in their order, local paths absolute, the key derived where none was given.

use std::path::{Component, Path, PathBuf};

use super::AddOptions;
use crate::backend::Backend;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::json::Value;
use crate::key::ObjectKey;
use crate::manifest::{Manifest, Policy};
use crate::state::Locator;

/// Kinds whose locator is a path: a lone positional is the locator, and the key follows from it without these suffixes.
const PATH_KINDS: [(&str, &[&str]); 5] = [
    ("delta", &[".delta"]),
    ("file", &[]),
    ("git", &[".git"]),
    ("icechunk", &[".icechunk", ".zarr"]),
    ("lance", &[".lance"]),
];

/// Prefixes of a `metadata` field in front of a path.
const CATALOG_PREFIXES: [&str; 3] = ["ducklake:", "duckdb:", "sqlite:"];

/// The manifest to register, and whether its key was derived.
pub(super) fn manifest(
    dataset: &Dataset,
    cwd: &Path,
    options: &AddOptions,
) -> Result<(Manifest, bool)> {
    let backend = dataset.registry.get(&options.kind)?;
    let suffixes = suffixes(&options.kind);
    let has_path = ["uri", "path"]
        .iter()
        .any(|field| options.fields.get(field).is_some());
    let (key, typed) = match (&options.key, &options.locator) {
        (None, Some(lone)) if suffixes.is_none() || has_path => (Some(lone), None),
        (key, locator) => (key.as_ref(), locator.as_deref()),
    };
    if key.is_none() && typed.is_none() {
        return Err(Error::user("there is neither a key nor a locator")
            .with_hint(format!("`tether add KEY LOCATOR --kind {}`", options.kind)));
    }
    let locator = locator(&**backend, cwd, typed, &options.fields)?;
    let parsed: ObjectKey = match key {
        Some(key) => key.parse()?,
        None => derive(&options.kind, suffixes.unwrap_or_default(), &locator)?,
    };
    if suffixes.is_some() && locator.get("uri").is_none() && locator.get("path").is_none() {
        return Err(
            Error::user(format!("{parsed} has no locator")).with_hint(format!(
                "`tether add {parsed} LOCATOR --kind {}`",
                options.kind
            )),
        );
    }
    let defaults = dataset.config.defaults;
    let policy = Policy {
        file: options.file.unwrap_or(defaults.file),
        pin: options.pin.unwrap_or(defaults.pin),
    };
    let manifest = Manifest::new(parsed, backend.kind(), locator, policy);
    Ok((manifest, key.is_none()))
}

/// A manifest to look at an object with that nobody registered. The lone positional is its locator.
pub(crate) fn unregistered(
    dataset: &Dataset,
    cwd: &Path,
    options: &AddOptions,
) -> Result<Manifest> {
    let backend = dataset.registry.get(&options.kind)?;
    let has_path = ["uri", "path"]
        .iter()
        .any(|field| options.fields.get(field).is_some());
    let typed = options.locator.as_deref().filter(|_| !has_path);
    let locator = locator(&**backend, cwd, typed, &options.fields)?;
    // The name only stands in messages.
    let key = options.key.as_deref().and_then(|key| key.parse().ok());
    let suffixes = suffixes(&options.kind).unwrap_or_default();
    let derived = || derive(&options.kind, suffixes, &locator).ok();
    let key = match key.or_else(derived) {
        Some(key) => key,
        None => options.kind.parse()?,
    };
    Ok(Manifest::new(
        key,
        backend.kind(),
        locator,
        Policy::default(),
    ))
}

fn suffixes(kind: &str) -> Option<&'static [&'static str]> {
    PATH_KINDS
        .iter()
        .find(|(known, _)| *known == kind)
        .map(|(_, suffixes)| *suffixes)
}

fn locator(
    backend: &dyn Backend,
    cwd: &Path,
    typed: Option<&str>,
    fields: &Locator,
) -> Result<Locator> {
    let mut locator = Locator::default();
    if let Some(typed) = typed {
        let field = backend.positional_key().ok_or_else(|| {
            Error::user(format!(
                "a {} object takes no positional locator",
                backend.kind()
            ))
            .with_hint("give its fields as options: `tether add --help`")
        })?;
        if fields.get(field).is_some() {
            return Err(Error::user(format!("the locator {field:?} is given twice"))
                .with_hint("leave one of them out"));
        }
        locator = locator.with(field, typed);
    }
    for (field, value) in &fields.0 {
        locator = locator.with(field, value.clone());
    }
    for (field, value) in &mut locator.0 {
        if field.trim().is_empty() || value.as_str().is_some_and(|text| text.trim().is_empty()) {
            return Err(Error::user(format!("the locator field {field:?} is blank"))
                .with_hint("leave it out, or give it a value; an unset shell variable is blank"));
        }
        let path = value
            .as_str()
            .filter(|_| backend.local_path_keys().contains(&field.as_str()));
        if let Some(text) = path {
            *value = Value::String(absolute(text, cwd)?);
        }
    }
    Ok(locator)
}

/// A relative path made absolute, links in it followed, and a leading `~` expanded. URLs and absolute paths stay as they are: what is
/// written in a manifest is read from every directory.
fn absolute(text: &str, cwd: &Path) -> Result<String> {
    if is_url(text) {
        return Ok(text.to_owned());
    }
    for prefix in CATALOG_PREFIXES {
        if let Some(path) = text.strip_prefix(prefix) {
            return Ok(format!("{prefix}{}", absolute(path, cwd)?));
        }
    }
    let path = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            home()?.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(text),
    };
    let path = if path.is_absolute() {
        path
    } else {
        resolve(&cwd.join(path))
    };
    path.into_os_string().into_string().map_err(|path| {
        Error::user(format!("the path {} is not UTF-8", path.display()))
            .with_hint("a manifest is text: rename the directory, or make a link to it")
    })
}

/// The real path of what exists of `path`, and the rest by name: `..` after a link leads out of the link's target.
fn resolve(path: &Path) -> PathBuf {
    let mut real = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                real.pop();
            }
            other => {
                real.push(other);
                if let Ok(found) = real.canonicalize() {
                    real = found;
                }
            }
        }
    }
    real
}

fn home() -> Result<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    home.map(PathBuf::from).ok_or_else(|| {
        Error::user("`~` stands for $HOME, which is not set").with_hint("write the path out")
    })
}

/// `scheme://...`.
pub(super) fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    })
}

/// The local path a field's value names; `None` for what is on another machine.
pub(super) fn local_path(text: &str) -> Option<&Path> {
    if let Some(rest) = text.strip_prefix("file://") {
        let path = rest.strip_prefix("localhost").unwrap_or(rest);
        return path.starts_with('/').then(|| Path::new(path));
    }
    let bare = CATALOG_PREFIXES
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text);
    (!is_url(bare)).then(|| Path::new(bare))
}

/// The last segment of the path, less the store's suffix.
fn derive(kind: &str, suffixes: &[&str], locator: &Locator) -> Result<ObjectKey> {
    let text = locator
        .str("uri")
        .or_else(|| locator.str("path"))
        .unwrap_or_default();
    let place = text.split_once("://").map_or(text, |(_, place)| place);
    let mut segments = place.trim_end_matches('/').rsplit('/');
    let mut name = segments.next().unwrap_or_default();
    if kind == "git" && name == ".git" {
        // The repository of a checkout is called like the checkout.
        name = segments.next().unwrap_or_default();
    }
    let stem = suffixes
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .filter(|stem| !stem.is_empty())
        .unwrap_or(name);
    let needs_key = |error: Option<Error>| {
        let message = format!("a {kind} object needs a key: none follows from its locator");
        let needed =
            Error::user(message).with_hint(format!("`tether add KEY LOCATOR --kind {kind}`"));
        match error {
            Some(error) => needed.with_source(error),
            None => needed,
        }
    };
    if stem.is_empty() {
        return Err(needs_key(None));
    }
    stem.parse().map_err(|error| needs_key(Some(error)))
}

#[cfg(test)]
#[path = "locator_tests.rs"]
mod tests;
