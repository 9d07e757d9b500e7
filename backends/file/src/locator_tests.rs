//! Spellings of places.

use std::os::unix::fs::symlink;

use tether_engine::ErrorKind;

use super::*;

fn at(uri: &str) -> Locator {
    Locator::default().with("uri", uri)
}

fn uri(locator: &Locator) -> String {
    let identity = identity(locator).unwrap();
    identity.str("uri").unwrap().to_owned()
}

/// P057
#[test]
fn every_spelling_of_a_store_is_one_identity() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("d/store")).unwrap();
    symlink("d", root.join("by-parent")).unwrap();
    symlink("d/store", root.join("by-link")).unwrap();
    let root = root.to_str().unwrap();
    let real = format!("{root}/d/store");
    for spelling in [
        format!("{root}/d/store"),
        format!("{root}/d/store/"),
        format!("{root}/d//store/."),
        format!("{root}/d/other/../store"),
        format!("/{root}/d/store"),
        format!("{root}/by-parent/store"),
        format!("{root}/by-link"),
        format!("{root}/by-link/"),
        format!("file://{root}/d/store"),
        format!("file://localhost{root}/by-parent/store/"),
        format!("FILE://{root}/d/store"),
        format!("file:{root}/d/store"),
    ] {
        assert_eq!(uri(&at(&spelling)), real, "{spelling}");
    }
    assert_eq!(uri(&Locator::default().with("path", real.as_str())), real);
}

/// P049
#[test]
fn a_bare_path_is_never_read_as_a_url() {
    for path in [
        "/d/run#1",
        "/d/run?x=1",
        "/d/a%20b",
        "/d/a b",
        "/d/file:x",
        "/d/%ff",
    ] {
        assert_eq!(uri(&at(path)), path);
    }
    assert_eq!(uri(&at("file:///d/run#1")), "/d/run#1");
    assert_eq!(uri(&at("file:///d/run?x=1")), "/d/run?x=1");
}

#[test]
fn percent_escapes_of_a_file_url_are_decoded_unless_the_path_is_there_as_written() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap();
    let root = root.to_str().unwrap();
    let url = at(&format!("file://{root}/a%20b%3"));
    assert_eq!(uri(&url), format!("{root}/a b%3"));
    std::fs::create_dir(format!("{root}/a%20b%3")).unwrap();
    assert_eq!(uri(&url), format!("{root}/a%20b%3"));
    let error = identity(&at("file:///%ff/x")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::User);
}

#[test]
fn a_missing_path_is_resolved_as_far_as_it_exists() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("d")).unwrap();
    symlink("d", root.join("l")).unwrap();
    symlink("nowhere/at", root.join("dangling")).unwrap();
    symlink("round", root.join("round")).unwrap();
    assert_eq!(real_path(&root.join("l/x/../y")), root.join("d/y"));
    assert_eq!(
        real_path(&root.join("dangling/z")),
        root.join("nowhere/at/z")
    );
    assert_eq!(real_path(&root.join("round")), root.join("round"));
}

/// E39
#[test]
fn a_real_path_that_is_not_utf8_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let strange = temp.path().join(OsStr::from_bytes(b"a\xff"));
    std::fs::create_dir(&strange).unwrap();
    let link = temp.path().join("link");
    symlink(&strange, &link).unwrap();
    let error = identity(&at(link.to_str().unwrap())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::User);
    assert!(error.message().contains("not UTF-8"), "{error}");
}

/// Surprise 11
#[test]
fn addresses_that_cannot_work_are_refused_with_a_reason() {
    for (uri, kind, part) in [
        ("", ErrorKind::User, "empty"),
        ("data/raw", ErrorKind::User, "not an absolute path"),
        ("foo:bar", ErrorKind::User, "not an absolute path"),
        ("c:/x", ErrorKind::User, "not an absolute path"),
        ("file://server/share", ErrorKind::User, "\"server\""),
        ("file://", ErrorKind::User, "not an absolute path"),
        ("ftp://x/y", ErrorKind::User, "`ftp:`"),
        ("/a\0b", ErrorKind::User, "NUL"),
    ] {
        let error = place(&at(uri)).unwrap_err();
        assert_eq!(error.kind(), kind, "{uri}");
        assert!(error.message().contains(part), "{uri}: {error}");
        assert!(error.hint().is_some(), "{uri}");
    }
    assert!(place(&Locator::default()).is_err());
    assert!(place(&at("/a").with("path", "/b")).is_err());
    assert!(place(&Locator::default().with("uri", 1)).is_err());
}

#[test]
fn an_object_store_keeps_its_address_as_identity_and_is_not_read() {
    let locator = at("s3://bucket/key");
    assert_eq!(uri(&locator), "s3://bucket/key");
    let error = real(&locator).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Capability);
    assert_eq!(error.message(), "this build reads local paths only");
}
