//! Names: bookmarks of the dataset, and the native refs that stand for pins and bookmarks in stores.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Error, Result};
use crate::id::{DatasetId, PinId};
use crate::json;

macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

text_type!(
    /// A jj bookmark or git branch of the dataset's repository, without `refs/heads/`.
    BookmarkName
);
text_type!(
    /// A ref in a store: a tag or branch name in the store's own words.
    NativeRef
);

impl FromStr for BookmarkName {
    type Err = Error;

    /// Refuses only what no VCS can name: empty, blank or with control characters. The VCS judges the rest.
    fn from_str(text: &str) -> Result<Self> {
        if text.trim().is_empty() || text.chars().any(char::is_control) {
            return Err(Error::user(format!("{text:?} is not a bookmark name")));
        }
        Ok(Self(text.to_owned()))
    }
}

impl FromStr for NativeRef {
    type Err = Error;

    /// Refuses what could be taken for an option or leave its place: empty, blank, a leading `-`, control characters.
    fn from_str(text: &str) -> Result<Self> {
        if text.trim().is_empty() || text.starts_with('-') || text.chars().any(char::is_control) {
            return Err(Error::config(format!("{text:?} is not a name of a ref")));
        }
        Ok(Self(text.to_owned()))
    }
}

/// The prefix of every native ref tether makes.
pub const REF_PREFIX: &str = "tether.";

/// The prefix of every working branch.
pub const WORKING_REF_PREFIX: &str = "tether.ws.";

/// The native ref of a pin: `tether.<pin id>`, and `tether.<pin id>.<generation>` from generation 2 on.
pub fn pin_ref(pin: &PinId, generation: u32) -> NativeRef {
    if generation <= 1 {
        NativeRef(format!("{REF_PREFIX}{pin}"))
    } else {
        NativeRef(format!("{REF_PREFIX}{pin}.{generation}"))
    }
}

/// The store branch that stands for a bookmark: `tether.ws.<dataset id>.<slug>`.
pub fn working_ref(dataset: &DatasetId, bookmark: &BookmarkName) -> NativeRef {
    NativeRef(format!("{WORKING_REF_PREFIX}{dataset}.{}", slug(bookmark)))
}

/// Stands for a run of replaced characters until the whole slug is known, so that a run is not joined with a literal `-`.
const REPLACED: char = '\0';

/// The bookmark as it appears in a working branch's name (FORMAT, 'Names in stores').
pub fn slug(bookmark: &BookmarkName) -> String {
    let text = bookmark.as_str();
    let mut slug = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') {
            slug.push(c);
        } else if !slug.ends_with(REPLACED) {
            slug.push(REPLACED);
        }
    }
    let slug = slug.replace(REPLACED, "-");
    let slug = slug.trim_matches('-');
    if slug == text {
        return slug.to_owned();
    }
    let slug = if slug.is_empty() { "bm" } else { slug };
    let canonical = json::canonical(&json::Value::String(text.to_owned()));
    let hash = json::hash(8, [canonical.as_bytes()]);
    format!("{slug}-{}", &hash[..6])
}

/// What a native ref's name says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParsedRef {
    /// A pin of some dataset, with its generation (1 for the plain name).
    Pin {
        /// The pin.
        pin: PinId,
        /// 1, or the number behind the name.
        generation: u32,
    },
    /// A bookmark's working branch.
    Working {
        /// The dataset it belongs to.
        dataset: DatasetId,
        /// The bookmark's slug.
        slug: String,
        /// 1, or the number behind the name.
        generation: u32,
    },
    /// A working branch from before bookmarks.
    Legacy {
        /// The dataset it belongs to.
        dataset: DatasetId,
        /// 8 hexadecimal digits.
        workspace: String,
    },
    /// An owner marker (`tether.owner.<dataset id>`).
    Owner(DatasetId),
    /// Not one of tether's, or one that names no dataset.
    Foreign,
}

/// Reads a native ref's name.
pub fn parse_ref(name: &str) -> ParsedRef {
    parse_pin(name)
        .or_else(|| parse_working(name))
        .or_else(|| {
            let dataset = name.strip_prefix(OWNER_PREFIX)?;
            Some(ParsedRef::Owner(dataset.parse().ok()?))
        })
        .unwrap_or(ParsedRef::Foreign)
}

const OWNER_PREFIX: &str = "tether.owner.";

fn parse_pin(name: &str) -> Option<ParsedRef> {
    let mut parts = name.strip_prefix(REF_PREFIX)?.splitn(3, '.');
    let (dataset, hash) = (parts.next()?, parts.next()?);
    let pin = format!("{dataset}.{hash}").parse().ok()?;
    let generation = parts.next().map_or(Some(1), parse_generation)?;
    Some(ParsedRef::Pin { pin, generation })
}

fn parse_working(name: &str) -> Option<ParsedRef> {
    let (dataset, rest) = name.strip_prefix(WORKING_REF_PREFIX)?.split_once('.')?;
    let dataset: DatasetId = dataset.parse().ok()?;
    if let Some((workspace, legacy)) = rest.split_once('.')
        && is_workspace_prefix(workspace)
        && parse_generation(legacy).is_none()
    {
        return Some(ParsedRef::Legacy {
            dataset,
            workspace: workspace.to_owned(),
        });
    }
    let (slug, generation) = match rest.rsplit_once('.') {
        Some((slug, number)) => (slug, parse_generation(number)?),
        None => (rest, 1),
    };
    if slug.is_empty() || slug.contains('.') {
        return None;
    }
    Some(ParsedRef::Working {
        dataset,
        slug: slug.to_owned(),
        generation,
    })
}

/// A generation as it is written: 2 or more, without leading zeros.
fn parse_generation(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number >= 2 && number.to_string() == text).then_some(number)
}

fn is_workspace_prefix(text: &str) -> bool {
    text.len() == 8
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}
