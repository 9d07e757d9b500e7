//! Repositories of others: nothing their configuration names is run, and their owners are respected.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tether_engine::backend::{Backend, Expected, Merge, Target};
use tether_engine::state::Locator;

use crate::git::{Fixture, commit_on, git, native, pin_id, source, state, value};

/// A program that leaves a mark when it is run, and passes its input on.
fn trap(root: &Path) -> (PathBuf, String) {
    let mark = root.join("ran");
    let script = root.join("trap");
    std::fs::write(
        &script,
        format!(
            "#!/bin/sh\necho \"$0 $*\" >> {}\ncat 2>/dev/null\n",
            mark.display()
        ),
    )
    .unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    (mark, script.to_str().unwrap().to_owned())
}

/// Sets everything that names a program.
fn arm(fx: &Fixture, program: &str, bare: &Path) {
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.editor",
        "core.pager",
        "core.askPass",
        "core.alternateRefsCommand",
        "core.gitProxy",
        "diff.external",
        "diff.d.command",
        "diff.d.textconv",
        "filter.f.clean",
        "filter.f.smudge",
        "filter.f.process",
        "merge.m.driver",
        "gpg.program",
        "gpg.ssh.program",
        "gpg.ssh.defaultKeyCommand",
        "credential.helper",
        "remote.pins.receivepack",
        "remote.pins.uploadpack",
        "sequence.editor",
        "interactive.diffFilter",
        "uploadpack.packObjectsHook",
        "receive.procReceiveRefs",
    ] {
        fx.git(&["config", key, program]);
    }
    for (key, text) in [
        ("merge.default", "m"),
        ("merge.verifySignatures", "true"),
        ("commit.gpgSign", "true"),
        ("tag.gpgSign", "true"),
        ("push.gpgSign", "if-asked"),
        ("protocol.ext.allow", "always"),
        ("filter.f.required", "true"),
        ("remote.pins.url", bare.to_str().unwrap()),
        ("alias.merge", "!touch x"),
    ] {
        fx.git(&["config", key, text]);
    }
    let hooks = fx.root.join("hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in [
        "pre-commit",
        "post-commit",
        "post-merge",
        "post-checkout",
        "pre-push",
        "reference-transaction",
        "post-rewrite",
        "pre-auto-gc",
        "post-index-change",
        "fsmonitor-watchman",
        "prepare-commit-msg",
        "commit-msg",
        "pre-merge-commit",
    ] {
        for dir in [&hooks, &fx.code.join(".git/hooks")] {
            std::fs::create_dir_all(dir).unwrap();
            std::fs::copy(program, dir.join(hook)).unwrap();
        }
    }
    fx.git(&["config", "core.hooksPath", hooks.to_str().unwrap()]);
}

