//! The cache file: a tree, directory by directory, each with a checksum.
//!
//! ```text
//! magic, root path length (u32), root path, 1 if a single file (u8), number of directories (u32), checksum of all that
//! per directory: payload length (u32), checksum of the payload (u64), payload
//! payload: number of entries (u32), their names in path order, length-prefixed records
//! record: name length (u16), kind (u8), size or child (u64), then for files mtime, ctime, inode, device (u64 each), sha256
//! ```
//! Numbers are little-endian. Only hashes that may be trusted are written; a file whose hash is not, and a link that counts by its
//! target, are left out. Nothing is synced when it is written: a file torn by a power cut fails its checksums and is not used.

use rayon::iter::{
    IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _,
};

use crate::scan::tree::{Dir, Entry, Hash, Kind, Stamp, Tree};

const MAGIC: &[u8] = b"tether file hashes 1\n";

const FILE: u8 = 1;
const FILE_LINK: u8 = 2;
const DIR: u8 = 3;

/// The file's bytes, in parts to be written one after the other.
pub(super) fn encode(
    root: &[u8],
    tree: &Tree,
    mut write: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&(root.len() as u32).to_le_bytes());
    head.extend_from_slice(root);
    head.push(u8::from(tree.single));
    head.extend_from_slice(&(tree.dirs.len() as u32).to_le_bytes());
    let sum = checksum(&head);
    head.extend_from_slice(&sum.to_le_bytes());
    write(&head)?;
    let mut payload = Vec::new();
    for dir in &tree.dirs {
        payload.clear();
        encode_dir(dir, &mut payload);
        write(&(payload.len() as u32).to_le_bytes())?;
        write(&checksum(&payload).to_le_bytes())?;
        write(&payload)?;
    }
    Ok(())
}

fn encode_dir(dir: &Dir, out: &mut Vec<u8>) {
    let kept = |entry: &&Entry| {
        entry.kind == Kind::Dir || (entry.is_file() && entry.hash == Hash::Settled)
    };
    let count = dir.entries.iter().filter(kept).count();
    out.extend_from_slice(&(count as u32).to_le_bytes());
    for entry in dir.entries.iter().filter(kept) {
        let name = dir.name(entry);
        out.extend_from_slice(&(name.len() as u16).to_le_bytes());
        out.push(match entry.kind {
            Kind::Dir => DIR,
            Kind::FileLink => FILE_LINK,
            _ => FILE,
        });
        out.extend_from_slice(&entry.stamp.size.to_le_bytes());
        if entry.kind != Kind::Dir {
            out.extend_from_slice(&entry.stamp.mtime.to_le_bytes());
            out.extend_from_slice(&entry.stamp.ctime.to_le_bytes());
            out.extend_from_slice(&entry.stamp.inode.to_le_bytes());
            out.extend_from_slice(&entry.stamp.device.to_le_bytes());
            out.extend_from_slice(&entry.sha256);
        }
        out.extend_from_slice(name);
    }
}

/// The tree in a cache file, unless it is of another root, of another format, or damaged.
pub(super) fn decode(root: &[u8], file: &[u8]) -> Option<Tree> {
    let mut input = Input(file);
    if input.take(MAGIC.len())? != MAGIC {
        return None;
    }
    let length = input.u32()? as usize;
    if input.take(length)? != root {
        return None;
    }
    let single = input.u8()? == 1;
    let count = input.u32()? as usize;
    let head = file.len() - input.0.len();
    if input.u64()? != checksum(&file[..head]) {
        return None;
    }
    let mut payloads = Vec::with_capacity(count.min(file.len() / 12));
    for _ in 0..count {
        let length = input.u32()? as usize;
        let sum = input.u64()?;
        payloads.push((sum, input.take(length)?));
    }
    let decode = |(sum, payload): &(u64, &[u8])| {
        (checksum(payload) == *sum).then(|| decode_dir(payload, count))?
    };
    let dirs: Option<Vec<Dir>> = payloads.par_iter().with_min_len(16).map(decode).collect();
    let dirs = dirs?;
    // Children come after their parents, so no chain of indexes is a circle.
    let ordered = dirs.iter().enumerate().all(|(index, dir)| {
        let children = dir.entries.iter().filter(|entry| entry.kind == Kind::Dir);
        children
            .map(|entry| entry.stamp.size)
            .all(|child| child > index as u64)
    });
    ordered.then_some(Tree { dirs, single })
}

