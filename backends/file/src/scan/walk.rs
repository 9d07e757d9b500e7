//! The parallel walk: one task per directory, every system call relative to the directory's descriptor.
//!
//! A walk lists names, asks for each file's stamp, and takes the hash from the earlier tree where the stamp is the same. It reads no
//! file. Directories are never entered through a link, so it ends.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::iter::{IndexedParallelIterator as _, ParallelIterator as _};
use rayon::slice::{ParallelSlice as _, ParallelSliceMut as _};
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use tether_engine::Error;

use super::error::{is_vanished, special, unreadable};
use super::hash::{open_dir, stamp};
use super::names::read_names;
use super::tree::{Dir, Entry, Hash, Kind, Tree};

/// The name at the root that never counts: the owner marker of a created store.
pub(crate) const OWNER_MARKER: &[u8] = b".tether-owner";

/// Directories with more entries than this are examined by several threads.
const SPLIT: usize = 2048;

/// What a walk found.
pub(crate) struct Walked {
    /// The tree; entries without a hash still have to be read.
    pub(crate) tree: Tree,
    /// The directory each directory is in, and its entry there.
    pub(crate) parents: Vec<(u32, u32)>,
    /// Something that vanished between two looks, when anything did.
    pub(crate) unstable: Option<PathBuf>,
}

/// Walks the directory `dir`, whose path is `root`.
pub(crate) fn walk(root: &Path, dir: OwnedFd, earlier: Option<&Tree>) -> Result<Walked, Error> {
    let walk = Walk {
        root,
        earlier,
        nodes: Mutex::new(vec![Node::default()]),
        trouble: Mutex::new(Trouble::default()),
    };
    rayon::scope(|scope| {
        walk.list(scope, Arc::new(dir), 0, earlier.map(|_| 0));
    });
    let trouble = into_inner(walk.trouble);
    if let Some(error) = trouble.error() {
        return Err(error);
    }
    let nodes = into_inner(walk.nodes);
    let parents = nodes.iter().map(|node| node.parent).collect();
    Ok(Walked {
        tree: Tree {
            dirs: nodes.into_iter().map(|node| node.dir).collect(),
            single: false,
        },
        parents,
        unstable: trouble.unstable,
    })
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
struct Node {
    parent: (u32, u32),
    dir: Dir,
}

/// The path below the root of directory `index`, ending in `/` (empty for the root).
pub(crate) fn prefix<'a>(
    mut index: usize,
    dir_of: impl Fn(usize) -> (&'a Dir, (u32, u32)),
) -> Vec<u8> {
    let mut names = Vec::new();
    while index > 0 {
        let (parent, entry) = dir_of(index).1;
        let (parent, entry) = (parent as usize, entry as usize);
        let dir = dir_of(parent).0;
        names.push(dir.name(&dir.entries[entry]));
        index = parent;
    }
    let mut path = Vec::new();
    for name in names.into_iter().rev() {
        path.extend_from_slice(name);
        path.push(b'/');
    }
    path
}

struct Walk<'w> {
    root: &'w Path,
    earlier: Option<&'w Tree>,
    nodes: Mutex<Vec<Node>>,
    trouble: Mutex<Trouble>,
}

/// What went wrong, by the first path in order.
#[derive(Default)]
struct Trouble {
    first: Option<(PathBuf, Problem)>,
    count: usize,
    unstable: Option<PathBuf>,
}

#[derive(Clone, Copy)]
enum Problem {
    System(Errno),
    Special(FileType),
    TooLarge,
}

impl Trouble {
    fn error(&self) -> Option<Error> {
        let (path, problem) = self.first.as_ref()?;
        let error = match problem {
            Problem::System(errno) => unreadable(path, *errno),
            Problem::Special(kind) => special(path, *kind),
            Problem::TooLarge => Error::store(format!(
                "{} has more entries than tether can record",
                path.display()
            )),
        };
        Some(super::and_more(error, self.count - 1))
    }
}