/// E51
#[tokio::test(flavor = "multi_thread")]
async fn no_operation_runs_a_program_that_the_repository_names() {
    let fx = Fixture::new();
    let bare = fx.root.join("remote.git");
    fx.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
    let one = fx.commit(
        ".gitattributes",
        "*.t filter=f diff=d merge=m\n* diff=d merge=m\n",
    );
    let two = fx.commit("x.t", "1\n2\n3\n");
    let (mark, program) = trap(&fx.root);
    arm(&fx, &program, &bare);
    let ran = |what: &str| {
        let said = std::fs::read_to_string(&mark).unwrap_or_default();
        assert_eq!(said, "", "{what}");
    };
    // The file on disk is newer than the index knows: a status has to read it.
    std::fs::write(fx.code.join("x.t"), "1\n2\n3\n").unwrap();
    let pushing = fx.with("remote", "pins");
    let now = fx.backend.fingerprint(&pushing, None).await.unwrap();
    assert_eq!(now.get("dirty").unwrap().as_bool(), Some(false));
    ran("fingerprint");
    let pin = value(fx.backend.pin(&pushing, &now, &pin_id(&now)).await.unwrap());
    assert!(git(&bare, &["tag"]).contains(pin.id.as_str()));
    ran("pin");
    fx.backend
        .verify(&pushing, &now, Some(&pin), true)
        .await
        .unwrap();
    ran("verify");
    fx.backend.history(&pushing, None, 10).await.unwrap();
    fx.backend
        .open(&pushing, &Target::Pinned(pin.clone(), now.clone()), false)
        .await
        .unwrap();
    fx.backend
        .diff(&pushing, &state(&one), &state(&two), (None, None))
        .await
        .unwrap();
    ran("diff");
    let work = native("tether.ws.0a1b2c3d.f");
    value(
        fx.backend
            .fork(&pushing, &source(&two), &work, &Expected::Absent)
            .await
            .unwrap(),
    );
    ran("fork");

    // Onto the checked-out base, past the filter's files and into them.
    let plain = commit_on(&fx.code, &two, "plain", "p\n");
    let error = fx
        .backend
        .promote(&pushing, &source(&plain), &Expected::Any)
        .await
        .unwrap_err();
    assert!(error.message().contains("filter \"f\""), "{error}");
    ran("promote with a filter");
    let without = commit_on(&fx.code, &two, ".gitattributes", "* diff=d merge=m\n");
    value(
        fx.backend
            .promote(&pushing, &source(&without), &Expected::Any)
            .await
            .unwrap(),
    );
    assert_eq!(fx.sha("HEAD"), Some(without.clone()));
    ran("promote");

    // Three ways, clean and in conflict: both go through content merges.
    let clean = commit_on(&fx.code, &without, "x.t", "0\n1\n2\n3\n");
    let side = commit_on(&fx.code, &without, "x.t", "1\n2\n3\n4\n");
    fx.git(&["branch", "dev", &clean]);
    let dev = fx.at(Locator::default().with("ref", "dev").with("remote", "pins"));
    let merged = fx
        .backend
        .merge(&dev, &source(&side), "m", &Expected::Any)
        .await
        .unwrap();
    let Merge::Base(done) = merged else {
        panic!("a conflict: {merged:?}")
    };
    value(done);
    assert_eq!(fx.git(&["cat-file", "blob", "dev:x.t"]), "0\n1\n2\n3\n4");
    ran("merge");
    let against = commit_on(&fx.code, &without, "x.t", "other\n");
    let conflict = fx
        .backend
        .merge(&dev, &source(&against), "m", &Expected::Any)
        .await
        .unwrap();
    assert_eq!(conflict, Merge::Conflict(vec!["x.t".into()]));
    ran("conflict");

    value(
        fx.backend
            .delete_working_ref(&pushing, &work, &Expected::Any)
            .await
            .unwrap(),
    );
    fx.backend.unpin(&pushing, &pin).await.unwrap();
    assert_eq!(git(&bare, &["tag"]), "");
    ran("unpin");
    fx.backend.is_ref_empty(&pushing, &[]).await.unwrap();
    ran("is_ref_empty");
}

/// E51
#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_a_program_is_not_run() {
    let fx = Fixture::new();
    let (mark, program) = trap(&fx.root);
    fx.git(&["config", "protocol.ext.allow", "always"]);
    fx.git(&["remote", "add", "pins", &format!("ext::{program} %S")]);
    let now = fx.state().await;
    let store = fx.with("remote", "pins");
    let error = fx
        .backend
        .pin(&store, &now, &pin_id(&now))
        .await
        .unwrap_err();
    assert!(error.message().contains("remote pins"), "{error}");
    assert!(!mark.exists());
    assert!(fx.backend.list_pins(&fx.store()).await.unwrap().is_empty());
}

/// E51, E32: `core.worktree` cannot point a checkout of ours elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn core_worktree_leads_nowhere_else() {
    let fx = Fixture::new();
    let victim = fx.root.join("victim");
    std::fs::create_dir(&victim).unwrap();
    fx.git(&["config", "core.worktree", victim.to_str().unwrap()]);
    let one = fx.state().await;
    assert_eq!(one.get("dirty").unwrap().as_bool(), Some(false));
    let two = commit_on(&fx.code, one.str("sha").unwrap(), "b", "two\n");
    value(
        fx.backend
            .promote(&fx.store(), &source(&two), &Expected::Any)
            .await
            .unwrap(),
    );
    assert_eq!(std::fs::read_dir(&victim).unwrap().count(), 0);
    assert_eq!(std::fs::read_to_string(fx.code.join("b")).unwrap(), "two\n");
}

