//! The two locks: the checkout's (`.tether/lock`) and the repository's (`<shared dir>/tether.lock`).
//!
//! Both are `flock`s on files that are never deleted or replaced; a left-over file is not a lock. Order: repository, then checkout.
//! A waiter says who holds the lock after one second and gives up after 30 s (checkout) or 60 s (repository).
//!
//! Whoever holds the file also holds a `flock` on the directory it is in, so that deleting the file while it is held lets no second
//! writer in. The Python package locks the same files the same way (and no directory). The file's text (`<pid> <command>`) is for waiters only: it is trusted as
//! far as the system agrees that this process holds the lock.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;

use crate::error::{Error, ErrorKind, Result};

/// Which lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// Every writing command of one checkout.
    Checkout,
    /// Every command that writes to stores or history, of any checkout.
    Repository,
}

impl LockKind {
    fn owner(self) -> &'static str {
        match self {
            Self::Checkout => "this checkout",
            Self::Repository => "this repository",
        }
    }

    /// How long to wait before the notice, and in all.
    fn patience(self) -> (Duration, Duration) {
        let limit = match self {
            Self::Checkout => Duration::from_secs(30),
            Self::Repository => Duration::from_mins(1),
        };
        let limit = test_limit().unwrap_or(limit);
        (Duration::from_secs(1).min(limit / 2), limit)
    }
}

/// `TETHER_TEST_LOCK_WAIT_MS` shortens the waiting, in debug builds only.
fn test_limit() -> Option<Duration> {
    if !cfg!(debug_assertions) {
        return None;
    }
    let millis = std::env::var("TETHER_TEST_LOCK_WAIT_MS").ok()?;
    Some(Duration::from_millis(millis.parse().ok()?))
}

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// A held lock; released on drop, and by the system when the process ends. Children do not inherit it.
#[derive(Debug)]
#[must_use = "the lock is held only while this value lives"]
pub struct Lock {
    file: File,
    /// `None` where the file system locks no directories.
    _dir: Option<File>,
    path: PathBuf,
}

impl Lock {
    /// Waits for the lock at `path`, and writes this process's pid and `command` into the file. `waiting` is called once, after a
    /// second, with a sentence that names the holder. Giving up is a `Locked` error that names path, pid and command.
    ///
    /// The directory must exist. Not re-entrant: whoever holds the lock already waits for itself and gets the error.
    pub fn acquire(
        path: &Path,
        kind: LockKind,
        command: &str,
        waiting: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        let (notice, limit) = kind.patience();
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut told = false;
        loop {
            let holder = match try_acquire(path).map_err(|source| lock_error(path, source))? {
                Attempt::Locked(file, dir) => return Ok(Self::held(file, dir, path, command)),
                Attempt::Busy(file) => file,
            };
            let waited = start.elapsed();
            if waited >= limit {
                return Err(locked(path, kind, &Holder::of(&holder), limit));
            }
            if !told && waited >= notice {
                told = true;
                waiting(&format!(
                    "waiting for {}, which holds the lock of {} ({})",
                    Holder::of(&holder),
                    kind.owner(),
                    path.display()
                ));
            }
            thread::sleep(pause.min(limit.saturating_sub(waited)));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// The lock at `path` when nobody holds it right now, without waiting; `None` otherwise.
    pub fn try_acquire(path: &Path, command: &str) -> Result<Option<Self>> {
        let attempt = try_acquire(path).map_err(|source| lock_error(path, source))?;
        Ok(match attempt {
            Attempt::Locked(file, dir) => Some(Self::held(file, dir, path, command)),
            Attempt::Busy(_) => None,
        })
    }

    /// Whether another process holds the lock at `path`. Writes nothing; a lock that cannot be looked at is not held.
    pub fn is_held(path: &Path) -> bool {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let Ok(fd) = rustix::fs::open(path, flags, Mode::empty()) else {
            return false;
        };
        matches!(
            File::from(fd).try_lock_shared(),
            Err(TryLockError::WouldBlock)
        )
    }

    fn held(mut file: File, dir: Option<File>, path: &Path, command: &str) -> Self {
        // The text only serves waiters, so a full disk does not keep the lock from its holder.
        let text = format!(
            "{} {}\n",
            std::process::id(),
            command.replace(['\n', '\r'], " ")
        );
        let _ = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(text.as_bytes()));
        Self {
            file,
            _dir: dir,
            path: path.to_owned(),
        }
    }

    /// The lock's file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // No name of ours must stay for the next holder, which may be one that writes none. Closing the file unlocks it.
        let _ = self.file.set_len(0);
    }
}

