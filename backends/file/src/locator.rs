//! Where an object is: the locator's grammar, and the one path that several spellings of a local store mean.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use tether_engine::state::{Identity, Locator};
use tether_engine::{Error, Result};

/// Locator keys that may hold the place, in the order they are looked for.
pub(crate) const KEYS: &[&str] = &["uri", "path"];

/// Address schemes of object stores, which other builds read.
const REMOTE: &[&str] = &[
    "s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl", "http", "https",
];

/// The most symbolic links followed for one path.
const MOST_LINKS: usize = 40;

/// Where an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// An absolute local path, as registered.
    Local(PathBuf),
    /// An address in an object store.
    Remote(String),
}

/// The text of the locator, as registered.
pub(crate) fn text(locator: &Locator) -> Result<&str> {
    let given: Vec<&str> = KEYS
        .iter()
        .filter(|key| locator.get(key).is_some())
        .copied()
        .collect();
    let key = match given.as_slice() {
        [key] => key,
        [] => {
            return Err(Error::user("a file object needs a path")
                .with_hint("`tether add KEY PATH --kind file`"));
        }
        _ => {
            return Err(Error::user("a file object takes `uri` or `path`, not both")
                .with_hint("`tether remove` the object, then `tether add KEY PATH --kind file`"));
        }
    };
    match locator.str(key) {
        Some(text) if !text.is_empty() => Ok(text),
        Some(_) => Err(Error::user("the path of a file object is empty")
            .with_hint("`tether add KEY PATH --kind file`")),
        None => Err(Error::user(format!(
            "the `{key}` of a file object is a text, and this one is not"
        ))
        .with_hint("`tether add KEY PATH --kind file`")),
    }
}

/// The place a locator names. A path is never parsed as a URL: `#`, `?` and `%` are characters of it.
pub(crate) fn place(locator: &Locator) -> Result<Place> {
    let text = text(locator)?;
    if text.contains('\0') {
        return Err(Error::user("a path cannot hold a NUL character")
            .with_hint("`tether add KEY PATH --kind file`"));
    }
    let Some((scheme, rest)) = scheme(text) else {
        return absolute(text, text.into());
    };
    if scheme.eq_ignore_ascii_case("file") {
        return absolute(text, file_url(text, rest)?);
    }
    if rest.starts_with("//") {
        if REMOTE
            .iter()
            .any(|remote| scheme.eq_ignore_ascii_case(remote))
        {
            return Ok(Place::Remote(text.to_owned()));
        }
        return Err(Error::user(format!(
            "`{scheme}:` is no kind of address a file object can have"
        ))
        .with_hint("`tether add KEY PATH --kind file` with a local path"));
    }
    absolute(text, text.into())
}

/// The scheme of a text that looks like an address, and what follows its colon.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let mut letters = scheme.bytes();
    let valid = letters
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic())
        && letters.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    valid.then_some((scheme, rest))
}

/// The path in a `file:` address, whose part behind the colon is `rest`.
fn file_url(text: &str, rest: &str) -> Result<PathBuf> {
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(Error::user(format!(
                    "{text:?} names the machine {host:?}; a file object is on this one"
                ))
                .with_hint("mount the share and register its local path"));
            }
            path
        }
    };
    if !path.contains('%') {
        return Ok(path.into());
    }
    // The Python package takes `%` as it is, and so was every path it recorded; a path that is there under that name is meant.
    if std::fs::symlink_metadata(path).is_ok() {
        return Ok(path.into());
    }
    let decoded = percent_decoded(path.as_bytes());
    if decoded.contains(&0) || std::str::from_utf8(&decoded).is_err() {
        return Err(
            Error::user(format!("{text:?} is no UTF-8 path once decoded"))
                .with_hint("rename the file, or register the directory above it"),
        );
    }
    Ok(OsString::from_vec(decoded).into())
}

fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let digit = |at: usize| text.get(at).and_then(|byte| (*byte as char).to_digit(16));
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        match (text[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    decoded
}

fn absolute(text: &str, path: PathBuf) -> Result<Place> {
    if path.is_absolute() {
        return Ok(Place::Local(path));
    }
    Err(Error::user(format!(
        "{text:?} is not an absolute path, so it means another file in each directory"
    ))
    .with_hint(
        "`tether remove` the object and `tether add` it again: `add` makes the path absolute",
    ))
}

/// The local path of a locator with every link followed: the same for every spelling of one store.
pub(crate) fn real(locator: &Locator) -> Result<PathBuf> {
    match place(locator)? {
        Place::Local(path) => Ok(real_path(&path)),
        Place::Remote(_) => Err(no_remote()),
    }
}

/// What this build says to an address in an object store.
pub(crate) fn no_remote() -> Error {
    Error::capability("this build reads local paths only")
        .with_hint("mount the bucket or copy the data, then `tether add KEY PATH --kind file`")
}

/// The part of the locator that names the store.
pub(crate) fn identity(locator: &Locator) -> Result<Identity> {
    let uri = match place(locator)? {
        Place::Remote(uri) => uri,
        Place::Local(path) => text_of(&real_path(&path))?.to_owned(),
    };
    Ok(Identity::default().with("uri", uri))
}

/// A path as text, which is all a manifest can hold.
pub(crate) fn text_of(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| {
        Error::user(format!(
            "{} has a name that is not UTF-8, which a manifest cannot hold",
            path.display()
        ))
        .with_hint("rename it, or register the directory above it")
    })
}

/// `path` with links followed and `.`, `..` and doubled slashes gone, as far as it exists; the rest is resolved as text.
pub(crate) fn real_path(path: &Path) -> PathBuf {
    // The trailing slash of `file.txt/` would ask for a directory.
    let plain: PathBuf = path.components().collect();
    std::fs::canonicalize(&plain).unwrap_or_else(|_| resolve(&plain))
}

/// Follows links step by step; a component that does not exist, or a circle of links, is kept as it is.
fn resolve(path: &Path) -> PathBuf {
    let mut todo: Vec<OsString> = parts(path);
    let mut done = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = todo.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        let here = done.join(&part);
        match std::fs::read_link(&here) {
            Ok(target) if links < MOST_LINKS => {
                links += 1;
                if target.is_absolute() {
                    done = PathBuf::from("/");
                }
                todo.append(&mut parts(&target));
            }
            _ => done = here,
        }
    }
    done
}

/// The components of a path, last first, without `/` and `.`.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::from_bytes(b"..").to_owned()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    let mut parts: Vec<_> = parts.collect();
    parts.reverse();
    parts
}

#[cfg(test)]
#[path = "locator_tests.rs"]
mod tests;
