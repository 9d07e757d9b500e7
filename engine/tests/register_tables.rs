//! `init`, `add`, `set` and `remove`: what they write, what they refuse with nothing changed, and what an interruption leaves.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: a failure is a failed test"
)]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{FakeVcs, Fixture, key, keys, write};
use tempfile::TempDir;
use tether_backend_file::FileBackend;
use tether_backend_memory::{Memory, system};
use tether_engine::backend::Registry;
use tether_engine::dataset::{Dataset, Parts};
use tether_engine::id::{DatasetId, OpId};
use tether_engine::index::Indexes;
use tether_engine::key::{ObjectKey, Selection};
use tether_engine::manifest::{FileMode, Origin, PinMode};
use tether_engine::oplog::{FileHeads, Head, Journal, OpLog, Operation};
use tether_engine::register::{self, AddOptions};
use tether_engine::report::{AddReport, InitReport};
use tether_engine::state::Locator;
use tether_engine::vcs::Vcs;
use tether_engine::{Error, ErrorKind};

fn real(fixture: &Fixture) -> Dataset {
    let registry = Registry::new()
        .with(Arc::new(Memory))
        .with(Arc::new(FileBackend::new(None)));
    Dataset::open(Parts {
        root: fixture.root(),
        vcs: Arc::clone(&fixture.vcs) as _,
        oplog: Arc::new(FileHeads::new(&fixture.dir.path().join("shared"), "main")),
        registry,
    })
    .unwrap()
}

/// Every file and directory below `dir` but the locks, with what is in it.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.insert(path.clone(), None);
            found.extend(contents(&path));
        } else if path.file_name().unwrap() != "lock" && path.file_name().unwrap() != "tether.lock"
        {
            found.insert(path.clone(), Some(std::fs::read(&path).unwrap()));
        }
    }
    found
}

fn file_options(key: Option<&str>, locator: Option<&str>) -> AddOptions {
    AddOptions {
        key: key.map(str::to_owned),
        locator: locator.map(str::to_owned),
        kind: "file".to_owned(),
        ..AddOptions::default()
    }
}

fn memory_options(fixture: &Fixture, key: &str, create: bool) -> AddOptions {
    let system = format!("{}-{key}", fixture.name);
    AddOptions {
        key: Some(key.to_owned()),
        kind: "memory".to_owned(),
        fields: Locator::default().with("system", system),
        create,
        ..AddOptions::default()
    }
}

async fn add(fixture: &Fixture, options: &AddOptions) -> Result<AddReport, Error> {
    register::add(&real(fixture), fixture.dir.path(), options, &mut |_| {}).await
}

fn created(fixture: &Fixture) -> Vec<String> {
    let id: DatasetId = common::DATASET.parse().unwrap();
    let created = Indexes::new(&fixture.dir.path().join("shared"))
        .created(&id)
        .unwrap();
    created.into_iter().map(|entry| entry.key).collect()
}

// ---- init

struct Place {
    dir: TempDir,
    vcs: Arc<FakeVcs>,
}

impl Place {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let (work, shared) = (dir.path().join("work"), dir.path().join("shared"));
        std::fs::create_dir_all(&work).unwrap();
        std::fs::create_dir_all(&shared).unwrap();
        let vcs = Arc::new(FakeVcs::new(work.canonicalize().unwrap(), shared, "main"));
        Self { dir, vcs }
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    fn init(&self, root: &Path) -> Result<InitReport, Error> {
        let vcs = Arc::clone(&self.vcs) as Arc<dyn Vcs>;
        let heads = FileHeads::new(&self.dir.path().join("shared"), "main");
        let oplog = Arc::new(heads) as Arc<dyn OpLog>;
        register::init(root, &vcs, &oplog, Some(common::DATASET.parse().unwrap()))
    }

    fn refused(&self, root: &Path) -> Error {
        let before = contents(self.dir.path());
        let error = self.init(root).unwrap_err();
        assert_eq!(contents(self.dir.path()), before, "{error:?}");
        error
    }
}

