//! What a walk found: every entry of every directory, in path order, in few allocations.
//!
//! A [`Tree`] is at the same time the result of a scan, what is kept to answer a listing, and what the next scan takes hashes
//! from, so a million files cost about a hundred bytes each and no path is ever built before it is needed.

use std::cmp::Ordering;

use tether_engine::listing;

/// What the operating system says about a file, as far as a changed file shows in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Stamp {
    /// Bytes; the child's index when the entry is a directory.
    pub(crate) size: u64,
    /// Modification time in nanoseconds since 1970.
    pub(crate) mtime: i64,
    /// Change time in nanoseconds since 1970.
    pub(crate) ctime: i64,
    /// Inode number.
    pub(crate) inode: u64,
    /// Device number; [`Stamp::ANY_DEVICE`] where a cache does not know it.
    pub(crate) device: u64,
}

impl Stamp {
    /// Stands for every device: the Python package's cache does not record it.
    pub(crate) const ANY_DEVICE: u64 = u64::MAX;

    /// How long before its hashing a file must have changed last for the hash to be trusted later.
    const SETTLED: i64 = 2_000_000_000;

    /// Whether a hash recorded for `self` holds for a file that now has `current`.
    pub(crate) fn covers(&self, current: &Stamp) -> bool {
        let known = Stamp {
            device: if self.device == Self::ANY_DEVICE {
                current.device
            } else {
                self.device
            },
            ..*self
        };
        known == *current
    }

    /// Whether a hash taken at `hashed_at` (nanoseconds since 1970) may be trusted while the stamp stays the same: a later write in
    /// the same clock tick could not hide, and the times are not in the future.
    pub(crate) fn settled_at(&self, hashed_at: i64) -> bool {
        hashed_at.saturating_sub(self.mtime.max(self.ctime)) >= Self::SETTLED
    }
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A regular file.
    File,
    /// A symbolic link to a regular file: read through.
    FileLink,
    /// Any other symbolic link: counts by its target.
    Link,
    /// A directory; `stamp.size` is its index in the tree.
    Dir,
    /// Nothing any more; left out before a tree is used.
    Gone,
}

/// How much the hash of an entry is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hash {
    /// There is none yet.
    Missing,
    /// It holds now, but a later scan must read the file again.
    Unsettled,
    /// It holds as long as the stamp stays the same.
    Settled,
}

/// One entry of a directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    name_start: u32,
    name_len: u16,
    /// What it is.
    pub(crate) kind: Kind,
    /// What `sha256` is worth.
    pub(crate) hash: Hash,
    /// The file's stamp.
    pub(crate) stamp: Stamp,
    /// Of the content, or of a link's target.
    pub(crate) sha256: [u8; 32],
}

impl Entry {
    /// Whether the entry is a file whose content counts.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.kind, Kind::File | Kind::FileLink)
    }
}

/// The entries of one directory, in path order once [`Dir::sort`] ran.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dir {
    names: Vec<u8>,
    /// The entries.
    pub(crate) entries: Vec<Entry>,
    /// Whether every name is UTF-8, so that bytes compare as code points do.
    utf8: bool,
}

impl Dir {
    /// An empty directory with room for `entries` entries and `names` bytes of names.
    pub(crate) fn with_capacity(entries: usize, names: usize) -> Self {
        Self {
            names: Vec::with_capacity(names),
            entries: Vec::with_capacity(entries),
            utf8: true,
        }
    }

    /// Adds an entry. `false` when the directory is too large to be represented (4 GiB of names).
    #[must_use]
    pub(crate) fn push(&mut self, name: &[u8], kind: Kind) -> bool {
        let (Ok(name_start), Ok(name_len)) =
            (u32::try_from(self.names.len()), u16::try_from(name.len()))
        else {
            return false;
        };
        self.utf8 &= std::str::from_utf8(name).is_ok();
        self.names.extend_from_slice(name);
        self.entries.push(Entry {
            name_start,
            name_len,
            kind,
            hash: Hash::Missing,
            stamp: Stamp::default(),
            sha256: [0; 32],
        });
        true
    }

    /// The name of one of this directory's entries.
    pub(crate) fn name(&self, entry: &Entry) -> &[u8] {
        let start = entry.name_start as usize;
        &self.names[start..start + usize::from(entry.name_len)]
    }

    /// Puts the entries into path order and gives back spare memory.
    pub(crate) fn sort(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        let compare = |a: &Entry, b: &Entry| order((self, a), (self, b));
        if entries.len() > 10_000 {
            rayon::slice::ParallelSliceMut::par_sort_unstable_by(entries.as_mut_slice(), compare);
        } else {
            entries.sort_unstable_by(compare);
        }
        entries.shrink_to_fit();
        self.entries = entries;
        self.names.shrink_to_fit();
    }

    /// For each entry, the index of the entry of the same name (and sort: directory or not) in `earlier`, in one pass over both.
    pub(crate) fn matches(&self, earlier: &Dir) -> Vec<Option<u32>> {
        let mut next = 0;
        self.entries
            .iter()
            .map(|entry| {
                while let Some(candidate) = earlier.entries.get(next) {
                    match order((earlier, candidate), (self, entry)) {
                        Ordering::Less => next += 1,
                        Ordering::Equal => return u32::try_from(next).ok(),
                        Ordering::Greater => return None,
                    }
                }
                None
            })
            .collect()
    }
}

