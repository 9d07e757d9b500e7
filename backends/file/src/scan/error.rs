//! What can stop a scan.

use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;
use tether_engine::{Error, Result};

/// Why a scan has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// There is nothing at the path.
    Missing(PathBuf),
    /// Anything else.
    Other(Error),
}

impl Failure {
    /// The error a user sees.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Missing(path) => Error::store(format!("{} does not exist", path.display()))
                .with_hint("mount or restore it there, or register its new place: `tether remove`, then `tether add`"),
            Self::Other(error) => error,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// The result of a scan.
pub(crate) type ScanResult<T> = Result<T, Failure>;

/// Whether `errno` means that a name stopped being what the listing of its directory said.
pub(crate) fn is_vanished(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO | Errno::ISDIR | Errno::STALE
    )
}

/// `path` cannot be read.
pub(crate) fn unreadable(path: &Path, errno: Errno) -> Error {
    let error = Error::io("read", path, errno.into());
    if matches!(errno, Errno::ACCESS | Errno::PERM) {
        error.with_hint("every file of an object is hashed; give yourself access with `chmod -R u+rX` or move the file out")
    } else {
        error
    }
}

/// `path` is neither a file, a directory nor a link, so nothing may open it.
pub(crate) fn special(path: &Path, kind: FileType) -> Error {
    let what = match kind {
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "a special file",
    };
    Error::store(format!(
        "{} is {what}; only files, directories and symbolic links have a content to record",
        path.display()
    ))
    .with_hint("move it out of the object's directory, then run the command again")
}

/// `path` changed each time it was looked at.
pub(crate) fn restless(path: &Path) -> Error {
    Error::store(format!(
        "{} keeps changing while it is read",
        path.display()
    ))
    .with_hint("run the command again when nothing writes to it any more")
}
