//! Writing manifests and listings to the working tree, and putting them back.

use std::path::Path;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::fsutil;

/// The journal's name of the step.
pub(crate) const ACTION: &str = "manifests";

/// From this many manifests on, they are written concurrently.
const PARALLEL_FROM: usize = 16;

/// One file to write: what it held, and what it will hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rewrite {
    /// Below the dataset's root.
    pub(crate) path: String,
    /// `None`: there was no file.
    pub(crate) old: Option<String>,
    pub(crate) new: String,
}

/// What one commit writes below `.tether/`, as its journal has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Rewrites {
    /// Manifests.
    pub(crate) manifests: Vec<Rewrite>,
    /// Paths of listings that were not there before. Their names say their content.
    pub(crate) listings: Vec<String>,
}

impl Rewrites {
    /// Writes the manifests; each whole or not at all.
    pub(crate) fn write_manifests(&self, dataset: &Dataset) -> Result<()> {
        let write = |file: &Rewrite| {
            fsutil::write_atomic(&dataset.root.join(&file.path), file.new.as_bytes())
        };
        // Each write waits for the disk twice; many wait together.
        if self.manifests.len() >= PARALLEL_FROM {
            self.manifests.par_iter().try_for_each(write)
        } else {
            self.manifests.iter().try_for_each(write)
        }
    }

    /// Puts everything back. A file that holds something else by now is the user's, and is left alone. Returns what failed.
    pub(crate) fn restore(&self, dataset: &Dataset) -> Vec<Error> {
        let mut errors = Vec::new();
        for file in &self.manifests {
            errors.extend(restore(&dataset.root.join(&file.path), file).err());
        }
        for path in &self.listings {
            errors.extend(remove(&dataset.root.join(path)).err());
        }
        errors
    }
}

fn restore(path: &Path, file: &Rewrite) -> Result<()> {
    if fsutil::read_regular(path)?.as_deref() != Some(file.new.as_bytes()) {
        return Ok(());
    }
    match &file.old {
        Some(old) => fsutil::write_atomic(path, old.as_bytes()),
        None => remove(path),
    }
}

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", path, error))
        }
        _ => Ok(()),
    }
}
