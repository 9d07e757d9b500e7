use proptest::prelude::*;

use super::*;
use crate::backend::{Change, ObjectDiff};
use crate::error::ErrorKind;

fn entry(path: &[u8], token: &str, size: u64) -> Entry {
    Entry {
        path: path.to_vec(),
        token: token.to_owned(),
        size,
    }
}

fn write(entries: &[Entry]) -> Vec<u8> {
    let mut text = Vec::new();
    for entry in entries {
        write_line(&mut text, &entry.path, &entry.token, entry.size);
    }
    text
}

fn sorted(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_by(|a, b| path_order(&a.path, &b.path));
    entries.dedup_by(|a, b| a.path == b.path);
    entries
}

/// Surprise 28: a name that is not UTF-8 is listed and read back.
#[test]
fn bytes_that_are_not_text_are_escaped_and_read_back() {
    let text = write(&[entry(b"a\xff\xfe/\"\\\n\x7f", "x", 7)]);
    let expected = "{\"p\":\"a\\udcff\\udcfe/\\\"\\\\\\n\\u007f\",\"k\":\"x\",\"s\":7}\n";
    assert_eq!(String::from_utf8(text.clone()).unwrap(), expected);
    assert_eq!(
        parse(&text).unwrap(),
        [entry(b"a\xff\xfe/\"\\\n\x7f", "x", 7)]
    );
}

#[test]
fn invalid_bytes_sort_between_the_planes_around_the_surrogates() {
    assert!(path_order("\u{d7ff}".as_bytes(), b"\x80").is_lt());
    assert!(path_order(b"\xff", "\u{e000}".as_bytes()).is_lt());
    assert!(path_order(b"\xff", "\u{1f600}".as_bytes()).is_lt());
    // The first byte of a character alone is an invalid byte, whatever it shares with the whole character.
    assert!(path_order("é".as_bytes(), b"\xc3x").is_lt());
    assert!(path_order(b"a", b"a/b").is_lt());
    assert!(path_order(b"a b", b"a").is_gt());
}

