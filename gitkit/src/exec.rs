//! The `git` executable, for the five calls that gix cannot do, and running any program with a bound.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use tether_engine::{Error, Result};

use crate::env;

/// The oldest `git` that has `safe.bareRepository` and `merge-tree --write-tree`.
const OLDEST: (u32, u32) = (2, 38);

/// How long output of a child that ended is still read: a program it left behind may hold the pipe for ever.
const DRAIN: Duration = Duration::from_secs(1);

/// A `git` executable of at least 2.38, found once.
#[derive(Clone, Debug)]
pub struct Git {
    path: PathBuf,
}

/// What a run printed.
#[derive(Clone, Debug)]
pub struct Output {
    /// Whether it exited with 0.
    pub success: bool,
    /// Exit code, when it exited.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

impl Output {
    /// What it said on standard error, or else on standard output: trimmed, control characters escaped.
    pub fn reason(&self) -> String {
        let stderr = String::from_utf8_lossy(&self.stderr);
        let text = if stderr.trim().is_empty() {
            String::from_utf8_lossy(&self.stdout)
        } else {
            stderr
        };
        text.trim()
            .chars()
            .flat_map(|c| {
                let printed: Vec<char> = if c.is_control() && c != '\n' && c != '\t' {
                    c.escape_default().collect()
                } else {
                    vec![c]
                };
                printed
            })
            .collect()
    }
}

impl Git {
    /// `configured` (secrets `git_path`), else `TETHER_GIT`, else `PATH`. Checks the version (numerically, 2.38 or newer).
    pub fn find(configured: Option<&Path>) -> Result<Self> {
        let from_env = std::env::var_os("TETHER_GIT").filter(|value| !value.is_empty());
        let (path, named_by) = if let Some(path) = configured {
            (executable(path), "git_path in .tether/secrets.toml")
        } else if let Some(path) = &from_env {
            (executable(Path::new(path)), "TETHER_GIT")
        } else {
            (executable(Path::new("git")), "PATH")
        };
        let path = path.ok_or_else(|| {
            Error::vcs(format!("there is no git executable where {named_by} says"))
                .with_hint("install git 2.38 or newer, or name it with TETHER_GIT=/path/to/git")
        })?;
        let git = Self { path };
        git.check_version()?;
        Ok(git)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn check_version(&self) -> Result<()> {
        let mut command = Command::new(&self.path);
        command.arg("--version");
        let output = run(command, b"", Duration::from_secs(10))?;
        let text = String::from_utf8_lossy(&output.stdout);
        match version(&text) {
            Some(found) if found >= OLDEST => Ok(()),
            Some((major, minor)) => Err(Error::vcs(format!(
                "git 2.38 or newer is needed, {} is {major}.{minor}",
                self.path.display()
            ))
            .with_hint("install a newer git, or name one with TETHER_GIT=/path/to/git")),
            None => Err(Error::vcs(format!(
                "{} does not say which version of git it is",
                self.path.display()
            ))
            .with_hint("name a git executable with TETHER_GIT=/path/to/git")),
        }
    }

    /// A command in `dir`: environment scrubbed, `GIT_TERMINAL_PROMPT=0`, standard input from nowhere, no colour, no pager, no editor,
    /// pathspecs literal.
    pub fn command(&self, dir: &Path) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(dir).stdin(Stdio::null());
        for name in env::poisoned() {
            command.env_remove(name);
        }
        for name in [
            "GIT_GLOB_PATHSPECS",
            "GIT_NOGLOB_PATHSPECS",
            "GIT_ICASE_PATHSPECS",
        ] {
            command.env_remove(name);
        }
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_EDITOR", ":")
            .args(["--no-pager", "--literal-pathspecs"])
            .args(["-c", "color.ui=never", "-c", "core.quotePath=false"]);
        command
    }

