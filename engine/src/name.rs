//! Names: bookmarks of the dataset, and the native refs that stand for pins and bookmarks in stores.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Error, Result};
use crate::id::{DatasetId, PinId};

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

/// The bookmark as it appears in a working branch's name (FORMAT, 'Names in stores').
pub fn slug(bookmark: &BookmarkName) -> String {
    let _ = bookmark;
    todo!("values owner")
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
    let _ = name;
    todo!("values owner")
}
