//! What a manifest may say, and what is refused before anything is opened.

use std::os::unix::fs::symlink;

use tether_engine::ErrorKind;
use tether_engine::backend::Backend;
use tether_engine::json::Value;
use tether_engine::state::Locator;

use crate::git::{Fixture, git, store};

/// P018
#[tokio::test(flavor = "multi_thread")]
async fn paths_that_are_relative_remote_or_inside_the_checkout_are_refused() {
    let fx = Fixture::new();
    let checkout = fx.root.join("ds");
    std::fs::create_dir_all(checkout.join("sub")).unwrap();
    git(&checkout, &["init", "-q"]);
    symlink(&checkout, fx.root.join("ds-link")).unwrap();
    symlink(checkout.join("sub"), fx.root.join("into")).unwrap();
    symlink(&fx.code, checkout.join("out")).unwrap();
    let root = fx.root.to_str().unwrap();
    for path in [
        "code".to_owned(),
        "../code".into(),
        "-x".into(),
        String::new(),
        "https://example.org/x".into(),
        "git@example.org:x".into(),
        "file:///x".into(),
        "ext::sh -c x".into(),
        format!("{root}/a\nb"),
        format!("{root}/ds"),
        format!("{root}/ds/sub"),
        format!("{root}/ds/nosuch/../sub"),
        format!("{root}/ds-link/sub"),
        format!("{root}/into"),
        format!("{root}/code/../ds"),
        format!("{root}/ds/out"),
    ] {
        for field in ["path", "uri"] {
            let store = store(Locator::default().with(field, path.as_str()));
            let error = fx.backend.validate(&store, &checkout).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{path}");
        }
    }
    let error = fx
        .backend
        .validate(&store(Locator::default()), &checkout)
        .unwrap_err();
    assert!(error.message().contains("`path`"), "{error}");
    fx.backend.validate(&fx.store(), &checkout).unwrap();
    let beside = store(Locator::default().with("uri", format!("{root}/ds-beside")));
    fx.backend.validate(&beside, &checkout).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worktree_of_the_datasets_own_repository_is_refused() {
    let fx = Fixture::new();
    let tree = fx.root.join("tree");
    fx.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    let linked = store(Locator::default().with("path", tree.to_str().unwrap()));
    for checkout in [fx.code.clone(), fx.code.join("below")] {
        let error = fx.backend.validate(&linked, &checkout).unwrap_err();
        assert!(
            error.message().contains("dataset's own repository"),
            "{error}"
        );
    }
    let error = fx.backend.validate(&fx.store(), &tree).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
}

/// E52, P014, P079
#[tokio::test(flavor = "multi_thread")]
async fn values_that_are_no_plain_names_are_refused() {
    let fx = Fixture::new();
    let checkout = fx.root.join("ds");
    for value in [
        "-x",
        "--output=F",
        "",
        "a b",
        "a..b",
        "x@{1}",
        "@{-1}",
        ":/x",
        "HEAD:a",
        "a\0b",
        "a\nb",
        "https://x/y",
        "ext::sh -c x",
        "re*f",
        "a?b",
        "[x",
        "a\\b",
    ] {
        for field in ["ref", "at"] {
            let error = fx
                .backend
                .validate(&fx.with(field, value), &checkout)
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{field} {value:?}");
            let error = fx
                .backend
                .fingerprint(&fx.with(field, value), None)
                .await
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{field} {value:?}");
        }
    }
    for value in [
        "main",
        "feat/x",
        "v1.0-rc1",
        "HEAD",
        "@",
        "HEAD~3",
        "v1^",
        "refs/heads/main",
        "日本",
        "0123abc",
    ] {
        fx.backend
            .validate(&fx.with("ref", value), &checkout)
            .unwrap();
    }
    for (field, value) in [("pins", "other"), ("allow_dirty", "yes")] {
        let error = fx
            .backend
            .validate(&fx.with(field, value), &checkout)
            .unwrap_err();
        assert!(error.message().contains(field), "{error}");
    }
    let number = fx.at(Locator::default().with("ref", 1));
    assert_eq!(
        fx.backend.validate(&number, &checkout).unwrap_err().kind(),
        ErrorKind::Config
    );
    assert!(!fx.code.join("F").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_committed_remote_is_a_configured_name_and_an_address_comes_from_the_secrets() {
    let fx = Fixture::new();
    let checkout = fx.root.join("ds");
    fx.git(&["remote", "add", "origin", "/srv/x"]);
    fx.backend
        .validate(&fx.with("remote", "origin"), &checkout)
        .unwrap();
    for value in [
        "nosuch",
        "https://u:p@example.org/x",
        "/srv/x",
        "-x",
        "ext::sh -c x",
    ] {
        let error = fx
            .backend
            .validate(&fx.with("remote", value), &checkout)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{value}");
    }
    let mut secret = fx.store();
    secret
        .options
        .0
        .insert("remote".into(), Value::from("/srv/x"));
    fx.backend.validate(&secret, &checkout).unwrap();
    secret
        .options
        .0
        .insert("remote".into(), Value::from("--upload-pack=x-s3cret"));
    let error = fx.backend.validate(&secret, &checkout).unwrap_err();
    assert!(!error.one_line().contains("s3cret"), "{error}");
    // Where the store is missing nothing can be said about its remotes.
    let missing = store(
        Locator::default()
            .with("path", "/nowhere/x")
            .with("remote", "origin"),
    );
    fx.backend.validate(&missing, &checkout).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_spelling_of_a_path_is_one_identity() {
    let fx = Fixture::new();
    let link = fx.root.join("link");
    symlink(&fx.code, &link).unwrap();
    let plain = fx.backend.identity(&fx.store().locator).unwrap();
    assert_eq!(
        plain.canonical(),
        format!("{{\"path\":\"{}\"}}", fx.code.display())
    );
    for (field, path) in [
        ("uri", fx.code.display().to_string()),
        ("path", format!("{}/", link.display())),
        ("path", format!("{}/../code/.", fx.code.display())),
    ] {
        let other = fx
            .backend
            .identity(&Locator::default().with(field, path))
            .unwrap();
        assert_eq!(other, plain);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_repository_needs_the_word_of_the_secrets_file() {
    let fx = Fixture::new();
    let bare = fx.root.join("bare.git");
    fx.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let mut store = store(Locator::default().with("path", bare.to_str().unwrap()));
    let error = fx.backend.fingerprint(&store, None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(error.hint().unwrap().contains("bare = true"), "{error:?}");
    let committed = store.locator.clone();
    store.locator = store.locator.with("bare", true);
    assert!(fx.backend.fingerprint(&store, None).await.is_err());
    store.locator = committed;
    store.options.0.insert("bare".into(), Value::Bool(true));
    let state = fx.backend.fingerprint(&store, None).await.unwrap();
    assert_eq!(state.str("sha"), fx.sha("main").as_deref());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_jj_repository_that_is_not_colocated_is_read_through_its_store() {
    let fx = Fixture::new();
    let jj = fx.root.join("jj");
    let inner = jj.join(".jj/repo/store");
    std::fs::create_dir_all(&inner).unwrap();
    fx.git(&[
        "clone",
        "-q",
        "--bare",
        ".",
        inner.join("git").to_str().unwrap(),
    ]);
    std::fs::write(inner.join("git_target"), "git").unwrap();
    let store = store(
        Locator::default()
            .with("path", jj.to_str().unwrap())
            .with("ref", "main"),
    );
    let state = fx.backend.fingerprint(&store, None).await.unwrap();
    assert_eq!(state.str("sha"), fx.sha("main").as_deref());
    assert_eq!(state.get("dirty").unwrap().as_bool(), Some(false));
    let id = crate::git::pin_id(&state);
    let pin = crate::git::value(fx.backend.pin(&store, &state, &id).await.unwrap());
    assert!(pin.native.as_str().starts_with("refs/tether/"));
}