/// E51: a repository buried below the path is not the object.
#[tokio::test(flavor = "multi_thread")]
async fn a_directory_inside_a_repository_is_not_the_repository() {
    let fx = Fixture::new();
    fx.commit("sub/x", "x\n");
    let mut store = fx.store();
    store.locator = store
        .locator
        .with("path", fx.code.join("sub").to_str().unwrap());
    let error = fx.backend.fingerprint(&store, None).await.unwrap_err();
    assert!(
        error.message().ends_with("is not a git repository"),
        "{error}"
    );
}

/// E31. Needs to be root, which may give files away.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_of_another_owner_is_refused_with_git_s_line() {
    let fx = Fixture::new();
    let owned = std::process::Command::new("chown")
        .args(["-R", "12345"])
        .arg(&fx.code)
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    if !owned.success() {
        return;
    }
    let error = fx.backend.fingerprint(&fx.store(), None).await.unwrap_err();
    assert!(error.message().contains("dubious ownership"), "{error}");
    assert!(
        error
            .hint()
            .unwrap()
            .starts_with("git config --global --add safe.directory "),
        "{error:?}"
    );
    let error = fx.backend.list_pins(&fx.store()).await.unwrap_err();
    assert!(error.message().contains("dubious ownership"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reftable_repository_is_refused_with_the_way_out() {
    let fx = Fixture::new();
    fx.git(&["config", "core.repositoryFormatVersion", "1"]);
    fx.git(&["config", "extensions.refStorage", "reftable"]);
    let error = fx.backend.fingerprint(&fx.store(), None).await.unwrap_err();
    assert!(
        error
            .hint()
            .unwrap()
            .contains("refs migrate --ref-format=files"),
        "{error:?}"
    );
}

/// E32: as a hook would run us, with git's environment pointing at another repository.
#[tokio::test(flavor = "multi_thread")]
async fn an_environment_that_points_elsewhere_is_not_followed() {
    let fx = Fixture::new();
    let other = fx.root.join("other");
    std::fs::create_dir(&other).unwrap();
    git(&other, &["init", "-q", "-b", "main"]);
    let theirs = crate::git::commit(&other, "o", "o\n");
    let one = fx.sha("HEAD").unwrap();
    let two = commit_on(&fx.code, &one, "b", "two\n");
    let bare = fx.root.join("remote.git");
    fx.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
    fx.git(&["remote", "add", "pins", bare.to_str().unwrap()]);
    let git_dir = other.join(".git");
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "untrusted::run_by_a_hook",
            "--ignored",
            "--nocapture",
        ])
        .env("TETHER_TEST_CODE", &fx.code)
        .env("TETHER_TEST_TARGET", &two)
        .env("GIT_DIR", &git_dir)
        .env("GIT_WORK_TREE", &other)
        .env("GIT_INDEX_FILE", fx.root.join("index"))
        .env("GIT_OBJECT_DIRECTORY", fx.root.join("objects"))
        .env("GIT_COMMON_DIR", &git_dir)
        .env("GIT_NAMESPACE", "n")
        .env("GIT_CEILING_DIRECTORIES", "/")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.bare")
        .env("GIT_CONFIG_VALUE_0", "true")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{said}"
    );
    assert_eq!(fx.sha("HEAD"), Some(two.clone()));
    assert_eq!(fx.git(&["status", "--porcelain"]), "");
    assert_eq!(git(&bare, &["for-each-ref", "--format=%(objectname)"]), two);
    assert_eq!(
        git(&other, &["for-each-ref", "--format=%(objectname)"]),
        theirs
    );
    assert!(!fx.root.join("index").exists() && !fx.root.join("objects").exists());
}

/// The child of the test above.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by another test with a poisoned environment"]
async fn run_by_a_hook() {
    let backend = tether_backend_git::GitBackend::new(None);
    let code = std::env::var("TETHER_TEST_CODE").unwrap();
    let target = std::env::var("TETHER_TEST_TARGET").unwrap();
    let store = crate::git::store(Locator::default().with("path", code).with("remote", "pins"));
    value(
        backend
            .promote(&store, &source(&target), &Expected::Any)
            .await
            .unwrap(),
    );
    let now = backend.fingerprint(&store, None).await.unwrap();
    assert_eq!(now, state(&target));
    value(backend.pin(&store, &now, &pin_id(&now)).await.unwrap());
}
