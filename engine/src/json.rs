//! Canonical JSON and the one hash of the format, both byte for byte as FORMAT says.
//!
//! Everything that is hashed (pin ids, listing names, manifest hashes, view ids) goes through here.

use blake2::Blake2bVar;
use blake2::digest::{Update, VariableOutput};

/// A JSON value whose objects keep their insertion order.
pub use serde_json::Value;

/// A JSON object that keeps its insertion order; equality ignores the order.
pub type Map = serde_json::Map<String, Value>;

/// Canonical JSON of `value`: keys sorted by code point at every depth, no spaces, non-ASCII kept.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

/// Canonical JSON of an object.
pub fn canonical_map(map: &Map) -> String {
    let mut out = String::new();
    write_map(map, &mut out);
    out
}

/// `map` without its nulls, at every depth.
pub fn without_nulls(map: &Map) -> Map {
    fn strip(value: &Value) -> Option<Value> {
        match value {
            Value::Null => None,
            Value::Object(map) => Some(Value::Object(without_nulls(map))),
            Value::Array(items) => Some(Value::Array(items.iter().filter_map(strip).collect())),
            other => Some(other.clone()),
        }
    }
    map.iter()
        .filter_map(|(key, value)| Some((key.clone(), strip(value)?)))
        .collect()
}

pub(crate) fn write_map(map: &Map, out: &mut String) {
    let mut keys: Vec<&String> = map.keys().collect();
    keys.sort_unstable();
    out.push('{');
    for (index, key) in keys.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_string(key, out);
        out.push(':');
        write_canonical(&map[key.as_str()], out);
    }
    out.push('}');
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => write_map(map, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::String(text) => write_string(text, out),
        Value::Number(number) if number.is_f64() => {
            out.push_str(&python_float(number.as_f64().unwrap_or_default()));
        }
        // Integers, booleans and null print the same in serde_json's compact form.
        other => out.push_str(&other.to_string()),
    }
}

/// Appends a string with its quotes; `"`, `\` and control characters below the space are escaped.
pub(crate) fn write_string(text: &str, out: &mut String) {
    use std::fmt::Write as _;
    out.push('"');
    let mut rest = text;
    let special = |b: u8| b < b' ' || b == b'"' || b == b'\\';
    while let Some(plain) = rest.bytes().position(special) {
        let (before, after) = rest.split_at(plain);
        out.push_str(before);
        let (byte, after) = after.split_at(1);
        match byte {
            "\"" => out.push_str("\\\""),
            "\\" => out.push_str("\\\\"),
            "\n" => out.push_str("\\n"),
            "\r" => out.push_str("\\r"),
            "\t" => out.push_str("\\t"),
            "\u{8}" => out.push_str("\\b"),
            "\u{c}" => out.push_str("\\f"),
            control => {
                let code = control.bytes().next().unwrap_or_default();
                let _ = write!(out, "\\u{code:04x}");
            }
        }
        rest = after;
    }
    out.push_str(rest);
    out.push('"');
}

/// A finite float as Python writes it: the shortest digits that read back, an exponent of at least two digits
/// below 1e-4 and from 1e16 on.
pub(crate) fn python_float(value: f64) -> String {
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        format!("{value:?}")
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
    }
}

/// `H(size; parts)`: BLAKE2b with a digest of `size` bytes over each part's length (8 bytes, big-endian)
/// and bytes, in hexadecimal. `size` is 1 to 64.
pub fn hash<'a>(size: usize, parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Hasher::new(size);
    for part in parts {
        hasher.raw(&(part.len() as u64).to_be_bytes());
        hasher.raw(part);
    }
    hasher.finish()
}

/// BLAKE2b with a chosen digest size over raw bytes, for digests that frame their parts themselves.
#[derive(Clone)]
pub struct Hasher {
    inner: Blake2bVar,
    size: usize,
}

impl Hasher {
    /// A hasher whose digest has `size` bytes; sizes out of 1..=64 are clamped.
    pub fn new(size: usize) -> Self {
        let size = size.clamp(1, 64);
        // The constructor only refuses sizes that the clamp excludes.
        let inner = Blake2bVar::new(size).unwrap_or_else(|_| unreachable!("1 <= size <= 64"));
        Self { inner, size }
    }

    /// Adds bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.inner.update(bytes);
    }

    /// The digest in lower-case hexadecimal.
    pub fn finish(self) -> String {
        let mut digest = vec![0; self.size];
        if self.inner.finalize_variable(&mut digest).is_err() {
            unreachable!("the buffer has the digest's size");
        }
        hex(&digest)
    }
}

/// Lower-case hexadecimal of `bytes`.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_by_code_point_at_every_depth() {
        let value = json!({"é": 1, "z": {"b": [{"y": null, "x": true}], "a": -1}, "😀": "s", "\u{ffff}": 2, "": 0});
        let expected = "{\"\":0,\"z\":{\"a\":-1,\"b\":[{\"x\":true,\"y\":null}]},\"é\":1,\"\u{ffff}\":2,\"😀\":\"s\"}";
        assert_eq!(canonical(&value), expected);
    }

    #[test]
    fn only_quotes_backslashes_and_control_characters_are_escaped() {
        let text = "\"\\/\u{0}\u{8}\t\n\u{c}\r\u{1f} \u{7f}\u{85}é\u{2028}";
        let expected = "\"\\\"\\\\/\\u0000\\b\\t\\n\\f\\r\\u001f \u{7f}\u{85}é\u{2028}\"";
        assert_eq!(canonical(&json!(text)), expected);
    }

    #[test]
    fn integers_of_every_size_have_no_exponent() {
        let value = json!([u64::MAX, i64::MIN, 0, 1e22, 1.0]);
        assert_eq!(
            canonical(&value),
            "[18446744073709551615,-9223372036854775808,0,1e+22,1.0]"
        );
    }

    #[test]
    fn nulls_are_left_out_at_every_depth() {
        let value = json!({"a": null, "b": [null, {"c": null, "d": 1}], "e": {"f": null}});
        let map = without_nulls(value.as_object().unwrap());
        assert_eq!(Value::Object(map), json!({"b": [{"d": 1}], "e": {}}));
    }

    #[test]
    fn parts_are_framed_by_their_lengths() {
        let joined = hash(16, [b"ab".as_slice(), b"c"]);
        assert_ne!(joined, hash(16, [b"a".as_slice(), b"bc"]));
        assert_eq!(joined.len(), 32);
        assert_ne!(hash(16, [b"".as_slice()]), hash(16, []));
    }

    proptest! {
        #[test]
        fn canonical_json_is_json(text: String, number: f64, other: i64) {
            prop_assume!(number.is_finite());
            let value = json!({text.clone(): [text, number, other]});
            prop_assert_eq!(serde_json::from_str::<Value>(&canonical(&value)).unwrap(), value);
        }
    }
}
