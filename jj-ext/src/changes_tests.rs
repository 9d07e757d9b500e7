use std::collections::BTreeSet;
use std::sync::Arc;

use jj_lib::backend::{CommitId, CopyId, TreeValue};
use jj_lib::config::{ConfigLayer, ConfigSource, StackedConfig};
use jj_lib::merge::Merge;
use jj_lib::merged_tree_builder::MergedTreeBuilder;
use jj_lib::repo::MutableRepo;
use jj_lib::repo_path::RepoPathBuf;
use jj_lib::revset::{ResolvedRevsetExpression, RevsetExpression, RevsetFilterPredicate};
use jj_lib::settings::UserSettings;
use jj_lib::transaction::Transaction;
use jj_lib::workspace::Workspace;
use pollster::FutureExt as _;

use super::*;

/// An empty repository in a temporary folder, with a running operation.
struct Scratch {
    _folder: tempfile::TempDir,
    tx: Transaction,
}

impl Scratch {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = StackedConfig::with_defaults();
        let text = "[user]\nname = \"T\"\nemail = \"t@example.org\"\n\
                    [operation]\nhostname = \"h\"\nusername = \"u\"\n";
        config.add_layer(ConfigLayer::parse(ConfigSource::User, text).unwrap());
        let settings = UserSettings::from_config(config).unwrap();
        let made = Workspace::init_internal_git(&settings, folder.path(), gix::hash::Kind::Sha1);
        let (_, repo) = made.block_on().unwrap();
        let tx = repo.start_transaction();
        Self {
            _folder: folder,
            tx,
        }
    }

    fn repo(&mut self) -> &mut MutableRepo {
        self.tx.repo_mut()
    }

    /// A commit of exactly these files. A file with several texts is a conflict: side, base, side, ...
    fn commit(&mut self, name: &str, parents: &[&Commit], files: &[(&str, &[&str])]) -> Commit {
        let store = Arc::clone(self.repo().store());
        let mut tree = MergedTreeBuilder::new(store.empty_merged_tree());
        for (path, texts) in files {
            let path = RepoPathBuf::from_internal_string(*path).unwrap();
            let values: Vec<_> = texts.iter().map(|text| file(&store, &path, text)).collect();
            tree.set_or_remove(path, Merge::from_vec(values));
        }
        let tree = tree.write_tree().block_on().unwrap();
        let mut parents: Vec<CommitId> = parents.iter().map(|commit| commit.id().clone()).collect();
        if parents.is_empty() {
            parents.push(store.root_commit_id().clone());
        }
        let commit = self.repo().new_commit(parents, tree).set_description(name);
        commit.write().block_on().unwrap()
    }

    fn changes(&mut self, commit: &Commit) -> Changes {
        let manifests = every_manifest().unwrap().to_matcher();
        let changes = Changes::of(self.repo(), commit, &*manifests);
        changes.block_on().unwrap()
    }

    fn matching(&mut self, files: FilesetExpression) -> BTreeSet<CommitId> {
        let files = RevsetExpression::filter(RevsetFilterPredicate::File(files));
        let all: Arc<ResolvedRevsetExpression> = RevsetExpression::visible_heads().ancestors();
        let found = all.intersection(&files).evaluate(self.repo()).unwrap();
        let found: Vec<_> = found.stream().collect::<Vec<_>>().block_on();
        found.into_iter().map(Result::unwrap).collect()
    }
}

fn file(store: &Arc<jj_lib::store::Store>, path: &RepoPath, text: &str) -> Option<TreeValue> {
    if text.is_empty() {
        return None;
    }
    let id = store.write_file(path, &mut text.as_bytes()).block_on();
    Some(TreeValue::File {
        id: id.unwrap(),
        executable: false,
        copy_id: CopyId::placeholder(),
    })
}

/// What three-way merging of whole files leaves; `None` is a conflict.
fn merged<'a>(base: &'a str, left: &'a str, right: &'a str) -> Option<&'a str> {
    if left == right || base == right {
        Some(left)
    } else {
        (base == left).then_some(right)
    }
}

