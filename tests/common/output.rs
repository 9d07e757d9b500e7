//! What a command answered, with ids and paths replaced by stable names.
//!
//! `$TEST_ENV` is the machine's folder, `C1` a commit, `C1:12` its first 12 digits, `H1` another hash of 64 digits, `W1` an id of 32,
//! `P1` of 16, `O1` of 12, `L1` of 20, `J1` of 128 (an operation of jj's); `X1` a change of jj's. They are numbered in the order in which
//! a test meets them, and `:N` says that only the first N characters were shown.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::path::Path;

use super::DATASET;

/// Names for ids, kept over a whole test.
pub(crate) struct Names {
    root: String,
    known: Vec<(String, String)>,
    counts: HashMap<&'static str, usize>,
}

impl Names {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            root: root.to_str().unwrap().to_owned(),
            known: Vec::new(),
            counts: HashMap::new(),
        }
    }

    /// `text` with ids and paths replaced.
    pub(crate) fn normalise(&mut self, text: &str) -> String {
        let text = text.replace(&self.root, "$TEST_ENV");
        let mut out = String::with_capacity(text.len());
        let mut word = String::new();
        for c in text.chars().chain(['\n']) {
            if c.is_ascii_alphanumeric() || c == '_' {
                word.push(c);
                continue;
            }
            out.push_str(&self.name(&word));
            word.clear();
            out.push(c);
        }
        out.pop();
        out
    }

    fn name(&mut self, word: &str) -> String {
        let Some((letter, length)) = kind(word) else {
            return word.to_owned();
        };
        let short = |known: &str| {
            if word.len() == length && known.len() <= length {
                String::new()
            } else {
                format!(":{}", word.len())
            }
        };
        // Seen shorter before, and told apart by the same letter; or seen longer.
        let same = |id: &str, name: &str| {
            id.starts_with(word) || (name.starts_with(letter) && word.starts_with(id))
        };
        let known = self.known.iter_mut();
        if let Some((id, name)) = known.into_iter().find(|(id, name)| same(id, name)) {
            let shown = format!("{name}{}", short(id));
            if word.len() > id.len() {
                word.clone_into(id);
            }
            return shown;
        }
        let count = self.counts.entry(letter).or_default();
        *count += 1;
        let name = format!("{letter}{count}");
        self.known.push((word.to_owned(), name.clone()));
        let short = short(word);
        format!("{name}{short}")
    }
}

/// The letter for an id and its full length; `None` for any other word.
fn kind(word: &str) -> Option<(&'static str, usize)> {
    let all = |is: fn(u8) -> bool| word.bytes().all(is);
    if all(|b| (b'k'..=b'z').contains(&b)) {
        // A change id of jj's.
        return matches!(word.len(), 8 | 12 | 32).then_some(("X", 32));
    }
    if !all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
        return None;
    }
    Some(match word.len() {
        128 => ("J", 128),
        64 => ("H", 64),
        40 => ("C", 40),
        32 => ("W", 32),
        20 => ("L", 20),
        16 => ("P", 16),
        12 => ("O", 12),
        // As jj shortens commit ids.
        8 if word != DATASET && !all(|b| b.is_ascii_digit()) => ("C", 40),
        _ => return None,
    })
}

/// Both streams and the exit status of a command.
pub(crate) struct Output {
    /// The exit code; 128 and the signal's number when a signal ended the command.
    pub(crate) code: i32,
    /// Standard output, as it was.
    pub(crate) stdout: String,
    /// Standard error, as it was.
    pub(crate) stderr: String,
    text: String,
}

impl Output {
    pub(crate) fn new(output: std::process::Output, names: &mut Names) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        let status = output.status;
        let code = status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        let stdout = String::from_utf8(output.stdout).expect("standard output is UTF-8");
        let stderr = String::from_utf8(output.stderr).expect("standard error is UTF-8");
        let mut text = names.normalise(&stdout);
        if !stderr.is_empty() {
            text.push_str("------- stderr -------\n");
            text.push_str(&names.normalise(&stderr));
        }
        if code != 0 {
            let _ = writeln!(text, "[exit status: {code}]");
        }
        Self {
            code,
            stdout,
            stderr,
            text,
        }
    }

    /// Fails the test unless the command succeeded.
    #[track_caller]
    pub(crate) fn success(self) -> Self {
        assert_eq!(self.code, 0, "the command failed:\n{self}");
        self
    }

    /// Fails the test unless the command ended with `code`.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "another exit status was expected:\n{self}");
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON ({error}):\n{self}"))
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
