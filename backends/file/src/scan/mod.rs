//! Scanning a local file or directory: walk, read what no cache knows, and do it again while things move.
//!
//! `tree` is the result, `walk` finds the files and their stamps, `names` lists one directory, `hash` reads one file, `error` words
//! what can go wrong. Nothing here knows where hashes are kept between runs: a scan takes an earlier [`Tree`] and returns the next.

pub(crate) mod error;
mod hash;
mod names;
pub(crate) mod tree;
mod walk;

use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use tether_engine::Error;

use error::{Failure, ScanResult, restless, special, unreadable};
use hash::{CHUNK, Fault, Hashed, hash_file, stamp};
use tree::{Dir, Hash, Kind, Tree};
pub(crate) use walk::OWNER_MARKER;

/// How often a directory whose files come and go is walked again.
const PASSES: u32 = 6;

/// Files from this size on are read first, the largest before the others, so that none is left for one thread at the end.
const LARGE: u64 = 8 * 1024 * 1024;

/// The least number of threads that read, where there is work for them: a disk or a network that is waited for is busier with many.
const READERS: usize = 8;

/// A finished scan.
pub(crate) struct Scan {
    /// What is there; every entry has its hash.
    pub(crate) tree: Tree,
    /// How many of the hashes are new and may be trusted by the next scan.
    pub(crate) learnt: usize,
}

/// Scans the file or directory at `root`, a path without symbolic links. Hashes come from `earlier` where the stamps are the same.
pub(crate) fn scan(root: &Path, earlier: Option<&Tree>) -> ScanResult<Scan> {
    let mut pass = scan_once(root, earlier)?;
    let mut learnt = pass.learnt;
    for attempt in 1..PASSES {
        if pass.unstable.is_none() {
            break;
        }
        std::thread::sleep(Duration::from_millis(4 << attempt));
        let next = scan_once(root, Some(&pass.tree))?;
        learnt += next.learnt;
        pass = next;
    }
    match pass.unstable {
        None => Ok(Scan {
            tree: pass.tree,
            learnt,
        }),
        Some(path) => Err(restless(&path).into()),
    }
}

struct Pass {
    tree: Tree,
    learnt: usize,
    unstable: Option<PathBuf>,
}

fn scan_once(root: &Path, earlier: Option<&Tree>) -> ScanResult<Pass> {
    let system = |errno: Errno| match errno {
        Errno::NOENT | Errno::NOTDIR => Failure::Missing(root.to_owned()),
        errno => unreadable(root, errno).into(),
    };
    // Looked at before anything is opened: opening a FIFO waits, opening a device can have effects.
    let stat = rustix::fs::lstat(root).map_err(system)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY | OFlags::NOFOLLOW;
            let dir = rustix::fs::open(root, flags, Mode::empty()).map_err(system)?;
            scan_dir(root, dir, earlier.filter(|earlier| !earlier.single))
        }
        FileType::RegularFile => scan_file(root, &stat, earlier.filter(|earlier| earlier.single)),
        // The path had no link in it a moment ago.
        FileType::Symlink => Ok(Pass {
            tree: Tree::default(),
            learnt: 0,
            unstable: Some(root.to_owned()),
        }),
        kind => Err(special(root, kind).into()),
    }
}

fn scan_file(root: &Path, stat: &rustix::fs::Stat, earlier: Option<&Tree>) -> ScanResult<Pass> {
    let mut dir = Dir::with_capacity(1, 0);
    let pushed = dir.push(b"", Kind::File);
    debug_assert!(pushed, "an empty name has room");
    dir.entries[0].stamp = stamp(stat);
    let known = earlier.and_then(|tree| tree.dirs.first()?.entries.first());
    if let Some(known) = known
        && known.hash == Hash::Settled
        && known.stamp.covers(&dir.entries[0].stamp)
    {
        dir.entries[0].sha256 = known.sha256;
        dir.entries[0].hash = Hash::Settled;
    }
    let mut pass = Pass {
        tree: Tree {
            dirs: vec![dir],
            single: true,
        },
        learnt: 0,
        unstable: None,
    };
    if pass.tree.dirs[0].entries[0].hash == Hash::Missing {
        read_files(&mut pass, &[], rustix::fs::CWD, root)?;
    }
    Ok(pass)
}

fn scan_dir(root: &Path, dir: OwnedFd, earlier: Option<&Tree>) -> ScanResult<Pass> {
    let again = dir
        .try_clone()
        .map_err(|source| Error::io("read", root, source))?;
    let walked = walk::walk(root, dir, earlier)?;
    let mut pass = Pass {
        tree: walked.tree,
        learnt: 0,
        unstable: walked.unstable,
    };
    read_files(&mut pass, &walked.parents, again.as_fd(), root)?;
    Ok(pass)
}

