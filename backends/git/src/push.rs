//! Pins on a remote, through `git push` from a neutral repository.
//!
//! `git push` in the store's own repository would run what its configuration names (`core.sshCommand`, `remote.*.receivepack`), so it
//! runs in a temporary bare repository that borrows the store's objects. Of the store's configuration only addresses and HTTP settings
//! come along. Every push is conditional: creating expects absence, deleting expects the value just read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice as _};
use tempfile::TempDir;
use tether_engine::error::{Error, Result};
use tether_gitkit::exec::{Git, Output, run};

use crate::locator::{self, Push};
use crate::repos::Opened;
use crate::{config, error};

/// How long a push may take; it may have to send the commit's history.
const PUSHING: Duration = Duration::from_mins(10);

/// How long listing refs may take.
const LISTING: Duration = Duration::from_mins(2);

/// The name the address has in the neutral repository.
const NAME: &str = "tether";

/// What a conditional creation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    Created,
    /// It stood there already.
    Found,
    /// It is elsewhere (where, when the commit is known here).
    Elsewhere(Option<ObjectId>),
}

/// A remote and the neutral repository to reach it from.
pub(crate) struct Remote {
    label: String,
    git: Git,
    home: TempDir,
    settings: Vec<(String, String)>,
    secrets: Vec<String>,
}

/// Whether the repository has configured a remote of this name.
pub(crate) fn is_configured(repo: &gix::Repository, name: &str) -> bool {
    !addresses(repo, name).is_empty()
}

/// The addresses pushes to the remote go to.
fn addresses(repo: &gix::Repository, name: &str) -> Vec<String> {
    let snapshot = repo.config_snapshot();
    ["pushUrl", "url"]
        .iter()
        .find_map(|key| {
            snapshot
                .plumbing()
                .strings_by("remote", Some(BStr::new(name)), *key)
        })
        .unwrap_or_default()
        .iter()
        .map(|url| url.to_str_lossy().into_owned())
        .filter(|url| !url.is_empty())
        .collect()
}

impl Remote {
    /// The remote pins are pushed to, if the object has one.
    pub(crate) fn of(at: &Opened) -> Result<Option<Self>> {
        let (label, url) = match &at.site.push {
            None => return Ok(None),
            Some(Push::Address(address)) => ("of the secrets file".to_owned(), address.clone()),
            Some(Push::Named(name)) => {
                match addresses(&at.repo, name).as_slice() {
                    [] => return Err(locator::not_a_remote(name, &at.site.path)),
                    [url] => (name.clone(), url.clone()),
                    [..] => {
                        return Err(Error::config(format!(
                        "remote {name} of {} has several addresses to push to, a pin goes to one",
                        at.shown()
                    ))
                    .with_hint(format!("`git -C {} remote add PINS URL`, and name that", at.shown())));
                    }
                }
            }
        };
        if url.starts_with('-') {
            return Err(Error::config(format!(
                "the address of remote {label} looks like an option"
            )));
        }
        let url = absolute(&url, at);
        let mut settings = vec![(format!("remote.{NAME}.url"), url.clone())];
        settings.extend(config::local_values(&at.repo, |section, key| {
            matches!(
                (section, key),
                ("url", "insteadof" | "pushinsteadof")
                    | (
                        "http",
                        "extraheader" | "proxy" | "sslcainfo" | "sslcapath" | "sslverify"
                    )
            )
        }));
        let secrets = settings
            .iter()
            .filter(|(key, _)| key.to_lowercase().ends_with("extraheader"))
            .map(|(_, value)| value.clone())
            .chain(passwords(&url))
            .collect();
        Ok(Some(Self {
            label,
            git: at.core.git()?,
            home: neutral(&at.repo)?,
            settings,
            secrets,
        }))
    }

    /// The remote's name, for messages.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Makes `full` at `commit` on the remote, if absent. A reply that was lost is looked up.
    pub(crate) fn create(&self, at: &Opened, full: &str, commit: ObjectId) -> Result<Pushed> {
        let lease = format!("--force-with-lease={full}:");
        let refspec = format!("{commit}:{full}");
        let output = self.push(&lease, &refspec);
        let said = match &output {
            Ok(output) => flag(&output.stdout, full),
            Err(_) => None,
        };
        match said {
            Some('*') => return Ok(Pushed::Created),
            Some('=') => return Ok(Pushed::Found),
            _ => {}
        }
        // Refused, or no answer: what counts is where the ref is now.
        match self
            .list(at, &[full.to_owned()])
            .ok()
            .and_then(|refs| refs.get(full).copied())
        {
            Some(id) if id == commit && said.is_none() => Ok(Pushed::Created),
            Some(id) if id == commit => Ok(Pushed::Found),
            Some(id) => Ok(Pushed::Elsewhere(Some(id))),
            None => Err(self.failed(&format!("cannot push the pin {full}"), output)),
        }
    }

