//! The canonical JSON of a [`View`], which names it, and the way back.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::View;
use crate::error::{Error, Result};
use crate::json::{self, Value};
use crate::key::ObjectKey;
use crate::name::{BookmarkName, NativeRef};
use crate::state::State;

/// The fields of a view as they are stored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    base_states: BTreeMap<ObjectKey, State>,
    bookmark: Option<BookmarkName>,
    fork_points: BTreeMap<ObjectKey, State>,
    pending_forks: BTreeMap<ObjectKey, NativeRef>,
    pending_resets: BTreeMap<ObjectKey, State>,
    working_refs: BTreeMap<ObjectKey, NativeRef>,
}

impl View {
    /// Canonical JSON of the content: every field, keys sorted at every depth, nulls inside states left out (as
    /// `workspace.toml` leaves them out, so that a view and what was read back from its file have one form).
    pub fn canonical(&self) -> String {
        let states = |states: &BTreeMap<ObjectKey, State>| {
            let entry = |(key, state): (&ObjectKey, &State)| {
                (
                    key.to_string(),
                    Value::Object(json::without_nulls(&state.0)),
                )
            };
            Value::Object(states.iter().map(entry).collect())
        };
        let refs = |refs: &BTreeMap<ObjectKey, NativeRef>| {
            let entry = |(key, native): (&ObjectKey, &NativeRef)| {
                (key.to_string(), Value::from(native.as_str()))
            };
            Value::Object(refs.iter().map(entry).collect())
        };
        json::canonical(&serde_json::json!({
            "base_states": states(&self.base_states),
            "bookmark": self.bookmark.as_ref().map(BookmarkName::as_str),
            "fork_points": states(&self.fork_points),
            "pending_forks": refs(&self.pending_forks),
            "pending_resets": states(&self.pending_resets),
            "working_refs": refs(&self.working_refs),
        }))
    }

    /// Reads [`View::canonical`]. A field this version does not know is an error: dropping it would lose intent.
    pub fn from_canonical(text: &str) -> Result<Self> {
        let stored: Stored = serde_json::from_str(text).map_err(|error| {
            Error::config("cannot read a stored view: it is damaged or of a newer tether")
                .with_source(error)
                .with_hint(
                    "`tether ops` lists the operations; `tether --version` shows this version",
                )
        })?;
        Ok(Self {
            bookmark: stored.bookmark,
            working_refs: stored.working_refs,
            pending_forks: stored.pending_forks,
            pending_resets: stored.pending_resets,
            fork_points: stored.fork_points,
            base_states: stored.base_states,
        })
    }
}