impl<'w> Walk<'w> {
    /// Lists the directory at `index`, then its children as tasks of their own.
    fn list<'s>(
        &'s self,
        scope: &rayon::Scope<'s>,
        fd: Arc<OwnedFd>,
        index: usize,
        earlier: Option<usize>,
    ) where
        'w: 's,
    {
        let mut dir = Dir::default();
        match read_names(fd.as_fd(), index == 0, &mut dir) {
            Ok(true) => dir.sort(),
            Ok(false) => return self.problem(self.path(index, b""), Problem::TooLarge),
            Err(errno) if is_vanished(errno) => return self.vanished(self.path(index, b"")),
            Err(errno) => return self.problem(self.path(index, b""), Problem::System(errno)),
        }
        let earlier = earlier.and_then(|index| self.earlier?.dirs.get(index));
        let matches = earlier.map(|earlier| dir.matches(earlier));
        self.examine(fd.as_fd(), index, &mut dir, earlier.zip(matches.as_deref()));

        let mut children = Vec::new();
        for (position, entry) in dir.entries.iter().enumerate() {
            if entry.kind == Kind::Dir {
                let known = earlier
                    .zip(matches.as_ref())
                    .and_then(|(earlier, matches)| {
                        let position = matches[position]?;
                        Some(earlier.entries[position as usize].stamp.size as usize)
                    });
                children.push((position, known));
            }
        }
        if children.is_empty() && dir.entries.iter().all(|entry| entry.kind != Kind::Gone) {
            self.nodes()[index].dir = dir;
            return;
        }
        self.descend(scope, &fd, index, dir, children);
    }

    /// Stores `dir` and starts a task for each of `children` (position of the entry, index in the earlier tree).
    fn descend<'s>(
        &'s self,
        scope: &rayon::Scope<'s>,
        fd: &Arc<OwnedFd>,
        index: usize,
        mut dir: Dir,
        children: Vec<(usize, Option<usize>)>,
    ) where
        'w: 's,
    {
        let mut tasks = Vec::with_capacity(children.len());
        {
            let mut nodes = self.nodes();
            for (position, known) in children {
                let child = nodes.len();
                dir.entries[position].stamp.size = child as u64;
                nodes.push(Node::default());
                tasks.push((child, known, dir.name(&dir.entries[position]).to_vec()));
            }
            dir.entries.retain(|entry| entry.kind != Kind::Gone);
            for (position, entry) in dir.entries.iter().enumerate() {
                if entry.kind == Kind::Dir {
                    nodes[entry.stamp.size as usize].parent = (index as u32, position as u32);
                }
            }
            nodes[index].dir = dir;
        }
        for (child, known, name) in tasks {
            let parent = Arc::clone(fd);
            scope.spawn(move |scope| {
                let opened = open_dir(parent.as_fd(), &name);
                // The parent's descriptor closes with its last child's opening.
                drop(parent);
                match opened {
                    Ok(fd) => self.list(scope, Arc::new(fd), child, known),
                    Err(errno) if is_vanished(errno) => self.vanished(self.path(child, b"")),
                    Err(errno) => self.problem(self.path(child, b""), Problem::System(errno)),
                }
            });
        }
    }

    /// Fills in the stamps of `dir`, and the hashes that `earlier` knows.
    fn examine(
        &self,
        fd: BorrowedFd<'_>,
        index: usize,
        dir: &mut Dir,
        earlier: Option<(&Dir, &[Option<u32>])>,
    ) {
        let mut entries = std::mem::take(&mut dir.entries);
        let names = &*dir;
        let one = |entry: &mut Entry, known: Option<u32>| {
            let known = known
                .zip(earlier)
                .map(|(position, (earlier, _))| &earlier.entries[position as usize]);
            if let Err(fault) = examine_entry(fd, names.name(entry), entry, known) {
                entry.kind = Kind::Gone;
                let path = self.path(index, names.name(entry));
                match fault {
                    Fault::Vanished => self.vanished(path),
                    Fault::Problem(problem) => self.problem(path, problem),
                }
            }
        };
        match earlier {
            None if entries.len() <= SPLIT => entries.iter_mut().for_each(|entry| one(entry, None)),
            None => entries
                .par_chunks_mut(SPLIT / 4)
                .for_each(|chunk| chunk.iter_mut().for_each(|entry| one(entry, None))),
            Some((_, known)) if entries.len() <= SPLIT => {
                for (entry, known) in entries.iter_mut().zip(known) {
                    one(entry, *known);
                }
            }
            Some((_, known)) => entries
                .par_chunks_mut(SPLIT / 4)
                .zip(known.par_chunks(SPLIT / 4))
                .for_each(|(entries, known)| {
                    for (entry, known) in entries.iter_mut().zip(known) {
                        one(entry, *known);
                    }
                }),
        }
        dir.entries = entries;
    }

    fn nodes(&self) -> std::sync::MutexGuard<'_, Vec<Node>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, index: usize, name: &[u8]) -> PathBuf {
        let mut below = {
            let nodes = self.nodes();
            prefix(index, |index| (&nodes[index].dir, nodes[index].parent))
        };
        below.extend_from_slice(name);
        super::join(self.root, below.strip_suffix(b"/").unwrap_or(&below))
    }

    fn vanished(&self, path: PathBuf) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.unstable.get_or_insert(path);
    }

    fn problem(&self, path: PathBuf, problem: Problem) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.count += 1;
        if trouble
            .first
            .as_ref()
            .is_none_or(|(first, _)| path < *first)
        {
            trouble.first = Some((path, problem));
        }
    }
}

enum Fault {
    Vanished,
    Problem(Problem),
}

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Self {
        if is_vanished(errno) {
            Self::Vanished
        } else {
            Self::Problem(Problem::System(errno))
        }
    }
}

/// Completes one entry; `known` is the entry of the same name in the earlier tree.
fn examine_entry(
    dir: BorrowedFd<'_>,
    name: &[u8],
    entry: &mut Entry,
    known: Option<&Entry>,
) -> Result<(), Fault> {
    match entry.kind {
        Kind::File => {
            let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => entry.stamp = stamp(&stat),
                FileType::Directory | FileType::Symlink => return Err(Fault::Vanished),
                other => return Err(Fault::Problem(Problem::Special(other))),
            }
        }
        Kind::Link => {
            let target =
                rustix::fs::readlinkat(dir, name, Vec::new()).map_err(|errno| match errno {
                    Errno::INVAL => Fault::Vanished,
                    other => Fault::from(other),
                })?;
            match rustix::fs::statat(dir, name, AtFlags::empty()) {
                Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                    entry.kind = Kind::FileLink;
                    entry.stamp = stamp(&stat);
                }
                // A directory, something special (never opened), a dangling link or a loop: it counts by its target.
                Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG) => {
                    entry.sha256 = Sha256::digest(target.as_bytes()).into();
                    entry.hash = Hash::Settled;
                }
                Err(errno) => return Err(Fault::Problem(Problem::System(errno))),
            }
        }
        Kind::FileLink | Kind::Dir | Kind::Gone => {}
    }
    if let Some(known) = known
        && entry.is_file()
        && known.is_file()
        && known.hash == Hash::Settled
        && known.stamp.covers(&entry.stamp)
    {
        entry.sha256 = known.sha256;
        entry.hash = Hash::Settled;
    }
    Ok(())
}
