//! Reading a file and hashing it, so that the hash belongs to one moment.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::tree::Stamp;

/// How often a file that changes under the reader is read again.
const ATTEMPTS: u32 = 6;

/// Bytes read at once.
pub(crate) const CHUNK: usize = 256 * 1024;

/// Longest path handed to the system in one piece; longer ones are opened step by step.
const LONGEST_PATH: usize = 3500;

/// A file's content at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hashed {
    /// The stamp the file had before and after it was read.
    pub(crate) stamp: Stamp,
    /// Whether the hash may be trusted later while the stamp stays the same.
    pub(crate) settled: bool,
    /// The sha256.
    pub(crate) sha256: [u8; 32],
}

/// Why a file has no hash.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// It is not there any more, or is no regular file any more.
    Vanished,
    /// It changed each time it was read.
    Restless,
    /// The system said no.
    System(Errno),
}

/// The stamp in a `stat` answer.
#[expect(
    clippy::unnecessary_cast,
    reason = "the types of the fields differ between systems"
)]
pub(crate) fn stamp(stat: &Stat) -> Stamp {
    let nanoseconds =
        |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    Stamp {
        size: stat.st_size as u64,
        mtime: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        ctime: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        inode: stat.st_ino as u64,
        device: stat.st_dev as u64,
    }
}

/// Nanoseconds since 1970.
pub(crate) fn now() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(_) => i64::MIN,
    }
}

/// Hashes the regular file at `path` below `root`, or at an absolute `path`; `through_link` when its last component is a symbolic link. `listed` is the stamp
/// the walk saw. `buffer` has [`CHUNK`] bytes.
pub(crate) fn hash_file(
    root: BorrowedFd<'_>,
    path: &[u8],
    through_link: bool,
    listed: &Stamp,
    buffer: &mut [u8],
) -> Result<Hashed, Fault> {
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            std::thread::sleep(Duration::from_millis(1 << attempt));
        }
        let hashed_at = now();
        let (file, before) = open_file(root, path, through_link, listed)?;
        let (sha256, length) = digest(file.as_fd(), before.size, buffer)?;
        let after = stamp(&rustix::fs::fstat(&file).map_err(Fault::System)?);
        if before == after && length == after.size {
            return Ok(Hashed {
                stamp: after,
                settled: after.settled_at(hashed_at),
                sha256,
            });
        }
    }
    Err(Fault::Restless)
}

fn open_file(
    root: BorrowedFd<'_>,
    path: &[u8],
    through_link: bool,
    listed: &Stamp,
) -> Result<(OwnedFd, Stamp), Fault> {
    let open = |by_steps: bool| -> Result<(OwnedFd, Stamp), Fault> {
        let file = open_beneath(root, path, through_link, by_steps).map_err(fault)?;
        let stat = rustix::fs::fstat(&file).map_err(Fault::System)?;
        // A FIFO or device that took the file's place was opened without waiting and is never read.
        if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
            Ok((file, stamp(&stat)))
        } else {
            Err(Fault::Vanished)
        }
    };
    let (file, found) = open(path.len() > LONGEST_PATH && !path.starts_with(b"/"))?;
    if (found.inode, found.device) == (listed.inode, listed.device) {
        return Ok((file, found));
    }
    // Another file took its place: an ordinary rename, unless a directory on the way was swapped for a link out of the tree.
    open(!path.starts_with(b"/"))
}

fn fault(errno: Errno) -> Fault {
    if super::error::is_vanished(errno) {
        Fault::Vanished
    } else {
        Fault::System(errno)
    }
}

fn open_beneath(
    root: BorrowedFd<'_>,
    path: &[u8],
    through_link: bool,
    by_steps: bool,
) -> rustix::io::Result<OwnedFd> {
    let mut flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    if !through_link {
        flags |= OFlags::NOFOLLOW;
    }
    if !by_steps {
        return rustix::fs::openat(root, path, flags, Mode::empty());
    }
    let mut steps = path.split(|byte| *byte == b'/').peekable();
    let mut dir: Option<OwnedFd> = None;
    while let Some(step) = steps.next() {
        let at = dir.as_ref().map_or(root, AsFd::as_fd);
        if steps.peek().is_none() {
            return rustix::fs::openat(at, step, flags, Mode::empty());
        }
        dir = Some(open_dir(at, step)?);
    }
    Err(Errno::NOENT)
}

/// Opens the directory `name` in `at`, never through a link.
pub(crate) fn open_dir(at: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY
        | OFlags::CLOEXEC
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::NOFOLLOW
        | OFlags::DIRECTORY;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

/// The sha256 of the first `size` bytes, and how many there were. An empty file is read all the same: some file systems have
/// files of no size with a content, and those are no files to record.
fn digest(file: BorrowedFd<'_>, size: u64, buffer: &mut [u8]) -> Result<([u8; 32], u64), Fault> {
    let mut hasher = Sha256::new();
    let mut length = 0;
    loop {
        match rustix::io::read(file, &mut *buffer) {
            Ok(0) => break,
            Ok(read) => {
                hasher.update(&buffer[..read]);
                length += read as u64;
                // The stamp after reading tells whether the file grew; another call to be told of its end would be wasted.
                if length >= size {
                    break;
                }
            }
            Err(Errno::INTR) => {}
            Err(errno) => return Err(Fault::System(errno)),
        }
    }
    Ok((hasher.finalize().into(), length))
}
