//! The Python package's cache, `file-hashes.json`: absolute path -> `[size, mtime_ns, ctime_ns, inode, sha256, hashed_at_ns]`.
//!
//! It is read where our own file is absent and never written, so either tool goes on from its own.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::de::{MapAccess, Visitor};
use serde::{Deserializer, de};

use crate::scan::tree::{Dir, Hash, Kind, Stamp, Tree};

/// The file's name in the cache directory.
pub(super) const NAME: &str = "file-hashes.json";

/// What the cache knows below `root`, unless it is damaged.
pub(super) fn decode(root: &str, file: &[u8]) -> Option<Tree> {
    let mut input = serde_json::Deserializer::from_slice(file);
    let found = input.deserialize_map(Below { root }).ok()?;
    input.end().ok()?;
    if found.is_empty() {
        return None;
    }
    let single = found.iter().any(|(path, ..)| path.is_empty());
    let mut builder = Builder::default();
    for (path, stamp, sha256) in &found {
        if single == path.is_empty() {
            builder.add(path.as_bytes(), *stamp, *sha256)?;
        }
    }
    Some(builder.finish(single))
}

type Found = Vec<(String, Stamp, [u8; 32])>;

/// Takes the trusted entries at or below one root out of the whole map.
struct Below<'r> {
    root: &'r str,
}

impl<'de> Visitor<'de> for Below<'_> {
    type Value = Found;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a map of file hashes")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let mut found = Vec::new();
        while let Some(path) = map.next_key::<Text<'de>>()? {
            let Some(below) = below(self.root, &path.0) else {
                map.next_value::<de::IgnoredAny>()?;
                continue;
            };
            let (size, mtime, ctime, inode, sha256, hashed_at) =
                map.next_value::<(u64, i64, i64, u64, Text<'de>, i64)>()?;
            let stamp = Stamp {
                size,
                mtime,
                ctime,
                inode,
                device: Stamp::ANY_DEVICE,
            };
            if let Some(sha256) = unhex(sha256.0.as_bytes())
                && stamp.settled_at(hashed_at)
            {
                found.push((below.to_owned(), stamp, sha256));
            }
        }
        Ok(found)
    }
}

/// A string that is borrowed from the input where it has no escapes.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The part of `path` below `root`: empty for the root itself.
fn below<'p>(root: &str, path: &'p str) -> Option<&'p str> {
    let rest = path.strip_prefix(root)?;
    match rest.strip_prefix('/') {
        Some(below) if !below.is_empty() => Some(below),
        None if rest.is_empty() => Some(""),
        // The root directory of the system ends in its slash.
        None if root == "/" => Some(rest),
        _ => None,
    }
}

fn unhex(text: &[u8]) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(bytes)
}

/// Puts paths into directories.
#[derive(Default)]
struct Builder {
    dirs: Vec<Dir>,
    known: HashMap<Vec<u8>, usize>,
}

impl Builder {
    fn add(&mut self, path: &[u8], stamp: Stamp, sha256: [u8; 32]) -> Option<()> {
        let (parent, name) = split(path);
        let dir = self.dir(parent)?;
        let dir = &mut self.dirs[dir];
        // Whether the file is reached through a link does not matter for its stamp.
        if !dir.push(name, Kind::File) {
            return None;
        }
        let entry = dir.entries.last_mut()?;
        (entry.stamp, entry.sha256, entry.hash) = (stamp, sha256, Hash::Settled);
        Some(())
    }

    /// The index of a directory, made with its parents where it is new. A parent always comes before its children.
    fn dir(&mut self, path: Option<&[u8]>) -> Option<usize> {
        if self.dirs.is_empty() {
            self.dirs.push(Dir::with_capacity(0, 0));
        }
        let Some(path) = path else {
            return Some(0);
        };
        if let Some(index) = self.known.get(path) {
            return Some(*index);
        }
        let (parent, name) = split(path);
        let parent = self.dir(parent)?;
        let index = self.dirs.len();
        self.dirs.push(Dir::with_capacity(0, 0));
        if !self.dirs[parent].push(name, Kind::Dir) {
            return None;
        }
        self.dirs[parent].entries.last_mut()?.stamp.size = index as u64;
        self.known.insert(path.to_vec(), index);
        Some(index)
    }

    fn finish(mut self, single: bool) -> Tree {
        self.dirs.iter_mut().for_each(Dir::sort);
        Tree {
            dirs: self.dirs,
            single,
        }
    }
}

fn split(path: &[u8]) -> (Option<&[u8]>, &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (Some(&path[..slash]), &path[slash + 1..]),
        None => (None, path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd";

    fn paths(tree: &Tree) -> Vec<(String, u64)> {
        let mut paths = Vec::new();
        tree.each(|path, entry| {
            paths.push((String::from_utf8(path.to_vec()).unwrap(), entry.stamp.inode));
        });
        paths
    }

    #[test]
    fn entries_below_the_root_are_taken_and_young_ones_are_not() {
        let json = format!(
            r#"{{"/d/r/b/x":[1,1000000000,2000000000,11,"{HASH}",4000000000],
                "/d/r/a\u00e9":[1,1000000000,2000000000,12,"{HASH}",4000000001],
                "/d/r/young":[1,1000000000,2000000000,13,"{HASH}",3999999999],
                "/d/rest":[1,1,2,14,"{HASH}",9000000000]}}"#
        );
        let tree = decode("/d/r", json.as_bytes()).unwrap();
        assert_eq!(
            paths(&tree),
            [("a\u{e9}".to_owned(), 12), ("b/x".to_owned(), 11)]
        );
        assert!(!tree.single);
        let single = decode("/d/rest", json.as_bytes()).unwrap();
        assert!(single.single);
        assert_eq!(paths(&single), [(String::new(), 14)]);
        assert!(decode("/d/other", json.as_bytes()).is_none());
    }

    #[test]
    fn a_damaged_file_is_not_used() {
        for text in ["", "[]", "{\"/d/r/x\": 1}", "{\"/d/r/x\":[1,2,3", "{} x"] {
            assert!(decode("/d/r", text.as_bytes()).is_none(), "{text}");
        }
    }
}