#[test]
fn init_writes_the_files_of_the_format() {
    let place = Place::new();
    let root = place.work().join("new/data");
    let report = place.init(&root).unwrap();
    assert_eq!(report.dataset_id.as_str(), common::DATASET);
    assert_eq!(Path::new(&report.root), root.canonicalize().unwrap());
    let read = |below: &str| std::fs::read_to_string(root.join(below)).unwrap();
    assert_eq!(
        read("tether.toml"),
        "[tether]\nversion = 5\n\n[dataset]\nid = \"0a1b2c3d\"\n\n[snapshot]\nauto = false\n\n[verify]\non_status = false\n\n\
         [new]\nfork = \"lazy\"\n\n[defaults]\nfile = \"immutable\"\npin = \"native\"\n"
    );
    assert_eq!(
        read(".tether/.gitignore"),
        "/workspace.toml\n/ops.jsonl\n/cache\n/lock\n/secrets.toml\n"
    );
    let workspace = read(".tether/workspace.toml");
    let (id, rest) = workspace.split_once('\n').unwrap();
    assert!(
        id.starts_with("workspace_id = \"") && id.len() == 49,
        "{workspace}"
    );
    assert_eq!(rest, "bookmark = \"main\"\n");
    assert!(root.join(".tether/objects").is_dir());
}

/// Surprise 10, P046
#[test]
fn init_leaves_nothing_behind_when_it_refuses() {
    let place = Place::new();
    let work = place.work();
    assert_eq!(
        place.refused(&place.dir.path().join("elsewhere")).kind(),
        ErrorKind::Vcs
    );
    std::fs::write(work.join("file"), "").unwrap();
    assert_eq!(place.refused(&work.join("file")).kind(), ErrorKind::User);
    place.vcs.ignore("data/tether.toml");
    let error = place.refused(&work.join("data"));
    assert!(error.message().contains("ignore rule"), "{error:?}");
    std::os::unix::fs::symlink("file", work.join(".tether")).unwrap();
    assert!(place.refused(&work).message().contains("symbolic link"));
    std::fs::remove_file(work.join(".tether")).unwrap();
    std::fs::create_dir_all(work.join(".tether/objects")).unwrap();
    std::fs::write(work.join(".tether/objects/a.toml"), "").unwrap();
    assert!(place.refused(&work).message().contains("holds objects"));
    std::fs::remove_file(work.join(".tether/objects/a.toml")).unwrap();
    // A directory that an interrupted `init` left is taken over.
    place.init(&work).unwrap();
    assert!(place.refused(&work).message().contains("already"));
    assert!(
        place
            .refused(&work.join("sub"))
            .message()
            .contains("inside the dataset")
    );
}

/// The last step fails: everything before it is taken back.
#[test]
fn init_is_whole_or_not_at_all() {
    let place = Place::new();
    let root = place.work().join("deep/data");
    std::fs::create_dir_all(&root).unwrap();
    // A directory where the last file goes.
    std::fs::create_dir(root.join("tether.toml")).unwrap();
    place.refused(&root);
    std::fs::remove_dir(root.join("tether.toml")).unwrap();
    place.init(&root).unwrap();
}

#[tokio::test]
async fn init_on_no_branch_is_refused() {
    let fixture = Fixture::new();
    fixture.add_memory("mem");
    fixture.commit("base").await.unwrap();
    fixture.vcs.switch(None);
    let vcs = Arc::clone(&fixture.vcs) as Arc<dyn Vcs>;
    let heads = FileHeads::new(&fixture.dir.path().join("shared"), "main");
    let oplog = Arc::new(heads) as Arc<dyn OpLog>;
    std::fs::remove_file(fixture.path("tether.toml")).unwrap();
    std::fs::remove_dir_all(fixture.path(".tether")).unwrap();
    let error = register::init(&fixture.root(), &vcs, &oplog, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Vcs);
    assert!(error.hint().unwrap().contains("git switch"));
    assert!(!fixture.path(".tether").exists());
}

