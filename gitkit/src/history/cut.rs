//! What keeps history from being whole.

use tether_engine::Result;
use tether_engine::vcs::Completeness;

use super::tips;
use crate::failed;

/// Whether every commit that may name a pin can be seen. One cut is told at a time, the one to mend first.
pub fn completeness(repo: &gix::Repository) -> Result<Completeness> {
    let common = repo.common_dir();
    let cut = |reason: String, hint: String| Ok(Completeness::Cut { reason, hint });
    if has_lines(&common.join("shallow"))? {
        return cut(
            "the clone is shallow: older commits are missing".to_owned(),
            "git fetch --unshallow".to_owned(),
        );
    }
    if let Some(remote) = promisor(repo) {
        let mut mend = format!(
            "git fetch --refetch --no-filter {remote} && git config --unset remote.{remote}.promisor"
        );
        if repo
            .config_snapshot()
            .string("extensions.partialClone")
            .is_some()
        {
            mend.push_str(" && git config --unset extensions.partialClone");
        }
        return cut(
            format!("the clone is partial: objects of {remote} may be missing"),
            mend,
        );
    }
    if has_lines(&common.join("info/grafts"))? {
        return cut(
            "info/grafts replaces parents of commits".to_owned(),
            format!("rm {}", common.join("info/grafts").display()),
        );
    }
    let platform = repo
        .references()
        .map_err(|error| failed("cannot list refs", error))?;
    let mut replaced = platform
        .prefixed("refs/replace/")
        .map_err(|error| failed("cannot list refs", error))?;
    if replaced.next().is_some() {
        return cut(
            "git replace hides objects".to_owned(),
            "git replace -d $(git replace -l)".to_owned(),
        );
    }
    if let Some(broken) = tips::collect(repo)?.broken.first() {
        return cut(
            format!("a ref cannot be read: {broken}"),
            "git fsck".to_owned(),
        );
    }
    Ok(Completeness::Complete)
}

/// The remote a partial clone leaves objects at.
pub fn promisor(repo: &gix::Repository) -> Option<String> {
    let config = repo.config_snapshot();
    let remotes = config
        .plumbing()
        .sections_by_name("remote")
        .into_iter()
        .flatten();
    for section in remotes {
        let Some(name) = section.header().subsection_name() else {
            continue;
        };
        if config.boolean(format!("remote.{name}.promisor").as_str()) == Some(true) {
            return Some(name.to_string());
        }
    }
    config
        .string("extensions.partialClone")
        .map(|name| name.to_string())
}

/// Whether the file has a line that is no comment.
fn has_lines(path: &std::path::Path) -> Result<bool> {
    match std::fs::read(path) {
        Ok(text) => Ok(text
            .split(|byte| *byte == b'\n')
            .any(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(tether_engine::Error::io("read", path, error)),
    }
}
