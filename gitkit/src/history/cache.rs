//! What walking history found out, by content id, in `<shared dir>/tether-history.idx`.
//!
//! Every fact is a function of an object's content (a commit's root, parents and time; the manifest tree below a root tree that is no
//! conflict), so none can go stale. The file is a memory aid: what is missing in it is read from the objects, what is damaged is dropped, and failing to
//! write it is nobody's business.
//!
//! ```text
//!   file    magic, then blocks, appended whole
//!   block   length u32, checksum u64, kind u8, payload
//!   kind 1  commits:    id, root, time i64, number of parents u16, parents
//!   kind 2  manifests:  prefix length u16, prefix, then root, flag u8, tree
//! ```

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use gix::ObjectId;
use gix::hashtable::HashMap;

use super::walk::{Commit, Parents};

const NAME: &str = "tether-history.idx";
/// The number goes up when what is known of an object changes; 1 knew no sides of conflicts.
const MAGIC: &[u8] = b"tether history 2\n";

/// New facts below this are cheaper to find again than to keep.
const WORTH: usize = 256;

/// Past this size the file is not grown any more.
const LARGEST: usize = 256 << 20;

const COMMITS: u8 = 1;
const MANIFESTS: u8 = 2;

/// What is known about the manifests below a root tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing yet.
    No,
    /// The tree with them; `None` when it has none.
    Is(Option<ObjectId>),
}

/// What one commit's record says, without its id.
struct Record {
    root: ObjectId,
    time: i64,
    parents: Parents,
}

/// The facts known and learned.
pub(crate) struct Cache {
    path: PathBuf,
    hash: gix::hash::Kind,
    /// Whether the file was read: a repository with a commit-graph rarely needs it.
    loaded: bool,
    /// The length of the intact part of the file, and of all of it.
    intact: usize,
    length: usize,
    commits: HashMap<ObjectId, Record>,
    /// By prefix; few datasets are in one repository.
    manifests: Vec<(String, HashMap<ObjectId, Option<ObjectId>>)>,
    new_commits: Vec<Commit>,
    new_manifests: Vec<(String, ObjectId, Option<ObjectId>)>,
}

impl Cache {
    /// The facts of a repository. Its file is read when the first is asked for.
    pub(crate) fn new(repo: &gix::Repository) -> Self {
        Self {
            path: repo.common_dir().join(NAME),
            hash: repo.object_hash(),
            loaded: false,
            intact: 0,
            length: 0,
            commits: HashMap::default(),
            manifests: Vec::new(),
            new_commits: Vec::new(),
            new_manifests: Vec::new(),
        }
    }

    /// Reads the file once, as far as it is intact.
    fn load(&mut self) {
        if std::mem::replace(&mut self.loaded, true) {
            return;
        }
        let bytes = std::fs::read(&self.path).unwrap_or_default();
        self.length = bytes.len();
        let Some(mut rest) = bytes.strip_prefix(MAGIC) else {
            return;
        };
        self.intact = MAGIC.len();
        while let Some((kind, payload, after)) = block(rest) {
            if self.take(kind, Bytes(payload)).is_none() {
                break;
            }
            self.intact += rest.len() - after.len();
            rest = after;
        }
    }

    /// A commit.
    pub(crate) fn commit(&mut self, id: &ObjectId) -> Option<Commit> {
        self.load();
        self.commits.get(id).map(|record| Commit {
            id: *id,
            root: record.root,
            time: record.time,
            parents: record.parents.clone(),
        })
    }

    /// The tree with the manifests below a root tree.
    pub(crate) fn objects(&mut self, prefix: &str, root: &ObjectId) -> Known {
        self.load();
        let known = self.manifests.iter().find(|(known, _)| known == prefix);
        match known.and_then(|(_, known)| known.get(root)) {
            None => Known::No,
            Some(objects) => Known::Is(*objects),
        }
    }

    /// Remembers a commit that had to be decoded.
    pub(crate) fn learn(&mut self, commit: &Commit) {
        self.new_commits.push(commit.clone());
    }

    /// Remembers where a root tree has its manifests.
    pub(crate) fn learn_objects(
        &mut self,
        prefix: &str,
        root: ObjectId,
        objects: Option<ObjectId>,
    ) {
        self.new_manifests.push((prefix.to_owned(), root, objects));
    }

    /// Appends what was learned, where it is worth it. A damaged tail is cut off first.
    pub(crate) fn save(&mut self) {
        let blocks = self.blocks();
        if blocks.is_empty() {
            return;
        }
        self.load();
        if self.length + blocks.len() > LARGEST {
            return;
        }
        if let Err(error) = self.write(&blocks) {
            tracing::debug!(%error, path = %self.path.display(), "the history cache is not written");
        }
    }

    fn write(&self, blocks: &[u8]) -> std::io::Result<()> {
        if self.intact == self.length && self.intact > 0 {
            return OpenOptions::new()
                .append(true)
                .open(&self.path)?
                .write_all(blocks);
        }
        let intact = std::fs::read(&self.path).unwrap_or_default();
        let kept = intact
            .get(..self.intact)
            .filter(|kept| !kept.is_empty())
            .unwrap_or(MAGIC);
        let temporary = self
            .path
            .with_extension(format!("idx.{}", std::process::id()));
        let written = File::create(&temporary)
            .and_then(|mut file| file.write_all(kept).and_then(|()| file.write_all(blocks)))
            .and_then(|()| std::fs::rename(&temporary, &self.path));
        if written.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        written
    }