/// Every base, two sides of it, and every merge of them, for one manifest that is absent, or one of two texts: a merge is compared with
/// what its parents merge to, and the words agree with the revset.
#[test]
fn every_merge_of_one_manifest_is_told_as_it_is() {
    const STATES: [&str; 3] = ["", "1\n", "2\n"];
    const PATH: &str = "sub/.tether/objects/k.toml";
    let mut scratch = Scratch::new();
    let mut all = Vec::new();
    for base in STATES {
        let at_base = scratch.commit("base", &[], &[(PATH, &[base])]);
        let side = |scratch: &mut Scratch, name: &str| {
            STATES.map(|state| {
                let name = format!("{name} {state}");
                scratch.commit(&name, &[&at_base], &[(PATH, &[state])])
            })
        };
        let (lefts, rights) = (side(&mut scratch, "left"), side(&mut scratch, "right"));
        for (left, at_left) in STATES.iter().zip(&lefts) {
            for (right, at_right) in STATES.iter().zip(&rights) {
                let before = merged(base, left, right);
                for after in STATES {
                    let parents = [at_left, at_right];
                    let commit = scratch.commit(after, &parents, &[(PATH, &[after])]);
                    let expected = match (before, after) {
                        (Some(before), after) if before == after => "",
                        (_, "") => "sub: -k",
                        (Some(""), _) => "sub: +k",
                        _ => "sub: k",
                    };
                    let told = scratch.changes(&commit).to_string();
                    assert_eq!(told, expected, "{base:?} {left:?} {right:?} {after:?}");
                    all.push(commit);
                }
            }
        }
        all.extend([at_base]);
        all.extend(lefts);
        all.extend(rights);
    }
    let told: BTreeSet<_> = all
        .iter()
        .filter(|commit| !scratch.changes(commit).is_empty())
        .map(|commit| commit.id().clone())
        .collect();
    assert_eq!(scratch.matching(every_manifest().unwrap()), told);
    let key: ObjectKey = "k".parse().unwrap();
    assert_eq!(scratch.matching(manifest_of(&key).unwrap()), told);
    assert!(told.len() > 50);
}

#[test]
fn conflicts_of_any_shape_are_told() {
    let mut scratch = Scratch::new();
    const DB: &str = ".tether/objects/db.toml";
    let root = scratch.repo().store().root_commit();
    assert!(scratch.changes(&root).is_empty());
    let one = scratch.commit("one", &[], &[(DB, &["1\n"])]);
    let five = ["2\n", "1\n", "3\n", "", "4\n"];
    let conflicted = scratch.commit("conflicted", &[&one], &[(DB, &five)]);
    assert_eq!(scratch.changes(&conflicted).to_string(), "db (conflict)");
    let same = scratch.commit("same", &[&conflicted], &[(DB, &five), ("x", &["x"])]);
    assert_eq!(scratch.changes(&same).to_string(), "");
    // Removed on one side, changed on the other.
    let deleted = scratch.commit("deleted", &[&one], &[(DB, &["2\n", "1\n", ""])]);
    assert_eq!(scratch.changes(&deleted).to_string(), "db (conflict)");
    let gone = scratch.commit("gone", &[&conflicted], &[("x", &["x"])]);
    assert_eq!(scratch.changes(&gone).to_string(), "-db");
    // A file for the folder on one side.
    let odd: [(&str, &[&str]); 1] = [(".tether/objects", &["a file\n"])];
    let odd = scratch.commit("odd", &[&one], &odd);
    assert_eq!(scratch.changes(&odd).to_string(), "-db");
    // Four parents, of which three disagree.
    let sides: Vec<_> = ["1\n", "2\n", "3\n", "4\n"]
        .iter()
        .map(|text| scratch.commit(text, &[&one], &[(DB, &[text])]))
        .collect();
    let sides: Vec<_> = sides.iter().chain([&conflicted]).collect();
    let octopus = scratch.commit("octopus", &sides, &[(DB, &["5\n"])]);
    assert_eq!(scratch.changes(&octopus).to_string(), "db");
    // A folder and a file in one place merge to neither.
    let mended = scratch.commit("mended", &[sides[1], &odd], &[(DB, &["5\n"])]);
    assert_eq!(scratch.changes(&mended).to_string(), "+db");
    let told =
        [&one, &conflicted, &deleted, &gone, &odd, &octopus, &mended].map(|c| c.id().clone());
    let sides = sides[1..4].iter().map(|c| c.id().clone());
    let told: BTreeSet<_> = told.into_iter().chain(sides).collect();
    assert_eq!(scratch.matching(every_manifest().unwrap()), told);
}

fn changes(entries: &[(&str, &str, Kind)]) -> String {
    let mut changes = Changes::default();
    for (folder, key, kind) in entries {
        let keys = changes.0.entry((*folder).to_owned()).or_default();
        keys.insert((*key).to_owned(), *kind);
    }
    changes.to_string()
}

