//! Paths as typed, and keys derived from them.

use std::fs;

use super::*;

fn derived(kind: &str, uri: &str) -> Option<String> {
    let locator = Locator::default().with("uri", uri);
    let key = derive(kind, suffixes(kind).unwrap_or_default(), &locator).ok()?;
    Some(key.to_string())
}

#[test]
fn a_key_is_the_last_segment_less_the_suffix_of_its_kind() {
    let cases = [
        ("icechunk", "s3://lab/greetings.icechunk", Some("greetings")),
        ("icechunk", "s3://b/x.zarr", Some("x")),
        ("icechunk", "s3://b/a.b.icechunk/", Some("a.b")),
        ("icechunk", "s3://lab/", Some("lab")),
        ("icechunk", "/x/.icechunk", Some(".icechunk")),
        ("icechunk", "s3://b/x.icechunk?x=1", Some("x.icechunk?x=1")),
        ("delta", "/x/t.delta", Some("t")),
        ("delta", "/x/t.lance", Some("t.lance")),
        ("lance", "/x/t.lance", Some("t")),
        ("file", "/x/raw/", Some("raw")),
        ("file", "/x/raw/a.bin", Some("a.bin")),
        ("file", "file:///x/raw", Some("raw")),
        ("git", "/x/code.git", Some("code")),
        ("git", "/x/code/.git", Some("code")),
        ("file", "/", None),
        ("file", "/x/a\\b", None),
    ];
    for (kind, uri, key) in cases {
        assert_eq!(derived(kind, uri).as_deref(), key, "{kind} {uri}");
    }
}

/// P093
#[test]
fn a_relative_path_becomes_the_real_one() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    fs::create_dir_all(real.join("raw/in")).unwrap();
    fs::create_dir(real.join("work")).unwrap();
    std::os::unix::fs::symlink(real.join("raw/in"), real.join("work/link")).unwrap();
    let from_work = |text: &str| absolute(text, &real.join("work")).unwrap();
    let at = |path: &str| real.join(path).to_str().unwrap().to_owned();

    assert_eq!(from_work("../raw"), at("raw"));
    assert_eq!(from_work("link"), at("raw/in"));
    // As the system sees it: the link's parent is its target's.
    assert_eq!(from_work("link/../new"), at("raw/new"));
    assert_eq!(from_work("./x/./y"), at("work/x/y"));
    assert_eq!(from_work("."), at("work"));
}

/// P049: `#` and `?` are path characters, and a URL is no path.
#[test]
fn what_is_a_url_or_absolute_stays_as_typed() {
    let cwd = Path::new("/nowhere/at/all");
    let stays = [
        "/x/../y/",
        "s3://b/x",
        "file:///x/y",
        "file://localhost/x/y",
        "http://example.invalid/x",
    ];
    for text in stays {
        assert_eq!(absolute(text, cwd).unwrap(), text);
    }
    assert_eq!(absolute("run#1", cwd).unwrap(), "/nowhere/at/all/run#1");
    assert_eq!(absolute("run?x=1", cwd).unwrap(), "/nowhere/at/all/run?x=1");
    assert_eq!(
        absolute("~nobody/x", cwd).unwrap(),
        "/nowhere/at/all/~nobody/x"
    );
    assert_eq!(
        absolute("sqlite:meta.db", cwd).unwrap(),
        "sqlite:/nowhere/at/all/meta.db"
    );
    let home = std::env::var("HOME").unwrap();
    assert_eq!(absolute("~/x", cwd).unwrap(), format!("{home}/x"));
    assert_eq!(absolute("~", cwd).unwrap().trim_end_matches('/'), home);
}

#[test]
fn local_paths_are_told_from_remote_ones() {
    let local = |text| local_path(text).and_then(Path::to_str);
    assert_eq!(local("/p"), Some("/p"));
    assert_eq!(local("file:///p"), Some("/p"));
    assert_eq!(local("file://localhost/p"), Some("/p"));
    assert_eq!(local("ducklake:/p"), Some("/p"));
    assert_eq!(local("file://host/p"), None);
    assert_eq!(local("s3://b/p"), None);
    assert_eq!(local("/odd/a://b"), Some("/odd/a://b"));
}
