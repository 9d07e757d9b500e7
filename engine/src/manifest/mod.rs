//! The committed record of one object, and the hash over all of them.
//!
//! [`Manifest`] is the value; `text` reads and writes its TOML byte for byte as FORMAT says, keeping unknown keys.

#[cfg(test)]
mod tests;
mod text;

pub(crate) use text::{file_mode, pin_mode};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::id::PinId;
use crate::json;
use crate::key::ObjectKey;
use crate::name::NativeRef;
use crate::state::{Locator, State};
use crate::toml_text::Item;

/// `[policy] file`: what a changed local file means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileMode {
    /// Any change of the bytes is an error.
    #[default]
    Immutable,
    /// A change is news; a versioned remote object is Addressable.
    Versioned,
}

impl FileMode {
    /// The word in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Immutable => "immutable",
            Self::Versioned => "versioned",
        }
    }

    /// The value that `name` says.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Immutable, Self::Versioned]
            .into_iter()
            .find(|value| value.name() == name)
    }
}

/// `[policy] pin`: whether a commit makes a native ref.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PinMode {
    /// A tag or branch per commit, where the system has them.
    #[default]
    Native,
    /// The state alone.
    Record,
}

impl PinMode {
    /// The word in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Record => "record",
        }
    }

    /// The value that `name` says.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Native, Self::Record]
            .into_iter()
            .find(|value| value.name() == name)
    }
}

/// An object's policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// What a changed local file means.
    pub file: FileMode,
    /// Whether a commit makes a native ref.
    pub pin: PinMode,
}

/// Whether tether made the store (`add --create`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// It was there before.
    #[default]
    Adopted,
    /// `add --create` made it.
    Created,
}

impl Origin {
    /// The word in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Adopted => "adopted",
            Self::Created => "created",
        }
    }

    /// The value that `name` says.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Adopted, Self::Created]
            .into_iter()
            .find(|value| value.name() == name)
    }
}

/// The native ref that keeps a committed state alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The content address.
    pub id: PinId,
    /// The ref in the store.
    #[serde(rename = "ref")]
    pub native: NativeRef,
}

/// The committed record of one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The key; equals the file's place.
    pub key: ObjectKey,
    /// The backend kind, known to this build or not.
    pub kind: String,
    /// False when the committed state can be recognised but not read back.
    pub recoverable: bool,
    /// Whether tether made the store.
    pub origin: Origin,
    /// When the state was captured: ISO 8601, microseconds, `+00:00`.
    pub captured_at: Option<String>,
    /// Where the object is.
    pub locator: Locator,
    /// Its policy.
    pub policy: Policy,
    /// The committed state; `None` before the first commit.
    pub state: Option<State>,
    /// The committed pin.
    pub pin: Option<Pin>,
    /// What the file holds beyond that, kept on rewrite.
    pub extra: Extra,
}

/// Keys and tables of a manifest that this version does not know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extra {
    /// At the top level.
    top: Vec<(String, Item)>,
    /// In `[policy]`.
    policy: Vec<(String, Item)>,
    /// In `[pin]`.
    pin: Vec<(String, Item)>,
}

impl Manifest {
    /// A fresh manifest of an object that was never committed.
    pub fn new(key: ObjectKey, kind: &str, locator: Locator, policy: Policy) -> Self {
        Self {
            key,
            kind: kind.to_owned(),
            recoverable: true,
            origin: Origin::Adopted,
            captured_at: None,
            locator,
            policy,
            state: None,
            pin: None,
            extra: Extra::default(),
        }
    }

    /// Reads a manifest that stands at `key`'s place.
    ///
    /// Fails with a `Config` error that names the key (never quoting a line) for text that is not UTF-8 or not TOML, has a
    /// key that differs from its place, a wrong type, or conflict markers. CRLF line ends are accepted.
    pub fn parse(key: &ObjectKey, text: &[u8]) -> Result<Self> {
        text::parse(key, text)
    }

    /// The file's text.
    pub fn to_toml(&self) -> String {
        text::render(self)
    }

    /// The object's part of the manifest hash, canonical JSON (FORMAT, 'Hashing').
    pub fn canonical(&self) -> String {
        text::canonical(self)
    }
}

/// Manifests by key, in key order.
pub type Manifests = BTreeMap<ObjectKey, Manifest>;

/// The hash over all manifests: 64 hexadecimal digits, shown by its first 12.
pub fn manifest_hash(manifests: &Manifests) -> String {
    let parts: Vec<String> = manifests
        .values()
        .map(|manifest| {
            let canonical = manifest.canonical();
            let mut pair = String::with_capacity(canonical.len() * 5 / 4 + 64);
            pair.push('[');
            json::write_string(manifest.key.as_str(), &mut pair);
            pair.push(',');
            json::write_string(&canonical, &mut pair);
            pair.push(']');
            pair
        })
        .collect();
    json::hash(32, parts.iter().map(String::as_bytes))
}