// ---- add

/// P093
#[tokio::test]
async fn add_registers_what_was_typed_and_logs_it() {
    let fixture = Fixture::new();
    let raw = fixture.dir.path().canonicalize().unwrap().join("raw");
    std::fs::create_dir(&raw).unwrap();
    let mut options = file_options(None, Some("./raw"));
    options.file = Some(FileMode::Versioned);
    let report = add(&fixture, &options).await.unwrap();
    assert_eq!(
        (report.key.as_str(), report.derived, report.created),
        ("raw", true, None)
    );
    assert_eq!(
        fixture.read(".tether/objects/raw.toml").unwrap(),
        format!(
            "key = \"raw\"\nkind = \"file\"\nrecoverable = true\n\n[locator]\nuri = {:?}\n\n[policy]\nfile = \"versioned\"\npin = \"native\"\n",
            raw.to_str().unwrap()
        )
    );
    let operation = &fixture.operations()[0];
    assert_eq!(operation.command, "add");
    assert_eq!(operation.result, serde_json::json!({"key": "raw"}));
    assert_eq!(operation.pre["objects"], serde_json::json!({"raw": null}));
    assert!(
        operation.pre["workspace"]
            .as_str()
            .unwrap()
            .contains("bookmark = \"main\"")
    );
    assert_eq!(fixture.unfinished(), 0);
    assert_eq!(fixture.workspace().materialised.unwrap().0, operation.id);
    // The key is taken now, in whatever case.
    for key in ["raw", "RAW", "raw.toml/below"] {
        let options = file_options(Some(key), Some("raw"));
        assert_eq!(
            add(&fixture, &options).await.unwrap_err().kind(),
            ErrorKind::User,
            "{key}"
        );
    }
    let nested = file_options(Some("raw/below"), Some("raw"));
    assert_eq!(
        add(&fixture, &nested).await.unwrap().key.as_str(),
        "raw/below"
    );
}

/// P094, E26
#[tokio::test]
async fn awkward_keys_are_files_of_their_own() {
    let fixture = Fixture::new();
    std::fs::create_dir(fixture.dir.path().join("raw")).unwrap();
    for key in [
        "foo",
        "foo.bar",
        "foo.toml",
        "raw/(app)/[ab] $id,v~1:2*?",
        "-x",
        "--help",
        "日本 é",
    ] {
        add(&fixture, &file_options(Some(key), Some("raw")))
            .await
            .unwrap();
        assert_eq!(fixture.manifest(key).key.as_str(), key);
        register::remove(&real(&fixture), &common::key(key), &mut |_| {})
            .await
            .unwrap();
        assert_eq!(fixture.read(&format!(".tether/objects/{key}.toml")), None);
    }
    // The directories that keys made go with them.
    assert_eq!(
        std::fs::read_dir(fixture.path(".tether/objects"))
            .unwrap()
            .count(),
        0
    );
}

