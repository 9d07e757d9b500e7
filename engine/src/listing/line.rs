//! One line of a listing: `{"p":path,"k":token,"s":size}` in ASCII, as the Python package writes it.

use std::borrow::Cow;
use std::io::Write as _;

use super::Entry;

/// The code point that stands for the invalid byte 0x80; the others follow.
pub(super) const ESCAPED_BYTES: u32 = 0xdc80;

/// Appends one entry's line (ASCII JSON and a newline).
pub fn write_line(out: &mut Vec<u8>, path: &[u8], token: &str, size: u64) {
    out.extend_from_slice(b"{\"p\":\"");
    write_text(out, path);
    out.extend_from_slice(b"\",\"k\":\"");
    write_text(out, token.as_bytes());
    out.extend_from_slice(b"\",\"s\":");
    // Writing to a vector cannot fail.
    let _ = writeln!(out, "{size}}}");
}

fn is_plain(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\'
}

fn write_text(out: &mut Vec<u8>, text: &[u8]) {
    if text.iter().copied().all(is_plain) {
        out.extend_from_slice(text);
        return;
    }
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            write_char(out, c);
        }
        for byte in chunk.invalid() {
            write_escape(out, ESCAPED_BYTES + u32::from(byte - 0x80));
        }
    }
}

fn write_char(out: &mut Vec<u8>, c: char) {
    match c {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        '\u{8}' => out.extend_from_slice(b"\\b"),
        '\u{c}' => out.extend_from_slice(b"\\f"),
        ' '..='~' => out.push(c as u8),
        _ => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write_escape(out, u32::from(*unit));
            }
        }
    }
}

fn write_escape(out: &mut Vec<u8>, unit: u32) {
    let _ = write!(out, "\\u{unit:04x}");
}

/// An entry as it stands in a listing's text, copied only where it is escaped.
pub(super) struct Line<'a> {
    pub(super) path: Cow<'a, [u8]>,
    token: Cow<'a, [u8]>,
    pub(super) size: u64,
}

impl<'a> Line<'a> {
    /// Reads a line without its end; `None` when it is not an entry.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        let (path, rest) = read_text(line.strip_prefix(b"{\"p\":\"")?)?;
        let (token, rest) = read_text(rest.strip_prefix(b",\"k\":\"")?)?;
        let digits = rest.strip_prefix(b",\"s\":")?.strip_suffix(b"}")?;
        let size = read_size(digits)?;
        Some(Self { path, token, size })
    }

    /// Whether both say the same about a path.
    pub(super) fn same_content(&self, other: &Self) -> bool {
        self.size == other.size && self.token == other.token
    }

    /// The entry on its own; `None` for a token that is not text.
    pub(super) fn into_entry(self) -> Option<Entry> {
        Some(Entry {
            path: self.path.into_owned(),
            token: String::from_utf8(self.token.into_owned()).ok()?,
            size: self.size,
        })
    }
}

fn read_size(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |size, digit| {
        let digit = char::from(*digit).to_digit(10)?;
        size.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Reads up to the closing quote; what follows it is the second value.
fn read_text(text: &[u8]) -> Option<(Cow<'_, [u8]>, &[u8])> {
    let plain = memchr::memchr2(b'"', b'\\', text)?;
    let (plain, mut rest) = text.split_at(plain);
    if let [b'"', rest @ ..] = rest {
        return Some((Cow::Borrowed(plain), rest));
    }
    let mut out = plain.to_vec();
    loop {
        match rest {
            [b'"', rest @ ..] => return Some((Cow::Owned(out), rest)),
            [b'\\', b'u', after @ ..] => {
                rest = after;
                read_escape(&mut out, &mut rest)?;
            }
            [b'\\', escape, after @ ..] => {
                out.push(match escape {
                    b'"' | b'\\' | b'/' => *escape,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'f' => 12,
                    _ => return None,
                });
                rest = after;
            }
            [byte, after @ ..] => {
                out.push(*byte);
                rest = after;
            }
            [] => return None,
        }
    }
}

/// Reads the digits behind `\u`, and the second half of a surrogate pair.
fn read_escape(out: &mut Vec<u8>, rest: &mut &[u8]) -> Option<()> {
    let unit = read_unit(rest)?;
    let code = match unit {
        // A whole pair is a character; the stand-in for a byte never follows a high surrogate on its own.
        0xd800..=0xdbff => {
            *rest = rest.strip_prefix(b"\\u")?;
            let low = read_unit(rest).filter(|low| (0xdc00..=0xdfff).contains(low))?;
            0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)
        }
        0xdc80..=0xdcff => {
            out.push((unit - ESCAPED_BYTES) as u8 + 0x80);
            return Some(());
        }
        _ => unit,
    };
    let c = char::from_u32(code)?;
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    Some(())
}

fn read_unit(rest: &mut &[u8]) -> Option<u32> {
    let (digits, after) = rest.split_at_checked(4)?;
    *rest = after;
    digits.iter().try_fold(0, |unit, digit| {
        Some(unit << 4 | char::from(*digit).to_digit(16)?)
    })
}