/// Hashes every file that has no hash yet, with all cores. `at` is the directory `root`, or any when `root` is a file.
fn read_files(
    pass: &mut Pass,
    parents: &[(u32, u32)],
    at: BorrowedFd<'_>,
    root: &Path,
) -> Result<(), Error> {
    let missing = unread(&pass.tree);
    if missing.is_empty() {
        return Ok(());
    }
    let tree = &pass.tree;
    let entry = |place: &(u32, u32)| &tree.dirs[place.0 as usize].entries[place.1 as usize];
    let set_path = |place: &(u32, u32), path: &mut PathBelow| {
        if tree.single {
            path.set(0, || root.as_os_str().as_bytes().to_vec(), b"");
        } else {
            let prefix = || walk::prefix(place.0 as usize, |dir| (&tree.dirs[dir], parents[dir]));
            path.set(
                place.0,
                prefix,
                tree.dirs[place.0 as usize].name(entry(place)),
            );
        }
    };
    let results = each_in_turn(&missing, |place, path, buffer| {
        let entry = entry(place);
        set_path(place, path);
        let through_link = entry.kind == Kind::FileLink;
        hash_file(at, &path.bytes, through_link, &entry.stamp, buffer)
    });
    let mut failed: Vec<(PathBuf, Fault)> = Vec::new();
    let mut below = PathBelow::default();
    for (place, result) in &results {
        if let Err(fault) = result {
            set_path(place, &mut below);
            let path = join(root, &below.bytes);
            match fault {
                Fault::Vanished => pass.unstable = Some(path),
                Fault::System(_) | Fault::Restless => failed.push((path, *fault)),
            }
        }
    }
    let more = failed.len().saturating_sub(1);
    if let Some((path, fault)) = failed.into_iter().min_by(|(a, _), (b, _)| a.cmp(b)) {
        let error = match fault {
            Fault::System(errno) => unreadable(&path, errno),
            Fault::Restless | Fault::Vanished => restless(&path),
        };
        return Err(and_more(error, more));
    }
    for ((dir, entry), result) in results {
        let entry = &mut pass.tree.dirs[dir as usize].entries[entry as usize];
        if let Ok(hashed) = result {
            entry.stamp = hashed.stamp;
            entry.sha256 = hashed.sha256;
            entry.hash = if hashed.settled {
                Hash::Settled
            } else {
                Hash::Unsettled
            };
            pass.learnt += usize::from(hashed.settled);
        }
    }
    Ok(())
}

/// The places of the files without a hash: large ones first, the rest in the order of the walk.
fn unread(tree: &Tree) -> Vec<(u32, u32)> {
    let mut large = Vec::new();
    let mut small = Vec::new();
    for (index, dir) in tree.dirs.iter().enumerate() {
        for (position, entry) in dir.entries.iter().enumerate() {
            if entry.is_file() && entry.hash == Hash::Missing {
                let place = (index as u32, position as u32);
                if entry.stamp.size >= LARGE {
                    large.push((entry.stamp.size, place));
                } else {
                    small.push(place);
                }
            }
        }
    }
    large.sort_unstable_by_key(|(size, _)| std::cmp::Reverse(*size));
    let mut places: Vec<_> = large.into_iter().map(|(_, place)| place).collect();
    places.append(&mut small);
    places
}

/// A path whose directory part is built once for all files of a directory.
#[derive(Default)]
struct PathBelow {
    dir: Option<u32>,
    prefix: usize,
    bytes: Vec<u8>,
}

impl PathBelow {
    fn set(&mut self, dir: u32, prefix: impl FnOnce() -> Vec<u8>, name: &[u8]) {
        if self.dir != Some(dir) {
            self.bytes = prefix();
            self.prefix = self.bytes.len();
            self.dir = Some(dir);
        }
        self.bytes.truncate(self.prefix);
        self.bytes.extend_from_slice(name);
    }
}

/// Runs `read` over `places` on several threads; each takes the next place when it is done with one.
fn each_in_turn(
    places: &[(u32, u32)],
    read: impl Fn(&(u32, u32), &mut PathBelow, &mut [u8]) -> Result<Hashed, Fault> + Sync,
) -> Vec<((u32, u32), Result<Hashed, Fault>)> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut buffer = vec![0; CHUNK];
        let mut path = PathBelow::default();
        let mut results = Vec::new();
        while let Some(place) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
            results.push((*place, read(place, &mut path, &mut buffer)));
        }
        results
    };
    let threads = rayon::current_num_threads().max(READERS).min(places.len());
    std::thread::scope(|scope| {
        // A thread that cannot be had leaves its share to the others: this one goes on until nothing is left.
        let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).filter_map(spawn).collect();
        let mut results = work();
        for other in others {
            match other.join() {
                Ok(more) => results.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    })
}

/// `root` and the bytes of a path below it.
pub(crate) fn join(root: &Path, below: &[u8]) -> PathBuf {
    let below = Path::new(OsStr::from_bytes(below));
    if below.as_os_str().is_empty() {
        root.to_owned()
    } else {
        root.join(below)
    }
}

/// `error`, saying that `more` other paths failed as well.
fn and_more(error: Error, more: usize) -> Error {
    if more == 0 {
        return error;
    }
    let message = format!("{} (and {more} more)", error.message());
    let mut counted = Error::new(error.kind(), message);
    if let Some(hint) = error.hint() {
        counted = counted.with_hint(hint);
    }
    match std::error::Error::source(&error) {
        Some(source) => counted.with_source(source.to_string()),
        None => counted,
    }
}

#[cfg(test)]
mod tests;