/// Surprise 11, P004, P022: refused by a sentence, and nothing is changed.
#[tokio::test]
async fn add_refuses_what_a_commit_would_trip_over() {
    let fixture = Fixture::new();
    let outside = fixture.dir.path().join("raw");
    std::fs::create_dir(&outside).unwrap();
    std::fs::create_dir(fixture.path("inside")).unwrap();
    let raw = outside.to_str().unwrap().to_owned();
    let root = fixture.root().to_str().unwrap().to_owned();
    let with = |field: &str, value: &str| AddOptions {
        fields: Locator::default().with(field, value),
        ..file_options(Some("k"), Some(&raw))
    };
    let kind = |kind: &str| AddOptions {
        kind: kind.to_owned(),
        ..file_options(Some("k"), Some(&raw))
    };
    let cases = [
        ("a missing store", file_options(Some("k"), Some("nowhere"))),
        ("the checkout", file_options(Some("k"), Some(&root))),
        (
            "inside the checkout",
            file_options(Some("k"), Some(&format!("{root}/inside"))),
        ),
        (
            "not yet inside the checkout",
            file_options(Some("k"), Some(&format!("{root}/new/x"))),
        ),
        ("around the dataset", file_options(Some("k"), Some("."))),
        ("a position of a file", with("at", "1")),
        ("a blank position", with("at", " ")),
        ("a blank field", with("region", "")),
        ("a field without a name", with("", "x")),
        ("a locator given twice", with("uri", &raw)),
        ("an empty locator", file_options(Some("k"), Some(""))),
        ("nothing", file_options(None, None)),
        ("no key in the locator", file_options(None, Some("/"))),
        (
            "a key that leaves its place",
            file_options(Some("../k"), Some(&raw)),
        ),
        ("an unknown kind", kind("nosuch")),
    ];
    let before = contents(fixture.dir.path());
    for (what, options) in &cases {
        let error = add(&fixture, options).await.err();
        assert!(error.is_some(), "{what} was accepted");
        assert_eq!(contents(fixture.dir.path()), before, "{what}");
    }
    fixture.vcs.ignore(".tether/objects/ignored.toml");
    let error = add(&fixture, &file_options(Some("ignored"), Some(&raw)))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Vcs);
    fixture.vcs.leave_out(".tether/objects/sparse.toml");
    let error = add(&fixture, &file_options(Some("sparse"), Some(&raw)))
        .await
        .unwrap_err();
    assert!(error.message().contains("sparse checkout"), "{error:?}");
    assert_eq!(contents(fixture.dir.path()), before);
}

#[tokio::test]
async fn a_lone_positional_is_the_key_where_the_path_is_given_otherwise() {
    let fixture = Fixture::new();
    let raw = fixture.dir.path().join("raw");
    std::fs::create_dir(&raw).unwrap();
    let options = AddOptions {
        fields: Locator::default().with("path", "raw"),
        ..file_options(None, Some("named"))
    };
    let report = add(&fixture, &options).await.unwrap();
    assert_eq!((report.key.as_str(), report.derived), ("named", false));
    let locator = fixture.manifest("named").locator;
    assert_eq!(
        locator.str("path").unwrap(),
        raw.canonicalize().unwrap().to_str().unwrap()
    );
    assert_eq!(locator.get("uri"), None);

    let system = tether_backend_memory::new_system(&fixture.name);
    let options = AddOptions {
        locator: Some("mem".to_owned()),
        kind: "memory".to_owned(),
        fields: system,
        ..AddOptions::default()
    };
    assert_eq!(add(&fixture, &options).await.unwrap().key.as_str(), "mem");
}

// ---- add --create

#[tokio::test]
async fn create_makes_a_marked_store_and_records_it() {
    let fixture = Fixture::new();
    let report = add(&fixture, &memory_options(&fixture, "new", true))
        .await
        .unwrap();
    assert!(report.created.unwrap().contains(&fixture.name));
    assert!(report.notes[0].contains("experimental"));
    assert_eq!(fixture.manifest("new").origin, Origin::Created);
    assert_eq!(created(&fixture), ["new"]);
    let name = format!("{}-new", fixture.name);
    let marker = system::with(|systems| systems[&name].marker.clone());
    assert_eq!(marker.as_deref(), Some(common::DATASET));
    assert_eq!(
        fixture.operations()[0].result["created"]["identity"]["system"],
        name
    );
    assert!(fixture.workspace().view.working_refs.is_empty());

    // Never takes over what is there.
    tether_backend_memory::new_system(&format!("{}-old", fixture.name));
    let before = contents(fixture.dir.path());
    let error = add(&fixture, &memory_options(&fixture, "old", true))
        .await
        .unwrap_err();
    assert_eq!((error.kind(), error.key()), (ErrorKind::User, Some("old")));
    let files = |all: BTreeMap<PathBuf, Option<Vec<u8>>>| -> Vec<PathBuf> {
        all.into_keys()
            .filter(|path| !path.ends_with("tether-created.jsonl"))
            .collect()
    };
    assert_eq!(files(contents(fixture.dir.path())), files(before));
    assert_eq!(created(&fixture), ["new"]);
    assert_eq!(fixture.unfinished(), 0);
}

