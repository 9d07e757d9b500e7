//! A repository's own configuration file: the owner marker, the sections of deleted branches, and what git must not take from it.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use gix::bstr::{BStr, ByteSlice as _};
use gix::config::{File, Source};
use tether_engine::error::{Error, Result};
use tether_gitkit::exec::{Git, run};

use crate::error;
use crate::repos::Opened;

/// The repository's own `config` alone, includes not followed.
fn own(common_dir: &Path) -> Result<Option<File>> {
    let path = common_dir.join("config");
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(failure) if failure.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(failure) => return Err(Error::io("read", &path, failure)),
    };
    File::from_bytes_no_includes(
        &bytes,
        gix::config::file::Metadata::from(Source::Local),
        gix::config::file::init::Options::default(),
    )
    .map(Some)
    // The cause would quote the file.
    .map_err(|_| Error::store(format!("{} is not a git configuration", path.display())))
}

/// The value of `tether.owner` in the repository's own configuration.
pub(crate) fn owner(common_dir: &Path) -> Result<Option<String>> {
    let file = own(common_dir)?;
    Ok(file
        .and_then(|file| file.string("tether.owner"))
        .map(|value| value.to_str_lossy().into_owned()))
}

/// Removes the `[branch "NAME"]` sections, as `git branch -d` does. Does nothing, and takes no lock, when there are none.
pub(crate) fn remove_branch(repo: &gix::Repository, name: &str) -> Result<()> {
    let path = repo.common_dir().join("config");
    let has = |file: &Option<File>| {
        file.as_ref()
            .is_some_and(|file| file.section("branch", Some(BStr::new(name))).is_ok())
    };
    if !has(&own(repo.common_dir())?) {
        return Ok(());
    }
    let failed = || format!("cannot update {}", path.display());
    let patience = gix::lock::acquire::Fail::AfterDurationWithBackoff(Duration::from_secs(2));
    let mut lock = gix::lock::File::acquire_to_update_resource(&path, patience, None)
        .map_err(error::store(failed()))?;
    let Some(mut file) = own(repo.common_dir())? else {
        return Ok(());
    };
    while file
        .remove_section("branch", Some(BStr::new(name)))
        .is_some()
    {}
    lock.write_all(&file.to_bstring())
        .map_err(error::store(failed()))?;
    lock.commit().map_err(error::store(failed()))?;
    Ok(())
}

/// Every value of the repository's own configuration whose section passes `wanted`, as git would take it (includes followed by gix).
pub(crate) fn local_values(
    repo: &gix::Repository,
    wanted: impl Fn(&str, &str) -> bool,
) -> Vec<(String, String)> {
    let snapshot = repo.config_snapshot();
    let mut out = Vec::new();
    for section in snapshot.plumbing().sections() {
        if section.meta().source.kind() != gix::config::source::Kind::Repository {
            continue;
        }
        let header = section.header();
        let name = header.name().to_str_lossy().to_lowercase();
        let sub = header
            .subsection_name()
            .map(|sub| sub.to_str_lossy().into_owned());
        for value_name in section.value_names() {
            let value_name: String = value_name.clone();
            if !wanted(&name, &value_name.to_lowercase()) {
                continue;
            }
            let key = match &sub {
                Some(sub) => format!("{name}.{sub}.{value_name}"),
                None => format!("{name}.{value_name}"),
            };
            for value in section.values(&value_name) {
                out.push((key.clone(), value.to_str_lossy().into_owned()));
            }
        }
    }
    out
}

/// Gives `command` configuration through the environment: names may hold any character, values are not seen by other users.
pub(crate) fn set(command: &mut Command, values: &[(String, String)]) {
    command.env("GIT_CONFIG_COUNT", values.len().to_string());
    for (index, (key, value)) in values.iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{index}"), key);
        command.env(format!("GIT_CONFIG_VALUE_{index}"), value);
    }
}

/// Overrides everything in the repository's own configuration that names a program, as git itself reads it.
///
/// Filters become none, merge drivers one that reports a conflict. The answer: the filters it defines.
pub(crate) fn silence(git: &Git, at: &Opened, command: &mut Command) -> Result<Vec<String>> {
    let dir = at.repo.workdir().unwrap_or_else(|| at.repo.git_dir());
    let mut list = git.foreign(dir);
    list.env("GIT_DIR", at.repo.git_dir());
    list.args(["config", "--includes", "--null", "--show-scope", "--list"]);
    let output = run(list, b"", Duration::from_mins(1))?;
    if !output.success {
        return Err(Error::store(format!(
            "cannot read the configuration of {}: {}",
            at.shown(),
            error::reason(&output.stderr)
        )));
    }
    let (values, filters) = overrides(&output.stdout);
    set(command, &values);
    Ok(filters)
}

/// The overrides for a `git config --null --show-scope --list`, and the names of its own filters.
fn overrides(listed: &[u8]) -> (Vec<(String, String)>, Vec<String>) {
    let mut values: Vec<(String, String)> = [
        ("core.sshCommand", "false"),
        ("core.askPass", "false"),
        ("core.editor", "false"),
        ("core.pager", "cat"),
        ("core.alternateRefsCommand", "false"),
        ("gpg.program", "false"),
        ("merge.verifySignatures", "false"),
        ("merge.autoStash", "false"),
        ("merge.renormalize", "false"),
        ("submodule.recurse", "false"),
        ("maintenance.auto", "false"),
        ("gc.auto", "0"),
        ("protocol.allow", "never"),
        ("diff.external", ""),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .to_vec();
    let mut filters = Vec::new();
    let mut parts = listed.split(|byte| *byte == 0);
    while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
        if !matches!(scope, b"local" | b"worktree") {
            continue;
        }
        let key = entry
            .split(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        let Ok(key) = key.to_str() else { continue };
        let Some((section, rest)) = key.split_once('.') else {
            continue;
        };
        let Some((sub, name)) = rest.rsplit_once('.') else {
            continue;
        };
        let quiet = match (section, name) {
            ("filter", "clean" | "smudge" | "process") => {
                filters.push(sub.to_owned());
                ""
            }
            ("filter", "required") | ("merge", "driver") => "false",
            _ => continue,
        };
        values.push((key.to_owned(), quiet.to_owned()));
    }
    filters.sort_unstable();
    filters.dedup();
    (values, filters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_repositorys_own_programs_are_overridden() {
        let listed = b"global\0filter.lfs.smudge\ngit-lfs smudge\0local\0filter.a=b.smudge\nevil\0local\0filter.a=b.required\ntrue\0\
            worktree\0merge.m.driver\nevil %O\0local\0core.bare\nfalse\0";
        let (values, filters) = overrides(listed);
        let find = |key: &str| {
            values
                .iter()
                .rev()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!(find("filter.a=b.smudge"), Some(""));
        assert_eq!(find("filter.a=b.required"), Some("false"));
        assert_eq!(find("merge.m.driver"), Some("false"));
        assert_eq!(find("filter.lfs.smudge"), None);
        assert_eq!(find("core.bare"), None);
        assert_eq!(filters, ["a=b"]);
    }
}
