//! Plain git's heads: one file per checkout.

use std::path::{Path, PathBuf};

use super::{Head, OpLog, Operation};
use crate::error::Result;

/// `<shared dir>/tether/heads/<checkout>`: replaced atomically, under the repository lock or the checkout lock.
#[derive(Clone, Debug)]
pub struct FileHeads {
    path: PathBuf,
}

impl FileHeads {
    /// The head of the checkout called `checkout`.
    pub fn new(shared_dir: &Path, checkout: &str) -> Self {
        Self {
            path: shared_dir.join("tether/heads").join(checkout),
        }
    }
}

impl OpLog for FileHeads {
    fn head(&self) -> Result<Option<Head>> {
        let _ = &self.path;
        todo!("oplog owner")
    }

    fn publish(&self, operation: &Operation, expected: Option<&Head>) -> Result<()> {
        let _ = (operation, expected);
        todo!("oplog owner")
    }
}
