//! What changed between two recorded states, from the states and their listings alone.

use tether_engine::Result;
use tether_engine::backend::{Change, ObjectDiff};
use tether_engine::json::Value;
use tether_engine::listing::{self, human_size};
use tether_engine::state::State;

/// Digits of a sha256 that are shown.
const SHOWN: usize = 12;

/// Compares two states of the object at `uri`.
pub(crate) fn diff(
    uri: &str,
    a: &State,
    b: &State,
    listings: (Option<&[u8]>, Option<&[u8]>),
) -> Result<ObjectDiff> {
    let is_tree = |state: &State| matches!(state.str("type"), Some("dir" | "prefix"));
    if !is_tree(a) && !is_tree(b) {
        return Ok(objects(uri, a, b));
    }
    match listings {
        (Some(a), Some(b)) => listing::diff(a, b),
        _ if a == b => Ok(ObjectDiff::new("files").summarised()),
        (has_a, has_b) => Ok(summary(a, b, has_a.is_some(), has_b.is_some())),
    }
}

/// Two states of one file or one remote object.
fn objects(uri: &str, a: &State, b: &State) -> ObjectDiff {
    let mut parts = Vec::new();
    let delta = number(b, "size") - number(a, "size");
    if delta != 0 {
        parts.push(format!("size {}", signed_size(delta)));
    }
    for (key, label) in [
        ("sha256", "sha256"),
        ("etag", "etag"),
        ("version_id", "version"),
    ] {
        let (before, after) = (a.get(key), b.get(key));
        if before != after {
            let show = |value: Option<&Value>| {
                let text = value.and_then(Value::as_str).unwrap_or("None");
                let shown = if key == "sha256" {
                    text.get(..SHOWN)
                } else {
                    None
                };
                shown.unwrap_or(text).to_owned()
            };
            parts.push(format!("{label} {} -> {}", show(before), show(after)));
        }
    }
    let mut diff = ObjectDiff::new("objects");
    if a != b {
        diff.add(uri, Change::Modified, parts.join(", "));
    }
    diff.summarised()
}

/// Two states of which at least one is a directory whose listing is not stored.
fn summary(a: &State, b: &State, has_a: bool, has_b: bool) -> ObjectDiff {
    let sides = match (has_a, has_b) {
        (false, true) => "a",
        (true, false) => "b",
        _ => "a and b",
    };
    let mut diff = ObjectDiff::new("files");
    let detail = format!(
        "{} -> {} files, {}",
        number(a, "count"),
        number(b, "count"),
        signed_size(number(b, "size") - number(a, "size"))
    );
    diff.add("(summary)", Change::Modified, detail);
    let mut diff = diff.summarised();
    diff.note = format!("no stored listing for side {sides}");
    diff.summary = format!("{}; {}", diff.summary, diff.note);
    diff
}

fn number(state: &State, key: &str) -> i128 {
    state.get(key).and_then(Value::as_u64).unwrap_or(0).into()
}

fn signed_size(delta: i128) -> String {
    let sign = if delta < 0 { '-' } else { '+' };
    format!("{sign}{}", human_size(delta.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(size: u64, sha256: &str) -> State {
        State::default()
            .with("type", "file")
            .with("size", size)
            .with("sha256", sha256)
    }

    fn dir(count: u64, size: u64) -> State {
        State::default()
            .with("type", "dir")
            .with("count", count)
            .with("size", size)
            .with("digest", format!("{count}-{size}"))
    }

    /// The texts are those of the Python package 0.1.0b7.
    #[test]
    fn a_file_shows_its_size_and_hash() {
        let (a, b) = (
            file(5, "2cf24dba5fb0a30e26e8"),
            file(6, "87298cc2f31fba73181e"),
        );
        let found = diff("/d/one.txt", &a, &b, (None, None)).unwrap();
        assert_eq!(found.summary, "+0 -0 ~1 objects");
        assert_eq!(found.unit, "objects");
        assert_eq!(found.note, "");
        assert_eq!(found.entries[0].path, "/d/one.txt");
        assert_eq!(found.entries[0].change, Change::Modified);
        assert_eq!(
            found.entries[0].detail,
            "size +1 B, sha256 2cf24dba5fb0 -> 87298cc2f31f"
        );
        let same_size = diff("/d", &a, &file(5, "711e9609339e92b0"), (None, None)).unwrap();
        assert_eq!(
            same_size.entries[0].detail,
            "sha256 2cf24dba5fb0 -> 711e9609339e"
        );
        let nothing = diff("/d", &a, &a, (None, None)).unwrap();
        assert!(nothing.is_empty() && nothing.entries.is_empty());
        assert_eq!(nothing.summary, "+0 -0 ~0 objects");
    }

    #[test]
    fn a_remote_object_shows_etag_and_version() {
        let object = |size: u64, etag: &str, version: Option<&str>| {
            let state = State::default()
                .with("type", "object")
                .with("size", size)
                .with("etag", etag);
            match version {
                Some(version) => state.with("version_id", version),
                None => state,
            }
        };
        let found = diff(
            "s3://b/k",
            &object(5, "aaaaaaaaaabbbbb", Some("v1")),
            &object(7, "zzzzzzzaaabbbbb", None),
            (None, None),
        )
        .unwrap();
        assert_eq!(
            found.entries[0].detail,
            "size +2 B, etag aaaaaaaaaabbbbb -> zzzzzzzaaabbbbb, version v1 -> None"
        );
    }

    #[test]
    fn two_listings_are_compared_file_by_file() {
        let line = |path: &str, token: &str, size: u64| {
            let mut out = Vec::new();
            listing::write_line(&mut out, path.as_bytes(), token, size);
            out
        };
        let a = [line("a", "1", 1), line("sub/b", "2", 1)].concat();
        let b = [line("a", "3", 4), line("c", "4", 1)].concat();
        let found = diff("/d", &dir(2, 2), &dir(2, 5), (Some(&a), Some(&b))).unwrap();
        assert_eq!(found.summary, "+1 -1 ~1 files");
        let details: Vec<_> = found
            .entries
            .iter()
            .map(|entry| {
                (
                    entry.path.as_str(),
                    entry.change.name(),
                    entry.detail.as_str(),
                )
            })
            .collect();
        assert_eq!(
            details,
            [
                ("a", "modified", "+3 B"),
                ("c", "added", "+1 B"),
                ("sub/b", "removed", "-1 B"),
            ]
        );
    }

    #[test]
    fn a_missing_listing_leaves_counts_and_sizes() {
        let some: Option<&[u8]> = Some(b"");
        for (listings, note) in [
            ((None, some), "no stored listing for side a"),
            ((some, None), "no stored listing for side b"),
            ((None, None), "no stored listing for side a and b"),
        ] {
            let found = diff("/d", &dir(3, 5), &dir(3, 5_000_001), listings).unwrap();
            assert_eq!(found.note, note);
            assert_eq!(found.summary, format!("+0 -0 ~1 files; {note}"));
            assert_eq!(found.entries[0].path, "(summary)");
            assert_eq!(found.entries[0].detail, "3 -> 3 files, +4.8 MiB");
        }
        let turned = diff("/d", &file(6, "x"), &dir(1, 2), (None, some)).unwrap();
        assert_eq!(turned.entries[0].detail, "0 -> 1 files, -4 B");
        let same = diff("/d", &dir(3, 5), &dir(3, 5), (None, None)).unwrap();
        assert!(same.is_empty());
    }
}
