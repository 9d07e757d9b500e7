//! JSON as the Python package prints it: indented by two, ASCII only, so that no terminal can misread it.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter};
use tether_engine::{Error, Result};

/// `value` as JSON with a line end.
pub fn pretty<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    let mut out = Vec::with_capacity(256);
    let formatter = Ascii(PrettyFormatter::with_indent(b"  "));
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    value
        .serialize(&mut serializer)
        .map_err(|error| Error::internal("a report has no JSON form").with_source(error))?;
    out.push(b'\n');
    String::from_utf8(out)
        .map_err(|error| Error::internal("a report's JSON is not text").with_source(error))
}

struct Ascii(PrettyFormatter<'static>);

macro_rules! forward {
    ($($name:ident($($arg:ident: $ty:ty),*);)*) => {$(
        fn $name<W: ?Sized + io::Write>(&mut self, writer: &mut W $(, $arg: $ty)*) -> io::Result<()> {
            self.0.$name(writer $(, $arg)*)
        }
    )*};
}

impl Formatter for Ascii {
    forward! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        begin_object_value();
        end_object_value();
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut units = [0; 2];
        for c in fragment.chars() {
            if matches!(c, ' '..='~') {
                writer.write_all(&[c as u8])?;
            } else {
                for unit in c.encode_utf16(&mut units) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_indented_by_two_and_ascii_only() {
        let value = json!({"é": ["😀", "\u{7f}"], "empty": {}, "none": [], "n": null});
        assert_eq!(
            pretty(&value).unwrap(),
            "{\n  \"\\u00e9\": [\n    \"\\ud83d\\ude00\",\n    \"\\u007f\"\n  ],\n  \"empty\": {},\n  \"none\": [],\n  \"n\": null\n}\n"
        );
    }

    #[test]
    fn json_reads_back_as_what_was_written() {
        let value = json!({"k": "\u{0}\u{1b}\"\\/\n\u{9b}ü😀"});
        let back: serde_json::Value = serde_json::from_str(&pretty(&value).unwrap()).unwrap();
        assert_eq!(back, value);
    }
}
