use proptest::prelude::*;

use super::*;
use crate::error::{Error, ErrorKind};
use crate::json::{Map, Value};

fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

fn parse(text: &str) -> Result<Manifest> {
    Manifest::parse(&key("zarr"), text.as_bytes())
}

fn refused(text: &str) -> Error {
    let error = parse(text).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.hint().is_some(), "{error}");
    error
}

const MINIMAL: &str = "key = \"zarr\"\nkind = \"icechunk\"\n[locator]\nuri = \"/z\"\n";

#[test]
fn what_is_left_out_has_its_default() {
    let manifest = parse(MINIMAL).unwrap();
    let locator = Locator::default().with("uri", "/z");
    assert_eq!(
        manifest,
        Manifest::new(key("zarr"), "icechunk", locator, Policy::default())
    );
}

#[test]
fn carriage_returns_and_a_byte_order_mark_are_accepted() {
    let text = format!("\u{feff}{}", MINIMAL.replace('\n', "\r\n"));
    assert_eq!(parse(&text).unwrap(), parse(MINIMAL).unwrap());
}

/// P022: a manifest may not stand for another key than its place says.
#[test]
fn a_key_other_than_its_place_is_refused() {
    let error = Manifest::parse(&key("other"), MINIMAL.as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert_eq!(
        error.message(),
        "cannot read .tether/objects/other.toml: line 1: `key` must be \"other\", as its place says"
    );
    for odd in ["../zarr", "/zarr", "zarr/", "C:/zarr"] {
        refused(&MINIMAL.replace("\"zarr\"", &format!("{odd:?}")));
    }
}

/// Surprise 3: a conflicted, binary or broken manifest is an error that names file and line.
#[test]
fn broken_text_is_a_config_error_with_file_and_line() {
    let conflict = format!("{MINIMAL}<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> other\n");
    let error = refused(&conflict);
    assert_eq!(
        error.message(),
        "cannot read .tether/objects/zarr.toml: line 5 starts a merge conflict"
    );
    let hint = error.hint().unwrap();
    assert!(hint.contains("resolve the conflict in .tether/objects/zarr.toml"));

    let error = refused(&format!("{MINIMAL}x = [\n"));
    assert!(error.message().contains("line 5: not TOML"), "{error}");
    assert!(
        error
            .hint()
            .unwrap()
            .contains("`git restore -- .tether/objects/zarr.toml`")
    );

    let error = Manifest::parse(&key("zarr"), b"key = \"zarr\"\n\xff\xfe").unwrap_err();
    assert_eq!(
        error.message(),
        "cannot read .tether/objects/zarr.toml: line 2 is not UTF-8 text"
    );
}

/// E53: no part of a line is ever in a message.
#[test]
fn messages_never_quote_the_file() {
    let broken = [
        format!("{MINIMAL}password = \"s3cr3t\n"),
        format!("{MINIMAL}s3cr3t"),
        format!("{MINIMAL}s3cr3t = = 1\n"),
        MINIMAL.replace("\"icechunk\"", "\"s3cr3t value\""),
        MINIMAL.replace("\"/z\"", "1979-05-27 # s3cr3t"),
        format!("{MINIMAL}[policy]\nfile = \"s3cr3t\"\n"),
        format!("{MINIMAL}[pin]\nid = \"s3cr3t\"\nref = \"r\"\n"),
    ];
    for text in broken {
        let error = refused(&text);
        let shown = format!("{} {error:?}", error.one_line());
        assert!(!shown.contains("s3cr3t"), "{shown}");
    }
}

#[test]
fn wrong_types_and_missing_fields_name_the_key() {
    let cases = [
        (
            "recoverable = \"yes\"\n",
            "line 1: `recoverable` must be true or false, not text",
        ),
        (
            "captured_at = 2026-09-04T22:10:03Z\n",
            "line 1: `captured_at` must be text in quotes, not a date",
        ),
        (
            "origin = \"found\"\n",
            "line 1: `origin` must be \"created\" or \"adopted\"",
        ),
        (
            "state = 1\n",
            "line 1: `state` must be a table, not an integer",
        ),
        (
            "pin = {id = \"0a1b2c3d.6674305d5e1fe5f6\"}\n",
            "it has no `ref` in `[pin]`",
        ),
        (
            "state = {at = 2026-09-04}\n",
            "line 1: `at` is a date; put it in quotes",
        ),
        ("state = {f = inf}\n", "line 1: `f` must be a finite number"),
        (
            "state = {n = 99999999999999999999}\n",
            "line 1: `n` is too large a number",
        ),
    ];
    for (line, expected) in cases {
        let error = refused(&format!("{line}{MINIMAL}"));
        assert!(error.message().ends_with(expected), "{error}");
    }
    let without = |line: &str| refused(&MINIMAL.replace(line, ""));
    assert!(
        without("kind = \"icechunk\"\n")
            .message()
            .ends_with("it has no `kind`")
    );
    assert!(
        without("key = \"zarr\"\n")
            .message()
            .ends_with("it has no `key`")
    );
    let no_locator = without("[locator]\nuri = \"/z\"\n");
    assert!(no_locator.message().ends_with("it has no `[locator]`"));
}

/// Surprise 13: keys and tables of another version survive a rewrite, dates and layout included.
#[test]
fn unknown_keys_and_tables_are_kept() {
    let text = "\
key = \"zarr\"
kind = \"icechunk\"
recoverable = true
note = \"a\\tb\"
since = 2026-09-04T22:10:03Z

[locator]
uri = \"/z\"

[policy]
file = \"versioned\"
pin = \"record\"
write = \"direct\"

[pin]
id = \"0a1b2c3d.6674305d5e1fe5f6\"
ref = \"tether.0a1b2c3d.6674305d5e1fe5f6.2\"
made = 1.50

[later]
x = 0x1f

[[later.parts]]
y = []

[[later.parts]]
z = [{a = 1}, 2]
";
    let manifest = parse(text).unwrap();
    assert_eq!(manifest.to_toml(), text);
    let mut known = manifest.clone();
    known.extra = Extra::default();
    assert!(known.to_toml().len() < text.len());
    assert_eq!(known.canonical(), manifest.canonical());
}

#[test]
fn a_manifest_from_before_datasets_had_ids_is_read() {
    let old = format!(
        "{MINIMAL}[policy]\nwrite = \"direct\"\n[pin]\nid = \"7d1e0c9a2b34\"\nref = \"tether.7d1e0c9a2b34\"\ncreated = true\n"
    );
    let manifest = parse(&old).unwrap();
    assert_eq!(manifest.pin.as_ref().unwrap().id.as_str(), "7d1e0c9a2b34");
    assert_eq!(parse(&manifest.to_toml()).unwrap(), manifest);
}

/// What the Python package wrote for values that need quoting, escaping or a table of their own.
#[test]
fn odd_values_are_written_as_the_python_package_writes_them() {
    let text = "\
key = \"m\"
kind = \"icechunk\"
recoverable = true

[locator]
uri = \"/x\"
arr = [1, 2.5, \"x\"]
f = 1000.0
neg = -0.0
big = 9223372036854775807
emptyarr = []
lit = \"it\\\"s\"
ml = \"two\\nlines\"
after = 3
\"\" = \"emptykey\"
\"ü\" = 1
\"my key\" = \"a\\tb\\u0001\\u007f\\\\ é😀\"

[locator.inline]
a = 1

[locator.inline.b]
c = \"x\"

[[locator.aot]]
a = 1

[[locator.aot]]
a = 2

[locator.empty]

[locator.only.deep]
x = true

[policy]
file = \"immutable\"
pin = \"record\"
";
    let manifest = Manifest::parse(&key("m"), text.as_bytes()).unwrap();
    assert_eq!(manifest.to_toml(), text);
}

#[test]
fn floats_are_written_as_python_does() {
    let cases = [
        (0.1, "0.1"),
        (1e15, "1000000000000000.0"),
        (1e16, "1e+16"),
        (1.5e300, "1.5e+300"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1.25e-7, "1.25e-07"),
        (-0.0, "-0.0"),
        (123_456_789.125, "123456789.125"),
    ];
    for (value, expected) in cases {
        let locator = Locator::default().with("f", value);
        let manifest = Manifest::new(key("m"), "memory", locator, Policy::default());
        assert!(manifest.to_toml().contains(&format!("f = {expected}\n")));
        assert!(
            manifest
                .canonical()
                .contains(&format!("\"f\":{expected}}}"))
        );
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite", |f| f.is_finite())
            .prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a-z\"\\\\\t\r\n\u{7f}]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any_name(), inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_-]{0,4}", any::<String>(), Just("my key.x".to_owned())]
}

fn any_map() -> impl Strategy<Value = Map> {
    prop::collection::vec((any_name(), any_value()), 0..6)
        .prop_map(|entries| entries.into_iter().collect())
}

proptest! {
    #[test]
    fn a_manifest_reads_back_what_it_writes(
        name in "[a-z\" '.é😀-]{1,8}(/[a-z]{1,3}){0,2}",
        locator in any_map(),
        state in prop::option::of(any_map()),
        recoverable: bool,
        created: bool,
        versioned: bool,
    ) {
        prop_assume!(name.parse::<ObjectKey>().is_ok());
        let policy = Policy {
            file: if versioned { FileMode::Versioned } else { FileMode::Immutable },
            pin: PinMode::Native,
        };
        let mut manifest = Manifest::new(key(&name), "memory", Locator(locator), policy);
        manifest.state = state.map(State);
        manifest.recoverable = recoverable;
        manifest.origin = if created { Origin::Created } else { Origin::Adopted };
        let text = manifest.to_toml();
        let read = Manifest::parse(&manifest.key, text.as_bytes()).unwrap();
        prop_assert_eq!(&read, &manifest);
        prop_assert_eq!(read.canonical(), manifest.canonical());
        prop_assert_eq!(read.to_toml(), text);
    }

    #[test]
    fn reading_never_panics(text in any::<Vec<u8>>(), inserted in "[\\[\\]\"'=\n a-z0-9.#{}]{0,40}") {
        let _ = Manifest::parse(&key("zarr"), &text);
        let _ = Manifest::parse(&key("zarr"), format!("{MINIMAL}{inserted}").as_bytes());
    }
}
