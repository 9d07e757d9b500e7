//! States of local paths, and the listing behind a directory's.

use tether_engine::json::{Hasher, hex};
use tether_engine::listing;
use tether_engine::state::State;

use crate::scan::tree::{Entry, Kind, Tree};

/// The state a scanned tree stands for.
pub(crate) fn of(tree: &Tree) -> State {
    let single = tree.dirs.first().and_then(|dir| dir.entries.first());
    match single {
        Some(file) if tree.single => State::default()
            .with("type", "file")
            .with("size", file.stamp.size)
            .with("sha256", hex(&file.sha256)),
        _ => State::default()
            .with("type", "dir")
            .with("count", tree.count())
            .with("size", tree.size())
            .with("digest", digest(tree)),
    }
}

/// The listing of a scanned directory.
pub(crate) fn listing(tree: &Tree) -> Vec<u8> {
    let mut out = Vec::new();
    tree.each(|path, entry| {
        let mut text = [0; Token::LONGEST];
        let token = Token::write(entry, &mut text);
        let size = if entry.is_file() { entry.stamp.size } else { 0 };
        listing::write_line(&mut out, path, token, size);
    });
    out
}

/// The directory digest, as [`listing::digest`] has it, without building any path or token twice.
fn digest(tree: &Tree) -> String {
    const BATCH: usize = 64 * 1024;
    let mut hasher = Hasher::new(16);
    let mut batch = Vec::with_capacity(BATCH + 4096);
    tree.each(|path, entry| {
        let mut text = [0; Token::LONGEST];
        batch.extend_from_slice(path);
        batch.push(0);
        batch.extend_from_slice(Token::write(entry, &mut text).as_bytes());
        batch.push(0);
        if batch.len() >= BATCH {
            hasher.raw(&batch);
            batch.clear();
        }
    });
    hasher.raw(&batch);
    hasher.finish()
}

/// The token of an entry: the sha256 in hexadecimal, after `symlink:` for a link that counts by its target.
struct Token;

impl Token {
    const LINK: &[u8] = b"symlink:";
    const LONGEST: usize = Self::LINK.len() + 64;

    fn write<'t>(entry: &Entry, text: &'t mut [u8; Self::LONGEST]) -> &'t str {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut length = 0;
        if entry.kind == Kind::Link {
            text[..Self::LINK.len()].copy_from_slice(Self::LINK);
            length = Self::LINK.len();
        }
        for byte in entry.sha256 {
            text[length] = DIGITS[usize::from(byte >> 4)];
            text[length + 1] = DIGITS[usize::from(byte & 15)];
            length += 2;
        }
        // Only ASCII was written.
        std::str::from_utf8(&text[..length]).unwrap_or_default()
    }
}
