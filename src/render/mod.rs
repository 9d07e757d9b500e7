//! Reports as text, one file per report, and what they share: colour and the escaping of control characters.
//!
//! The functions are pure: report in, text out. JSON is [`json`]'s alone.

pub mod commit;
pub mod diff;
pub mod json;
pub mod object;
pub mod ops;
pub mod plan;
pub mod status;
pub mod undo;
pub mod verify;

use std::borrow::Cow;
use std::fmt::Write as _;

/// Colours, or none.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    on: bool,
}

impl Paint {
    /// Colours when `on`.
    pub fn new(on: bool) -> Self {
        Self { on }
    }

    /// Whether anything is coloured.
    pub fn is_on(self) -> bool {
        self.on
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.on {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Something is wrong.
    pub fn error(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    /// Something to look at.
    pub fn warning(self, text: &str) -> String {
        self.wrap("1;33", text)
    }

    /// What to do next.
    pub fn hint(self, text: &str) -> String {
        self.wrap("1;36", text)
    }

    /// New, added, written.
    pub fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// Changed.
    pub fn changed(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// Removed, failed.
    pub fn bad(self, text: &str) -> String {
        self.wrap("31", text)
    }

    /// News from elsewhere.
    pub fn news(self, text: &str) -> String {
        self.wrap("36", text)
    }

    /// Of less interest.
    pub fn faint(self, text: &str) -> String {
        self.wrap("2", text)
    }
}

/// `text` with control characters, and those that reorder a line, written as escapes: a name cannot move the cursor.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_unsafe(c) && u32::from(c) < 0x100 => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c if is_unsafe(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// [`clean`] for text of several lines, such as what a hook printed: `between` stands between the lines.
pub fn clean_lines(text: &str, between: &str) -> String {
    let lines: Vec<_> = text
        .trim_end_matches('\n')
        .split('\n')
        .map(|line| clean(line.strip_suffix('\r').unwrap_or(line)))
        .collect();
    lines.join(between)
}

fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `1 object`, `2 objects`.
pub fn count(n: usize, noun: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {noun}{s}")
}

/// `text` as a shell reads it back.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_as_escapes_and_letters_stay() {
        assert_eq!(clean("Größe 日本"), "Größe 日本");
        assert_eq!(
            clean("a\x1b[31m\u{9b}\n\t\x7f"),
            "a\\x1b[31m\\x9b\\n\\t\\x7f"
        );
        assert_eq!(clean("\u{202e}gpj"), "\\u{202e}gpj");
        assert_eq!(clean_lines("one\r\ntwo\x07\n", "\n  "), "one\n  two\\x07");
    }

    #[test]
    fn a_quoted_word_is_one_word_to_a_shell() {
        assert_eq!(quoted("a/b-c_1.x"), "a/b-c_1.x");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a b$(x)"), "'a b$(x)'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn colour_surrounds_text_only_when_it_is_on() {
        assert_eq!(Paint::new(true).bad("x"), "\x1b[31mx\x1b[0m");
        assert_eq!(Paint::new(false).bad("x"), "x");
    }
}
