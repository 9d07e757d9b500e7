//! Repositories for tests: made, written and looked at with the `git` executable, past the backend.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;
use tether_backend_git::GitBackend;
use tether_engine::backend::{Backend as _, Source, Store};
use tether_engine::id::{DatasetId, PinId};
use tether_engine::manifest::Pin;
use tether_engine::name::NativeRef;
use tether_engine::state::{Locator, State};

static COUNTER: AtomicU64 = AtomicU64::new(1);

/// A number that no other call of this process gets.
pub(crate) fn unique() -> u64 {
    COUNTER.fetch_add(1, Ordering::Relaxed)
}

/// Runs git in `dir` with a fixed identity and without the user's configuration.
pub(crate) fn run(dir: &Path, args: &[&str]) -> Output {
    command(dir).args(args).output().unwrap()
}

pub(crate) fn command(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args([
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
        ]);
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "A")
            .env(format!("GIT_{who}_EMAIL"), "a@example.org");
    }
    command
}

/// [`run`], which must succeed; its standard output without the last line end.
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let output = run(dir, args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "git {args:?} in {}: {said}",
        dir.display()
    );
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

/// A folder with a repository `code` in it: branch `main`, one commit.
pub(crate) struct Fixture {
    /// Removes everything in the end.
    _temp: TempDir,
    /// The folder's canonical path.
    pub(crate) root: PathBuf,
    /// The repository.
    pub(crate) code: PathBuf,
    /// The backend.
    pub(crate) backend: GitBackend,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let code = root.join("code");
        std::fs::create_dir(&code).unwrap();
        git(&code, &["init", "-q", "-b", "main"]);
        let fixture = Self {
            _temp: temp,
            root,
            code,
            backend: GitBackend::new(None),
        };
        fixture.commit("a", "one\n");
        fixture
    }

    /// The object at `code`.
    pub(crate) fn store(&self) -> Store {
        self.at(Locator::default())
    }

    /// The object at `code` with more locator fields.
    pub(crate) fn at(&self, locator: Locator) -> Store {
        store(locator.with("path", self.code.to_str().unwrap()))
    }

    /// [`Fixture::at`] with one field.
    pub(crate) fn with(&self, field: &str, value: &str) -> Store {
        self.at(Locator::default().with(field, value))
    }

    /// Commits a file on the checked-out branch; the commit.
    pub(crate) fn commit(&self, file: &str, text: &str) -> String {
        commit(&self.code, file, text)
    }

    /// Runs git in `code`.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.code, args)
    }

    /// The commit a name stands for, `None` when there is none.
    pub(crate) fn sha(&self, name: &str) -> Option<String> {
        let output = run(
            &self.code,
            &["rev-parse", "--verify", "-q", &format!("{name}^{{commit}}")],
        );
        let text = String::from_utf8(output.stdout).unwrap();
        output.status.success().then(|| text.trim().to_owned())
    }

    /// The current state.
    pub(crate) async fn state(&self) -> State {
        self.backend.fingerprint(&self.store(), None).await.unwrap()
    }

    /// The current state, pinned.
    pub(crate) async fn pinned(&self) -> (Pin, State) {
        let state = self.state().await;
        let pin = self
            .backend
            .pin(&self.store(), &state, &pin_id(&state))
            .await
            .unwrap();
        (value(pin), state)
    }
}

/// An object.
pub(crate) fn store(locator: Locator) -> Store {
    Store {
        locator,
        ..Store::default()
    }
}

/// Commits a file in the checkout `dir`.
pub(crate) fn commit(dir: &Path, file: &str, text: &str) -> String {
    let path = dir.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    git(dir, &["add", "--", file]);
    git(dir, &["commit", "-q", "-m", &format!("write {file}")]);
    git(dir, &["rev-parse", "HEAD"])
}

/// Commits a file onto `parent` without a checkout; the commit, which no ref names.
pub(crate) fn commit_on(dir: &Path, parent: &str, file: &str, text: &str) -> String {
    let scratch = tempfile::tempdir().unwrap();
    let index = scratch.path().join("index");
    let content = scratch.path().join("content");
    std::fs::write(&content, text).unwrap();
    let plumb = |args: &[&str]| {
        let output = command(dir)
            .env("GIT_INDEX_FILE", &index)
            .args(args)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    plumb(&["read-tree", parent]);
    let blob = plumb(&["hash-object", "-w", content.to_str().unwrap()]);
    plumb(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("100644,{blob},{file}"),
    ]);
    let tree = plumb(&["write-tree"]);
    plumb(&[
        "commit-tree",
        &tree,
        "-p",
        parent,
        "-m",
        &format!("write {file} {}", unique()),
    ])
}

pub(crate) fn dataset() -> DatasetId {
    "0a1b2c3d".parse().unwrap()
}

/// The pin id the engine would give the state of an object at `/code`.
pub(crate) fn pin_id(state: &State) -> PinId {
    tether_engine::state::pin_id(
        &dataset(),
        "git",
        &tether_engine::state::Identity::default().with("path", "/code"),
        &state.content(&["dirty", "change_id"]),
    )
}

pub(crate) fn native(name: &str) -> NativeRef {
    name.parse().unwrap()
}

/// A state that names a commit.
pub(crate) fn state(sha: &str) -> State {
    State::default().with("sha", sha).with("dirty", false)
}

pub(crate) fn source(sha: &str) -> Source {
    Source::State(state(sha))
}

/// The value of a move that was made (or was not needed).
#[track_caller]
pub(crate) fn value<T: std::fmt::Debug>(answer: tether_engine::backend::Move<T>) -> T {
    match answer {
        tether_engine::backend::Move::Done { value, .. } => value,
        moved @ tether_engine::backend::Move::Moved { .. } => panic!("not done: {moved:?}"),
    }
}

/// The effect of a move that was made.
#[track_caller]
pub(crate) fn effect<T: std::fmt::Debug>(
    answer: &tether_engine::backend::Move<T>,
) -> tether_engine::backend::Effect {
    match answer {
        tether_engine::backend::Move::Done { effect, .. } => *effect,
        moved @ tether_engine::backend::Move::Moved { .. } => panic!("not done: {moved:?}"),
    }
}

/// The commit at which a refused move found the ref.
#[track_caller]
pub(crate) fn observed<T: std::fmt::Debug>(
    answer: &tether_engine::backend::Move<T>,
) -> Option<String> {
    match answer {
        tether_engine::backend::Move::Moved { observed } => observed
            .as_ref()
            .map(|state| state.str("sha").unwrap().to_owned()),
        done @ tether_engine::backend::Move::Done { .. } => panic!("moved it: {done:?}"),
    }
}
