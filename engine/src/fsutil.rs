//! Durable file writes: temporary file, sync, rename, sync of the directory.
//!
//! [`write_atomic`] replaces a file, [`append_synced`] extends one made of lines, [`read_regular`] reads one without ever hanging on
//! a FIFO. A temporary file that a killed process left behind has a name [`is_temporary`] knows,
//! and [`remove_temporary`] removes it.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::error::{Error, Result};
use crate::json;
use crate::oplog::step;

const TEMPORARY_PREFIX: &str = ".tether-tmp-";

/// Replaces `path` with `content`, whole or not at all, durably. Parent directories are created. A leftover temporary file never
/// has the target's name. The target keeps no stale permissions; a symlink at `path` is replaced, not followed.
pub fn write_atomic(path: &Path, content: &[u8]) -> Result<()> {
    let dir = parent(path);
    create_dirs(dir)?;
    let temporary = temporary_name(dir)?;
    let written = write_new(&temporary, content)
        .and_then(|()| {
            step("file.renaming");
            fs::rename(&temporary, path)
        })
        .and_then(|()| sync_dir(dir));
    written.map_err(|source| {
        // Nothing to do when this fails too: the name says that the file is temporary.
        let _ = fs::remove_file(&temporary);
        write_error(path, source)
    })
}

/// Adds `lines` (whole lines, each with its line end) to the file at `path` in one write, durably; creates the file, also for none.
///
/// When the file's last line is torn (it lacks its line end), the new ones start on a fresh line. After an error the file may end
/// in a torn line, which readers skip.
pub fn append_synced(path: &Path, lines: &[u8]) -> Result<()> {
    append(path, lines).map_err(|source| write_error(path, source))
}

fn append(path: &Path, lines: &[u8]) -> io::Result<()> {
    let flags =
        OFlags::RDWR | OFlags::APPEND | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let (mut file, created) = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => (File::from(fd), false),
        Err(rustix::io::Errno::NOENT) => {
            let mode = Mode::from_raw_mode(0o666);
            let fd = rustix::fs::open(path, flags | OFlags::CREATE, mode)?;
            (File::from(fd), true)
        }
        Err(errno) => return Err(errno.into()),
    };
    if !file.metadata()?.is_file() {
        return Err(not_regular());
    }
    let mut bytes = Vec::with_capacity(lines.len() + 1);
    if !lines.is_empty() && ends_torn(&mut file)? {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(lines);
    file.write_all(&bytes)?;
    file.sync_data()?;
    if created {
        sync_dir(parent(path))?;
    }
    Ok(())
}

fn ends_torn(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last[0] != b'\n')
}

/// Reads a regular file; `None` when there is none. Never opens a FIFO, socket or device: those are an error.
pub fn read_regular(path: &Path) -> Result<Option<Vec<u8>>> {
    match read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path, error)),
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a device can have effects and opening a FIFO waits for its writer, so look first, and look again at what was opened.
    if !fs::metadata(path)?.is_file() {
        return Err(not_regular());
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(not_regular());
    }
    // One byte of room more, so that the end is seen without growing. `take` spares the two calls that ask for the size again.
    let mut content = Vec::with_capacity(meta.len() as usize + 1);
    file.take(u64::MAX).read_to_end(&mut content)?;
    Ok(content)
}

/// Removes a file, durably; one that is gone already is success.
pub fn remove_durably(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Ok(()) => sync_dir(parent(path)).map_err(|source| Error::io("remove", path, source)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io("remove", path, error)),
    }
}

/// Creates a directory and its missing parents, durably.
pub fn create_dirs(dir: &Path) -> Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    create_missing(dir).map_err(|source| write_error(dir, source))
}

fn create_missing(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let above = parent(dir);
    create_missing(above)?;
    match fs::create_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => {}
        other => other?,
    }
    sync_dir(above)
}

/// Whether `name` is that of a temporary file of [`write_atomic`]: left by a killed process, or being written right now.
pub fn is_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes()
        .starts_with(TEMPORARY_PREFIX.as_bytes())
}

/// Removes the temporary files that killed processes left in `dir` and below it. Call while nobody writes there. What cannot be removed
/// stays: its name says what it is.
pub fn remove_temporary(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_dir {
            remove_temporary(&entry.path());
        } else if is_temporary(&entry.file_name()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The directory `path` is in: `.` for a bare name.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if dir.as_os_str().is_empty() => Path::new("."),
        Some(dir) => dir,
        None => path,
    }
}

/// A name in `dir` that nothing has. It is short, so that a target with the longest possible name can be written too.
fn temporary_name(dir: &Path) -> Result<PathBuf> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(|error| {
        Error::internal("the system gives no random numbers").with_source(error)
    })?;
    Ok(dir.join(format!("{TEMPORARY_PREFIX}{}", json::hex(&random))))
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    match File::open(dir).and_then(|dir| dir.sync_all()) {
        // Some file systems cannot sync a directory; what they promise for a rename is all there is.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        other => other,
    }
}

fn not_regular() -> io::Error {
    io::Error::other("it is not a regular file")
}

fn write_error(path: &Path, source: io::Error) -> Error {
    let hint = match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("free space there, then run the command again".to_owned())
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Some(format!(
            "make {} writable, then run the command again",
            parent(path).display()
        )),
        _ => None,
    };
    let error = Error::io("write", path, source);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

#[cfg(test)]
#[path = "fsutil_tests.rs"]
mod tests;