fn decode_dir(payload: &[u8], dirs: usize) -> Option<Dir> {
    let mut input = Input(payload);
    let count = input.u32()? as usize;
    let mut dir = Dir::with_capacity(count.min(payload.len() / 11), 0);
    for _ in 0..count {
        let length = usize::from(input.u16()?);
        let kind = match input.u8()? {
            FILE => Kind::File,
            FILE_LINK => Kind::FileLink,
            DIR => Kind::Dir,
            _ => return None,
        };
        let size = input.u64()?;
        let mut stamp = Stamp {
            size,
            ..Stamp::default()
        };
        let mut sha256 = [0; 32];
        if kind == Kind::Dir {
            if size >= dirs as u64 {
                return None;
            }
        } else {
            stamp.mtime = input.u64()? as i64;
            stamp.ctime = input.u64()? as i64;
            stamp.inode = input.u64()?;
            stamp.device = input.u64()?;
            sha256.copy_from_slice(input.take(32)?);
        }
        if !dir.push(input.take(length)?, kind) {
            return None;
        }
        let entry = dir.entries.last_mut()?;
        (entry.stamp, entry.sha256, entry.hash) = (stamp, sha256, Hash::Settled);
    }
    input.0.is_empty().then_some(dir)
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

/// A checksum against damage, not against an attacker: whoever can write the cache can write the data.
fn checksum(bytes: &[u8]) -> u64 {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut sum = bytes.len() as u64 ^ MULTIPLIER;
    let mut mix = |word: u64| sum = (sum ^ word).wrapping_mul(MULTIPLIER).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        mix(u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(u64::from_le_bytes(last));
    mix(0);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let mut root = Dir::with_capacity(3, 0);
        assert!(root.push(b"sub", Kind::Dir));
        root.entries[0].stamp.size = 1;
        assert!(root.push(b"to", Kind::FileLink));
        assert!(root.push(b"young", Kind::File));
        root.entries[1].hash = Hash::Settled;
        root.entries[2].hash = Hash::Unsettled;
        let mut sub = Dir::with_capacity(1, 0);
        assert!(sub.push(b"a\xff", Kind::File));
        sub.entries[0].hash = Hash::Settled;
        sub.entries[0].sha256 = [7; 32];
        sub.entries[0].stamp = Stamp {
            size: 1,
            mtime: -2,
            ctime: 3,
            inode: 4,
            device: 5,
        };
        root.sort();
        Tree {
            dirs: vec![root, sub],
            single: false,
        }
    }

    fn encoded(tree: &Tree) -> Vec<u8> {
        let mut file = Vec::new();
        encode(b"/r", tree, |part| {
            file.extend_from_slice(part);
            Ok(())
        })
        .unwrap();
        file
    }

    #[test]
    fn a_tree_comes_back_without_what_may_not_be_trusted() {
        let back = decode(b"/r", &encoded(&tree())).unwrap();
        let mut found = Vec::new();
        back.each(|path, entry| found.push((path.to_vec(), entry.kind, entry.stamp, entry.sha256)));
        let stamp = Stamp {
            size: 1,
            mtime: -2,
            ctime: 3,
            inode: 4,
            device: 5,
        };
        assert_eq!(
            found,
            [
                (b"sub/a\xff".to_vec(), Kind::File, stamp, [7; 32]),
                (b"to".to_vec(), Kind::FileLink, Stamp::default(), [0; 32]),
            ]
        );
    }

    #[test]
    fn a_cache_of_another_root_is_not_used() {
        assert!(decode(b"/q", &encoded(&tree())).is_none());
    }

    #[test]
    fn a_damaged_or_torn_cache_is_not_used() {
        let whole = encoded(&tree());
        for index in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[index] ^= 0x10;
            assert!(decode(b"/r", &flipped).is_none(), "byte {index} flipped");
            assert!(decode(b"/r", &whole[..index]).is_none(), "cut at {index}");
        }
    }
}
