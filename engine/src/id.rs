//! Identifiers, each its own type, parsed once at the edge.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Error, Result};
use crate::json;

fn is_lower_hex(text: &str) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

macro_rules! hex_id {
    ($(#[$doc:meta])* $name:ident, $digits:expr, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The number of hexadecimal digits.
            pub const DIGITS: usize = $digits;

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// A fresh random id.
            pub fn random() -> Result<Self> {
                let mut bytes = [0_u8; $digits / 2];
                getrandom::fill(&mut bytes).map_err(|error| {
                    Error::internal("the system gives no random numbers").with_source(error)
                })?;
                Ok(Self(json::hex(&bytes)))
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                if text.len() == $digits && is_lower_hex(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(Error::user(format!(
                        concat!($what, " is ", stringify!($digits), " lower-case hexadecimal digits, not {:?}"),
                        text
                    )))
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

hex_id!(
    /// The namespace of a dataset's pins and branches in every store: 8 hexadecimal digits.
    DatasetId, 8, "a dataset id"
);
hex_id!(
    /// A checkout's own id: 32 hexadecimal digits.
    WorkspaceId, 32, "a workspace id"
);
hex_id!(
    /// A tether operation: 12 hexadecimal digits.
    OpId, 12, "an operation id"
);
hex_id!(
    /// A view: the first 32 hexadecimal digits of the BLAKE2b of its canonical bytes.
    ViewId, 32, "a view id"
);

/// A commit of the enclosing repository: its full id in hexadecimal (40 or 64 digits).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommitId(String);

impl CommitId {
    /// Wraps a full hexadecimal id that the VCS answered with.
    pub fn new(hex: impl Into<String>) -> Self {
        Self(hex.into())
    }

    /// The full id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first 12 digits, as shown to people.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `<dataset id>.<pin hash>`: the content address of one state of one system, within a dataset.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct PinId(String);

impl PinId {
    /// The number of hexadecimal digits after the dot.
    pub const HASH_DIGITS: usize = 16;

    /// The number of digits of a hash from before datasets had ids.
    const BARE_DIGITS: usize = 12;

    pub(crate) fn from_parts(dataset: &DatasetId, hash: &str) -> Self {
        Self(format!("{dataset}.{hash}"))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The dataset the pin belongs to; empty for a pin from before datasets had ids.
    pub fn dataset(&self) -> &str {
        self.0.split_once('.').map_or("", |(dataset, _)| dataset)
    }

    /// A pin id as a manifest records it. History from before datasets had ids holds bare hashes; they are kept, so that
    /// it stays readable, and name no pin of any dataset.
    pub fn recorded(text: &str) -> Option<Self> {
        let bare =
            (Self::BARE_DIGITS..=Self::HASH_DIGITS).contains(&text.len()) && is_lower_hex(text);
        if bare {
            Some(Self(text.to_owned()))
        } else {
            text.parse().ok()
        }
    }
}

impl FromStr for PinId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let valid = text.split_once('.').is_some_and(|(dataset, hash)| {
            dataset.len() == DatasetId::DIGITS
                && hash.len() == Self::HASH_DIGITS
                && is_lower_hex(dataset)
                && is_lower_hex(hash)
        });
        if valid {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::config(format!("{text:?} is not a pin id")))
        }
    }
}

impl fmt::Display for PinId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PinId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for PinId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::recorded(&text)
            .ok_or_else(|| serde::de::Error::custom(format!("{text:?} is not a pin id")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_lower_case_hexadecimal_of_their_length() {
        assert!("0a1b2c3d".parse::<DatasetId>().is_ok());
        for text in [
            "",
            "0a1b2c3",
            "0a1b2c3d4",
            "0A1B2C3D",
            "0a1b2c3g",
            "０a1b2c3d",
            "0a1b2c3\n",
        ] {
            let error = text.parse::<DatasetId>().unwrap_err();
            let expected = format!("a dataset id is 8 lower-case hexadecimal digits, not {text:?}");
            assert_eq!(error.message(), expected);
        }
        assert!(serde_json::from_str::<WorkspaceId>("\"0a1b\"").is_err());
    }

    #[test]
    fn random_ids_are_valid_and_differ() {
        let (a, b) = (
            WorkspaceId::random().unwrap(),
            WorkspaceId::random().unwrap(),
        );
        assert_ne!(a, b);
        assert_eq!(a.as_str().parse::<WorkspaceId>().unwrap(), a);
        assert_eq!(OpId::random().unwrap().as_str().len(), OpId::DIGITS);
    }

    #[test]
    fn pin_ids_name_their_dataset() {
        let pin: PinId = "0a1b2c3d.6674305d5e1fe5f6".parse().unwrap();
        assert_eq!(pin.dataset(), "0a1b2c3d");
        for text in [
            "",
            "0a1b2c3d.",
            "0a1b2c3d.6674305d5e1fe5f6.2",
            "0a1b2c3d.6674305D5e1fe5f6",
            "7d1e0c9a2b34",
        ] {
            assert!(text.parse::<PinId>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_pin_from_before_datasets_had_ids_is_read_and_belongs_to_none() {
        let pin = PinId::recorded("7d1e0c9a2b34").unwrap();
        assert_eq!((pin.as_str(), pin.dataset()), ("7d1e0c9a2b34", ""));
        assert_eq!(
            serde_json::from_str::<PinId>("\"7d1e0c9a2b34\"").unwrap(),
            pin
        );
        for text in [
            "7d1e0c9a2b3",
            "7d1e0c9a2b34zz",
            "../7d1e0c9a2b34",
            "7d1e0c9a2b34.1",
        ] {
            assert_eq!(PinId::recorded(text), None, "{text}");
        }
    }
}