    /// Deletes the refs `names` on the remote. True when one was there.
    pub(crate) fn delete(&self, at: &Opened, names: &[String]) -> Result<bool> {
        let mut deleted = false;
        for _ in 0..3 {
            let there = self.list(at, names)?;
            let Some((full, id)) = names.iter().find_map(|full| there.get_key_value(full)) else {
                return Ok(deleted);
            };
            let output = self.push(
                &format!("--force-with-lease={full}:{id}"),
                &format!(":{full}"),
            );
            match &output {
                Ok(answer) if flag(&answer.stdout, full) == Some('-') => deleted = true,
                _ => {
                    let now = self.list(at, names)?.get(full).copied();
                    if now == Some(*id) {
                        return Err(self.failed(&format!("cannot delete the pin {full}"), output));
                    }
                    deleted |= now.is_none();
                }
            }
        }
        if self.list(at, names)?.is_empty() {
            return Ok(deleted);
        }
        Err(Error::store(format!(
            "the pin {} keeps coming back on remote {}",
            names.first().map(String::as_str).unwrap_or_default(),
            self.label
        ))
        .with_hint("another process makes it again: run the command once more"))
    }

    /// The remote's refs that match `patterns`, annotated tags peeled.
    pub(crate) fn list(
        &self,
        at: &Opened,
        patterns: &[String],
    ) -> Result<HashMap<String, ObjectId>> {
        let mut command = self.command();
        command.args(["ls-remote", "--quiet", "--", NAME]);
        command.args(patterns);
        // An annotated tag's commit is listed as `NAME^{}`.
        command.args(patterns.iter().map(|pattern| format!("{pattern}^{{}}")));
        let output = run(command, b"", LISTING);
        if !matches!(&output, Ok(output) if output.success) {
            return Err(self.failed(&format!("cannot list the pins of {}", at.shown()), output));
        }
        let text = output?.stdout;
        let mut refs = HashMap::new();
        for line in text.lines() {
            let Some((id, name)) = line.split_once_str("\t") else {
                continue;
            };
            let (Ok(id), Ok(name)) = (ObjectId::from_hex(id), name.to_str()) else {
                continue;
            };
            refs.insert(name.strip_suffix("^{}").unwrap_or(name).to_owned(), id);
        }
        Ok(refs)
    }

    fn push(&self, lease: &str, refspec: &str) -> Result<Output> {
        let mut command = self.command();
        command.args(["-c", "push.gpgSign=false", "-c", "push.followTags=false"]);
        command.args([
            "-c",
            "push.recurseSubmodules=no",
            "push",
            "--porcelain",
            "--no-verify",
        ]);
        command.args([lease, "--", NAME, refspec]);
        run(command, b"", PUSHING)
    }

    fn command(&self) -> Command {
        let mut command = self.git.foreign(self.home.path());
        command.arg("--git-dir").arg(self.home.path());
        config::set(&mut command, &self.settings);
        command
    }

    /// What git said, without anything secret.
    fn failed(&self, what: &str, output: Result<Output>) -> Error {
        let said = match &output {
            Ok(output) => rejected(&output.stdout).unwrap_or_else(|| error::reason(&output.stderr)),
            Err(failure) => failure.one_line(),
        };
        let said = self
            .secrets
            .iter()
            .fold(said, |said, secret| said.replace(secret, "***"));
        Error::store(format!("{what} on remote {}: {said}", self.label)).with_hint(format!(
            "`git ls-remote {}` in the repository shows whether it answers",
            self.label
        ))
    }
}