enum Attempt {
    Locked(File, Option<File>),
    /// What another process holds: the file, or its directory after the file was deleted.
    Busy(File),
}

fn try_acquire(path: &Path) -> io::Result<Attempt> {
    let file = open(path)?;
    if !try_lock(&file)? || !is_at(&file, path)? {
        return Ok(Attempt::Busy(file));
    }
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => File::open(dir)?,
        _ => File::open(".")?,
    };
    match try_lock(&dir) {
        Ok(true) => Ok(Attempt::Locked(file, Some(dir))),
        Ok(false) => Ok(Attempt::Busy(dir)),
        // Such as NFS, where only files that are open for writing can be locked.
        Err(_) => Ok(Attempt::Locked(file, None)),
    }
}

fn open(path: &Path) -> io::Result<File> {
    let flags =
        OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags, Mode::from_raw_mode(0o666))?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether `path` still names `file`. A file that was deleted or replaced meanwhile locks nobody out.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok(there.dev() == ours.dev() && there.ino() == ours.ino()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn lock_error(path: &Path, source: io::Error) -> Error {
    let error = Error::io("lock", path, source);
    error.with_hint(format!(
        "check that {} is a plain file on a writable file system that supports locks",
        path.display()
    ))
}

fn locked(path: &Path, kind: LockKind, holder: &Holder, limit: Duration) -> Error {
    let message = format!(
        "{} holds the lock of {} ({}); gave up after {} s",
        holder,
        kind.owner(),
        path.display(),
        limit.as_secs_f32().ceil()
    );
    let hint = match holder.pid {
        Some(pid) => format!(
            "run the command again when it has ended, or end it: `kill {pid}`; the lock goes with the process"
        ),
        None => "run the command again when the other command has ended; deleting the file does not help"
            .to_owned(),
    };
    Error::new(ErrorKind::Locked, message).with_hint(hint)
}

/// Who holds a lock, as far as can be told.
struct Holder {
    pid: Option<i32>,
    command: Option<String>,
}

impl Holder {
    fn of(file: &File) -> Self {
        let written = written_holder(file);
        let pid = match (kernel_holder(file), &written) {
            (Some(pid), _) => Some(pid),
            (None, Some((pid, _))) if is_running(*pid) => Some(*pid),
            _ => None,
        };
        let command = match (pid, written) {
            (Some(pid), Some((writer, command))) if writer == pid => Some(command),
            (Some(pid), _) => command_of(pid),
            (None, _) => None,
        };
        Self { pid, command }
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.pid, &self.command) {
            (Some(pid), Some(command)) => write!(f, "process {pid} ({command})"),
            (Some(pid), None) => write!(f, "process {pid}"),
            _ => f.write_str("another process"),
        }
    }
}

/// What the holder wrote into the file.
fn written_holder(file: &File) -> Option<(i32, String)> {
    let mut text = vec![0; 4096];
    let length = file.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    let (pid, command) = text.lines().next()?.split_once(' ')?;
    let command: String = command.chars().filter(|c| !c.is_control()).collect();
    Some((pid.parse().ok().filter(|pid| *pid > 0)?, command))
}

/// The process whose `flock` it is, by the kernel's own list; `None` where there is no such list, or the process is out of sight.
fn kernel_holder(file: &File) -> Option<i32> {
    let meta = file.metadata().ok()?;
    let (major, minor) = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
    let place = format!("{major:02x}:{minor:02x}:{}", meta.ino());
    let mut list = String::new();
    File::open("/proc/locks")
        .ok()?
        .read_to_string(&mut list)
        .ok()?;
    list.lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words.get(1) == Some(&"FLOCK") && words.contains(&place.as_str()))
        .find_map(|words| words.get(4)?.parse().ok())
        .filter(|pid| *pid > 0)
}

fn is_running(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| {
        !matches!(
            rustix::process::test_kill_process(pid),
            Err(rustix::io::Errno::SRCH)
        )
    })
}

fn command_of(pid: i32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    let name: String = name.trim().chars().filter(|c| !c.is_control()).collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
#[path = "lock_tests.rs"]
mod tests;