#[tokio::test]
async fn create_on_a_bookmark_forks_its_branch_at_once() {
    let fixture = Fixture::new();
    let mut workspace = fixture.workspace();
    workspace.view.bookmark = Some("f".parse().unwrap());
    fixture.write_workspace(&workspace);
    add(&fixture, &memory_options(&fixture, "new", true))
        .await
        .unwrap();
    let view = fixture.workspace().view;
    assert_eq!(
        view.working_refs[&key("new")].as_str(),
        "tether.ws.0a1b2c3d.f"
    );
    assert!(view.fork_points.contains_key(&key("new")));
    assert!(!view.base_states.contains_key(&key("new")));
    let name = format!("{}-new", fixture.name);
    let branches =
        system::with(|systems| systems[&name].branches.keys().cloned().collect::<Vec<_>>());
    assert_eq!(branches, ["main", "tether.ws.0a1b2c3d.f"]);
    assert_eq!(
        fixture.operations()[0].result["fork"],
        "tether.ws.0a1b2c3d.f"
    );
}

#[derive(Debug)]
struct Refusing(FileHeads);

impl OpLog for Refusing {
    fn head(&self) -> Result<Option<Head>, Error> {
        self.0.head()
    }

    fn publish(&self, operation: &Operation, expected: Option<&Head>) -> Result<(), Error> {
        if operation.command == "add" {
            return Err(Error::vcs("the head is locked"));
        }
        self.0.publish(operation, expected)
    }

    fn published(&self, operation: &OpId) -> Result<bool, Error> {
        self.0.published(operation)
    }
}

/// A store with its first branch goes away again when it cannot be registered.
#[tokio::test]
async fn a_create_that_cannot_be_recorded_takes_store_and_branch_back() {
    let fixture = Fixture::new();
    let mut workspace = fixture.workspace();
    workspace.view.bookmark = Some("f".parse().unwrap());
    fixture.write_workspace(&workspace);
    let heads = FileHeads::new(&fixture.dir.path().join("shared"), "main");
    let dataset = fixture.dataset_with(Arc::new(Refusing(heads)));
    let options = memory_options(&fixture, "new", true);
    let error = register::add(&dataset, fixture.dir.path(), &options, &mut |_| {})
        .await
        .unwrap_err();
    assert_eq!(error.message(), "the head is locked");
    let name = format!("{}-new", fixture.name);
    assert!(!system::with(|systems| systems.contains_key(&name)));
    assert_eq!((fixture.unfinished(), created(&fixture)), (0, Vec::new()));
    assert!(fixture.read(".tether/objects/new.toml").is_none());
}

/// A kill after the store's first branch was made: the same command takes both up again.
#[tokio::test]
async fn an_interrupted_create_with_a_branch_is_taken_up_again() {
    let fixture = Fixture::new();
    let mut workspace = fixture.workspace();
    workspace.view.bookmark = Some("f".parse().unwrap());
    fixture.write_workspace(&workspace);
    let options = memory_options(&fixture, "new", true);
    add(&fixture, &options).await.unwrap();
    interrupt(&fixture, "add", "new", None);
    add(&fixture, &options).await.unwrap();
    let view = fixture.workspace().view;
    assert_eq!(
        view.working_refs[&key("new")].as_str(),
        "tether.ws.0a1b2c3d.f"
    );
}

