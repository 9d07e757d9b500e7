//! Reading TOML into values, with errors built from file name, line number and key only.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Item, quoted};
use crate::error::{Error, Result};
use crate::json::{Map, Value};
use crate::key::ObjectKey;

/// Which file is read, for messages and hints.
#[derive(Clone, Copy, Debug)]
pub(crate) enum File<'a> {
    /// The manifest of an object.
    Manifest(&'a ObjectKey),
    /// `tether.toml`.
    Config,
    /// `.tether/workspace.toml`.
    Workspace,
    /// `.tether/secrets.toml`.
    Secrets,
}

impl File<'_> {
    /// The path below the dataset's root.
    pub(crate) fn path(self) -> String {
        match self {
            Self::Manifest(key) => format!(".tether/{}", key.manifest_path()),
            Self::Config => "tether.toml".to_owned(),
            Self::Workspace => ".tether/workspace.toml".to_owned(),
            Self::Secrets => ".tether/secrets.toml".to_owned(),
        }
    }

    fn hint(self) -> String {
        match self {
            Self::Manifest(_) | Self::Config => {
                let path = shell_word(&self.path());
                format!(
                    "mend it, or take back the committed one: `git restore -- {path}` (under jj `jj restore {path}`)"
                )
            }
            Self::Workspace => {
                "mend it, or start over: `rm .tether/workspace.toml`, then `tether new BOOKMARK`"
                    .to_owned()
            }
            Self::Secrets => "mend it: `$EDITOR .tether/secrets.toml`".to_owned(),
        }
    }

    /// An error about the file as a whole; `problem` completes "cannot read FILE: ...".
    pub(crate) fn error(self, problem: &str) -> Error {
        Error::config(format!("cannot read {}: {problem}", self.path())).with_hint(self.hint())
    }
}

fn shell_word(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
    if text.bytes().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The text of one file.
pub(crate) struct Source<'a> {
    file: File<'a>,
    text: &'a str,
}

/// A table as it was read.
pub(crate) type Table<'a> = DeTable<'a>;

