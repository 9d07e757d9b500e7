//! Signing a commit as `git commit` would, with a bound on the signer's time.

use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use gix::objs::WriteTo;
use gix::objs::signature::Format;
use gix::objs::signature::sign::{Options, is_literal_ssh_key};
use tether_engine::{Error, Result};
use tether_gitkit::exec;

use crate::failed;

/// How long a signer may take: time enough to type a passphrase.
const SIGNER: Duration = Duration::from_mins(1);

/// How long `git commit` may take with all hooks: some run a linter over everything.
pub(super) const HOOKS: Duration = Duration::from_mins(5);

/// The bound on a signer or on hooks; tests of debug builds may shorten it.
pub(super) fn limit(usual: Duration) -> Duration {
    let shorter = std::env::var("TETHER_TEST_HOOK_LIMIT_MS")
        .ok()
        .and_then(|text| text.parse().ok())
        .map(Duration::from_millis);
    shorter.filter(|_| cfg!(debug_assertions)).unwrap_or(usual)
}

/// The commit with its signature, when `commit.gpgSign` asks for one.
pub(super) fn sign(
    repo: &gix::Repository,
    mut commit: gix::objs::Commit,
) -> Result<gix::objs::Commit> {
    let options = repo.commit_signing_options_if_enabled().map_err(|error| {
        failed("git's settings for signing commits cannot be used", error).with_hint(HINT)
    })?;
    let Some(options) = options else {
        return Ok(commit);
    };
    let mut payload = Vec::new();
    commit
        .write_to(&mut payload)
        .map_err(|error| failed("cannot write the commit to sign", error))?;
    let signature = match options.format {
        Format::Ssh => with_ssh(repo, &options, &payload)?,
        Format::OpenPgp | Format::X509 => with_gpg(&options, &payload)?,
    };
    let header = match repo.object_hash() {
        gix::hash::Kind::Sha256 => "gpgsig-sha256",
        _ => "gpgsig",
    };
    let signature: Vec<u8> = signature
        .into_iter()
        .filter(|byte| *byte != b'\r')
        .collect();
    commit.extra_headers.push((header.into(), signature.into()));
    Ok(commit)
}

const HINT: &str = "mend what the signer says, or commit unsigned: git config commit.gpgSign false";

fn command(options: &Options) -> Command {
    let mut command = Command::new(&options.program);
    command.args(&options.program_arguments).envs(
        options
            .environment
            .iter()
            .map(|(name, value)| (name, value)),
    );
    command
}

fn run(command: Command, input: &[u8]) -> Result<exec::Output> {
    let refused = |reason: &str| {
        Error::vcs(format!("the commit could not be signed: {reason}")).with_hint(HINT)
    };
    let output =
        exec::run(command, input, limit(SIGNER)).map_err(|error| refused(&error.one_line()))?;
    if output.success {
        return Ok(output);
    }
    let reason = output.reason();
    Err(refused(if reason.is_empty() {
        "the signer failed and said nothing"
    } else {
        &reason
    }))
}

fn with_gpg(options: &Options, payload: &[u8]) -> Result<Vec<u8>> {
    let mut command = command(options);
    command
        .args(["--status-fd=2", "-bsau"])
        .arg(&options.signing_key);
    let output = run(command, payload)?;
    let confirmed = output
        .stderr
        .split(|byte| *byte == b'\n')
        .any(|line| line.starts_with(b"[GNUPG:] SIG_CREATED "));
    if confirmed && !output.stdout.is_empty() {
        Ok(output.stdout)
    } else {
        Err(
            Error::vcs("the commit could not be signed: the signer made no signature")
                .with_hint(HINT),
        )
    }
}

fn with_ssh(repo: &gix::Repository, options: &Options, payload: &[u8]) -> Result<Vec<u8>> {
    let scratch = Scratch::new(repo)?;
    let mut command = command(options);
    command.args(["-Y", "sign", "-n", "git", "-f"]);
    match options
        .signing_key
        .to_str()
        .and_then(|key| is_literal_ssh_key(key.as_bytes()))
    {
        Some(key) => command.arg(scratch.write("key", key)?).arg("-U"),
        None => command.arg(&options.signing_key),
    };
    let message = scratch.write("commit", payload)?;
    run(
        {
            command.arg(message);
            command
        },
        b"",
    )?;
    let signature = scratch.0.join("commit.sig");
    std::fs::read(&signature)
        .map_err(|error| Error::io("read the signature", &signature, error).with_hint(HINT))
}

/// A folder in the git dir that only its owner can look into, removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(repo: &gix::Repository) -> Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let path = repo
            .git_dir()
            .join(format!("tether-sign-{}", std::process::id()));
        // Left by a killed process that had this number.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| Error::io("create", &path, error))?;
        Ok(Self(path))
    }

    fn write(&self, name: impl AsRef<OsStr>, bytes: &[u8]) -> Result<PathBuf> {
        use std::os::unix::fs::OpenOptionsExt;
        let path = self.0.join(name.as_ref());
        std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(bytes))
            .map_err(|error| Error::io("write", &path, error))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
