//! Pins on a remote: there or not, never half.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tether_engine::ErrorKind;
use tether_engine::backend::{Backend, Effect, Store, Verdict};
use tether_engine::json::Value;

use crate::git::{Fixture, effect, git, observed, pin_id, run, state, value};

fn remote(fx: &Fixture) -> (PathBuf, Store) {
    let bare = fx.root.join("remote.git");
    fx.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
    fx.git(&["remote", "add", "pins", bare.to_str().unwrap()]);
    (bare, fx.with("remote", "pins"))
}

fn at(dir: &Path, name: &str) -> Option<String> {
    let output = run(dir, &["rev-parse", "--verify", "-q", name]);
    output
        .status
        .success()
        .then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

fn hook(bare: &Path, script: &str) {
    let path = bare.join("hooks/pre-receive");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pin_is_pushed_found_and_deleted_on_the_remote_first() {
    let fx = Fixture::new();
    let (bare, store) = remote(&fx);
    let now = fx.state().await;
    let id = pin_id(&now);
    let tag = format!("refs/tags/tether.{id}");
    let made = fx.backend.pin(&store, &now, &id).await.unwrap();
    assert_eq!(effect(&made), Effect::Created);
    let pin = value(made);
    assert_eq!(at(&bare, &tag).as_deref(), now.str("sha"));
    assert_eq!(
        effect(&fx.backend.pin(&store, &now, &id).await.unwrap()),
        Effect::Found
    );
    let report = fx
        .backend
        .verify(&store, &now, Some(&pin), true)
        .await
        .unwrap();
    assert_eq!((report.status, report.message.as_str()), (Verdict::Ok, ""));

    git(&bare, &["update-ref", "-d", &tag]);
    let report = fx
        .backend
        .verify(&store, &now, Some(&pin), false)
        .await
        .unwrap();
    assert_eq!(report.status, Verdict::Ok);
    let report = fx
        .backend
        .verify(&store, &now, Some(&pin), true)
        .await
        .unwrap();
    assert_eq!(report.status, Verdict::Missing);
    assert_eq!(
        report.message,
        format!("tether.{id} not found on remote pins")
    );
    // Pinning again puts it back; the local tag was there.
    assert_eq!(
        effect(&fx.backend.pin(&store, &now, &id).await.unwrap()),
        Effect::Found
    );
    assert_eq!(at(&bare, &tag).as_deref(), now.str("sha"));

    assert_eq!(
        fx.backend.unpin(&store, &pin).await.unwrap(),
        Effect::Changed
    );
    assert_eq!((at(&bare, &tag), fx.sha(&tag)), (None, None));
    assert_eq!(fx.backend.unpin(&store, &pin).await.unwrap(), Effect::Found);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_fails_leaves_no_local_pin() {
    let fx = Fixture::new();
    let (bare, store) = remote(&fx);
    let now = fx.state().await;
    let id = pin_id(&now);
    let tag = format!("refs/tags/tether.{id}");
    hook(&bare, "echo the house says no >&2; exit 1");
    let error = fx.backend.pin(&store, &now, &id).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(error.message().contains("remote pins"), "{error}");
    assert_eq!((at(&bare, &tag), fx.sha(&tag)), (None, None));
    // The remote is gone altogether.
    std::fs::rename(&bare, fx.root.join("away")).unwrap();
    let error = fx.backend.pin(&store, &now, &id).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    assert_eq!(fx.sha(&tag), None);
    // A local pin from before stays when the push fails.
    let pin = value(fx.backend.pin(&fx.store(), &now, &id).await.unwrap());
    fx.backend.pin(&store, &now, &id).await.unwrap_err();
    assert!(fx.sha(&tag).is_some());
    // And an unpin that cannot reach the remote deletes nothing.
    let error = fx.backend.unpin(&store, &pin).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(fx.sha(&tag).is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pin_another_clone_made_is_found_and_a_drifted_one_is_not_overwritten() {
    let fx = Fixture::new();
    let (bare, store) = remote(&fx);
    let now = fx.state().await;
    let id = pin_id(&now);
    let tag = format!("refs/tags/tether.{id}");
    let sha = now.str("sha").unwrap();
    fx.git(&["push", "-q", "pins", &format!("{sha}:{tag}")]);
    // Rolling back must not delete the other clone's pin, so this is not "created".
    let found = fx.backend.pin(&store, &now, &id).await.unwrap();
    assert_eq!(effect(&found), Effect::Found);
    assert_eq!(fx.sha(&tag).as_deref(), Some(sha));

    fx.git(&["tag", "-d", &format!("tether.{id}")]);
    let other = fx.commit("b", "two\n");
    fx.git(&["push", "-q", "-f", "pins", &format!("{other}:{tag}")]);
    let moved = fx.backend.pin(&store, &now, &id).await.unwrap();
    assert_eq!(observed(&moved).as_deref(), Some(other.as_str()));
    assert_eq!(at(&bare, &tag).as_deref(), Some(other.as_str()));
    assert_eq!(fx.sha(&tag), None);
}

/// A descendant is no licence either: hidden refs would be fast-forwarded by a plain push.
#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_pin_on_the_remote_is_never_fast_forwarded() {
    let fx = Fixture::new();
    let (bare, mut store) = remote(&fx);
    store.locator = store.locator.with("pins", "hidden");
    let one = fx.sha("HEAD").unwrap();
    let two = state(&fx.commit("b", "two\n"));
    let id = pin_id(&two);
    let full = format!("refs/tether/tether.{id}");
    fx.git(&["push", "-q", "pins", &format!("{one}:{full}")]);
    let moved = fx.backend.pin(&store, &two, &id).await.unwrap();
    assert_eq!(observed(&moved).as_deref(), Some(one.as_str()));
    assert_eq!(at(&bare, &full), Some(one));
    git(&bare, &["update-ref", "-d", &full]);
    let pin = value(fx.backend.pin(&store, &two, &id).await.unwrap());
    assert_eq!(at(&bare, &full).as_deref(), two.str("sha"));
    assert_eq!(
        fx.backend.unpin(&store, &pin).await.unwrap(),
        Effect::Changed
    );
    assert_eq!(at(&bare, &full), None);
}

/// The reply of a push is lost after the remote took it.
#[tokio::test(flavor = "multi_thread")]
async fn a_push_whose_reply_is_lost_is_looked_up() {
    let fx = Fixture::new();
    let (bare, store) = remote(&fx);
    let now = fx.state().await;
    let id = pin_id(&now);
    let tag = format!("refs/tags/tether.{id}");
    let hook = bare.join("hooks/post-update");
    // The connection ends without a report: the receiving process is killed after the update.
    std::fs::write(&hook, "#!/bin/sh\nkill -9 $PPID\n").unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let made = fx.backend.pin(&store, &now, &id).await.unwrap();
    let pin = value(made);
    assert_eq!(at(&bare, &tag).as_deref(), now.str("sha"));
    assert_eq!(fx.sha(&tag).as_deref(), now.str("sha"));
    assert_eq!(
        fx.backend.unpin(&store, &pin).await.unwrap(),
        Effect::Changed
    );
    assert_eq!((at(&bare, &tag), fx.sha(&tag)), (None, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn relative_addresses_and_rewritten_ones_lead_to_the_same_remote() {
    let fx = Fixture::new();
    let (bare, _) = remote(&fx);
    let now = fx.state().await;
    let id = pin_id(&now);
    let tag = format!("refs/tags/tether.{id}");
    fx.git(&["remote", "add", "near", "../remote.git"]);
    fx.git(&["remote", "add", "short", "house:remote.git"]);
    fx.git(&[
        "config",
        &format!("url.{}/.insteadOf", fx.root.display()),
        "house:",
    ]);
    for name in ["near", "short"] {
        let store = fx.with("remote", name);
        let pin = value(fx.backend.pin(&store, &now, &id).await.unwrap());
        assert_eq!(at(&bare, &tag).as_deref(), now.str("sha"), "{name}");
        fx.backend.unpin(&store, &pin).await.unwrap();
        assert_eq!(at(&bare, &tag), None, "{name}");
    }
    let mut store = fx.store();
    store
        .options
        .0
        .insert("remote".into(), Value::from(bare.to_str().unwrap()));
    value(fx.backend.pin(&store, &now, &id).await.unwrap());
    assert_eq!(at(&bare, &tag).as_deref(), now.str("sha"));
}

/// E53
#[tokio::test(flavor = "multi_thread")]
async fn a_password_in_an_address_reaches_no_message() {
    let fx = Fixture::new();
    let now = fx.state().await;
    let mut store = fx.store();
    for address in [
        "http://user:s3cr3t@127.0.0.1:1/x.git",
        "http://s3cr3t@127.0.0.1:1/x.git",
    ] {
        store
            .options
            .0
            .insert("remote".into(), Value::from(address));
        let error = fx
            .backend
            .pin(&store, &now, &pin_id(&now))
            .await
            .unwrap_err();
        assert!(
            !format!("{error:?}{}", error.one_line()).contains("s3cr3t"),
            "{error:?}"
        );
        assert!(!format!("{store:?}").contains("s3cr3t"));
    }
    assert!(fx.backend.list_pins(&fx.store()).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shallow_clone_pushes_what_it_has() {
    let fx = Fixture::new();
    fx.commit("b", "two\n");
    let (bare, _) = remote(&fx);
    fx.git(&["push", "-q", "pins", "main"]);
    let clone = fx.root.join("shallow");
    let url = format!("file://{}", bare.display());
    fx.git(&[
        "clone",
        "-q",
        "--depth",
        "1",
        "-b",
        "main",
        &url,
        clone.to_str().unwrap(),
    ]);
    let mut store = fx.with("remote", "origin");
    store.locator = store.locator.with("path", clone.to_str().unwrap());
    let now = fx.backend.fingerprint(&store, None).await.unwrap();
    let id = pin_id(&now);
    value(fx.backend.pin(&store, &now, &id).await.unwrap());
    assert_eq!(
        at(&bare, &format!("refs/tags/tether.{id}")).as_deref(),
        now.str("sha")
    );
}