#[test]
fn a_damaged_line_is_named_by_its_number() {
    for broken in [
        "broken",
        "{\"p\":\"a\"}",
        "{\"p\":\"a\",\"k\":\"x\",\"s\":-1}",
        "{\"p\":\"a\",\"k\":\"x\",\"s\":1",
        "{\"p\":\"\\ud800\",\"k\":\"x\",\"s\":1}",
        "{\"p\":\"\\u12g4\",\"k\":\"x\",\"s\":1}",
        "{\"p\":\"\\q\",\"k\":\"x\",\"s\":1}",
    ] {
        let mut text = write(&[entry(b"a", "x", 1)]);
        text.extend_from_slice(broken.as_bytes());
        let error = parse(&text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert_eq!(
            error.message(),
            "line 2 of a listing is damaged",
            "{broken}"
        );
        let error = diff(b"", &text).unwrap_err();
        assert_eq!(
            error.message(),
            "line 2 of a listing is damaged",
            "{broken}"
        );
    }
}

/// The words and sizes of the Python package's `diff --content`.
#[test]
fn a_diff_says_what_the_python_package_says() {
    let before = write(&[
        entry(b"a.txt", "old", 23),
        entry(b"big.bin", "x", 5000),
        entry(b"lnk", "symlink:1", 0),
        entry(b"same", "x", 1),
        entry("zz".as_bytes(), "x", 588_895),
    ]);
    let after = write(&[
        entry(b"a.txt", "new", 44),
        entry(b"a4", "x", 1_048_576),
        entry(b"a9", "x", 5_073_741_824_000_000),
        entry(b"big.bin", "y", 32),
        entry(b"lnk", "symlink:2", 0),
        entry("né.txt".as_bytes(), "x", 1023),
        entry(b"same", "x", 1),
        entry(b"x\xff", "x", 0),
    ]);
    let found = diff(&before, &after).unwrap();
    assert_eq!(found.summary, "+4 -1 ~3 files");
    assert_eq!((found.added, found.removed, found.modified), (4, 1, 3));
    assert_eq!((found.unit.as_str(), found.note.as_str()), ("files", ""));
    assert!(!found.truncated);
    let entries: Vec<_> = found
        .entries
        .iter()
        .map(|entry| (entry.path.as_str(), entry.change, entry.detail.as_str()))
        .collect();
    assert_eq!(
        entries,
        [
            ("a.txt", Change::Modified, "+21 B"),
            ("a4", Change::Added, "+1.0 MiB"),
            ("a9", Change::Added, "+4614.5 TiB"),
            ("big.bin", Change::Modified, "-4.9 KiB"),
            ("lnk", Change::Modified, "+0 B"),
            ("né.txt", Change::Added, "+1023 B"),
            ("x\\xff", Change::Added, "+0 B"),
            ("zz", Change::Removed, "-575.1 KiB"),
        ]
    );
}

#[test]
fn counts_stay_exact_when_entries_are_cut() {
    let many: Vec<Entry> = (0..5000)
        .map(|n| entry(format!("{n:05}").as_bytes(), "x", 1))
        .collect();
    let found = diff(b"", &write(&many)).unwrap();
    assert_eq!(found.added, 5000);
    assert_eq!(found.entries.len(), ObjectDiff::MAX_ENTRIES);
    assert!(found.truncated);
    assert_eq!(found.summary, "+5000 -0 ~0 files");
}

#[test]
fn line_ends_of_another_system_are_no_change() {
    let unix = write(&[entry(b"a", "x", 1), entry(b"b", "y", 2)]);
    let text = String::from_utf8(unix.clone()).unwrap();
    let dos = text.replace('\n', "\r\n").into_bytes();
    assert!(diff(&unix, &dos).unwrap().is_empty());
    assert_eq!(parse(&dos).unwrap(), parse(&unix).unwrap());
    let cut = text.trim_end().as_bytes();
    assert!(diff(&unix, cut).unwrap().is_empty());
}

#[test]
fn a_long_listing_is_read_in_order() {
    let many: Vec<Entry> = (0..30_000)
        .map(|n| entry(format!("dir/{n:06}").as_bytes(), &"f".repeat(64), n))
        .collect();
    let text = write(&many);
    assert!(text.len() > 2 * PARALLEL_CHUNK);
    assert_eq!(parse(&text).unwrap(), many);
    let mut broken = text.clone();
    let last = broken.len() - 2;
    broken[last] = b'x';
    let error = parse(&broken).unwrap_err();
    assert_eq!(error.message(), "line 30000 of a listing is damaged");
}

/// Long listings are compared in pieces; the counts and the order of entries are those of the whole.
#[test]
fn long_listings_are_compared_as_short_ones_are() {
    let path = |n: u64| format!("dir-{:02}/é{n:06}.tif", n / 1000).into_bytes();
    let all = |keep: &dyn Fn(u64) -> bool, token: &dyn Fn(u64) -> u64| {
        let kept = (0..40_000).filter(|n| keep(*n));
        let entries = kept.map(|n| entry(&path(n), &format!("{:064x}", token(n)), n));
        write(&entries.collect::<Vec<_>>())
    };
    let before = all(&|n| n % 7 != 0, &|n| n);
    let after = all(&|n| n % 11 != 0, &|n| if n % 1000 == 500 { 1 } else { n });
    assert!(before.len() > 3 * PARALLEL_CHUNK && after.len() > 3 * PARALLEL_CHUNK);
    let counted = |f: &dyn Fn(u64) -> bool| (0..40_000).filter(|n| f(*n)).count() as u64;
    let added = counted(&|n| n % 7 == 0 && n % 11 != 0);
    let removed = counted(&|n| n % 7 != 0 && n % 11 == 0);
    let modified = counted(&|n| n % 1000 == 500 && n % 7 != 0 && n % 11 != 0);
    for (a, b, added, removed) in [
        (&before, &after, added, removed),
        (&after, &before, removed, added),
    ] {
        let found = diff(a, b).unwrap();
        let counts = (found.added, found.removed, found.modified);
        assert_eq!(counts, (added, removed, modified));
        assert!(found.truncated);
        assert_eq!(found.entries.len(), ObjectDiff::MAX_ENTRIES);
        assert!(found.entries.is_sorted_by(|a, b| a.path < b.path));
    }
    // One short side, with an end of line of another system in between.
    let some = [
        entry(&path(0), "x", 0),
        entry(&path(20_000), "x", 1),
        entry(b"zz", "x", 1),
    ];
    let mut short = String::from_utf8(write(&some)).unwrap();
    short = short.replacen('\n', "\r\n\r\n", 1);
    let found = diff(short.as_bytes(), &after).unwrap();
    let total = counted(&|n| n % 11 != 0);
    assert_eq!(
        (found.added, found.removed, found.modified),
        (total - 1, 2, 1)
    );
}

fn any_path() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[a-c/]{1,4}".prop_map(String::into_bytes),
        any::<String>().prop_map(String::into_bytes),
        any::<Vec<u8>>(),
        "[éü\u{d7ff}\u{e000}😀a]{1,3}".prop_map(String::into_bytes),
        prop::collection::vec(
            prop_oneof![Just(0xc3), Just(0xa9), Just(0xed), Just(b'a'), Just(0xff)],
            1..5
        ),
    ]
}

