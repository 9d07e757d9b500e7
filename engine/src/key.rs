//! Object keys and how commands select objects by them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Error, Result};

/// The key of an object: one or more `/`-separated segments (grammar in FORMAT, 'Files').
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ObjectKey(String);

impl ObjectKey {
    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The manifest's path below `.tether/`, with `/` separators: `objects/<key>.toml`.
    pub fn manifest_path(&self) -> String {
        format!("objects/{}.toml", self.0)
    }
}

impl FromStr for ObjectKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let _ = text;
        todo!("values owner")
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl AsRef<str> for ObjectKey {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for ObjectKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for ObjectKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// Which objects a command is about: `KEY...` as typed. An exact key, or a prefix ending in `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection(pub Vec<String>);

impl Selection {
    /// Every object.
    pub fn all() -> Self {
        Self::default()
    }

    /// Whether no selector was given.
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys of `known` that are selected, in order, each once.
    ///
    /// A selector that matches nothing is an error that names it.
    pub fn resolve<'a>(
        &self,
        known: impl IntoIterator<Item = &'a ObjectKey>,
    ) -> Result<Vec<ObjectKey>> {
        let _ = known.into_iter();
        todo!("values owner")
    }
}
