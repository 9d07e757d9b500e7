//! Fingerprints, addresses, history and content diffs.

use tether_engine::ErrorKind;
use tether_engine::backend::{Backend, Change, Target};
use tether_engine::state::Locator;

use crate::git::{Fixture, command, commit, git, native, pin_id, state, value};

/// One number a line.
fn numbers(values: Vec<u64>) -> String {
    let lines: Vec<_> = values.iter().map(u64::to_string).collect();
    lines.join("\n") + "\n"
}

async fn dirty(fx: &Fixture) -> bool {
    fx.state().await.get("dirty").unwrap().as_bool().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn dirty_means_staged_changed_or_untracked_but_not_ignored() {
    let fx = Fixture::new();
    assert!(!dirty(&fx).await);
    std::fs::write(fx.code.join(".git/info/exclude"), "*.tmp\n").unwrap();
    std::fs::write(fx.code.join("x.tmp"), "").unwrap();
    std::fs::create_dir(fx.code.join("empty")).unwrap();
    assert!(!dirty(&fx).await);
    std::fs::write(fx.code.join("stray"), "").unwrap();
    assert!(dirty(&fx).await);
    fx.git(&["add", "stray"]);
    assert!(dirty(&fx).await);
    fx.git(&["rm", "-q", "--cached", "stray"]);
    std::fs::remove_file(fx.code.join("stray")).unwrap();
    assert!(!dirty(&fx).await);
    std::fs::write(fx.code.join("a"), "other\n").unwrap();
    assert!(dirty(&fx).await);
    // Touched only: the content counts.
    std::fs::write(fx.code.join("a"), "one\n").unwrap();
    assert!(!dirty(&fx).await);
    std::fs::remove_file(fx.code.join("a")).unwrap();
    assert!(dirty(&fx).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn dirty_is_only_looked_at_for_what_is_checked_out() {
    let fx = Fixture::new();
    fx.git(&["branch", "tether.ws.0a1b2c3d.f"]);
    fx.git(&["branch", "other"]);
    std::fs::write(fx.code.join("stray"), "").unwrap();
    let look = |store, working: Option<&'static str>| {
        let backend = fx.backend.clone();
        async move {
            let working = working.map(native);
            let state = backend.fingerprint(&store, working.as_ref()).await.unwrap();
            state.get("dirty").unwrap().as_bool().unwrap()
        }
    };
    assert!(look(fx.store(), None).await);
    assert!(look(fx.with("ref", "main"), None).await);
    assert!(!look(fx.with("ref", "other"), None).await);
    assert!(!look(fx.with("at", &fx.sha("HEAD").unwrap()), None).await);
    assert!(!look(fx.store(), Some("tether.ws.0a1b2c3d.f")).await);
    fx.git(&["switch", "-q", "tether.ws.0a1b2c3d.f"]);
    assert!(look(fx.store(), Some("tether.ws.0a1b2c3d.f")).await);
    assert!(!look(fx.with("ref", "main"), None).await);
}

/// Settings of the repository that say what a file's bytes and mode mean are honoured, unlike those that name programs.
#[tokio::test(flavor = "multi_thread")]
async fn line_ends_and_modes_are_compared_as_the_repository_says() {
    use std::os::unix::fs::PermissionsExt as _;
    let fx = Fixture::new();
    fx.git(&["config", "core.autocrlf", "true"]);
    fx.commit("a", "two\r\n");
    assert_eq!(fx.git(&["cat-file", "-s", "HEAD:a"]), "4");
    // Touched, so that its content is compared.
    std::fs::write(fx.code.join("a"), "two\r\n").unwrap();
    assert!(!dirty(&fx).await);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(fx.code.join("a"), mode).unwrap();
    assert!(dirty(&fx).await);
    fx.git(&["config", "core.fileMode", "false"]);
    assert!(!dirty(&fx).await);
}

/// A submodule at another commit is a change; what is inside it is not ours to look at.
#[tokio::test(flavor = "multi_thread")]
async fn a_moved_submodule_is_dirty_and_an_edited_one_is_not() {
    let fx = Fixture::new();
    let inner = fx.root.join("inner");
    std::fs::create_dir(&inner).unwrap();
    git(&inner, &["init", "-q", "-b", "main"]);
    commit(&inner, "i", "1\n");
    let added = command(&fx.code)
        .args([
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
        ])
        .args([inner.to_str().unwrap(), "sub"])
        .status()
        .unwrap();
    assert!(added.success());
    fx.git(&["commit", "-q", "-m", "sub"]);
    assert!(!dirty(&fx).await);
    std::fs::write(fx.code.join("sub/i"), "2\n").unwrap();
    assert!(!dirty(&fx).await);
    commit(&fx.code.join("sub"), "i", "3\n");
    assert!(dirty(&fx).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_position_is_at_before_ref_before_head() {
    let fx = Fixture::new();
    let one = fx.sha("HEAD").unwrap();
    fx.git(&["tag", "-a", "-m", "annotated", "v1"]);
    let two = fx.commit("b", "two\n");
    fx.git(&["branch", "dev"]);
    let three = fx.commit("c", "three\n");
    fx.git(&["update-ref", "refs/remotes/origin/x", &one]);
    for (locator, expected) in [
        (Locator::default(), &three),
        (Locator::default().with("ref", "dev"), &two),
        (Locator::default().with("ref", "dev").with("at", "v1"), &one),
        (Locator::default().with("at", one.as_str()), &one),
        (Locator::default().with("at", &one[..9]), &one),
        (Locator::default().with("at", "HEAD~2"), &one),
        (Locator::default().with("at", "dev^"), &one),
        (Locator::default().with("ref", "origin/x"), &one),
        (Locator::default().with("ref", "refs/tags/v1"), &one),
    ] {
        let state = fx
            .backend
            .fingerprint(&fx.at(locator.clone()), None)
            .await
            .unwrap();
        assert_eq!(state.str("sha"), Some(expected.as_str()), "{locator:?}");
    }
    for name in ["nosuch", "refs/heads/nosuch", "HEAD~9", "a"] {
        let error = fx
            .backend
            .fingerprint(&fx.with("at", name), None)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Store, "{name}");
        assert!(error.message().contains(name), "{error}");
    }
    let gone = native("tether.ws.0a1b2c3d.gone");
    let error = fx
        .backend
        .fingerprint(&fx.store(), Some(&gone))
        .await
        .unwrap_err();
    assert!(error.message().contains("does not exist"), "{error}");
    assert_eq!(fx.backend.head(&fx.store(), &gone).await.unwrap(), None);
    let head = fx.backend.head(&fx.store(), &native("dev")).await.unwrap();
    assert_eq!(head, Some(state(&two)));
}

/// Other processes write while this one keeps the repository open.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_kept_open_sees_what_others_do() {
    let fx = Fixture::new();
    let one = fx.state().await;
    let two = fx.commit("b", "two\n");
    assert_eq!(fx.state().await.str("sha"), Some(two.as_str()));
    fx.git(&["pack-refs", "--all"]);
    fx.git(&["repack", "-adq"]);
    let three = fx.commit("c", "three\n");
    assert_eq!(fx.state().await.str("sha"), Some(three.as_str()));
    // A remote added since, and another repository at the same place.
    let named = fx.with("remote", "late");
    let error = fx
        .backend
        .validate(&named, &fx.root.join("ds"))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    fx.git(&["remote", "add", "late", "/nowhere"]);
    fx.backend.validate(&named, &fx.root.join("ds")).unwrap();
    std::fs::remove_dir_all(&fx.code).unwrap();
    let error = fx.backend.fingerprint(&fx.store(), None).await.unwrap_err();
    assert!(error.message().ends_with("does not exist"), "{error}");
    std::fs::create_dir(&fx.code).unwrap();
    let error = fx.backend.fingerprint(&fx.store(), None).await.unwrap_err();
    assert!(
        error.message().ends_with("is not a git repository"),
        "{error}"
    );
    fx.git(&["init", "-q", "-b", "main"]);
    let error = fx.backend.fingerprint(&fx.store(), None).await.unwrap_err();
    assert!(error.message().ends_with("has no commit yet"), "{error}");
    let new = fx.commit("n", "new\n");
    assert_eq!(fx.state().await.str("sha"), Some(new.as_str()));
    assert_ne!(one.str("sha"), Some(new.as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_are_a_path_and_a_commit() {
    let fx = Fixture::new();
    let one = fx.sha("HEAD").unwrap();
    fx.git(&["branch", "tether.ws.0a1b2c3d.f"]);
    let two = fx.commit("b", "two\n");
    let open = |target: Target, writable: bool| {
        let (backend, store) = (fx.backend.clone(), fx.store());
        async move { backend.open(&store, &target, writable).await.unwrap() }
    };
    let base = open(Target::Base, true).await;
    assert_eq!(base.handle, "GitHandle");
    assert_eq!(base.address, format!("{}@{two}", fx.code.display()));
    assert_eq!((base.read_only, base.secret_address), (false, None));
    assert!(open(Target::Base, false).await.read_only);
    let fork = open(Target::Ref(native("tether.ws.0a1b2c3d.f")), true).await;
    assert_eq!(fork.address, format!("{}@{one}", fx.code.display()));
    let recorded = open(Target::State(state(&one)), true).await;
    assert!(recorded.read_only);
    let gone = Target::State(state(&"6".repeat(40)));
    let error = fx
        .backend
        .open(&fx.store(), &gone, false)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
}

#[tokio::test(flavor = "multi_thread")]
async fn history_lists_commits_with_git_s_names_and_times() {
    let fx = Fixture::new();
    fx.git(&["tag", "v1"]);
    let message = "subject line\nfolded\n\nbody";
    let made = command(&fx.code)
        .args(["commit", "-q", "--allow-empty", "-m", message])
        .env("GIT_COMMITTER_DATE", "2031-01-01T00:00:00+0230")
        .status()
        .unwrap();
    assert!(made.success());
    let head = fx.sha("HEAD").unwrap();
    for (name, at) in [
        ("refs/remotes/origin/main", "HEAD"),
        ("refs/notes/commits", "HEAD"),
        ("refs/tags/v2", "HEAD"),
        ("refs/heads/zzz", "HEAD"),
    ] {
        fx.git(&["update-ref", name, at]);
    }
    let entries = fx.backend.history(&fx.store(), None, 10).await.unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0].id, head);
    assert_eq!(entries[0].when, "2031-01-01T00:00:00+02:30");
    assert_eq!(entries[0].message, "subject line folded");
    assert_eq!(entries[0].refs, ["main", "v2", "origin/main", "zzz"]);
    assert_eq!(entries[1].refs, ["v1"]);
    let theirs = fx.git(&["log", "--format=%H %cI"]);
    let ours: Vec<_> = entries
        .iter()
        .map(|entry| format!("{} {}", entry.id, entry.when))
        .collect();
    assert_eq!(ours.join("\n"), theirs);
    assert_eq!(
        fx.backend
            .history(&fx.store(), None, 1)
            .await
            .unwrap()
            .len(),
        1
    );
    let from = fx
        .backend
        .history(&fx.store(), Some("v1"), 10)
        .await
        .unwrap();
    assert_eq!(from, entries[1..]);
    let again = fx
        .backend
        .fingerprint(&fx.with("at", &entries[1].id), None)
        .await
        .unwrap();
    assert_eq!(again.str("sha"), Some(entries[1].id.as_str()));
    for bad in ["--exec=touch x", "a..b", "x@{1}", ":/subject", "nosuch"] {
        assert!(
            fx.backend
                .history(&fx.store(), Some(bad), 10)
                .await
                .is_err(),
            "{bad}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn history_follows_both_parents_by_time_as_git_log_does() {
    let fx = Fixture::new();
    let mut when = 1_700_000_000_u64;
    let mut tick = |args: &[&str]| {
        when += 60;
        let date = format!("@{when} +0000");
        let done = command(&fx.code)
            .args(args)
            .env("GIT_COMMITTER_DATE", date)
            .status()
            .unwrap();
        assert!(done.success());
    };
    tick(&["commit", "-q", "--allow-empty", "-m", "base"]);
    fx.git(&["switch", "-q", "-c", "side"]);
    tick(&["commit", "-q", "--allow-empty", "-m", "s1"]);
    fx.git(&["switch", "-q", "main"]);
    tick(&["commit", "-q", "--allow-empty", "-m", "m1"]);
    fx.git(&["switch", "-q", "side"]);
    tick(&["commit", "-q", "--allow-empty", "-m", "s2"]);
    fx.git(&["switch", "-q", "main"]);
    tick(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
    let entries = fx.backend.history(&fx.store(), None, 100).await.unwrap();
    let ours: Vec<_> = entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ours.join("\n"), fx.git(&["log", "--format=%H"]));
    let [a, b] = [fx.sha("side").unwrap(), fx.sha("main").unwrap()].map(|sha| state(&sha));
    assert_eq!(
        fx.backend.ancestor_of(&fx.store(), &a, &b).await.unwrap(),
        Some(true)
    );
    assert_eq!(
        fx.backend.ancestor_of(&fx.store(), &b, &a).await.unwrap(),
        Some(false)
    );
    assert_eq!(
        fx.backend.ancestor_of(&fx.store(), &a, &a).await.unwrap(),
        Some(true)
    );
    let gone = state(&"7".repeat(40));
    assert_eq!(
        fx.backend
            .ancestor_of(&fx.store(), &gone, &b)
            .await
            .unwrap(),
        None
    );
}

/// The strings of the Python package: `+2 -1 ~3 files`, `+1 -0`, `+- --`, `OLD -> NEW`.
#[tokio::test(flavor = "multi_thread")]
async fn a_diff_names_files_renames_and_line_counts() {
    let fx = Fixture::new();
    let lines = numbers((0..30).collect());
    fx.commit("b", "b\n");
    fx.commit("d/ren", &lines);
    std::fs::write(fx.code.join("bin"), b"\0\x01").unwrap();
    fx.git(&["add", "bin"]);
    let one = fx.commit("mode", "m\n");
    std::fs::write(fx.code.join("a"), "one\nz\n").unwrap();
    std::fs::write(fx.code.join("bin"), b"\0\x02\x03").unwrap();
    fx.git(&["rm", "-q", "b"]);
    fx.git(&["mv", "d/ren", "d/ren2"]);
    std::fs::write(fx.code.join("d/ren2"), format!("{lines}30\n")).unwrap();
    std::fs::write(fx.code.join("é"), "new\n").unwrap();
    std::os::unix::fs::symlink("a", fx.code.join("lnk")).unwrap();
    fx.git(&["update-index", "--chmod=+x", "mode"]);
    fx.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{one},sub"),
    ]);
    fx.git(&["add", "a", "bin", "é", "lnk", "d"]);
    fx.git(&["commit", "-q", "-m", "two"]);
    let two = fx.sha("HEAD").unwrap();
    let diff = fx
        .backend
        .diff(&fx.store(), &state(&one), &state(&two), (None, None))
        .await
        .unwrap();
    assert_eq!(diff.summary, "+3 -1 ~4 files");
    assert_eq!(
        (diff.unit.as_str(), diff.truncated, diff.note.as_str()),
        ("files", false, "")
    );
    let entries: Vec<_> = diff
        .entries
        .iter()
        .map(|entry| (entry.path.as_str(), entry.change, entry.detail.as_str()))
        .collect();
    assert_eq!(
        entries,
        [
            ("a", Change::Modified, "+1 -0"),
            ("b", Change::Removed, "+0 -1"),
            ("bin", Change::Modified, "+- --"),
            ("d/ren -> d/ren2", Change::Renamed, ""),
            ("lnk", Change::Added, "+1 -0"),
            ("mode", Change::Modified, "+0 -0"),
            ("sub", Change::Added, "+1 -0"),
            ("é", Change::Added, "+1 -0"),
        ]
    );
    let none = fx
        .backend
        .diff(&fx.store(), &state(&two), &state(&two), (None, None))
        .await
        .unwrap();
    assert!(none.is_empty());
    assert_eq!(none.summary, "+0 -0 ~0 files");
    let back = fx
        .backend
        .diff(&fx.store(), &state(&two), &state(&one), (None, None))
        .await
        .unwrap();
    assert_eq!(back.summary, "+1 -3 ~4 files");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_counts_as_git_numstat_does() {
    let fx = Fixture::new();
    let text = |seed: u64| numbers((0..200).map(|n| (n * seed) % 17).collect());
    for n in 0..6 {
        fx.commit(&format!("f{n}"), &text(n + 1));
    }
    let one = fx.sha("HEAD").unwrap();
    for n in 0..6 {
        fx.commit(&format!("f{n}"), &text(n + 2));
    }
    let two = fx.sha("HEAD").unwrap();
    let diff = fx
        .backend
        .diff(&fx.store(), &state(&one), &state(&two), (None, None))
        .await
        .unwrap();
    let theirs = fx.git(&["diff", "--numstat", &one, &two]);
    let ours: Vec<_> = diff
        .entries
        .iter()
        .map(|entry| {
            let (added, removed) = entry.detail.split_once(" -").unwrap();
            format!("{}\t{removed}\t{}", &added[1..], entry.path)
        })
        .collect();
    assert_eq!(ours.join("\n"), theirs);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_diff_is_cut_but_counted() {
    let fx = Fixture::new();
    let one = fx.sha("HEAD").unwrap();
    for n in 0..2100 {
        std::fs::write(fx.code.join(format!("n{n}")), format!("{n}\n")).unwrap();
    }
    fx.git(&["add", "."]);
    fx.git(&["commit", "-q", "-m", "many"]);
    let two = fx.sha("HEAD").unwrap();
    let diff = fx
        .backend
        .diff(&fx.store(), &state(&one), &state(&two), (None, None))
        .await
        .unwrap();
    assert_eq!(
        (diff.added, diff.entries.len(), diff.truncated),
        (2100, 2000, true)
    );
    assert_eq!(diff.summary, "+2100 -0 ~0 files");
}

/// Linked worktrees are two objects and one set of refs: gc must count their pins together.
#[tokio::test(flavor = "multi_thread")]
async fn worktrees_of_one_repository_share_their_namespace() {
    let fx = Fixture::new();
    let tree = fx.root.join("tree");
    fx.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    let main = fx.store().locator;
    let linked = Locator::default().with("uri", tree.to_str().unwrap());
    let backend = &fx.backend;
    assert_ne!(
        backend.identity(&main).unwrap(),
        backend.identity(&linked).unwrap()
    );
    let namespace = backend.ref_namespace(&main).unwrap();
    assert_eq!(namespace, format!("{{\"path\":\"{}\"}}", fx.code.display()));
    assert_eq!(backend.ref_namespace(&linked).unwrap(), namespace);
    assert_eq!(backend.branch_scope(&linked).unwrap(), Some(namespace));
    // Of a path that does not exist, the path itself.
    let nowhere = Locator::default().with("path", "/nowhere/x");
    assert_eq!(
        backend.ref_namespace(&nowhere).unwrap(),
        r#"{"path":"/nowhere/x"}"#
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_with_sha256_ids_is_read_and_pinned() {
    let fx = Fixture::new();
    let code = fx.root.join("wide");
    std::fs::create_dir(&code).unwrap();
    git(
        &code,
        &["init", "-q", "-b", "main", "--object-format=sha256"],
    );
    let one = commit(&code, "a", "one\n");
    let bare = fx.root.join("wide.git");
    git(
        &code,
        &[
            "init",
            "-q",
            "--bare",
            "--object-format=sha256",
            bare.to_str().unwrap(),
        ],
    );
    git(&code, &["remote", "add", "pins", bare.to_str().unwrap()]);
    let mut store = fx.with("remote", "pins");
    store.locator = store.locator.with("path", code.to_str().unwrap());
    let now = fx.backend.fingerprint(&store, None).await.unwrap();
    assert_eq!(now.str("sha"), Some(one.as_str()));
    assert_eq!(one.len(), 64);
    let pin = value(fx.backend.pin(&store, &now, &pin_id(&now)).await.unwrap());
    assert_eq!(git(&bare, &["rev-parse", pin.native.as_str()]), one);
    let narrow = state(&"1".repeat(40));
    let error = fx
        .backend
        .verify(&store, &narrow, Some(&pin), false)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
}

/// A partial clone has no file contents for older commits, and must not fetch them behind the user's back.
#[tokio::test(flavor = "multi_thread")]
async fn a_partial_clone_is_diffed_without_the_contents_it_lacks() {
    let fx = Fixture::new();
    let one = fx.sha("HEAD").unwrap();
    fx.commit("a", "two\n");
    let two = fx.commit("b", "two\n");
    fx.git(&["config", "uploadpack.allowFilter", "true"]);
    let clone = fx.root.join("partial");
    let url = format!("file://{}", fx.code.display());
    fx.git(&[
        "clone",
        "-q",
        "--filter=blob:none",
        &url,
        clone.to_str().unwrap(),
    ]);
    std::fs::rename(&fx.code, fx.root.join("away")).unwrap();
    let store = crate::git::store(Locator::default().with("path", clone.to_str().unwrap()));
    let diff = fx
        .backend
        .diff(&store, &state(&one), &state(&two), (None, None))
        .await
        .unwrap();
    assert_eq!(diff.summary, "+1 -0 ~1 files");
    let details: Vec<_> = diff
        .entries
        .iter()
        .map(|entry| entry.detail.as_str())
        .collect();
    assert_eq!(details, ["", "+1 -0"]);
    assert_eq!(fx.backend.history(&store, None, 9).await.unwrap().len(), 3);
}