fn any_entries() -> impl Strategy<Value = Vec<Entry>> {
    let entry = (any_path(), "[a-c]{1,2}", 0_u64..4);
    prop::collection::vec(entry, 0..12).prop_map(|entries| {
        sorted(
            entries
                .into_iter()
                .map(|(path, token, size)| entry_of(path, token, size))
                .collect(),
        )
    })
}

fn entry_of(path: Vec<u8>, token: String, size: u64) -> Entry {
    Entry { path, token, size }
}

proptest! {
    #[test]
    fn any_listing_reads_back(entries in any_entries()) {
        let text = write(&entries);
        prop_assert!(text.is_ascii());
        prop_assert_eq!(parse(&text).unwrap(), entries);
    }

    #[test]
    fn the_order_of_paths_is_that_of_their_code_points(a in any_path(), b in any_path()) {
        let expected: Vec<u32> = code_points(&a).collect();
        let order = expected.cmp(&code_points(&b).collect());
        prop_assert_eq!(path_order(&a, &b), order);
    }

    #[test]
    fn a_diff_counts_what_a_map_counts(a in any_entries(), b in any_entries()) {
        let found = diff(&write(&a), &write(&b)).unwrap();
        let value = |entries: &[Entry], path: &[u8]| {
            entries.iter().find(|entry| entry.path == path).map(|entry| (entry.token.clone(), entry.size))
        };
        let added = b.iter().filter(|entry| value(&a, &entry.path).is_none()).count() as u64;
        let removed = a.iter().filter(|entry| value(&b, &entry.path).is_none()).count() as u64;
        let modified = a.iter().filter(|entry| {
            let other = value(&b, &entry.path);
            other.is_some() && other != value(&a, &entry.path)
        }).count() as u64;
        prop_assert_eq!((found.added, found.removed, found.modified), (added, removed, modified));
    }

    #[test]
    fn pieces_of_any_size_give_the_same_diff(a in any_entries(), b in any_entries(), size in 0_usize..200) {
        let (a, b) = (write(&a), write(&b));
        let whole = compare::diff_in_pieces(&a, &b, usize::MAX).unwrap();
        prop_assert_eq!(compare::diff_in_pieces(&a, &b, size).unwrap(), whole);
    }

    #[test]
    fn reading_never_panics(text in any::<Vec<u8>>(), tail in "[\\\\u0-9dcf\"{}:,pks]{0,30}") {
        let _ = parse(&text);
        let _ = parse(format!("{{\"p\":\"{tail}").as_bytes());
        let _ = compare::diff_in_pieces(&text, tail.as_bytes(), 3);
    }
}
