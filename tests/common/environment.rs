//! A hermetic machine in a temporary folder: its own home, git identity, time zone and clock; nothing of the caller's but `PATH`.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;

use super::{Names, Output, jj};

/// The id of datasets made by [`TestEnvironment::dataset`].
pub(crate) const DATASET: &str = "0a1b2c3d";

const GIT_CONFIG: &str = "\
[user]
\tname = Test User
\temail = test.user@example.org
[init]
\tdefaultBranch = main
[gc]
\tauto = 0
";

/// A machine; its folder is deleted when the value is dropped.
pub(crate) struct TestEnvironment {
    _folder: TempDir,
    root: PathBuf,
    names: Mutex<Names>,
    commands: AtomicU64,
}

impl TestEnvironment {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("tether-test")
            .tempdir()
            .unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("home")).unwrap();
        std::fs::write(root.join("gitconfig"), GIT_CONFIG).unwrap();
        jj::prepare(&root);
        let names = Mutex::new(Names::new(&root));
        Self {
            _folder: folder,
            root,
            names,
            commands: AtomicU64::new(0),
        }
    }

    /// The machine's folder, `$TEST_ENV` in outputs.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A folder, made when it is missing.
    pub(crate) fn work_dir(&self, name: &str) -> WorkDir<'_> {
        let path = self.root.join(name);
        std::fs::create_dir_all(&path).unwrap();
        WorkDir { env: self, path }
    }

    /// A folder with an empty git repository on `main`.
    pub(crate) fn git_repo(&self, name: &str) -> WorkDir<'_> {
        let dir = self.work_dir(name);
        dir.git(["init", "-q", "-b", "main"]);
        dir
    }

    /// A git repository with one commit of a file.
    pub(crate) fn code(&self, name: &str) -> WorkDir<'_> {
        let dir = self.git_repo(name);
        dir.write("main.py", "print(1)\n");
        dir.git(["add", "."]);
        dir.git(["commit", "-q", "-m", "first code"]);
        dir
    }

    /// A git repository with a dataset in it.
    pub(crate) fn dataset(&self) -> WorkDir<'_> {
        let dir = self.git_repo("ds");
        dir.tether(["init", "--dataset-id", DATASET]).success();
        dir
    }

    /// A dataset with a directory (`raw`), and a code repository (`code`), both committed.
    pub(crate) fn committed(&self) -> WorkDir<'_> {
        let raw = self.work_dir("raw");
        raw.write("a.txt", "one\n");
        raw.write("sub/b.txt", "two\n");
        self.code("code");
        let dir = self.dataset();
        dir.tether([
            "add",
            "raw",
            "--kind",
            "file",
            "../raw",
            "--file",
            "versioned",
        ])
        .success();
        dir.tether(["add", "code", "--kind", "git", "../code"])
            .success();
        dir.tether(["commit", "-m", "first"]).success();
        dir
    }

    /// The environment every command runs in.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(dir).env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
            .env("HOME", self.root.join("home"))
            .env("GIT_CONFIG_GLOBAL", self.root.join("gitconfig"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_DATE", "2026-03-01T12:00:00+00:00")
            .env("GIT_COMMITTER_DATE", "2026-03-01T12:00:00+00:00")
            .env("TETHER_TEST_NOW", "2026-03-01T12:00:00.000000+00:00")
            .env("TZ", "UTC")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null());
        jj::hermetic(
            &mut command,
            &self.root,
            self.commands.fetch_add(1, Ordering::Relaxed),
        );
        command
    }

    /// `text` with ids and paths replaced, as in outputs.
    pub(crate) fn normalise(&self, text: &str) -> String {
        self.names.lock().unwrap().normalise(text)
    }

    pub(super) fn output(&self, output: std::process::Output) -> Output {
        Output::new(output, &mut self.names.lock().unwrap())
    }
}

/// A folder to run commands in.
#[derive(Clone)]
pub(crate) struct WorkDir<'a> {
    pub(super) env: &'a TestEnvironment,
    path: PathBuf,
}

impl WorkDir<'_> {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A folder below this one, made when it is missing.
    pub(crate) fn dir(&self, name: &str) -> Self {
        let path = self.path.join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self {
            env: self.env,
            path,
        }
    }

    /// `tether ARGS...`, not started yet.
    pub(crate) fn command<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Command {
        let mut command = self.env.command(env!("CARGO_BIN_EXE_tether"), &self.path);
        command.args(args);
        command
    }

    /// Runs `tether ARGS...`.
    #[must_use = "look at what the command answered, or say `.success()`"]
    pub(crate) fn tether<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Output {
        self.run(self.command(args))
    }

    /// Runs `tether ARGS...` with something on standard input.
    #[must_use = "look at what the command answered, or say `.success()`"]
    pub(crate) fn tether_reading<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(
        &self,
        input: &str,
        args: I,
    ) -> Output {
        let mut command = self.command(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        self.env.output(child.wait_with_output().unwrap())
    }

    /// Runs a command made by [`WorkDir::command`].
    #[must_use = "look at what the command answered, or say `.success()`"]
    pub(crate) fn run(&self, mut command: Command) -> Output {
        self.env.output(command.output().unwrap())
    }

    /// Runs `tether ARGS...`, which ends itself with SIGKILL at a step of its own.
    #[track_caller]
    pub(crate) fn killed<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I, step: &str) {
        let mut command = self.command(args);
        let output = command.env("TETHER_TEST_KILL_AT", step).output().unwrap();
        assert_eq!(output.status.signal(), Some(9), "{step}: {output:?}");
    }

    /// Runs a shell script in which `tether`, `jj` and `stock-jj` are this build's.
    #[must_use = "look at what the command answered, or say `.success()`"]
    pub(crate) fn shell(&self, script: &str) -> Output {
        let mut command = self.env.command("bash", &self.path);
        let bin = Path::new(env!("CARGO_BIN_EXE_tether")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env("PATH", format!("{}:{path}", bin.display()))
            .args(["-c", script]);
        self.run(command)
    }

    /// Runs git, which must succeed, and returns what it printed, trimmed.
    pub(crate) fn git<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> String {
        let mut command = self.env.command("git", &self.path);
        let output = command.args(args).output().unwrap();
        assert!(
            output.status.success(),
            "git: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout)
            .unwrap()
            .trim_end()
            .to_owned()
    }

    /// What git says changed in the working tree.
    pub(crate) fn git_status(&self) -> String {
        self.git(["status", "--porcelain", "--untracked-files=all"])
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path.join(name)).unwrap()
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path.join(name).symlink_metadata().is_ok()
    }

    /// Every file below this folder but git's, jj's and the cache's, with its content: equal before and after means nothing changed.
    pub(crate) fn files(&self) -> Vec<(PathBuf, String)> {
        let mut files = Vec::new();
        let mut folders = vec![self.path.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap();
                if [".git", ".jj", "cache", "lock"]
                    .iter()
                    .any(|own| name == *own)
                {
                    continue;
                }
                if path.symlink_metadata().unwrap().is_dir() {
                    folders.push(path);
                } else {
                    let content = std::fs::read(&path).unwrap_or_default();
                    files.push((path, String::from_utf8_lossy(&content).into_owned()));
                }
            }
        }
        files.sort();
        files
    }
}
