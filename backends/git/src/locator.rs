//! What a git object's locator and options say, and the checks that need no store.

use std::path::{Path, PathBuf};

use tether_engine::backend::Store;
use tether_engine::error::{Error, Result};
use tether_engine::json::Value;
use tether_engine::state::{Identity, Locator};

use crate::layout;
use crate::repos::Core;

/// Which refs hold pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PinSpace {
    /// `refs/tags/tether.*`.
    Tags,
    /// `refs/tether/tether.*`: refs that jj neither imports nor pushes.
    Hidden,
}

/// Where pins are pushed to.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Push {
    /// A remote the repository has configured.
    Named(String),
    /// A URL or path, from the secrets file only; may hold a password.
    Address(String),
}

/// A git object's place, parsed.
#[derive(Clone)]
pub(crate) struct Site {
    /// The canonical path of the checkout.
    pub(crate) path: PathBuf,
    /// `ref`.
    pub(crate) reference: Option<String>,
    /// `at`.
    pub(crate) at: Option<String>,
    /// Where pins are pushed to.
    pub(crate) push: Option<Push>,
    /// Whether a dirty working tree may be pinned.
    pub(crate) allow_dirty: bool,
    /// Where pins go, when the locator says so.
    pub(crate) pins: Option<PinSpace>,
    /// Whether the path may be a bare repository (options only).
    pub(crate) bare: bool,
}

impl Site {
    /// Reads locator and options.
    pub(crate) fn new(store: &Store) -> Result<Self> {
        let locator = &store.locator;
        let named = text(locator, "remote")?.map(Push::Named);
        let address = store.options.0.get("remote").and_then(Value::as_str);
        Ok(Self {
            path: layout::real(&path(locator)?),
            reference: text(locator, "ref")?
                .map(|name| revision("ref", name))
                .transpose()?,
            at: text(locator, "at")?
                .map(|name| revision("at", name))
                .transpose()?,
            push: match address {
                Some(address) => Some(Push::Address(checked("remote", address)?.to_owned())),
                None => named,
            },
            allow_dirty: flag(locator.get("allow_dirty"), "allow_dirty")?,
            pins: match text(locator, "pins")?.as_deref() {
                None => None,
                Some("tags") => Some(PinSpace::Tags),
                Some("hidden") => Some(PinSpace::Hidden),
                Some(other) => {
                    return Err(Error::config(format!(
                        "`pins` is \"tags\" or \"hidden\", not {other:?}"
                    )));
                }
            },
            bare: flag(store.options.0.get("bare"), "bare")?,
        })
    }

    /// The name whose commit is the object's position.
    pub(crate) fn position(&self) -> &str {
        self.at
            .as_deref()
            .or(self.reference.as_deref())
            .unwrap_or("HEAD")
    }
}

/// The `path` (or `uri`) of a locator: absolute, local.
pub(crate) fn path(locator: &Locator) -> Result<PathBuf> {
    let (field, text) = match (text(locator, "path")?, text(locator, "uri")?) {
        (Some(path), _) => ("path", path),
        (None, Some(uri)) => ("uri", uri),
        (None, None) => {
            return Err(Error::config(
                "a git object needs the `path` of a repository",
            ));
        }
    };
    let text = checked(field, &text)?;
    let path = Path::new(text);
    if !path.is_absolute() {
        let remote = text.contains(':');
        let what = if remote { "a URL" } else { "a relative path" };
        return Err(Error::config(format!(
            "a git object needs the absolute path of a local repository; {text:?} is {what}"
        ))
        .with_hint("`git clone` it, then `tether add KEY --kind git /PATH/TO/CLONE`"));
    }
    Ok(path.to_path_buf())
}

/// The identity: the canonical path.
pub(crate) fn identity(path: &Path) -> Result<Identity> {
    Ok(Identity::default().with("path", utf8(&layout::real(path))?))
}