    fn blocks(&mut self) -> Vec<u8> {
        let commits = std::mem::take(&mut self.new_commits);
        let mut manifests = std::mem::take(&mut self.new_manifests);
        manifests.sort();
        manifests.dedup();
        if commits.len() + manifests.len() < WORTH {
            return Vec::new();
        }
        let mut blocks = Vec::new();
        let mut payload = Vec::new();
        for commit in &commits {
            payload.extend_from_slice(commit.id.as_slice());
            payload.extend_from_slice(commit.root.as_slice());
            payload.extend_from_slice(&commit.time.to_le_bytes());
            let Ok(parents) = u16::try_from(commit.parents.as_slice().len()) else {
                return Vec::new();
            };
            payload.extend_from_slice(&parents.to_le_bytes());
            for parent in commit.parents.as_slice() {
                payload.extend_from_slice(parent.as_slice());
            }
        }
        push_block(&mut blocks, COMMITS, &payload);
        for group in manifests.chunk_by(|a, b| a.0 == b.0) {
            let prefix = group
                .first()
                .map(|(prefix, ..)| prefix.as_str())
                .unwrap_or_default();
            let Ok(length) = u16::try_from(prefix.len()) else {
                continue;
            };
            payload.clear();
            payload.extend_from_slice(&length.to_le_bytes());
            payload.extend_from_slice(prefix.as_bytes());
            for (_, root, objects) in group {
                payload.extend_from_slice(root.as_slice());
                payload.push(u8::from(objects.is_some()));
                payload.extend_from_slice(objects.unwrap_or(self.hash.null()).as_slice());
            }
            push_block(&mut blocks, MANIFESTS, &payload);
        }
        blocks
    }

    /// Takes a block's records in; `None` when it is not what it should be.
    fn take(&mut self, kind: u8, mut payload: Bytes<'_>) -> Option<()> {
        let id = self.hash.len_in_bytes();
        match kind {
            COMMITS => {
                self.commits.reserve(payload.0.len() / (3 * id + 10));
                while !payload.0.is_empty() {
                    let commit = payload.id(id)?;
                    let root = payload.id(id)?;
                    let time = i64::from_le_bytes(payload.array()?);
                    let count = u16::from_le_bytes(payload.array()?);
                    let parents: Option<Parents> = (0..count).map(|_| payload.id(id)).collect();
                    let parents = parents?;
                    self.commits.insert(
                        commit,
                        Record {
                            root,
                            time,
                            parents,
                        },
                    );
                }
            }
            MANIFESTS => {
                let length = usize::from(u16::from_le_bytes(payload.array()?));
                let prefix = std::str::from_utf8(payload.take(length)?).ok()?;
                let at = self.manifests.iter().position(|(known, _)| known == prefix);
                if at.is_none() {
                    self.manifests.push((prefix.to_owned(), HashMap::default()));
                }
                let at = at.unwrap_or(self.manifests.len() - 1);
                let (_, known) = self.manifests.get_mut(at)?;
                known.reserve(payload.0.len() / (2 * id + 1));
                while !payload.0.is_empty() {
                    let root = payload.id(id)?;
                    let [present] = payload.array()?;
                    let objects = payload.id(id)?;
                    known.insert(root, (present == 1).then_some(objects));
                }
            }
            // A kind of a newer tether: its facts are not ours.
            _ => {}
        }
        Some(())
    }
}

/// A payload, taken from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn id(&mut self, length: usize) -> Option<ObjectId> {
        ObjectId::try_from(self.take(length)?).ok()
    }
}

/// The first block: its kind, its payload, and what comes behind. `None` at the end and where the file is damaged.
fn block(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let mut bytes = Bytes(bytes);
    let length = u32::from_le_bytes(bytes.array()?);
    let sum = u64::from_le_bytes(bytes.array()?);
    let content = bytes.take(usize::try_from(length).ok()?)?;
    let (kind, payload) = content.split_first()?;
    (checksum(content) == sum).then_some((*kind, payload, bytes.0))
}

fn push_block(out: &mut Vec<u8>, kind: u8, payload: &[u8]) {
    let Ok(length) = u32::try_from(payload.len() + 1) else {
        return;
    };
    if payload.is_empty() {
        return;
    }
    let content = [&[kind], payload].concat();
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&checksum(&content).to_le_bytes());
    out.extend_from_slice(&content);
}

/// FNV-1a over words: enough against torn and damaged files, which is all it is for.
fn checksum(bytes: &[u8]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64 ^ bytes.len() as u64;
    let mut add = |word: u64| {
        sum = (sum ^ word)
            .wrapping_mul(0x0000_0100_0000_01b3)
            .rotate_left(29);
    };
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        add(chunk.try_into().map_or(0, u64::from_le_bytes));
    }
    for byte in chunks.remainder() {
        add(u64::from(*byte));
    }
    sum
}
