//! Pins: made once, found again, verified, deleted.

use std::os::unix::fs::PermissionsExt as _;

use tether_engine::ErrorKind;
use tether_engine::backend::{Backend, Effect, Expected, Source, Target, Verdict};
use tether_engine::manifest::Pin;

use crate::git::{Fixture, effect, git, native, observed, pin_id, state, value};

#[tokio::test(flavor = "multi_thread")]
async fn a_pin_is_a_lightweight_tag_made_once() {
    let fx = Fixture::new();
    let now = fx.state().await;
    let id = pin_id(&now);
    let made = fx.backend.pin(&fx.store(), &now, &id).await.unwrap();
    assert_eq!(effect(&made), Effect::Created);
    let pin = value(made);
    assert_eq!(pin.native.as_str(), format!("tether.{id}"));
    let tag = format!("refs/tags/tether.{id}");
    assert_eq!(fx.git(&["cat-file", "-t", &tag]), "commit");
    assert_eq!(fx.sha(&tag).as_deref(), now.str("sha"));
    let again = fx.backend.pin(&fx.store(), &now, &id).await.unwrap();
    assert_eq!(effect(&again), Effect::Found);
    assert_eq!(
        fx.backend.list_pins(&fx.store()).await.unwrap(),
        std::slice::from_ref(&id)
    );

    let other = fx.commit("b", "two\n");
    let moved = fx
        .backend
        .pin(&fx.store(), &state(&other), &id)
        .await
        .unwrap();
    assert_eq!(observed(&moved).as_deref(), now.str("sha"));

    assert_eq!(
        fx.backend.unpin(&fx.store(), &pin).await.unwrap(),
        Effect::Changed
    );
    assert_eq!(
        fx.backend.unpin(&fx.store(), &pin).await.unwrap(),
        Effect::Found
    );
    assert_eq!(fx.sha(&tag), None);
    assert!(fx.backend.list_pins(&fx.store()).await.unwrap().is_empty());
}

