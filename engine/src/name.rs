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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn slug_of(text: &str) -> String {
        slug(&text.parse().unwrap())
    }

    fn is_foreign(name: &str) -> bool {
        parse_ref(name) == ParsedRef::Foreign
    }

    /// P107, E34: bookmarks that look alike have branches of their own.
    #[test]
    fn bookmarks_that_look_alike_have_different_slugs() {
        let alike = [
            "feat-x",
            "feat/x",
            "feat.x",
            "feat x",
            "feat//x",
            "feat-x-",
            "-feat-x",
            "feat/-x",
            "feat--x",
            "Feat-x",
            "relabel",
            "relabel/x",
            "Relabel",
            "relabel.2",
            "relabel-2",
            "a..b",
            "a.b",
            "a-b",
            "bm",
            "日本語",
            "日本",
            "--",
            "-",
            "ß",
        ];
        let mut seen = BTreeMap::new();
        for name in alike {
            if let Some(other) = seen.insert(slug_of(name), name) {
                panic!("{other} and {name} share a slug");
            }
        }
    }

    #[test]
    fn a_run_of_other_characters_is_not_joined_with_a_dash() {
        assert!(slug_of("feat/-x").starts_with("feat--x-"));
        assert!(slug_of("feat//x").starts_with("feat-x-"));
    }

    #[test]
    fn names_that_only_resemble_ours_are_foreign() {
        for name in [
            "",
            "tether.",
            "tether.ws.",
            "tether.ws.0a1b2c3d",
            "tether.ws.0a1b2c3d..2",
            "tether.ws.0a1b2c3d.relabel.x",
            "tether.ws.0a1b2c3d.relabel.1",
            "tether.ws.0a1b2c3d.relabel.02",
            "tether.0a1b2c3d.6674305d5e1fe5f6.",
            "tether.0a1b2c3d.6674305d5e1fe5f6.1",
            "tether.0a1b2c3d.6674305d5e1fe5f6.+2",
            "tether.0a1b2c3d.6674305D5e1fe5f6",
            "xtether.0a1b2c3d.6674305d5e1fe5f6",
            "tether.owner",
            "tether.owner.x",
            "tether.ws.0A1b2c3d.main",
        ] {
            assert!(
                is_foreign(name),
                "{name} was taken for {:?}",
                parse_ref(name)
            );
        }
    }

    #[test]
    fn refs_that_could_be_options_are_refused() {
        for name in ["", " ", "-f", "a\nb", "a\u{1b}b"] {
            assert!(name.parse::<NativeRef>().is_err(), "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn every_working_ref_reads_back(text in prop_oneof!["[a-z./ -]{1,12}", any::<String>()]) {
            let dataset: DatasetId = "0a1b2c3d".parse().unwrap();
            if let Ok(bookmark) = text.parse::<BookmarkName>() {
                let native = working_ref(&dataset, &bookmark);
                prop_assert!(native.as_str().is_ascii());
                let expected = ParsedRef::Working { dataset: dataset.clone(), slug: slug(&bookmark), generation: 1 };
                prop_assert_eq!(parse_ref(native.as_str()), expected);
                let second = format!("{native}.2");
                let expected = ParsedRef::Working { dataset, slug: slug(&bookmark), generation: 2 };
                prop_assert_eq!(parse_ref(&second), expected);
            }
        }

        #[test]
        fn reading_a_name_never_panics(name in prop_oneof![any::<String>(), "tether\\.[a-f0-9.ws]{0,30}"]) {
            let _ = parse_ref(&name);
        }

        /// Two different short names over an alphabet of look-alikes never share a slug, unless their hashes collide.
        #[test]
        fn slugs_tell_names_apart(a in "[a/. -]{1,5}", b in "[a/. -]{1,5}") {
            if let (Ok(a), Ok(b)) = (a.parse::<BookmarkName>(), b.parse::<BookmarkName>()) {
                prop_assert_eq!(a == b, slug(&a) == slug(&b));
            }
        }
    }
}
