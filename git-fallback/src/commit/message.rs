//! A message as `git commit -F` stores it.

use tether_engine::{Error, Result};

/// Trailing white space off every line, no blank lines at the ends, one between paragraphs, a line feed behind the last line.
pub(super) fn clean(message: &str) -> Result<String> {
    let mut cleaned = String::with_capacity(message.len() + 1);
    let mut blank = false;
    for line in message.split('\n') {
        let line = line.trim_end_matches(|c: char| c.is_ascii_whitespace());
        if line.is_empty() {
            blank = !cleaned.is_empty();
            continue;
        }
        if std::mem::take(&mut blank) {
            cleaned.push('\n');
        }
        cleaned.push_str(line);
        cleaned.push('\n');
    }
    if cleaned.is_empty() {
        return Err(
            Error::user("the commit message is blank").with_hint("give one with -m MESSAGE")
        );
    }
    if cleaned.contains('\0') {
        return Err(Error::user("the commit message holds a NUL character")
            .with_hint("give another with -m MESSAGE"));
    }
    Ok(cleaned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cleaned_as_git_does_it() {
        assert_eq!(clean("one").unwrap(), "one\n");
        assert_eq!(
            clean("\n\n  one  \t\r\n\n\n\n# two\n\n").unwrap(),
            "  one\n\n# two\n"
        );
        assert_eq!(clean("-x").unwrap(), "-x\n");
    }

    #[test]
    fn blank_messages_are_refused() {
        for message in ["", " ", "\n \t\n", "a\0b"] {
            assert!(clean(message).is_err(), "{message:?}");
        }
    }
}