/// The canonical identity of the repository that the checkout at `path` belongs to: that of its main working tree.
pub(crate) fn repository(path: &Path) -> Result<String> {
    let path = layout::real(path);
    let owner = layout::git_dir(&path).map(|git_dir| {
        let common = layout::common_dir(&git_dir);
        match common.parent() {
            Some(main) if common.file_name() == Some(".git".as_ref()) => main.to_path_buf(),
            _ => common,
        }
    });
    let owner = owner.unwrap_or(path);
    Ok(Identity::default().with("path", utf8(&owner)?).canonical())
}

/// The checks of `Backend::validate`.
pub(crate) fn validate(core: &Core, store: &Store, checkout: &Path) -> Result<()> {
    let site = Site::new(store)?;
    let given = layout::lexical(&path(&store.locator)?);
    let root = layout::real(checkout);
    if site.path.starts_with(&root)
        || given.starts_with(&root)
        || given.starts_with(layout::lexical(checkout))
    {
        return Err(Error::config(format!(
            "{} is inside the dataset's checkout, whose files came with the clone",
            given.display()
        ))
        .with_hint("point `path` at a repository outside it"));
    }
    let theirs = layout::git_dir(&site.path).map(|dir| layout::common_dir(&dir));
    if theirs.is_some() && theirs == layout::enclosing(&root) {
        return Err(Error::config(format!(
            "{} is a checkout of the dataset's own repository",
            given.display()
        ))
        .with_hint("point `path` at another repository"));
    }
    if let Some(Push::Named(name)) = &site.push
        && let Ok(repo) = core.open(&site)
        && !crate::push::is_configured(&repo, name)
    {
        return Err(not_a_remote(name, &site.path));
    }
    Ok(())
}

/// A committed `remote` that names no remote of the repository.
pub(crate) fn not_a_remote(name: &str, path: &Path) -> Error {
    Error::config(format!(
        "{name:?} is not a remote configured in {}: a manifest names a remote the repository has, an address goes in \
         .tether/secrets.toml as `remote` under [objects.\"KEY\"]",
        path.display()
    ))
    .with_hint(format!("`git -C {} remote add NAME URL`", path.display()))
}

/// A text field; a wrong type is an error.
fn text(locator: &Locator, field: &str) -> Result<Option<String>> {
    match locator.get(field) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(checked(field, text)?.to_owned())),
        Some(_) => Err(Error::config(format!("`{field}` of a git object is text"))),
    }
}

/// A flag, also as the text that `--set` stores.
fn flag(value: Option<&Value>, field: &str) -> Result<bool> {
    match value {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(Value::String(text)) if text == "true" => Ok(true),
        Some(Value::String(text)) if text == "false" => Ok(false),
        Some(_) => Err(Error::config(format!(
            "`{field}` of a git object is true or false"
        ))),
    }
}

/// Refuses what could be taken for an option or break a line, whatever the field.
fn checked<'a>(field: &str, value: &'a str) -> Result<&'a str> {
    let what = if value.is_empty() {
        "is empty"
    } else if value.starts_with('-') {
        "looks like an option"
    } else if value.chars().any(char::is_control) {
        "holds control characters"
    } else {
        return Ok(value);
    };
    // An address may hold a password.
    let shown = if field == "remote" {
        String::new()
    } else {
        format!(" {value:?}")
    };
    Err(Error::config(format!(
        "`{field}`{shown} of a git object {what}"
    )))
}

/// Refuses what is no plain name of a commit: ranges, reflog lookups, paths, searches, URLs, globs.
pub(crate) fn revision(field: &str, value: String) -> Result<String> {
    checked(field, &value)?;
    let odd = |c: char| c.is_whitespace() || matches!(c, ':' | '?' | '*' | '[' | '\\');
    if value.contains("..") || value.contains("@{") || value.chars().any(odd) {
        return Err(Error::config(format!(
            "`{field}` {value:?} of a git object is not a branch, a tag or a commit"
        )));
    }
    Ok(value)
}

fn utf8(path: &Path) -> Result<String> {
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| Error::config(format!("the path {} is not UTF-8", path.display())))
}