impl<'a> Source<'a> {
    /// Takes the bytes of `file`, which must be UTF-8 without conflict markers.
    pub(crate) fn new(file: File<'a>, bytes: &'a [u8]) -> Result<Self> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let line = line_of(bytes, error.valid_up_to());
            file.error(&format!("line {line} is not UTF-8 text"))
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Ok(Self { file, text })
    }

    /// The document's root table.
    pub(crate) fn root(&self) -> Result<Table<'a>> {
        DeTable::parse(self.text)
            .map(Spanned::into_inner)
            .map_err(|error| self.syntax(&error))
    }

    fn syntax(&self, error: &toml::de::Error) -> Error {
        if let Some(line) = conflict_marker(self.text) {
            return self
                .file
                .error(&format!("line {line} starts a merge conflict"))
                .with_hint(format!(
                    "resolve the conflict in {}, then `tether status`",
                    shell_word(&self.file.path())
                ));
        }
        // The parser's descriptions are fixed words; only its `Display` quotes the line.
        let description = error.message();
        match error.span() {
            Some(span) => self.at(&span, &format!("not TOML ({description})")),
            None => self.file.error(&format!("not TOML ({description})")),
        }
    }

    /// An error at a place; `problem` completes "line N: ...".
    pub(crate) fn at(&self, span: &Range<usize>, problem: &str) -> Error {
        let line = line_of(self.text.as_bytes(), span.start);
        self.file.error(&format!("line {line}: {problem}"))
    }

    /// An error about something missing.
    pub(crate) fn missing(&self, what: &str) -> Error {
        self.file.error(&format!("it has no {what}"))
    }

    /// How messages call a value. A misplaced secret can be a key, so those of `secrets.toml` stay unnamed.
    fn name(&self, name: &str) -> String {
        match self.file {
            File::Secrets => "a value".to_owned(),
            _ => tick(name),
        }
    }

    fn wrong_type(&self, name: &str, value: &Spanned<DeValue<'_>>, wanted: &str) -> Error {
        let found = match value.get_ref() {
            DeValue::String(_) => "text",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a floating point number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        self.at(
            &value.span(),
            &format!("{} must be {wanted}, not {found}", self.name(name)),
        )
    }

    /// The text of a value that must be a string.
    pub(crate) fn string(&self, name: &str, value: Spanned<DeValue<'a>>) -> Result<String> {
        match value.get_ref() {
            DeValue::String(_) => match value.into_inner() {
                DeValue::String(text) => Ok(text.into_owned()),
                _ => Ok(String::new()),
            },
            _ => Err(self.wrong_type(name, &value, "text in quotes")),
        }
    }

    /// A value parsed from a string; `parse`'s error becomes one about the place, without the value.
    pub(crate) fn parsed<T>(
        &self,
        name: &str,
        value: Spanned<DeValue<'a>>,
        wanted: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T> {
        let span = value.span();
        let text = self.string(name, value)?;
        parse(&text).ok_or_else(|| self.at(&span, &format!("{} must be {wanted}", self.name(name))))
    }

    /// A boolean.
    pub(crate) fn bool(&self, name: &str, value: &Spanned<DeValue<'a>>) -> Result<bool> {
        value
            .get_ref()
            .as_bool()
            .ok_or_else(|| self.wrong_type(name, value, "true or false"))
    }

    /// An integer.
    pub(crate) fn integer(&self, name: &str, value: &Spanned<DeValue<'a>>) -> Result<i64> {
        value
            .get_ref()
            .as_integer()
            .and_then(|number| i64::from_str_radix(number.as_str(), number.radix()).ok())
            .ok_or_else(|| self.wrong_type(name, value, "an integer"))
    }

    /// A table.
    pub(crate) fn table(&self, name: &str, value: Spanned<DeValue<'a>>) -> Result<Table<'a>> {
        match value.get_ref() {
            DeValue::Table(_) => match value.into_inner() {
                DeValue::Table(table) => Ok(table),
                _ => Ok(Table::new()),
            },
            _ => Err(self.wrong_type(name, &value, "a table")),
        }
    }

    /// A table as a JSON object. Dates and infinite numbers have no JSON form and are refused.
    pub(crate) fn map(&self, name: &str, value: Spanned<DeValue<'a>>) -> Result<Map> {
        let table = self.table(name, value)?;
        self.table_to_map(table)
    }

    /// A table's entries as a JSON object.
    pub(crate) fn table_to_map(&self, table: Table<'a>) -> Result<Map> {
        let mut map = Map::with_capacity(table.len());
        for (key, value) in table {
            let key = key.into_inner().into_owned();
            let value = self.json(&key, value)?;
            map.insert(key, value);
        }
        Ok(map)
    }

    /// A single value: no array and no table.
    pub(crate) fn plain(&self, name: &str, value: Spanned<DeValue<'a>>) -> Result<Value> {
        match value.get_ref() {
            DeValue::Array(_) | DeValue::Table(_) => {
                Err(self.wrong_type(name, &value, "a single value"))
            }
            _ => self.json(name, value),
        }
    }

    fn json(&self, name: &str, value: Spanned<DeValue<'a>>) -> Result<Value> {
        let span = value.span();
        Ok(match value.into_inner() {
            DeValue::String(text) => Value::String(text.into_owned()),
            DeValue::Boolean(value) => Value::Bool(value),
            DeValue::Integer(number) => {
                let (text, radix) = (number.as_str(), number.radix());
                if let Ok(number) = i64::from_str_radix(text, radix) {
                    number.into()
                } else if let Ok(number) = u64::from_str_radix(text, radix) {
                    number.into()
                } else {
                    let problem = format!("{} is too large a number", self.name(name));
                    return Err(self.at(&span, &problem));
                }
            }
            DeValue::Float(number) => number
                .as_str()
                .parse()
                .ok()
                .and_then(serde_json::Number::from_f64)
                .map(Value::Number)
                .ok_or_else(|| {
                    self.at(
                        &span,
                        &format!("{} must be a finite number", self.name(name)),
                    )
                })?,
            DeValue::Datetime(_) => {
                let problem = format!("{} is a date; put it in quotes", self.name(name));
                return Err(self.at(&span, &problem));
            }
            DeValue::Array(items) => {
                let items = items.into_iter().map(|item| self.json(name, item));
                Value::Array(items.collect::<Result<_>>()?)
            }
            DeValue::Table(table) => Value::Object(self.table_to_map(table)?),
        })
    }

    /// A value that is only kept, to be written again.
    pub(crate) fn keep(value: Spanned<DeValue<'a>>) -> Item {
        match value.into_inner() {
            DeValue::String(text) => Item::Scalar(quoted(&text)),
            DeValue::Integer(number) => Item::Scalar(number.to_string()),
            DeValue::Float(number) => Item::Scalar(number.to_string()),
            DeValue::Boolean(value) => Item::bool(value),
            DeValue::Datetime(date) => Item::Scalar(date.to_string()),
            DeValue::Array(items) => Item::Array(items.into_iter().map(Self::keep).collect()),
            DeValue::Table(table) => Item::Table(
                table
                    .into_iter()
                    .map(|(key, value)| (key.into_inner().into_owned(), Self::keep(value)))
                    .collect(),
            ),
        }
    }
}

/// A name of the file's own in backticks, shortened and with control characters escaped.
pub(crate) fn tick(name: &str) -> String {
    let name: String = name.chars().take(80).collect();
    format!("`{}`", name.escape_debug())
}

fn line_of(bytes: &[u8], offset: usize) -> usize {
    let before = &bytes[..offset.min(bytes.len())];
    before.split(|byte| *byte == b'\n').count()
}

/// The line of a conflict marker as git and jj leave them.
fn conflict_marker(text: &str) -> Option<usize> {
    text.lines()
        .position(|line| {
            ["<<<<<<< ", ">>>>>>> ", "||||||| ", "%%%%%%% ", "+++++++ "]
                .iter()
                .any(|marker| line.starts_with(marker))
                || line == "======="
        })
        .map(|index| index + 1)
}
