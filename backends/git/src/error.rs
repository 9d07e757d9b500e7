//! From gix and git to the engine's one error.

use std::error::Error as StdError;

use tether_engine::Error;

/// A `Store` error with its cause.
pub(crate) fn store<E>(what: impl Into<String>) -> impl FnOnce(E) -> Error
where
    E: StdError + Send + Sync + 'static,
{
    let what = what.into();
    move |error| Error::store(what).with_source(error)
}

/// The same error for each of `count` items, for calls that fail as a whole.
pub(crate) fn repeat<T>(error: &Error, count: usize) -> Vec<Result<T, Error>> {
    (0..count)
        .map(|_| {
            let mut copy = Error::new(error.kind(), error.one_line());
            if let Some(hint) = error.hint() {
                copy = copy.with_hint(hint);
            }
            Err(copy)
        })
        .collect()
}

/// What git said, on one line: its first `fatal:`, `error:` or `remote:` line, else its last line.
pub(crate) fn reason(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let said = ["fatal: ", "error: ", "remote: "]
        .iter()
        .find_map(|prefix| lines.iter().find_map(|line| line.strip_prefix(prefix)))
        .or_else(|| lines.last().copied())
        .unwrap_or("it gave no reason");
    said.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// `a, b and 3 more`.
pub(crate) fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names
        .iter()
        .take(SHOWN)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > SHOWN {
        format!("{shown} and {} more", names.len() - SHOWN)
    } else {
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_gits_first_fatal_line() {
        let said = b"hint: later\nerror: b\nfatal: a \x1b[1mthing\n";
        assert_eq!(reason(said), "a  [1mthing");
        assert_eq!(reason(b"x\ny\n"), "y");
        assert_eq!(reason(b""), "it gave no reason");
    }

    #[test]
    fn long_lists_of_paths_are_cut() {
        let names: Vec<String> = (0..7).map(|n| n.to_string()).collect();
        assert_eq!(some_of(&names), "0, 1, 2, 3, 4 and 2 more");
        assert_eq!(some_of(&names[..2]), "0, 1");
    }
}
