//! A folder with stores and a dataset, and the two programs that work on it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The dataset id every fixture uses, so that pins compare.
pub(super) const ID: &str = "0a1b2c3d";

/// The jj that the package runs.
const STOCK_JJ: &str = env!("CARGO_BIN_EXE_stock-jj");

/// Which program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// The binary of this workspace.
    Ours,
    /// The Python package.
    Package,
}

/// What kind of repository the dataset is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repository {
    /// A plain git repository.
    Git,
    /// A jj repository that git shares.
    Jj,
}

/// One folder: `code` (git), `raw` (directory), `counts.csv`, and the dataset `ds` in a repository.
pub(super) struct Fixture {
    dir: tempfile::TempDir,
    package: PathBuf,
    repository: Repository,
}

impl Fixture {
    /// The stores and an empty git repository `ds`; `None` when the package is not at hand (and not required).
    pub(super) fn new() -> Option<Self> {
        Self::in_a(Repository::Git)
    }

    /// The stores and an empty repository `ds`; `None` when the package is not at hand (and not required).
    pub(super) fn in_a(repository: Repository) -> Option<Self> {
        let Some(package) = std::env::var_os("TETHER_ORACLE") else {
            assert!(
                std::env::var_os("TETHER_REQUIRE_ORACLE").is_none(),
                "TETHER_REQUIRE_ORACLE is set, but TETHER_ORACLE names no executable"
            );
            let skipped =
                "skipped: TETHER_ORACLE is not set (dev/test installs the package and sets it)";
            let _ = writeln!(std::io::stderr(), "{skipped}");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        let fixture = Self {
            dir,
            package: package.into(),
            repository,
        };
        std::fs::write(
            fixture.path("gitconfig"),
            "[user]\n\tname = Interop\n\temail = interop@example.org\n[init]\n\tdefaultBranch = main\n",
        )
        .unwrap();
        std::fs::write(
            fixture.path("jj.toml"),
            "[user]\nname = \"Interop\"\nemail = \"interop@example.org\"\n[ui]\npaginate = \"never\"\n",
        )
        .unwrap();
        std::fs::create_dir(fixture.path("code")).unwrap();
        fixture.git("code", &["init", "-q", "-b", "main"]);
        fixture.fresh_repository();
        fixture.write("code/a.py", "print(1)\n");
        fixture.git("code", &["add", "-A"]);
        fixture.git("code", &["commit", "-q", "-m", "first"]);
        fixture.write("raw/well_0.tif", "zero");
        fixture.write("raw/sub/données.csv", "a,b\n");
        fixture.write("raw/日本/😀 (1).bin", "x");
        fixture.write("counts.csv", "plate,count\n1,17\n");
        std::os::unix::fs::symlink("nowhere", fixture.path("raw/dangling")).unwrap();
        std::os::unix::fs::symlink("well_0.tif", fixture.path("raw/link.tif")).unwrap();
        Some(fixture)
    }

    /// An empty repository `ds`, in place of what is there.
    pub(super) fn fresh_repository(&self) {
        let ds = self.path("ds");
        if ds.exists() {
            std::fs::remove_dir_all(&ds).unwrap();
        }
        std::fs::create_dir(&ds).unwrap();
        match self.repository {
            Repository::Git => drop(self.git("ds", &["init", "-q", "-b", "main"])),
            Repository::Jj => drop(self.jj(&["git", "init", "--colocate"])),
        }
    }

    /// The dataset's revision `back` commits before the newest.
    pub(super) fn rev(&self, back: usize) -> String {
        match self.repository {
            Repository::Git => format!("HEAD~{back}"),
            Repository::Jj => format!("main{}", "-".repeat(back)),
        }
    }

    /// Where the repository keeps the clone's indexes.
    pub(super) fn shared(&self) -> PathBuf {
        match self.repository {
            Repository::Git => self.path("ds/.git"),
            Repository::Jj => self.path("ds/.jj/repo"),
        }
    }

    /// Fails the test when anything is left to commit, also by what the repository's own program says.
    pub(super) fn clean(&self) {
        assert_eq!(self.git("ds", &["status", "--porcelain"]), "");
        if self.repository == Repository::Jj {
            let status = self.jj(&["status"]);
            assert!(
                status.starts_with("The working copy has no changes"),
                "{status}"
            );
        }
    }

    /// A path below the folder.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    /// Writes a file below the folder.
    pub(super) fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn command(&self, program: &Path, cwd: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.path(cwd))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("GIT_CONFIG_GLOBAL", self.path("gitconfig"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("JJ_CONFIG", self.path("jj.toml"))
            .env("TETHER_JJ", STOCK_JJ)
            .env("PYTHONWARNINGS", "ignore")
            .stdin(Stdio::null());
        command
    }

    /// Runs stock jj in the dataset and returns what it printed.
    pub(super) fn jj(&self, args: &[&str]) -> String {
        let mut command = self.command(Path::new(STOCK_JJ), "ds");
        let output = command.args(args).output().unwrap();
        assert!(
            output.status.success(),
            "jj {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs git in a directory below the folder and returns what it printed.
    pub(super) fn git(&self, cwd: &str, args: &[&str]) -> String {
        let output = self
            .command(Path::new("git"), cwd)
            .args(args)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs one of the programs in the dataset, whatever its exit code.
    pub(super) fn run(&self, program: Program, args: &[&str]) -> Output {
        let executable = match program {
            Program::Ours => Path::new(env!("CARGO_BIN_EXE_tether")),
            Program::Package => &self.package,
        };
        self.command(executable, "ds").args(args).output().unwrap()
    }

    /// Runs one of the programs in the dataset; it must succeed.
    pub(super) fn ok(&self, program: Program, args: &[&str]) -> String {
        let output = self.run(program, args);
        assert!(
            output.status.success(),
            "{program:?} {args:?}: {:?}\n{}{}",
            output.status.code(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// The exit code and the JSON of a command with `--json`.
    pub(super) fn json(&self, program: Program, args: &[&str]) -> (Option<i32>, Value) {
        let mut all = args.to_vec();
        all.push("--json");
        let output = self.run(program, &all);
        let text = String::from_utf8_lossy(&output.stdout);
        let value = serde_json::from_str(&text).unwrap_or_else(|error| {
            panic!(
                "{program:?} {args:?}: {error}\n{text}{}",
                String::from_utf8_lossy(&output.stderr)
            )
        });
        (output.status.code(), value)
    }

    /// Both programs answer a command with the same exit code and the same JSON.
    pub(super) fn same(&self, args: &[&str]) -> Value {
        let theirs = self.json(Program::Package, args);
        let ours = self.json(Program::Ours, args);
        assert_eq!(ours, theirs, "{args:?}");
        ours.1
    }

    /// `init` with the fixed id, then the three objects.
    pub(super) fn register(&self, program: Program) {
        self.ok(program, &["init", "--dataset-id", ID]);
        self.ok(
            program,
            &[
                "add",
                "raw",
                "--kind",
                "file",
                "../raw",
                "--file",
                "versioned",
            ],
        );
        self.ok(
            program,
            &[
                "add",
                "tables/counts.csv",
                "--kind",
                "file",
                "../counts.csv",
            ],
        );
        self.ok(
            program,
            &[
                "add", "code", "--kind", "git", "../code", "--set", "ref=main",
            ],
        );
    }

    /// A new commit in the code repository.
    pub(super) fn advance_code(&self, text: &str) {
        self.write("code/a.py", text);
        self.git(
            "code",
            &[
                "commit",
                "-q",
                "-a",
                "-m",
                &format!("code: {}", text.trim()),
            ],
        );
    }

    /// Every committed file of the dataset by name, `captured_at` lines left out.
    pub(super) fn committed_files(&self) -> BTreeMap<String, String> {
        self.git(
            "ds",
            &[
                "-c",
                "core.quotePath=false",
                "ls-tree",
                "-r",
                "--name-only",
                "HEAD",
            ],
        )
        .lines()
        .map(|name| {
            let text = self.git("ds", &["show", &format!("HEAD:{name}")]);
            let kept = text
                .split_inclusive('\n')
                .filter(|line| !line.starts_with("captured_at = "));
            (name.to_owned(), kept.collect())
        })
        .collect()
    }

    /// The refs of the code repository.
    pub(super) fn code_refs(&self) -> String {
        self.git(
            "code",
            &[
                "for-each-ref",
                "--format=%(refname) %(objecttype) %(objectname)",
            ],
        )
    }
}