/// Path order of two entries of one directory: a directory sorts as its name and `/`, which is where the paths below it go.
fn order((a_dir, a): (&Dir, &Entry), (b_dir, b): (&Dir, &Entry)) -> Ordering {
    let (a_name, b_name) = (a_dir.name(a), b_dir.name(b));
    let slash = |entry: &Entry| (entry.kind == Kind::Dir).then_some(b'/');
    if a_dir.utf8 && b_dir.utf8 {
        let common = a_name.len().min(b_name.len());
        let rest = |name: &[u8], entry: &Entry| name.get(common).copied().or(slash(entry));
        a_name[..common]
            .cmp(&b_name[..common])
            .then_with(|| rest(a_name, a).cmp(&rest(b_name, b)))
            .then_with(|| a_name.len().cmp(&b_name.len()))
    } else {
        let whole = |name: &[u8], entry: &Entry| {
            let mut whole = name.to_vec();
            whole.extend(slash(entry));
            whole
        };
        listing::path_order(&whole(a_name, a), &whole(b_name, b))
    }
}

/// A scanned root: directories by index, the root first and every directory before its children.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// The directories. A single file is a root with one entry whose name is empty.
    pub(crate) dirs: Vec<Dir>,
    /// Whether the root is a single file.
    pub(crate) single: bool,
}

impl Tree {
    /// The number of entries that count.
    pub(crate) fn count(&self) -> u64 {
        let counts = self.dirs.iter().map(|dir| {
            let directories = dir.entries.iter().filter(|entry| entry.kind == Kind::Dir);
            dir.entries.len() as u64 - directories.count() as u64
        });
        counts.sum()
    }

    /// The bytes of all files.
    pub(crate) fn size(&self) -> u64 {
        let files = self.dirs.iter().flat_map(|dir| &dir.entries);
        files
            .filter(|entry| entry.is_file())
            .map(|entry| entry.stamp.size)
            .sum()
    }

    /// Calls `visit` with the path below the root of everything that counts, in path order.
    pub(crate) fn each(&self, mut visit: impl FnMut(&[u8], &Entry)) {
        let mut path = Vec::new();
        // One frame per open directory: its index, the next entry, and how long the path is without it.
        let mut open = vec![(0_usize, 0_usize, 0_usize)];
        while let Some((index, next, length)) = open.pop() {
            let Some(dir) = self.dirs.get(index) else {
                continue;
            };
            path.truncate(length);
            for (position, entry) in dir.entries.iter().enumerate().skip(next) {
                path.truncate(length);
                path.extend_from_slice(dir.name(entry));
                if entry.kind == Kind::Dir {
                    path.push(b'/');
                    open.push((index, position + 1, length));
                    open.push((entry.stamp.size as usize, 0, path.len()));
                    break;
                }
                visit(&path, entry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(names: &[(&[u8], Kind)]) -> Dir {
        let mut dir = Dir::with_capacity(names.len(), 0);
        for (name, kind) in names {
            assert!(dir.push(name, *kind));
        }
        dir.sort();
        dir
    }

    fn names(dir: &Dir) -> Vec<&[u8]> {
        dir.entries.iter().map(|entry| dir.name(entry)).collect()
    }

    #[test]
    fn a_directory_sorts_where_the_paths_below_it_go() {
        let dir = dir(&[
            (b"a0", Kind::File),
            (b"a", Kind::Dir),
            (b"a.txt", Kind::File),
            (b"a-b", Kind::Dir),
        ]);
        // `a-b/` < `a.txt` < `a/` < `a0`
        assert_eq!(names(&dir), [&b"a-b"[..], b"a.txt", b"a", b"a0"]);
    }

    #[test]
    fn matches_finds_the_same_names_of_the_same_sort() {
        let earlier = dir(&[
            (b"a", Kind::Dir),
            (b"b", Kind::File),
            (b"c", Kind::File),
            (b"e", Kind::File),
        ]);
        let now = dir(&[
            (b"a", Kind::File),
            (b"b", Kind::FileLink),
            (b"d", Kind::File),
            (b"e", Kind::File),
        ]);
        assert_eq!(now.matches(&earlier), [None, Some(1), None, Some(3)]);
    }

    #[test]
    fn a_stamp_without_a_device_covers_every_device() {
        let current = Stamp {
            size: 1,
            mtime: 2,
            ctime: 3,
            inode: 4,
            device: 5,
        };
        let anywhere = Stamp {
            device: Stamp::ANY_DEVICE,
            ..current
        };
        assert!(anywhere.covers(&current));
        assert!(
            !Stamp {
                device: 6,
                ..current
            }
            .covers(&current)
        );
        assert!(
            !Stamp {
                inode: 9,
                ..anywhere
            }
            .covers(&current)
        );
    }

    /// P031, E37: neither a write in the tick of the hash nor a date in the future makes a hash trusted.
    #[test]
    fn a_hash_is_trusted_only_two_seconds_after_the_last_change() {
        let stamp = Stamp {
            mtime: 10_000_000_000,
            ctime: 11_000_000_000,
            ..Stamp::default()
        };
        assert!(!stamp.settled_at(12_999_999_999));
        assert!(stamp.settled_at(13_000_000_000));
        let future = Stamp {
            mtime: i64::MAX,
            ..stamp
        };
        assert!(!future.settled_at(13_000_000_000));
        assert!(!future.settled_at(i64::MIN));
    }
}