#[test]
fn each_change_has_its_sign_and_each_folder_its_name() {
    assert_eq!(changes(&[]), "");
    let text = changes(&[
        ("", "zarr/imaging", Kind::Added),
        ("", "db", Kind::Changed),
        ("", "old", Kind::Removed),
        ("", "raw", Kind::Conflicted),
        ("exp/two", "db", Kind::Added),
    ]);
    assert_eq!(
        text,
        "db, -old, raw (conflict), +zarr/imaging; exp/two: +db"
    );
}

#[test]
fn many_keys_are_counted() {
    let names: Vec<String> = (0..40).map(|n| format!("k{n:02}")).collect();
    let some = |range: std::ops::Range<usize>| {
        let entries: Vec<_> = names[range]
            .iter()
            .map(|name| ("", name.as_str(), Kind::Added))
            .collect();
        changes(&entries)
    };
    assert_eq!(some(0..7), "+k00, +k01, +k02, +k03, +k04, +k05, +k06");
    assert_eq!(
        some(0..40),
        "+k00, +k01, +k02, +k03, +k04, +k05 and 34 more"
    );
    let mut entries: Vec<_> = names[..6]
        .iter()
        .map(|name| ("", name.as_str(), Kind::Changed))
        .collect();
    entries.extend([("a", "x", Kind::Changed), ("b", "x", Kind::Changed)]);
    assert_eq!(changes(&entries), "k00, k01, k02, k03, k04, k05 and 2 more");
}

#[test]
fn what_could_be_misread_is_quoted() {
    for plain in ["a b", "q?*", "[x]", ".hidden", "é/ü"] {
        assert_eq!(quoted(plain), plain);
    }
    assert_eq!(quoted("-dash"), "\"-dash\"");
    assert_eq!(quoted("a, b"), "\"a, b\"");
    assert_eq!(quoted("x (conflict)"), "\"x (conflict)\"");
    assert_eq!(quoted("\u{1b}[31m"), "\"\\u{1b}[31m\"");
    assert_eq!(quoted("a\u{202e}b"), "\"a\\u{202e}b\"");
}

#[test]
fn a_manifest_is_where_it_is() {
    let place = |text: &str| {
        let path = jj_lib::repo_path::RepoPathBuf::from_internal_string(text).unwrap();
        super::place(&path).map(|(folder, key)| (folder.to_owned(), key.to_owned()))
    };
    let at = |folder: &str, key: &str| Some((folder.to_owned(), key.to_owned()));
    assert_eq!(place(".tether/objects/a/b.toml"), at("", "a/b"));
    assert_eq!(place("x/y/.tether/objects/a.toml"), at("x/y", "a"));
    assert_eq!(place(".tether/objects/a"), None);
    assert_eq!(place("x.tether/objects/a.toml"), None);
    assert_eq!(place("tether.toml"), None);
}

#[test]
fn patterns_take_keys_literally() {
    let matches = |pattern: Result<FilesetExpression, FilePatternParseError>, path: &str| {
        let path = jj_lib::repo_path::RepoPathBuf::from_internal_string(path).unwrap();
        pattern.unwrap().to_matcher().matches(&path)
    };
    let key = |text: &str| text.parse::<ObjectKey>().unwrap();
    for awkward in [
        "a[bc]d", "a*", "?", "{a,b}", "a b", "it's", "\"q\"", "!x", "a/[!b]",
    ] {
        let path = format!("sub/.tether/objects/{awkward}.toml");
        assert!(matches(manifest_of(&key(awkward)), &path), "{awkward}");
        assert!(matches(every_manifest(), &path), "{awkward}");
        let below = format!(".tether/objects/{awkward}/x/y.toml");
        assert!(matches(manifests_below(&key(awkward)), &below), "{awkward}");
        assert!(!matches(manifests_below(&key(awkward)), &path), "{awkward}");
    }
    assert!(!matches(manifest_of(&key("a*")), ".tether/objects/ab.toml"));
    assert!(!matches(
        manifest_of(&key("a[bc]d")),
        ".tether/objects/abd.toml"
    ));
    assert!(!matches(
        manifest_of(&key("{a,b}")),
        ".tether/objects/a.toml"
    ));
    assert!(!matches(manifest_of(&key("a")), ".tether/objects/b/a.toml"));
    assert!(!matches(manifest_of(&key("a")), ".tether/listings/a.toml"));
    assert!(!matches(every_manifest(), ".tether/objects/a.txt"));
    assert!(!matches(every_manifest(), "objects/a.toml"));
    assert!(!matches(every_manifest(), ".tether/workspace.toml"));
}
