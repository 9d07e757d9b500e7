//! `tether.toml`: the committed configuration, and what it may not say (the trust boundary).

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use crate::error::{Error, Result};
use crate::id::DatasetId;
use crate::json::Map;
use crate::manifest::{Policy, file_mode, pin_mode};
use crate::name::BookmarkName;
use crate::toml_text::{File, Item, Source, Table, render, tick};

/// The format version this build reads and writes.
pub const FORMAT_VERSION: i64 = 5;

/// The committed configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The dataset's id.
    pub dataset: DatasetId,
    /// `[snapshot] auto`.
    pub snapshot_auto: bool,
    /// `[verify] on_status`.
    pub verify_on_status: bool,
    /// `[new] fork = "eager"`.
    pub fork_eagerly: bool,
    /// `[new] record = "defer"`.
    pub defer_record: bool,
    /// `[defaults]`.
    pub defaults: Policy,
    /// `[vcs] trunk`.
    pub trunk: BookmarkName,
    /// `[vcs] prefer = "git"`.
    pub prefer_git: bool,
    /// `[backends.<kind>]`, allowlisted keys only.
    pub backends: BTreeMap<String, Map>,
}

impl Config {
    /// Reads `tether.toml`. Refuses other format versions (older: `tether upgrade`; newer: a newer tether), unknown keys and
    /// tables by name, and keys that belong in `.tether/secrets.toml`, saying so. Never quotes a line.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self> {
        let source = Source::new(File::Config, text.as_ref())?;
        let root = source.root()?;
        check_version(&source, &root)?;
        let mut draft = Draft::default();
        for (name, value) in root {
            draft.read_table(&source, &name, value)?;
        }
        draft.finish(&source)
    }

    /// The text `init` writes, byte for byte as the Python package does (`[vcs] trunk` only when it is not `main`).
    pub fn initial_text(dataset: &DatasetId, trunk: &BookmarkName) -> String {
        let mut root = vec![
            (
                "tether",
                vec![("version", Item::Scalar(FORMAT_VERSION.to_string()))],
            ),
            ("dataset", vec![("id", Item::string(dataset.as_str()))]),
            ("snapshot", vec![("auto", Item::bool(false))]),
            ("verify", vec![("on_status", Item::bool(false))]),
            ("new", vec![("fork", Item::string("lazy"))]),
            (
                "defaults",
                vec![
                    ("file", Item::string("immutable")),
                    ("pin", Item::string("native")),
                ],
            ),
        ];
        if trunk.as_str() != DEFAULT_TRUNK {
            root.push(("vcs", vec![("trunk", Item::string(trunk.as_str()))]));
        }
        let owned = |(name, item): (&str, Item)| (name.to_owned(), item);
        let tables: Vec<_> = root
            .into_iter()
            .map(|(name, keys)| {
                (
                    name.to_owned(),
                    Item::Table(keys.into_iter().map(owned).collect()),
                )
            })
            .collect();
        render(&tables)
    }
}

/// The trunk when `[vcs] trunk` says nothing.
pub const DEFAULT_TRUNK: &str = "main";

/// What a committed `[backends.<kind>]` may hold: kinds, the table, and the keys that pass inside it.
const ALLOWED_OPTIONS: [(&[&str], &str, &[&str]); 2] = [
    (
        &["file", "delta", "lance"],
        "storage_options",
        &[
            "region",
            "allow_http",
            "virtual_hosted_style_request",
            "conditional_put",
        ],
    ),
    (&["iceberg"], "catalog", &["type", "warehouse", "name"]),
];

/// The version is looked at before anything else: another format may hold keys that mean nothing here.
fn check_version(source: &Source<'_>, root: &Table<'_>) -> Result<()> {
    let version = root
        .get("tether")
        .and_then(|table| table.get_ref().as_table()?.get("version"));
    let version = match version {
        Some(value) => source.integer("tether.version", value)?,
        None => 1,
    };
    match version.cmp(&FORMAT_VERSION) {
        Ordering::Equal => Ok(()),
        Ordering::Less => Err(Error::config(format!(
            "tether.toml is of version {version}, older than this tether's {FORMAT_VERSION}"
        ))
        .with_hint("`tether upgrade --dry-run`, then `tether upgrade`")),
        Ordering::Greater => Err(Error::config(format!(
            "tether.toml is of version {version}, newer than this tether understands ({FORMAT_VERSION})"
        ))
        .with_hint("install a newer tether; `tether --version` shows this one's")),
    }
}

/// What was read so far.
#[derive(Default)]
struct Draft {
    dataset: Option<DatasetId>,
    snapshot_auto: bool,
    verify_on_status: bool,
    fork_eagerly: bool,
    defer_record: bool,
    defaults: Policy,
    trunk: Option<BookmarkName>,
    prefer_git: bool,
    backends: BTreeMap<String, Map>,
}

