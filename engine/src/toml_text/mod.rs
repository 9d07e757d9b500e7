//! TOML as tether's files use it: reading with errors that never quote a line, and the one layout of what is written.
//!
//! `read` turns text into values and names file, line and key of what is wrong. `write` lays a tree of [`Item`]s out as
//! the Python package does: single values first, then tables under their headers, nulls left out.

mod read;
mod write;

pub(crate) use read::{File, Source, Table, tick};
pub(crate) use write::{quoted, render};

use crate::json::{Map, Value, python_float};

/// A value to write, or one that was read and is only kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    /// A string, number, boolean or date, as it is written.
    Scalar(String),
    /// An array.
    Array(Vec<Item>),
    /// A table.
    Table(Vec<(String, Item)>),
}

impl Item {
    /// A string.
    pub(crate) fn string(text: &str) -> Self {
        Self::Scalar(quoted(text))
    }

    /// A boolean.
    pub(crate) fn bool(value: bool) -> Self {
        Self::Scalar(value.to_string())
    }

    /// A table of `map`'s entries, nulls left out.
    pub(crate) fn table(map: &Map) -> Self {
        Self::Table(
            map.iter()
                .filter_map(|(key, value)| Some((key.clone(), Self::json(value)?)))
                .collect(),
        )
    }

    /// `value`, unless it is null.
    pub(crate) fn json(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => return None,
            Value::Bool(value) => Self::bool(*value),
            Value::Number(number) if number.is_f64() => {
                Self::Scalar(python_float(number.as_f64().unwrap_or_default()))
            }
            Value::Number(number) => Self::Scalar(number.to_string()),
            Value::String(text) => Self::string(text),
            Value::Array(items) => Self::Array(items.iter().filter_map(Self::json).collect()),
            Value::Object(map) => Self::table(map),
        })
    }

    /// Whether it stands under headers of its own: a table, or an array of nothing but tables.
    fn is_table(&self) -> bool {
        match self {
            Self::Table(_) => true,
            Self::Array(items) => {
                !items.is_empty() && items.iter().all(|item| matches!(item, Self::Table(_)))
            }
            Self::Scalar(_) => false,
        }
    }
}