/// A kill between the store and its manifest: the same command takes the store up again, unless somebody wrote to it.
#[tokio::test]
async fn an_interrupted_create_is_taken_up_again() {
    let fixture = Fixture::new();
    add(&fixture, &memory_options(&fixture, "new", true))
        .await
        .unwrap();
    interrupt(&fixture, "add", "new", None);
    assert_eq!(fixture.unfinished(), 1);
    assert!(fixture.read(".tether/objects/new.toml").is_some());

    add(&fixture, &memory_options(&fixture, "new", true))
        .await
        .unwrap();
    assert_eq!(
        (fixture.unfinished(), created(&fixture)),
        (0, vec!["new".to_owned()])
    );
    register::remove(&real(&fixture), &key("new"), &mut |_| {})
        .await
        .unwrap();
    write(&format!("{}-new", fixture.name), "main", "somebody's");
    let error = add(&fixture, &memory_options(&fixture, "new", true))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::User);
}

/// Leaves what a kill leaves after the manifest was written and before the operation was published.
fn interrupt(fixture: &Fixture, command: &str, name: &str, before: Option<&str>) {
    let shared = fixture.dir.path().join("shared");
    let workspace = fixture.workspace().id;
    let pre = serde_json::json!({"objects": {name: before}, "workspace": ""});
    let id = OpId::random().unwrap();
    let mut journal = Journal::begin(&shared, id, &workspace, command, None, pre).unwrap();
    journal
        .intent("manifest", serde_json::json!({"key": name}))
        .unwrap();
}

// ---- set, remove, interruptions

#[tokio::test]
async fn set_changes_policies_in_place_and_says_what_was() {
    let fixture = Fixture::new();
    for name in ["a", "b", "c"] {
        add(&fixture, &memory_options(&fixture, name, false))
            .await
            .unwrap();
    }
    let path = fixture.path(".tether/objects/a.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}\n[later]\nx = 1\n")).unwrap();
    let set = async |keys: &Selection, pin| {
        register::set(
            &real(&fixture),
            keys,
            Some(FileMode::Immutable),
            pin,
            &mut |_| {},
        )
        .await
    };
    let report = set(&keys(&["a", "b"]), Some(PinMode::Record))
        .await
        .unwrap();
    assert_eq!(
        report
            .changed
            .keys()
            .map(ObjectKey::as_str)
            .collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert_eq!(report.changed[&key("a")]["pin"].from, "native");
    assert!(!report.changed[&key("a")].contains_key("file"));
    assert_eq!(fixture.manifest("a").policy.pin, PinMode::Record);
    assert!(
        fixture
            .read(".tether/objects/a.toml")
            .unwrap()
            .ends_with("[later]\nx = 1\n")
    );
    let operations = fixture.operations().len();
    let report = set(&keys(&["a"]), Some(PinMode::Record)).await.unwrap();
    assert_eq!(
        (report.changed.len(), report.unchanged),
        (0, vec![key("a")])
    );
    assert_eq!(fixture.operations().len(), operations);

    // A manifest that cannot be read stands in nobody's way but its own.
    std::fs::write(fixture.path(".tether/objects/c.toml"), "<<<<<<<").unwrap();
    set(&keys(&["b"]), Some(PinMode::Native)).await.unwrap();
    assert_eq!(
        set(&Selection::all(), Some(PinMode::Record))
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::Config
    );
    assert_eq!(fixture.manifest("a").policy.pin, PinMode::Record);
    assert_eq!(fixture.manifest("b").policy.pin, PinMode::Native);
    register::remove(&real(&fixture), &key("c"), &mut |_| {})
        .await
        .unwrap();
    let error = register::set(&real(&fixture), &Selection::all(), None, None, &mut |_| {}).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::User);
    assert_eq!(
        set(&keys(&["c"]), None).await.unwrap_err().kind(),
        ErrorKind::User
    );
}

