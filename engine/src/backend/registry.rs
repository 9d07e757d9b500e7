//! Which backend kinds a build has.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Backend;
use crate::error::{Error, Result};

/// Backends by kind.
#[derive(Clone, Default)]
pub struct Registry {
    backends: BTreeMap<String, Arc<dyn Backend>>,
    absent: BTreeMap<String, String>,
}

impl Registry {
    /// No backend at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a backend under its kind.
    #[must_use]
    pub fn with(mut self, backend: Arc<dyn Backend>) -> Self {
        self.backends.insert(backend.kind().to_owned(), backend);
        self
    }

    /// Names a kind this build leaves out, with the note `tether backends` shows.
    #[must_use]
    pub fn without(mut self, kind: &str, note: &str) -> Self {
        self.absent.insert(kind.to_owned(), note.to_owned());
        self
    }

    /// The backend of `kind`, or a `Config` error that lists the kinds there are.
    pub fn get(&self, kind: &str) -> Result<&Arc<dyn Backend>> {
        self.backends.get(kind).ok_or_else(|| {
            let error = match self.absent.get(kind) {
                Some(note) => Error::config(format!("this build has no {kind} backend: {note}")),
                None => Error::config(format!("there is no backend kind {kind:?}")),
            };
            error.with_hint("`tether backends` lists the kinds of this build")
        })
    }

    /// The backends, by kind.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Backend>> {
        self.backends.values()
    }

    /// The kinds left out, with their notes.
    pub fn absent(&self) -> impl Iterator<Item = (&str, &str)> {
        self.absent
            .iter()
            .map(|(kind, note)| (kind.as_str(), note.as_str()))
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.backends.keys()).finish()
    }
}