/// E15
#[tokio::test(flavor = "multi_thread")]
async fn a_pin_is_never_signed_and_opens_no_editor() {
    let fx = Fixture::new();
    let ran = fx.root.join("ran");
    let script = fx.root.join("program");
    std::fs::write(
        &script,
        format!("#!/bin/sh\ntouch {}\nexit 1\n", ran.display()),
    )
    .unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = script.to_str().unwrap();
    for (key, text) in [
        ("tag.gpgSign", "true"),
        ("tag.forceSignAnnotated", "true"),
        ("commit.gpgSign", "true"),
        ("gpg.program", program),
        ("core.editor", program),
    ] {
        fx.git(&["config", key, text]);
    }
    let (pin, _) = fx.pinned().await;
    assert_eq!(fx.git(&["cat-file", "-t", pin.native.as_str()]), "commit");
    assert!(!ran.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dirty_tree_is_pinned_only_when_that_is_allowed() {
    let fx = Fixture::new();
    std::fs::write(fx.code.join("stray"), "x").unwrap();
    let now = fx.state().await;
    assert_eq!(now.get("dirty").unwrap().as_bool(), Some(true));
    let id = pin_id(&now);
    let error = fx.backend.pin(&fx.store(), &now, &id).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(error.message().ends_with(": stray"), "{error}");
    assert!(error.hint().unwrap().contains("allow_dirty"), "{error:?}");
    assert!(fx.backend.list_pins(&fx.store()).await.unwrap().is_empty());
    let allowed = fx.with("allow_dirty", "true");
    assert_eq!(
        effect(&fx.backend.pin(&allowed, &now, &id).await.unwrap()),
        Effect::Created
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_is_gone_cannot_be_pinned() {
    let fx = Fixture::new();
    let gone = state(&"4".repeat(40));
    let error = fx
        .backend
        .pin(&fx.store(), &gone, &pin_id(&gone))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(fx.backend.list_pins(&fx.store()).await.unwrap().is_empty());
}

/// E05: jj makes tagged commits immutable and abandons what only a deleted tag reached.
#[tokio::test(flavor = "multi_thread")]
async fn in_a_jj_repository_pins_are_hidden_from_jj() {
    let fx = Fixture::new();
    std::fs::create_dir(fx.code.join(".jj")).unwrap();
    std::fs::write(fx.code.join(".jj/.gitignore"), "/*\n").unwrap();
    fx.git(&["checkout", "-q", "--detach"]);
    let (pin, now) = fx.pinned().await;
    assert_eq!(
        pin.native.as_str(),
        format!("refs/tether/tether.{}", pin.id)
    );
    assert_eq!(fx.git(&["tag"]), "");
    assert_eq!(fx.sha(pin.native.as_str()).as_deref(), now.str("sha"));
    assert_eq!(
        fx.backend.list_pins(&fx.store()).await.unwrap(),
        std::slice::from_ref(&pin.id)
    );
    let report = fx
        .backend
        .verify(&fx.store(), &now, Some(&pin), true)
        .await
        .unwrap();
    assert_eq!(report.status, Verdict::Ok);
    // A linked worktree of it is one as well.
    let tree = fx.root.join("tree");
    fx.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    let mut linked = fx.store();
    linked.locator = linked.locator.with("path", tree.to_str().unwrap());
    let next = crate::git::commit(&tree, "b", "two\n");
    let made = fx
        .backend
        .pin(&linked, &state(&next), &pin_id(&state(&next)))
        .await
        .unwrap();
    assert!(value(made).native.as_str().starts_with("refs/tether/"));
    assert_eq!(
        fx.backend.unpin(&fx.store(), &pin).await.unwrap(),
        Effect::Changed
    );
    assert_eq!(fx.sha(pin.native.as_str()), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_place_of_pins_can_be_chosen_and_both_places_are_read() {
    let fx = Fixture::new();
    let hidden = fx.with("pins", "hidden");
    let now = fx.state().await;
    let id = pin_id(&now);
    let pin = value(fx.backend.pin(&hidden, &now, &id).await.unwrap());
    assert_eq!(pin.native.as_str(), format!("refs/tether/tether.{id}"));
    // The same pin is found by an object that would make a tag, and by the name of a tag.
    let found = fx.backend.pin(&fx.store(), &now, &id).await.unwrap();
    assert_eq!(effect(&found), Effect::Found);
    assert_eq!(value(found), pin);
    let as_tag = Pin {
        id: id.clone(),
        native: native(&format!("tether.{id}")),
    };
    let report = fx
        .backend
        .verify(&fx.store(), &now, Some(&as_tag), false)
        .await
        .unwrap();
    assert_eq!(report.status, Verdict::Ok);
    assert_eq!(
        fx.backend.unpin(&fx.store(), &as_tag).await.unwrap(),
        Effect::Changed
    );
    assert!(fx.backend.list_pins(&hidden).await.unwrap().is_empty());
}

/// P089
#[tokio::test(flavor = "multi_thread")]
async fn a_pin_that_was_moved_is_never_read_or_forked_from() {
    let fx = Fixture::new();
    let (pin, now) = fx.pinned().await;
    let other = fx.commit("b", "two\n");
    fx.git(&["tag", "-f", pin.native.as_str(), &other]);
    let sha = now.str("sha").unwrap();
    let report = fx
        .backend
        .verify(&fx.store(), &now, Some(&pin), false)
        .await
        .unwrap();
    assert_eq!(report.status, Verdict::Drifted);
    assert_eq!(
        report.message,
        format!("{} -> {other}, expected {sha}", pin.native)
    );
    let target = Target::Pinned(pin.clone(), now.clone());
    let error = fx
        .backend
        .open(&fx.store(), &target, false)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PinDrift);
    let from = Source::Pinned(pin.clone(), now.clone());
    let name = native("tether.ws.0a1b2c3d.f");
    let error = fx
        .backend
        .fork(&fx.store(), &from, &name, &Expected::Any)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PinDrift);
    assert_eq!(fx.sha(name.as_str()), None);

    fx.git(&["tag", "-d", pin.native.as_str()]);
    let report = fx
        .backend
        .verify(&fx.store(), &now, Some(&pin), false)
        .await
        .unwrap();
    assert_eq!(report.status, Verdict::Missing);
    assert_eq!(report.message, format!("{} not found", pin.native));
    // The commit itself is still there to be read.
    let address = fx.backend.open(&fx.store(), &target, true).await.unwrap();
    assert_eq!(address.address, format!("{}@{sha}", fx.code.display()));
    assert!(address.read_only);
    let error = fx
        .backend
        .fork(&fx.store(), &from, &name, &Expected::Any)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PinDrift);
    assert_eq!(error.hint(), Some("`tether repair` makes it again"));
}

/// E52: a manifest may name any ref; only the pin's own is ever touched.
#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_cannot_have_another_ref_deleted() {
    let fx = Fixture::new();
    fx.git(&["tag", "v1"]);
    let (pin, now) = fx.pinned().await;
    for name in [
        "v1",
        "refs/tags/v1",
        "refs/heads/main",
        "main",
        "tether.x",
        "refs/tether/../x",
    ] {
        let forged = Pin {
            id: pin.id.clone(),
            native: native(name),
        };
        let error = fx.backend.unpin(&fx.store(), &forged).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{name}");
        let error = fx
            .backend
            .verify(&fx.store(), &now, Some(&forged), false)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{name}");
    }
    assert!(fx.sha("v1").is_some() && fx.sha("main").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_annotated_tag_of_the_pins_name_is_peeled() {
    let fx = Fixture::new();
    let now = fx.state().await;
    let id = pin_id(&now);
    git(
        &fx.code,
        &["tag", "-a", "-m", "by hand", &format!("tether.{id}")],
    );
    let found = fx.backend.pin(&fx.store(), &now, &id).await.unwrap();
    assert_eq!(effect(&found), Effect::Found);
    let pin = value(found);
    let many: Vec<_> = (0..40).map(|_| (now.clone(), Some(pin.clone()))).collect();
    for report in fx.backend.verify_many(&fx.store(), &many, true).await {
        assert_eq!(report.unwrap().status, Verdict::Ok);
    }
}

/// E05, P104: jj's change id is in the commit; it never identifies.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_id_is_read_from_the_commit_and_changes_no_pin() {
    let fx = Fixture::new();
    let plain = fx.state().await;
    assert_eq!(plain.get("change_id"), None);
    let raw = fx.git(&["cat-file", "commit", "HEAD"]).replacen(
        "\n\n",
        "\nchange-id kkmpptxzrspxrzommnulwmwkkqwworpl\n\n",
        1,
    );
    let file = fx.root.join("commit");
    std::fs::write(&file, format!("{raw}\n")).unwrap();
    let sha = fx.git(&["hash-object", "-t", "commit", "-w", file.to_str().unwrap()]);
    fx.git(&["update-ref", "refs/heads/main", &sha]);
    let now = fx.state().await;
    assert_eq!(
        now.str("change_id"),
        Some("kkmpptxzrspxrzommnulwmwkkqwworpl")
    );
    assert_eq!(pin_id(&now), pin_id(&state(&sha)));
    let keys: Vec<_> = now.0.keys().cloned().collect();
    assert_eq!(keys, ["sha", "dirty", "change_id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_answers_each_of_many_in_order() {
    let fx = Fixture::new();
    let mut items = Vec::new();
    let head = fx.sha("HEAD").unwrap();
    for n in 0..60 {
        let sha = crate::git::commit_on(&fx.code, &head, &format!("f{n}"), "x\n");
        let at = state(&sha);
        let pin = value(
            fx.backend
                .pin(&fx.store(), &at, &pin_id(&at))
                .await
                .unwrap(),
        );
        items.push((at, Some(pin)));
    }
    fx.git(&["pack-refs", "--all"]);
    let name = |index: usize| items[index].1.as_ref().unwrap().native.to_string();
    fx.git(&["tag", "-d", &name(7)]);
    fx.git(&["tag", "-f", &name(9), &head]);
    items.push((state(&"5".repeat(40)), None));
    items.push((state(&head), None));
    for deep in [false, true] {
        let reports = fx.backend.verify_many(&fx.store(), &items, deep).await;
        assert_eq!(reports.len(), items.len());
        for (index, report) in reports.iter().enumerate() {
            let expected = match (index, deep) {
                (7, _) | (60, true) => Verdict::Missing,
                (9, _) => Verdict::Drifted,
                (60 | 61, false) => Verdict::Unknown,
                _ => Verdict::Ok,
            };
            assert_eq!(report.as_ref().unwrap().status, expected, "{index} {deep}");
        }
    }
    // The repository is gone: every item fails, none is called missing.
    std::fs::rename(&fx.code, fx.root.join("away")).unwrap();
    let reports = fx.backend.verify_many(&fx.store(), &items, false).await;
    assert_eq!(reports.len(), items.len());
    for report in reports {
        assert_eq!(report.unwrap_err().kind(), ErrorKind::Store);
    }
}