#[tokio::test]
async fn remove_forgets_the_object_but_not_its_branch() {
    let fixture = Fixture::new();
    let system = fixture.add_memory("mem");
    fixture.commit("base").await.unwrap();
    let state = write(&system, "main", "x");
    let mut workspace = fixture.workspace();
    let mem = key("mem");
    let branch: tether_engine::name::NativeRef = "tether.ws.0a1b2c3d.f".parse().unwrap();
    let view = &mut workspace.view;
    view.working_refs.insert(mem.clone(), branch.clone());
    view.pending_forks.insert(mem.clone(), branch.clone());
    view.pending_resets.insert(mem.clone(), state.clone());
    view.fork_points.insert(mem.clone(), state.clone());
    view.base_states.insert(mem.clone(), state);
    fixture.write_workspace(&workspace);
    let text = fixture.read(".tether/objects/mem.toml").unwrap();

    register::remove(&real(&fixture), &mem, &mut |_| {})
        .await
        .unwrap();
    let after = fixture.workspace();
    assert_eq!(after.view.working_refs[&mem], branch);
    let forgotten = after.view.pending_forks.is_empty()
        && after.view.pending_resets.is_empty()
        && after.view.fork_points.is_empty()
        && after.view.base_states.is_empty()
        && after.last_snapshot.is_empty();
    assert!(forgotten, "{after:?}");
    assert_eq!(fixture.operations()[0].pre["objects"]["mem"], text);
    let error = register::remove(&real(&fixture), &mem, &mut |_| {})
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::User);
}

/// E12: the next command needs no manual clean-up.
#[tokio::test]
async fn what_an_interrupted_edit_left_is_rolled_back_by_the_next_command() {
    let fixture = Fixture::new();
    for name in ["kept", "gone"] {
        add(&fixture, &memory_options(&fixture, name, false))
            .await
            .unwrap();
    }
    let kept = fixture.read(".tether/objects/kept.toml").unwrap();
    let gone = fixture.read(".tether/objects/gone.toml").unwrap();
    let head = fixture.operations()[0].id.clone();
    // A `set` that had written, a `remove` that had removed, an `add` that had added.
    std::fs::write(
        fixture.path(".tether/objects/kept.toml"),
        kept.replace("native", "record"),
    )
    .unwrap();
    interrupt(&fixture, "set", "kept", Some(&kept));
    std::fs::remove_file(fixture.path(".tether/objects/gone.toml")).unwrap();
    interrupt(&fixture, "remove", "gone", Some(&gone));
    std::fs::write(
        fixture.path(".tether/objects/half.toml"),
        gone.replace("gone", "half"),
    )
    .unwrap();
    interrupt(&fixture, "add", "half", None);

    add(&fixture, &memory_options(&fixture, "next", false))
        .await
        .unwrap();
    assert_eq!(fixture.unfinished(), 0);
    assert_eq!(fixture.read(".tether/objects/kept.toml").unwrap(), kept);
    assert_eq!(fixture.read(".tether/objects/gone.toml").unwrap(), gone);
    assert_eq!(fixture.read(".tether/objects/half.toml"), None);
    let operations = fixture.operations();
    assert_eq!(
        (operations[0].command.as_str(), &operations[1].id),
        ("add", &head)
    );
}

/// Published and not closed: it stands.
#[tokio::test]
async fn an_edit_that_was_published_stands() {
    let fixture = Fixture::new();
    add(&fixture, &memory_options(&fixture, "a", false))
        .await
        .unwrap();
    let done = fixture.operations()[0].clone();
    let shared = fixture.dir.path().join("shared");
    let workspace = fixture.workspace();
    let mut journal = Journal::begin(
        &shared,
        done.id.clone(),
        &workspace.id,
        "add",
        None,
        done.pre.clone(),
    )
    .unwrap();
    journal
        .intent("manifest", serde_json::json!({"key": "a"}))
        .unwrap();
    // `workspace.toml` had not been written either.
    let mut behind = workspace.clone();
    behind.materialised = None;
    fixture.write_workspace(&behind);

    add(&fixture, &memory_options(&fixture, "b", false))
        .await
        .unwrap();
    assert_eq!(fixture.unfinished(), 0);
    assert!(fixture.read(".tether/objects/a.toml").is_some());
    let commands: Vec<String> = fixture
        .operations()
        .into_iter()
        .map(|it| it.command)
        .collect();
    assert_eq!(commands[..2], ["add", "add"]);
}
