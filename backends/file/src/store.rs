//! Directories tether made: create, owner marker, emptiness, removal.

use std::io::Write as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use tether_engine::id::DatasetId;
use tether_engine::{Error, Result};

use crate::scan::OWNER_MARKER;

/// More than a marker ever holds.
const MARKER_LIMIT: usize = 64;

/// Makes the directory at `path`, with its parents, and its marker. Anything already there is refused.
pub(crate) fn create(path: &Path, owner: &DatasetId) -> Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|source| Error::io("create", parent, source))?;
    }
    std::fs::create_dir(path).map_err(|source| {
        if source.kind() == std::io::ErrorKind::AlreadyExists {
            Error::user(format!(
                "{} already exists; `--create` never takes over what is there",
                path.display()
            ))
            .with_hint(
                "name a new path, or register what is there: `tether add` without `--create`",
            )
        } else {
            Error::io("create", path, source)
        }
    })?;
    mark(path, owner).inspect_err(|_| {
        // Nothing else was made; a directory that meanwhile holds something stays.
        let _ = std::fs::remove_dir(path);
    })
}

fn mark(path: &Path, owner: &DatasetId) -> Result<()> {
    let failed = |source: std::io::Error| Error::io("write the owner marker in", path, source);
    let dir = open_dir(path).map_err(|errno| failed(errno.into()))?;
    write_marker(dir.as_fd(), owner).map_err(failed)?;
    rustix::fs::fsync(&dir).map_err(|errno| failed(errno.into()))
}

fn write_marker(dir: BorrowedFd<'_>, owner: &DatasetId) -> std::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let marker = rustix::fs::openat(dir, OWNER_MARKER, flags, Mode::from_raw_mode(0o644))?;
    let mut marker = std::fs::File::from(marker);
    marker.write_all(format!("{owner}\n").as_bytes())?;
    marker.sync_all()
}

fn open_dir(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(path, flags, Mode::empty())
}

/// The dataset in the marker of the directory at `path`; `None` when there is no marker tether wrote.
pub(crate) fn owner(path: &Path) -> Result<Option<DatasetId>> {
    match open_dir(path) {
        Ok(dir) => read_marker(dir.as_fd()).map_err(|errno| Error::io("read", path, errno.into())),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(Error::io("read", path, errno.into())),
    }
}

fn read_marker(dir: BorrowedFd<'_>) -> rustix::io::Result<Option<DatasetId>> {
    let stat = match rustix::fs::statat(dir, OWNER_MARKER, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let marker = match rustix::fs::openat(dir, OWNER_MARKER, flags, Mode::empty()) {
        Ok(marker) => marker,
        Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let mut text = [0; MARKER_LIMIT];
    let length = rustix::io::read(&marker, &mut text)?;
    let text = std::str::from_utf8(&text[..length]).unwrap_or_default();
    Ok(text.trim_end().parse().ok())
}

/// Whether the directory at `path` holds its marker and nothing else; `None` when that cannot be told.
pub(crate) fn is_empty(path: &Path) -> Option<bool> {
    let dir = open_dir(path).ok()?;
    Some(others(dir.as_fd()).ok()?.is_none())
}

/// A name in the directory that is not the marker.
fn others(dir: BorrowedFd<'_>) -> rustix::io::Result<Option<Vec<u8>>> {
    for name in rustix::fs::Dir::read_from(dir)? {
        let name = name?;
        let name = name.file_name().to_bytes();
        if name != b"." && name != b".." && name != OWNER_MARKER {
            return Ok(Some(name.to_vec()));
        }
    }
    Ok(None)
}

/// Removes the directory at `path` when it is `owner`'s and holds nothing but the marker.
pub(crate) fn delete(path: &Path, owner: &DatasetId) -> Result<()> {
    let failed = |errno: Errno| Error::io("remove", path, errno.into());
    let dir = match open_dir(path) {
        Ok(dir) => dir,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(failed(errno)),
    };
    match read_marker(dir.as_fd()).map_err(failed)? {
        Some(found) if found == *owner => {}
        Some(found) => {
            return Err(Error::store(format!(
                "{} belongs to dataset {found}, not to {owner}; it is kept",
                path.display()
            ))
            .with_hint(format!("delete it from the dataset {found}, or by hand")));
        }
        None => {
            return Err(Error::store(format!(
                "{} has no owner marker, so tether did not make it; it is kept",
                path.display()
            ))
            .with_hint("delete it by hand if nobody needs it"));
        }
    }
    if let Some(name) = others(dir.as_fd()).map_err(failed)? {
        return Err(not_empty(path, &name));
    }
    rustix::fs::unlinkat(&dir, OWNER_MARKER, AtFlags::empty()).map_err(failed)?;
    rustix::fs::rmdir(path).map_err(|errno| {
        // Something appeared in between, or the directory cannot go: it is ours as before.
        let restored = write_marker(dir.as_fd(), owner);
        let error = match others(dir.as_fd()) {
            Ok(Some(name)) => not_empty(path, &name),
            _ => failed(errno),
        };
        match restored {
            Ok(()) => error,
            Err(_) => error.with_hint(
                "its owner marker is lost; delete the directory by hand if nobody needs it",
            ),
        }
    })
}

fn not_empty(path: &Path, name: &[u8]) -> Error {
    Error::store(format!(
        "{} is not empty (it holds {:?}); it is kept",
        path.display(),
        String::from_utf8_lossy(name)
    ))
    .with_hint("move the files out, then run the command again")
}