impl Draft {
    fn read_table<'a>(
        &mut self,
        source: &Source<'a>,
        table: &Spanned<Cow<'a, str>>,
        value: Spanned<DeValue<'a>>,
    ) -> Result<()> {
        let span = table.span();
        let table = table.get_ref().as_ref();
        if SECRET_TABLES.contains(&table) {
            return Err(belongs_in_secrets(
                source,
                &span,
                &format!("[{table}]"),
                table,
            ));
        }
        if !TABLES.contains(&table) {
            return Err(unknown(
                source,
                &span,
                &format!("`[{}]`", table.escape_debug()),
            ));
        }
        for (name, value) in source.table(table, value)? {
            if table == "backends" {
                let kind = name.into_inner().into_owned();
                let options = backend_options(source, &kind, value)?;
                self.backends.insert(kind, options);
            } else {
                self.read_key(source, table, &name, value)?;
            }
        }
        Ok(())
    }

    fn read_key<'a>(
        &mut self,
        source: &Source<'a>,
        table: &str,
        name: &Spanned<Cow<'a, str>>,
        value: Spanned<DeValue<'a>>,
    ) -> Result<()> {
        let key = name.get_ref().as_ref();
        let full = format!("{table}.{key}");
        match (table, key) {
            ("tether", "version") => {} // checked before everything else
            ("dataset", "id") => {
                let wanted = "8 lower-case hexadecimal digits";
                let id = source.parsed(&full, value, wanted, |text| text.parse().ok())?;
                self.dataset = Some(id);
            }
            ("snapshot", "auto") => self.snapshot_auto = source.bool(&full, &value)?,
            ("verify", "on_status") => self.verify_on_status = source.bool(&full, &value)?,
            ("new", "fork") => self.fork_eagerly = either(source, &full, value, "lazy", "eager")?,
            ("new", "record") => self.defer_record = either(source, &full, value, "fork", "defer")?,
            ("defaults", "file") => self.defaults.file = file_mode(source, &full, value)?,
            ("defaults", "pin") => self.defaults.pin = pin_mode(source, &full, value)?,
            ("vcs", "prefer") => self.prefer_git = either(source, &full, value, "jj", "git")?,
            ("vcs", "trunk") => {
                let wanted = "a bookmark name";
                let trunk = source.parsed(&full, value, wanted, |text| text.parse().ok())?;
                self.trunk = Some(trunk);
            }
            ("vcs", "git_path" | "jj_path") => {
                return Err(belongs_in_secrets(source, &name.span(), &full, "vcs"));
            }
            _ => return Err(unknown(source, &name.span(), &tick(&full))),
        }
        Ok(())
    }

    fn finish(self, source: &Source<'_>) -> Result<Config> {
        let dataset = self.dataset.ok_or_else(|| {
            source
                .missing("`id` in `[dataset]`")
                .with_hint("`tether recover` finds the id that the stores' refs carry")
        })?;
        if self.fork_eagerly && self.defer_record {
            return Err(File::Config
                .error("`[new] record = \"defer\"` needs `fork = \"lazy\"`")
                .with_hint("remove one of the two lines from tether.toml"));
        }
        let trunk = match self.trunk {
            Some(trunk) => trunk,
            None => DEFAULT_TRUNK.parse()?,
        };
        Ok(Config {
            dataset,
            snapshot_auto: self.snapshot_auto,
            verify_on_status: self.verify_on_status,
            fork_eagerly: self.fork_eagerly,
            defer_record: self.defer_record,
            defaults: self.defaults,
            trunk,
            prefer_git: self.prefer_git,
            backends: self.backends,
        })
    }
}

/// The tables a committed file may hold.
const TABLES: [&str; 8] = [
    "tether", "dataset", "snapshot", "verify", "new", "defaults", "vcs", "backends",
];

/// Tables that exist in `.tether/secrets.toml` only.
const SECRET_TABLES: [&str; 3] = ["import", "uris", "objects"];

/// Whether a two-word setting has its second word.
fn either<'a>(
    source: &Source<'a>,
    name: &str,
    value: Spanned<DeValue<'a>>,
    no: &str,
    yes: &str,
) -> Result<bool> {
    let wanted = format!("\"{no}\" or \"{yes}\"");
    source.parsed(name, value, &wanted, |text| {
        (text == yes || text == no).then_some(text == yes)
    })
}

fn backend_options<'a>(
    source: &Source<'a>,
    kind: &str,
    value: Spanned<DeValue<'a>>,
) -> Result<Map> {
    let place = format!("backends.{kind}");
    let mut options = Map::new();
    for (name, value) in source.table(&place, value)? {
        let allowed = ALLOWED_OPTIONS
            .iter()
            .find(|(kinds, table, _)| kinds.contains(&kind) && *table == name.get_ref().as_ref());
        let full = format!("{place}.{}", name.get_ref());
        let Some((_, table, keys)) = allowed else {
            return Err(belongs_in_secrets(source, &name.span(), &full, &place));
        };
        let mut inner = Map::new();
        for (name, value) in source.table(&full, value)? {
            let (key, full) = (
                name.get_ref().as_ref(),
                format!("{full}.{}", name.get_ref()),
            );
            if !keys.contains(&key) {
                let place = format!("{place}.{table}");
                return Err(belongs_in_secrets(source, &name.span(), &full, &place));
            }
            inner.insert(key.to_owned(), source.plain(&full, value)?);
        }
        options.insert((*table).to_owned(), inner.into());
    }
    Ok(options)
}

fn unknown(source: &Source<'_>, span: &Range<usize>, what: &str) -> Error {
    source
        .at(span, &format!("{what} is not a setting of this tether"))
        .with_hint(
            "remove it from tether.toml; the user guide's Configuration page lists every setting",
        )
}

/// A key that a clone must not bring along.
fn belongs_in_secrets(source: &Source<'_>, span: &Range<usize>, what: &str, place: &str) -> Error {
    let problem = format!(
        "{} may not be set in a committed file, which arrives with every clone",
        tick(what)
    );
    source.at(span, &problem).with_hint(format!(
        "remove it from tether.toml and put it under `[{}]` in .tether/secrets.toml",
        place.escape_debug()
    ))
}

/// The text of `.tether/.gitignore`.
pub const GITIGNORE: &str = "/workspace.toml\n/ops.jsonl\n/cache\n/lock\n/secrets.toml\n";

#[cfg(test)]
mod tests;
