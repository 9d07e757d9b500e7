use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::{Duration, Instant};

use serde_json::json;

use super::*;
use crate::error::ErrorKind;

fn parse(text: &str) -> Secrets {
    Secrets::parse(text.as_bytes()).unwrap()
}

fn options(secrets: &Secrets, key: &str, kind: &str, uri: &str) -> Value {
    let key: ObjectKey = key.parse().unwrap();
    Value::Object(secrets.options_for(Some(&key), kind, Some(uri)))
}

#[test]
fn the_most_specific_level_wins_field_by_field() {
    let secrets = parse(
        r#"
        [backends.file]
        region = "kind"
        profile = "kind"
        storage_options = { a = 1, b = 1, deep = { x = 1, y = 1 } }
        [uris."s3://lab/"]
        profile = "short"
        short = true
        [uris."s3://lab/plates/"]
        profile = "long"
        storage_options = { b = 2, deep = { y = 2 } }
        [objects."raw/plate 1"]
        key = "object"
        storage_options = { c = 3 }
        "#,
    );
    assert_eq!(
        options(&secrets, "raw/plate 1", "file", "s3://lab/plates/1"),
        json!({
            "region": "kind", "profile": "long", "key": "object",
            "storage_options": {"a": 1, "b": 2, "c": 3, "deep": {"x": 1, "y": 2}},
        })
    );
    assert_eq!(
        options(&secrets, "other", "icechunk", "s3://lab/x"),
        json!({"profile": "short", "short": true})
    );
    assert_eq!(options(&secrets, "other", "icechunk", "s3://la"), json!({}));
    assert!(secrets.options_for(None, "icechunk", None).is_empty());
}

/// A manifest of a clone must not reach the credentials of one store with the address of another.
#[test]
fn credentials_of_a_host_or_bucket_are_for_that_one_only() {
    let secrets = parse(
        "[uris.\"s3://lab\"]\nk = 1\n[uris.\"mysql://db:3306\"]\nk = 2\n[uris.\"/data/pl\"]\nk = 3\n[uris.\"s3://b/run-\"]\nk = 4\n",
    );
    let found = |uri: &str| options(&secrets, "x", "file", uri)["k"].as_i64();
    assert_eq!(found("s3://lab"), Some(1));
    assert_eq!(found("s3://lab/x"), Some(1));
    assert_eq!(found("mysql://db:3306/ledger"), Some(2));
    assert_eq!(found("/data/plates"), Some(3));
    assert_eq!(found("s3://b/run-2026"), Some(4));
    for other in [
        "s3://lab-of-others/x",
        "s3://lab.evil.example/x",
        "mysql://db:33060/x",
        "mysql://db:3306@evil/x",
        "s3://b/",
    ] {
        assert_eq!(found(other), None, "{other}");
    }
}

#[test]
fn secrets_win_over_the_committed_options_of_a_backend() {
    let map = |value: Value| value.as_object().unwrap().clone();
    let committed = map(json!({"catalog": {"type": "rest", "warehouse": "w"}, "x": {"a": 1}}));
    let secret = map(json!({"catalog": {"uri": "u", "type": "sql"}, "x": 2}));
    let merged = Value::Object(merge_options(&committed, &secret));
    assert_eq!(
        merged,
        json!({"catalog": {"type": "sql", "warehouse": "w", "uri": "u"}, "x": 2})
    );
}

#[test]
fn named_settings_are_found() {
    let secrets = parse("[vcs]\ngit_path = \"/usr/bin/git\"\n[import]\nquery = \"SELECT 1\"\n");
    assert_eq!(secrets.git_path(), Some(PathBuf::from("/usr/bin/git")));
    assert_eq!(secrets.import_query(), Some("SELECT 1"));
    assert_eq!(Secrets::default().git_path(), None);
    assert!(secrets.table("nosuch").is_none());
}

/// E53: nothing of the file is ever shown, neither by an error nor by `Debug`.
#[test]
fn nothing_of_the_file_is_ever_shown() {
    for text in [
        "[uris.\"mysql://h:3306\"]\npassword = \"s3cr3t-VALUE\n",
        "s3cr3t-VALUE",
        "s3cr3t-VALUE = 1",
        "[backends]\ns3cr3t-VALUE = 1",
        "[uris.x]\nkey = s3cr3t-VALUE\n",
        "[uris.x]\nk = 1\n[uris.x]\ns3cr3t-VALUE = 1\n",
        "[uris.x]\ns3cr3t-VALUE = 1\ns3cr3t-VALUE = 1\n",
    ] {
        let error = Secrets::parse(text.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{text}");
        let shown = format!("{} {error:?}", error.one_line());
        assert!(!shown.contains("s3cr3t"), "{shown}");
        assert!(error.hint().is_some());
    }
    let secrets = parse("[uris.\"s3://b\"]\nkey = \"s3cr3t-VALUE\"\n");
    assert_eq!(format!("{secrets:?}"), "Secrets { tables: [\"uris\"] }");
}

#[test]
fn a_date_or_an_odd_number_in_secrets_names_no_key() {
    for value in ["2020-01-01", "inf", "99999999999999999999"] {
        let text = format!("[uris.x]\ns3cr3t = {value}\n");
        let error = Secrets::parse(text.as_bytes()).unwrap_err();
        assert!(!error.one_line().contains("s3cr3t"), "{error}");
        assert!(error.message().contains("line 2"), "{error}");
    }
}

#[test]
fn an_absent_file_is_empty_and_a_readable_one_warns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secrets.toml");
    let (secrets, warning) = Secrets::load(&path).unwrap();
    assert!(secrets.root.is_empty() && warning.is_none());

    fs::write(&path, "[vcs]\ngit_path = \"g\"\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let (secrets, warning) = Secrets::load(&path).unwrap();
    assert_eq!(secrets.git_path(), Some(PathBuf::from("g")));
    assert!(
        warning
            .unwrap()
            .contains(&format!("`chmod 600 {}`", path.display()))
    );

    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(Secrets::load(&path).unwrap().1, None);
    let link = folder.path().join("link.toml");
    symlink(&path, &link).unwrap();
    assert_eq!(
        Secrets::load(&link).unwrap().0.git_path(),
        Some(PathBuf::from("g"))
    );
}

/// P: a FIFO, a directory, a dangling link or a huge file is refused at once.
#[test]
fn anything_but_a_small_regular_file_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let fifo = at("fifo");
    let mode = rustix::fs::Mode::from(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    fs::create_dir(at("folder")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    fs::write(at("huge"), vec![b'#'; Secrets::MAX_SIZE as usize + 1]).unwrap();

    let started = Instant::now();
    for name in ["fifo", "folder", "dangling", "huge"] {
        let error = Secrets::load(&at(name)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{name}");
        assert!(error.hint().is_some(), "{name}");
    }
    assert!(started.elapsed() < Duration::from_secs(2));
}
