//! What an object is, where it is, and which system it names: [`State`], [`Locator`], [`Identity`].
//!
//! All three are JSON objects that keep their key order (it is the order on disk) and compare without it.

use serde::{Deserialize, Serialize};

use crate::id::{DatasetId, PinId};
use crate::json::{self, Map, Value};

macro_rules! json_object {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Map);

        impl $name {
            /// The value of `key` when it is a string.
            pub fn str(&self, key: &str) -> Option<&str> {
                self.0.get(key).and_then(Value::as_str)
            }

            /// The value of `key`, unless absent or null.
            pub fn get(&self, key: &str) -> Option<&Value> {
                self.0.get(key).filter(|value| !value.is_null())
            }

            /// Sets `key`, keeping its place when it is there already.
            #[must_use]
            pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
                self.0.insert(key.to_owned(), value.into());
                self
            }

            /// Whether there is no key at all.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }

            /// Canonical JSON.
            pub fn canonical(&self) -> String {
                json::canonical_map(&self.0)
            }
        }
    };
}

json_object!(
    /// An object's fingerprint at one moment: content keys, and volatile keys that only address it.
    State
);
json_object!(
    /// Where an object is, as registered: the fields its backend reads, no credentials.
    Locator
);
json_object!(
    /// The part of a locator that names the system, in the backend's canonical form.
    Identity
);

impl State {
    /// The state without the backend's volatile keys: what equality, pin ids and listings use.
    #[must_use]
    pub fn content(&self, volatile: &[&str]) -> State {
        State(
            self.0
                .iter()
                .filter(|(key, _)| !volatile.contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        )
    }

    /// Whether both states say the same about the content.
    pub fn same_content(&self, other: &State, volatile: &[&str]) -> bool {
        self.content(volatile) == other.content(volatile)
    }
}

fn content_hash(kind: &str, identity: &Identity, content: &State) -> String {
    let kind = json::canonical(&Value::String(kind.to_owned()));
    let identity = identity.canonical();
    let state = content.canonical();
    json::hash(16, [kind.as_bytes(), identity.as_bytes(), state.as_bytes()])
}

/// The pin id of a *content* state: stable across processes, machines and implementations.
pub fn pin_id(dataset: &DatasetId, kind: &str, identity: &Identity, content: &State) -> PinId {
    PinId::from_parts(
        dataset,
        &content_hash(kind, identity, content)[..PinId::HASH_DIGITS],
    )
}

/// The file name of a *content* state's listing under `.tether/listings/`.
pub fn listing_name(kind: &str, identity: &Identity, content: &State) -> String {
    format!("{}.jsonl", &content_hash(kind, identity, content)[..20])
}
