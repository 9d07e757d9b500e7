//! Plain git's heads: one file per checkout.

use std::path::{Path, PathBuf};

use super::{Head, OpLog, OpStore, Operation, step};
use crate::error::{Error, ErrorKind, Result};
use crate::fsutil;
use crate::id::OpId;

/// How far back a published operation is looked for: an interrupted one is among the newest.
const SEARCHED: usize = 16;

/// `<own dir>/tether/heads/<checkout>`: replaced atomically, under the repository lock or the checkout lock.
///
/// The own directory is one that goes away with the checkout, so that a later checkout of the same name starts a log of its own; the
/// shared directory for the checkout that the repository was made with. The file is one JSON object, `{"operation": ..., "view": ...}`.
#[derive(Clone, Debug)]
pub struct FileHeads {
    path: PathBuf,
    store: OpStore,
}

impl FileHeads {
    /// The head of the checkout called `checkout`, which has no directory of its own.
    pub fn new(shared_dir: &Path, checkout: &str) -> Self {
        Self::own(shared_dir, shared_dir, checkout)
    }

    /// The head of the checkout called `checkout`, kept in the directory of its own.
    pub fn own(own_dir: &Path, shared_dir: &Path, checkout: &str) -> Self {
        Self {
            path: own_dir.join("tether/heads").join(checkout),
            store: OpStore::new(shared_dir),
        }
    }
}

impl OpLog for FileHeads {
    fn head(&self) -> Result<Option<Head>> {
        let Some(content) = fsutil::read_regular(&self.path)? else {
            return Ok(None);
        };
        let head = serde_json::from_slice(&content).map_err(|_| {
            Error::config(format!(
                "{} does not name an operation and its view",
                self.path.display()
            ))
            .with_hint(format!(
                "move {} away: the checkout then starts a new operation log",
                self.path.display()
            ))
        })?;
        Ok(Some(head))
    }

    fn publish(&self, operation: &Operation, expected: Option<&Head>) -> Result<()> {
        let target = Head {
            operation: operation.id.clone(),
            view: operation.view.clone(),
        };
        let head = self.head()?;
        if head.as_ref() == Some(&target) {
            return Ok(());
        }
        if head.as_ref() != expected {
            return Err(moved(head.as_ref()));
        }
        let mut content = serde_json::to_vec(&target)
            .map_err(|error| Error::internal("a head has no JSON form").with_source(error))?;
        content.push(b'\n');
        step("publish");
        fsutil::write_atomic(&self.path, &content)?;
        step("published");
        Ok(())
    }

    fn published(&self, operation: &OpId) -> Result<bool> {
        let Some(head) = self.head()? else {
            return Ok(false);
        };
        let chain = self.store.chain(&head.operation, SEARCHED)?;
        Ok(chain.iter().any(|it| it.id == *operation))
    }
}

fn moved(head: Option<&Head>) -> Error {
    let message = match head {
        Some(head) => format!(
            "operation {} was applied in this checkout meanwhile",
            head.operation
        ),
        None => "this checkout's operation log was removed meanwhile".to_owned(),
    };
    Error::new(ErrorKind::StalePlan, message).with_hint("run the command again")
}

#[cfg(test)]
#[path = "heads_tests.rs"]
pub(crate) mod tests;
