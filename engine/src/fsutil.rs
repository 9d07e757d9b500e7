//! Durable file writes: temporary file, sync, rename, sync of the directory.

use std::path::Path;

use crate::error::Result;

/// Replaces `path` with `content`, whole or not at all, durably. Parent directories are created. A leftover temporary file never
/// has the target's name. The target keeps no stale permissions; a symlink at `path` is replaced, not followed.
pub fn write_atomic(path: &Path, content: &[u8]) -> Result<()> {
    let _ = (path, content);
    todo!("oplog owner")
}

/// Reads a regular file; `None` when there is none. Never opens a FIFO, socket or device: those are an error.
pub fn read_regular(path: &Path) -> Result<Option<Vec<u8>>> {
    let _ = path;
    todo!("oplog owner")
}
