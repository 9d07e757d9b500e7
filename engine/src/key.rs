//! Object keys and how commands select objects by them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Error, Result};

/// The key of an object: one or more `/`-separated segments (grammar in FORMAT, 'Files').
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ObjectKey(String);

const MANIFEST_SUFFIX: &str = ".toml";

impl ObjectKey {
    /// The longest segment in bytes, counting the `.toml` of its manifest: what every file system can name, with room
    /// for the suffix of a temporary file.
    pub const MAX_SEGMENT: usize = 250;

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The manifest's path below `.tether/`, with `/` separators: `objects/<key>.toml`.
    pub fn manifest_path(&self) -> String {
        format!("objects/{}.toml", self.0)
    }
}

/// Why `text` is no key, as the end of a sentence; `None` when it is one.
fn refusal(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("it is empty");
    }
    if text.starts_with('/') {
        return Some("it starts with `/`");
    }
    if text.ends_with('/') {
        return Some("it ends with `/`, which selects every key below a prefix");
    }
    if text.contains('\\') {
        return Some("it contains `\\`");
    }
    if text.chars().any(char::is_control) {
        return Some("it contains a control character");
    }
    if text.chars().any(|c| c.is_whitespace() && c != ' ') {
        return Some("it contains white space other than the plain space");
    }
    text.split('/').find_map(segment_refusal)
}

fn segment_refusal(segment: &str) -> Option<&'static str> {
    let bytes = segment.as_bytes();
    match bytes {
        [] => Some("it has an empty segment"),
        b"." | b".." => Some("`.` and `..` are not names"),
        [letter, b':', ..] if letter.is_ascii_alphabetic() => {
            Some("a segment starts with a drive letter")
        }
        _ if bytes.len() + MANIFEST_SUFFIX.len() > ObjectKey::MAX_SEGMENT => {
            Some("a segment is too long for a file name (at most 245 bytes)")
        }
        _ => None,
    }
}

impl FromStr for ObjectKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match refusal(text) {
            None => Ok(Self(text.to_owned())),
            Some(reason) => Err(Error::user(format!("{text:?} cannot be a key: {reason}"))
                .with_hint("use names separated by `/`, such as `tether add raw/plate1 LOCATOR`")),
        }
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

fn selects(selector: &str, key: &ObjectKey) -> bool {
    if selector.ends_with('/') {
        key.as_str().starts_with(selector)
    } else {
        key.as_str() == selector
    }
}

fn nothing_selected(selector: &str, any_known: bool) -> Error {
    let message = if selector.ends_with('/') {
        format!("no object's key starts with {selector:?}")
    } else {
        format!("no object {selector:?}")
    };
    Error::user(message).with_hint(if any_known {
        "`tether status` lists the objects; a prefix ends in `/`"
    } else {
        "this dataset has no objects yet: `tether add KEY LOCATOR --kind KIND`"
    })
}

impl Selection {
    /// Every object.
    pub fn all() -> Self {
        Self::default()
    }

    /// Whether no selector was given.
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys of `known` that are selected, in the order of `known`, each once.
    ///
    /// A selector that matches nothing is an error that names it.
    pub fn resolve<'a>(
        &self,
        known: impl IntoIterator<Item = &'a ObjectKey>,
    ) -> Result<Vec<ObjectKey>> {
        let mut used = vec![false; self.0.len()];
        let mut selected = Vec::new();
        let mut any_known = false;
        for key in known {
            any_known = true;
            let mut matched = self.0.is_empty();
            for (selector, used) in self.0.iter().zip(&mut used) {
                if selects(selector, key) {
                    matched = true;
                    *used = true;
                }
            }
            if matched {
                selected.push(key.clone());
            }
        }
        match self.0.iter().zip(&used).find(|(_, used)| !**used) {
            None => Ok(selected),
            Some((selector, _)) => Err(nothing_selected(selector, any_known)),
        }
    }
}
