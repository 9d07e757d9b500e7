//! `info/exclude`: tether's per-checkout files stay out of every snapshot, also of a stock jj at a revision older than the dataset,
//! whose `.tether/.gitignore` is not there to say so.

use std::path::Path;

use jj_lib::repo::{ReadonlyRepo, Repo as _};
use tether_engine::{Result, fsutil};

use crate::repo::Jj;

/// What belongs to one checkout.
const FILES: [&str; 5] = [
    "workspace.toml",
    "ops.jsonl",
    "cache",
    "lock",
    "secrets.toml",
];

/// Adds the dataset's per-checkout files to the repository's exclude file, once.
pub(crate) fn write(jj: &Jj, repo: &ReadonlyRepo) -> Result<()> {
    let Ok(backend) = jj_lib::git::get_git_backend(repo.store()) else {
        return Ok(());
    };
    let path = backend.git_repo_path().join("info/exclude");
    let old = match fsutil::read_regular(&path) {
        Ok(old) => old.unwrap_or_default(),
        // Somebody made it something else: then it is theirs.
        Err(_) => return Ok(()),
    };
    let Some(new) = with_files(&old, &jj.prefix) else {
        return Ok(());
    };
    if let Some(dir) = path.parent().filter(|dir| !dir.is_dir()) {
        fsutil::create_dirs(dir)?;
    }
    write_file(&path, &new)
}

fn write_file(path: &Path, content: &[u8]) -> Result<()> {
    fsutil::write_atomic(path, content)
}

/// `old` with the lines it lacks; `None` when it lacks none.
fn with_files(old: &[u8], prefix: &str) -> Option<Vec<u8>> {
    let slash = if prefix.is_empty() { "" } else { "/" };
    let missing: Vec<String> = FILES
        .iter()
        .map(|name| format!("{slash}{}/.tether/{name}", escaped(prefix)))
        .filter(|line| {
            !old.split(|byte| *byte == b'\n')
                .any(|it| it == line.as_bytes())
        })
        .collect();
    if missing.is_empty() {
        return None;
    }
    let mut new = old.to_vec();
    if !new.is_empty() && !new.ends_with(b"\n") {
        new.push(b'\n');
    }
    new.extend(b"# tether: per checkout, never committed\n");
    for line in missing {
        new.extend(line.into_bytes());
        new.push(b'\n');
    }
    Some(new)
}

/// A path with what ignore rules take for patterns escaped.
fn escaped(path: &str) -> String {
    let mut out = String::new();
    for character in path.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '\\' | '!' | '#' | ' ') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_once_and_what_is_there_stays() {
        let once = with_files(b"/target", "").unwrap();
        let text = String::from_utf8(once.clone()).unwrap();
        assert!(text.starts_with("/target\n# tether"), "{text}");
        assert!(text.contains("\n/.tether/secrets.toml\n"), "{text}");
        assert_eq!(with_files(&once, ""), None);
        let below = String::from_utf8(with_files(b"", "a [b]/c").unwrap()).unwrap();
        assert!(below.contains("\n/a\\ \\[b\\]/c/.tether/lock\n"), "{below}");
    }
}
