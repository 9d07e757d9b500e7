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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(texts: &[&str]) -> Vec<ObjectKey> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// E26, surprise 3: a key whose manifest no file system can name is refused, with the reason.
    #[test]
    fn a_segment_that_is_too_long_for_a_file_name_is_refused() {
        assert!("k".repeat(245).parse::<ObjectKey>().is_ok());
        assert!(
            format!("a/{}/b", "é".repeat(122))
                .parse::<ObjectKey>()
                .is_ok()
        );
        for long in ["k".repeat(246), format!("a/{}/b", "é".repeat(200))] {
            let error = long.parse::<ObjectKey>().unwrap_err();
            assert!(
                error
                    .message()
                    .ends_with("too long for a file name (at most 245 bytes)")
            );
            assert!(error.hint().is_some());
        }
    }

    /// E26: control characters never reach a terminal through the message.
    #[test]
    fn refusals_escape_what_they_refuse() {
        let error = "\u{1b}]0;x\u{7}a".parse::<ObjectKey>().unwrap_err();
        assert!(!error.message().chars().any(char::is_control));
        assert!(error.message().ends_with("it contains a control character"));
    }

    /// Surprise 12: names that only other systems reserve are keys.
    #[test]
    fn names_that_other_systems_reserve_are_keys() {
        for text in [
            "con", "Zarr", "q?*", ".hidden", "-dash", "a.toml", "...", "1:x", "ab:c",
        ] {
            assert_eq!(text.parse::<ObjectKey>().unwrap().as_str(), text);
        }
    }

    #[test]
    fn a_selection_takes_keys_and_prefixes_once_each_in_key_order() {
        let known = keys(&["a", "a b", "a/b", "a/c", "b"]);
        let select = |selectors: &[&str]| {
            let selection = Selection(selectors.iter().map(ToString::to_string).collect());
            selection.resolve(&known)
        };
        assert_eq!(select(&[]).unwrap(), known);
        assert_eq!(
            select(&["b", "a/", "a/b"]).unwrap(),
            keys(&["a/b", "a/c", "b"])
        );
        assert_eq!(select(&["a"]).unwrap(), keys(&["a"]));
        assert_eq!(
            select(&["nosuch", "a"]).unwrap_err().message(),
            "no object \"nosuch\""
        );
        assert_eq!(
            select(&["c/"]).unwrap_err().message(),
            "no object's key starts with \"c/\""
        );
        assert!(Selection::all().resolve(&[]).unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn a_key_stays_below_the_objects_directory(text in prop_oneof![any::<String>(), "[a-c./\\\\: C]{0,8}"]) {
            if let Ok(key) = text.parse::<ObjectKey>() {
                prop_assert_eq!(key.as_str(), &text);
                let path = key.manifest_path();
                prop_assert!(path.starts_with("objects/") && path.ends_with(".toml"));
                let plain = std::path::Path::new(&path).components().all(|part| {
                    matches!(part, std::path::Component::Normal(_))
                });
                prop_assert!(plain);
                prop_assert!(!path.chars().any(|c| c.is_control() || c == '\\'));
                let segments: Vec<_> = path.split('/').collect();
                prop_assert!(segments.iter().all(|segment| !segment.is_empty() && segment.len() <= 250));
            }
        }
    }
}