    /// [`Git::command`] for a store's repository: also no hooks, no fsmonitor, no `ext::`, `safe.bareRepository=explicit`.
    pub fn foreign(&self, dir: &Path) -> Command {
        let mut command = self.command(dir);
        for setting in [
            "core.fsmonitor=false",
            "core.hooksPath=/dev/null",
            "protocol.ext.allow=never",
            "safe.bareRepository=explicit",
        ] {
            command.args(["-c", setting]);
        }
        command
    }
}

/// `2.47.3`'s first two numbers.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text
        .strip_prefix("git version ")?
        .split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The file `name` stands for: a path as it is, a bare name looked up in the absolute entries of `PATH`.
fn executable(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return is_executable(name).then(|| name.to_owned());
    }
    std::env::split_paths(&std::env::var_os("PATH")?)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Runs a command, feeding `input`, ending it and everything it started after `limit`.
///
/// The child stays in the terminal's foreground group, so a signer may ask for its passphrase there.
pub fn run(mut command: Command, input: &[u8], limit: Duration) -> Result<Output> {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or_else(|| command.get_program())
        .to_string_lossy()
        .into_owned();
    if input.is_empty() {
        command.stdin(Stdio::null());
    } else {
        command.stdin(Stdio::piped());
    }
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| Error::vcs(format!("cannot run {program}")).with_source(error))?;
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_owned();
        // A child that does not read all of it is not an error; its exit code says what is.
        std::thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let stdout = child.stdout.take().map(Collector::new);
    let stderr = child.stderr.take().map(Collector::new);
    let status = wait(&mut child, limit)
        .map_err(|error| Error::vcs(format!("cannot wait for {program}")).with_source(error))?;
    let drained = Instant::now() + DRAIN;
    let collect =
        |collector: Option<Collector>| collector.map_or_else(Vec::new, |c| c.finish(drained));
    let output = Output {
        success: status.is_some_and(|status| status.success()),
        code: status.and_then(|status| status.code()),
        stdout: collect(stdout),
        stderr: collect(stderr),
    };
    if status.is_some() {
        return Ok(output);
    }
    let said = output.reason();
    let said = if said.is_empty() {
        said
    } else {
        format!(": {said}")
    };
    Err(Error::vcs(format!(
        "{program} was ended because it gave no answer within {} s{said}",
        limit.as_secs()
    )))
}

/// Waits; `None` when the limit passed and the child was ended.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    let mut pause = Duration::from_micros(300);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            for pid in descendants(child.id()) {
                if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                    // Gone by itself in between is as good.
                    let _ = rustix::process::kill_process(pid, Signal::KILL);
                }
            }
            let _ = child.kill();
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// The processes `root` started, and theirs, deepest last (where `/proc` tells).
fn descendants(root: u32) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // `pid (name) state ppid ...`; the name may hold anything, so read behind its last parenthesis.
        let parent = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(1))
            .and_then(|parent| parent.parse::<u32>().ok());
        parents.extend(parent.map(|parent| (pid, parent)));
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(
            parents
                .iter()
                .filter(|(_, p)| *p == parent)
                .map(|(pid, _)| *pid),
        );
        next += 1;
    }
    found.remove(0);
    found
}

/// Reads a pipe on its own thread.
struct Collector {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Collector {
    fn new(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&bytes);
        let thread = std::thread::spawn(move || {
            let mut chunk = [0_u8; 8192];
            while let Ok(read @ 1..) = pipe.read(&mut chunk) {
                if let (Ok(mut sink), Some(chunk)) = (sink.lock(), chunk.get(..read)) {
                    sink.extend_from_slice(chunk);
                }
            }
        });
        Self { bytes, thread }
    }

    /// What was read, once the pipe ended or `until` passed.
    fn finish(self, until: Instant) -> Vec<u8> {
        while !self.thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_micros(200));
        }
        self.bytes
            .lock()
            .map_or_else(|_| Vec::new(), |mut bytes| std::mem::take(&mut *bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(version("git version 2.9.1\n"), Some((2, 9)));
        assert_eq!(version("git version 2.47.3 (Apple Git-1)"), Some((2, 47)));
        assert_eq!(version("git version 3.0.rc1"), Some((3, 0)));
        assert_eq!(version("not git"), None);
        assert!((2, 9) < OLDEST && (2, 100) > OLDEST);
    }

    #[test]
    fn a_run_gives_both_streams_and_the_exit_code() {
        let output = run(
            shell("cat; echo no >&2; exit 3"),
            b"in",
            Duration::from_secs(20),
        )
        .unwrap();
        assert_eq!((output.success, output.code), (false, Some(3)));
        assert_eq!(output.stdout, b"in");
        assert_eq!(output.reason(), "no");
    }

    /// E15
    #[test]
    fn a_program_that_hangs_is_ended_with_all_it_started() {
        let dir = tempfile::tempdir().unwrap();
        let mark = dir.path().join("pid");
        let script = format!(
            "echo waiting >&2; sleep 1000 & echo $! > {}; wait",
            mark.display()
        );
        let begin = Instant::now();
        let error = run(shell(&script), b"", Duration::from_millis(400)).unwrap_err();
        assert!(begin.elapsed() < Duration::from_secs(10));
        assert!(error.message().contains("no answer"), "{error}");
        assert!(error.message().ends_with(": waiting"), "{error}");
        let pid = std::fs::read_to_string(&mark).unwrap();
        // The signal is sent; on a busy machine it takes a moment until the process is gone. Left alone it would sleep for 1000 s.
        let running = || {
            let stat =
                std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
            (!stat.is_empty() && !stat.contains(") Z ")).then_some(stat)
        };
        let begin = Instant::now();
        while running().is_some() && begin.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(running(), None);
    }

    #[test]
    fn a_program_left_behind_does_not_hold_the_run() {
        let begin = Instant::now();
        let output = run(shell("echo said; sleep 5 &"), b"", Duration::from_secs(20)).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(4));
        assert!(output.success);
        assert_eq!(output.stdout, b"said\n");
    }
}
