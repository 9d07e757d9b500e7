//! Errors as text: what could not be done, why, and what to type next.
//!
//! ```text
//! Error: code (git): cannot read the branch main
//! Caused by: No such file or directory (os error 2)
//! Hint: tether verify code
//! ```

use std::error::Error as _;
use std::fmt::Write as _;

use tether_engine::{Error, ErrorKind};

use crate::render::{Paint, clean, clean_lines};

/// The error, its causes and its hint, each on its own line. Several objects' errors follow each other, indented.
pub fn text(error: &Error, paint: Paint) -> String {
    let mut out = format!("{} ", paint.error("Error:"));
    write(error, paint, "", &mut out);
    out
}

fn write(error: &Error, paint: Paint, indent: &str, out: &mut String) {
    let below = format!("\n{indent}  ");
    let _ = writeln!(out, "{}", clean_lines(&error.to_string(), &below));
    for part in error.parts() {
        let _ = write!(out, "{indent}  ");
        write(part, paint, &format!("{indent}    "), out);
    }
    for unit in error.units() {
        let _ = writeln!(out, "{indent}  conflict: {}", clean(unit));
    }
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        let _ = writeln!(
            out,
            "{indent}Caused by: {}",
            clean_lines(text.trim_end(), &below)
        );
        cause = inner.source();
    }
    if let Some(hint) = hint(error) {
        let _ = writeln!(out, "{indent}{} {}", paint.hint("Hint:"), clean(&hint));
    }
}

fn hint(error: &Error) -> Option<String> {
    error
        .hint()
        .map(str::to_owned)
        .or_else(|| (error.kind() == ErrorKind::Usage).then(|| "see `tether --help`".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn plain(error: &Error) -> String {
        text(error, Paint::new(false))
    }

    #[test]
    fn an_error_is_followed_by_its_causes_and_its_hint() {
        let error = Error::store("cannot read the branch main")
            .with_source(io::Error::other("the disk\nis gone"))
            .with_hint("tether verify code")
            .for_object("code", "git");
        assert_eq!(
            plain(&error),
            "Error: code (git): cannot read the branch main\n\
             Caused by: the disk\n  is gone\n\
             Hint: tether verify code\n"
        );
    }

    #[test]
    fn several_errors_stand_below_each_other_with_their_hints() {
        let first = Error::store("gone")
            .for_object("a", "file")
            .with_hint("tether verify a");
        let second = Error::store("late")
            .for_object("b", "git")
            .with_source(io::Error::other("net"));
        assert_eq!(
            plain(&Error::several(vec![first, second])),
            "Error: 2 objects failed\n  a (file): gone\n    Hint: tether verify a\n  b (git): late\n    Caused by: net\n"
        );
    }

    #[test]
    fn conflicting_units_are_listed_and_control_characters_are_escaped() {
        let error = Error::new(ErrorKind::MergeConflict, "the merge stopped")
            .with_units(vec!["a\u{1b}[2Jb".to_owned()]);
        assert_eq!(
            plain(&error),
            "Error: the merge stopped\n  conflict: a\\x1b[2Jb\n"
        );
    }
}
