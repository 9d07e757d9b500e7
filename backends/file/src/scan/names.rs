//! Reading the names of one directory.

use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::tree::{Dir, Kind};
use super::walk::OWNER_MARKER;

/// Appends every name of the directory `fd` to `dir`, unsorted; `false` when there are too many. `is_root` leaves out the owner
/// marker.
///
/// Special files are entered as [`Kind::File`]; looking at the entry tells them apart before anything is opened.
#[cfg(target_os = "linux")]
pub(crate) fn read_names(fd: BorrowedFd<'_>, is_root: bool, dir: &mut Dir) -> Result<bool, Errno> {
    let mut buffer = Vec::with_capacity(64 * 1024);
    let mut names = rustix::fs::RawDir::new(fd, buffer.spare_capacity_mut());
    *dir = Dir::with_capacity(16, 256);
    while let Some(name) = names.next() {
        let name = name?;
        if !push(
            fd,
            is_root,
            dir,
            name.file_name().to_bytes(),
            name.file_type(),
        )? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// As above, by the portable calls.
#[cfg(not(target_os = "linux"))]
pub(crate) fn read_names(fd: BorrowedFd<'_>, is_root: bool, dir: &mut Dir) -> Result<bool, Errno> {
    *dir = Dir::with_capacity(16, 256);
    for name in rustix::fs::Dir::read_from(fd)? {
        let name = name?;
        if !push(
            fd,
            is_root,
            dir,
            name.file_name().to_bytes(),
            name.file_type(),
        )? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn push(
    fd: BorrowedFd<'_>,
    is_root: bool,
    dir: &mut Dir,
    name: &[u8],
    mut kind: FileType,
) -> Result<bool, Errno> {
    if name == b"." || name == b".." || (is_root && name == OWNER_MARKER) {
        return Ok(true);
    }
    if kind == FileType::Unknown {
        // The order depends on what is a directory, so a file system that does not say is asked now.
        kind = match rustix::fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => FileType::from_raw_mode(stat.st_mode),
            // It vanished; the look at the entry finds that out.
            Err(Errno::NOENT) => FileType::RegularFile,
            Err(errno) => return Err(errno),
        };
    }
    let kind = match kind {
        FileType::Directory => Kind::Dir,
        FileType::Symlink => Kind::Link,
        _ => Kind::File,
    };
    Ok(dir.push(name, kind))
}
