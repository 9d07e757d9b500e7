//! jj in a test's machine: repositories, the two programs, and an environment in which every command's ids are its own and repeatable.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use super::{Output, TestEnvironment, WorkDir};

const CONFIG: &str = r#"
[user]
name = "Test User"
email = "test.user@example.org"
[ui]
paginate = "never"
"#;

/// Where jj's configuration is: a folder, of which every file counts.
const CONFIG_DIR: &str = "jjconfig.d";

/// Writes the configuration jj reads.
pub(super) fn prepare(root: &Path) {
    std::fs::create_dir(root.join(CONFIG_DIR)).unwrap();
    std::fs::write(root.join(CONFIG_DIR).join("000.toml"), CONFIG).unwrap();
}

/// What jj-lib reads from the environment, for the `number`th command: each has its own second and its own seed, as in jj's own tests.
pub(super) fn hermetic(command: &mut Command, root: &Path, number: u64) {
    let (minute, second) = (number / 60 % 60, number % 60);
    let time = format!(
        "2026-03-01T{:02}:{minute:02}:{second:02}+00:00",
        12 + number / 3600
    );
    command
        .env("JJ_CONFIG", root.join(CONFIG_DIR))
        .env("JJ_TIMESTAMP", &time)
        .env("JJ_OP_TIMESTAMP", &time)
        .env("JJ_OP_HOSTNAME", "host.example.org")
        .env("JJ_OP_USERNAME", "test-user")
        .env("JJ_RANDOMNESS_SEED", number.to_string())
        .env("JJ_TZ_OFFSET_MINS", "0");
}

impl TestEnvironment {
    /// A folder with an empty jj repository that git shares.
    pub(crate) fn jj_repo(&self, name: &str) -> WorkDir<'_> {
        self.new_jj_repo(name, "--colocate")
    }

    /// A folder with an empty jj repository whose git side is inside `.jj`.
    pub(crate) fn jj_repo_internal(&self, name: &str) -> WorkDir<'_> {
        self.new_jj_repo(name, "--no-colocate")
    }

    fn new_jj_repo(&self, name: &str, kind: &str) -> WorkDir<'_> {
        let dir = self.work_dir(name);
        dir.stock_jj(["git", "init", kind]).success();
        dir
    }

    /// Adds to the user's jj configuration; what is added later wins.
    pub(crate) fn jj_config(&self, toml: &str) {
        let folder = self.root().join(CONFIG_DIR);
        let count = std::fs::read_dir(&folder).unwrap().count();
        std::fs::write(folder.join(format!("{count:03}.toml")), toml).unwrap();
    }
}

impl<'a> WorkDir<'a> {
    /// Runs our `jj ARGS...`.
    #[must_use = "look at what the command answered, or say `.success()`"]
    pub(crate) fn jj<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Output {
        self.run_jj(env!("CARGO_BIN_EXE_jj"), args)
    }

    /// Runs stock `jj ARGS...`.
    #[must_use = "look at what the command answered, or say `.success()`"]
    pub(crate) fn stock_jj<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> Output {
        self.run_jj(env!("CARGO_BIN_EXE_stock-jj"), args)
    }

    fn run_jj<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, jj: &str, args: I) -> Output {
        let mut command = self.env.command(jj, self.path());
        command.args(args);
        self.run(command)
    }

    /// What a stock jj command that must succeed prints, trimmed.
    pub(crate) fn jj_text<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, args: I) -> String {
        let output = self.stock_jj(args).success();
        output.stdout.trim_end().to_owned()
    }

    /// `TEMPLATE` of every commit in `revset`, one a line, newest first. Takes no snapshot.
    pub(crate) fn jj_log(&self, revset: &str, template: &str) -> Vec<String> {
        let template = format!("{template} ++ \"\\n\"");
        let text = self.jj_text([
            "log",
            "--ignore-working-copy",
            "--no-graph",
            "-r",
            revset,
            "-T",
            &template,
        ]);
        text.lines().map(str::to_owned).collect()
    }

    /// The descriptions of jj's operations, newest first. Takes no snapshot.
    pub(crate) fn jj_operations(&self) -> Vec<String> {
        let text = self.jj_text([
            "op",
            "log",
            "--ignore-working-copy",
            "--no-graph",
            "-T",
            "description.first_line() ++ \"\\n\"",
        ]);
        text.lines().map(str::to_owned).collect()
    }

    /// The id of jj's newest operation. Takes no snapshot.
    pub(crate) fn jj_operation(&self) -> String {
        self.jj_text([
            "op",
            "log",
            "--ignore-working-copy",
            "--no-graph",
            "-n1",
            "-T",
            "id",
        ])
    }

    /// A second workspace of this jj repository, beside it.
    pub(crate) fn jj_workspace(&self, name: &str) -> WorkDir<'a> {
        let path = self.path().parent().unwrap().join(name);
        let path = path.to_str().unwrap();
        self.stock_jj(["workspace", "add", path]).success();
        self.env.work_dir(name)
    }
}