/// A bare repository with nothing of its own, that sees the objects of `repo`.
fn neutral(repo: &gix::Repository) -> Result<TempDir> {
    let home = tempfile::Builder::new()
        .prefix("tether-push-")
        .tempdir()
        .map_err(error::store("cannot make a temporary directory"))?;
    let write = |name: &str, text: &[u8]| {
        let path = home.path().join(name);
        std::fs::write(&path, text).map_err(|failure| Error::io("write", &path, failure))
    };
    for dir in ["objects/info", "objects/pack", "refs/heads"] {
        let path = home.path().join(dir);
        std::fs::create_dir_all(&path).map_err(|failure| Error::io("make", &path, failure))?;
    }
    let config = match repo.object_hash() {
        gix::hash::Kind::Sha1 => {
            "[core]\n\trepositoryformatversion = 0\n\tbare = true\n".to_owned()
        }
        other => format!(
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = {other}\n"
        ),
    };
    write("config", config.as_bytes())?;
    write("HEAD", b"ref: refs/heads/none\n")?;
    let objects = repo.common_dir().join("objects");
    let objects = objects
        .canonicalize()
        .map_err(|failure| Error::io("find", &objects, failure))?;
    let mut line = quoted(&objects);
    line.push(b'\n');
    write("objects/info/alternates", &line)?;
    // The cut of a shallow clone is part of what its objects mean.
    if let Ok(shallow) = std::fs::read(repo.common_dir().join("shallow")) {
        write("shallow", &shallow)?;
    }
    Ok(home)
}

/// A path as `info/alternates` takes it: C-quoted where it starts with a quote or a comment sign or holds a line break.
fn quoted(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt as _;
    let bytes = path.as_os_str().as_bytes();
    if !bytes.contains(&b'\n') && !bytes.contains(&b'"') && !bytes.contains(&b'\\') {
        return bytes.to_vec();
    }
    let mut out = vec![b'"'];
    for byte in bytes {
        match byte {
            b'\n' => out.extend(b"\\n"),
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            other => out.push(*other),
        }
    }
    out.push(b'"');
    out
}

/// A relative path is relative to the store's working tree, not to the neutral repository.
fn absolute(url: &str, at: &Opened) -> String {
    let scp_like = url
        .find(':')
        .is_some_and(|colon| !url[..colon].contains('/'));
    if url.contains("://") || scp_like || Path::new(url).is_absolute() {
        return url.to_owned();
    }
    let from: PathBuf = at
        .repo
        .workdir()
        .unwrap_or_else(|| at.repo.git_dir())
        .to_path_buf();
    from.join(url).display().to_string()
}

/// The passwords (or tokens) in a URL.
fn passwords(url: &str) -> Vec<String> {
    let Some((_, rest)) = url.split_once("://") else {
        return Vec::new();
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let Some((user, _)) = authority.rsplit_once('@') else {
        return Vec::new();
    };
    let mut secrets = vec![user.to_owned()];
    secrets.extend(
        user.split_once(':')
            .map(|(_, password)| password.to_owned()),
    );
    secrets.retain(|secret| !secret.is_empty());
    secrets
}

/// The flag of a ref's line in `git push --porcelain`.
fn flag(stdout: &[u8], full: &str) -> Option<char> {
    String::from_utf8_lossy(stdout).lines().find_map(|line| {
        let mut fields = line.split('\t');
        let flag = fields.next()?.chars().next()?;
        let (_, to) = fields.next()?.split_once(':')?;
        (to == full).then_some(flag)
    })
}

/// Why a ref was refused, from `git push --porcelain`.
fn rejected(stdout: &[u8]) -> Option<String> {
    String::from_utf8_lossy(stdout).lines().find_map(|line| {
        line.strip_prefix("!\t")?
            .split('\t')
            .nth(1)
            .map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_a_push_is_read_per_ref() {
        let said = b"To /r\n*\tabc:refs/tags/tether.a\t[new tag]\n!\tabc:refs/tags/b\t[rejected] (stale info)\nDone\n";
        assert_eq!(flag(said, "refs/tags/tether.a"), Some('*'));
        assert_eq!(flag(said, "refs/tags/b"), Some('!'));
        assert_eq!(flag(said, "refs/tags/tether"), None);
        assert_eq!(rejected(said).as_deref(), Some("[rejected] (stale info)"));
    }

    #[test]
    fn what_is_secret_in_a_url_is_known() {
        assert_eq!(passwords("https://u:p@ss@h/x"), ["u:p@ss", "p@ss"]);
        assert_eq!(passwords("https://token@h/x"), ["token"]);
        assert!(passwords("https://h/u@x").is_empty());
        assert!(passwords("git@h:x").is_empty());
    }
}
