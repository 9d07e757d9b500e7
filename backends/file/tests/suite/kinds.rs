//! Links, special files, strange names, and what cannot be read.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::{FileType, Mode};
use tether_engine::ErrorKind;
use tether_engine::backend::Backend as _;
use tether_engine::listing;

use crate::common::{Folder, is_root, number, store};

fn paths(folder: &Folder) -> Vec<(String, String)> {
    let text = folder.listing(&folder.state()).unwrap();
    let entries = listing::parse(text.as_bytes()).unwrap();
    let shown = |entry: listing::Entry| {
        let token = entry.token.split(':').next().unwrap().to_owned();
        let kind = if token == "symlink" {
            "symlink"
        } else {
            "file"
        };
        (
            String::from_utf8_lossy(&entry.path).into_owned(),
            kind.to_owned(),
        )
    };
    entries.into_iter().map(shown).collect()
}

/// E41: file links are read through; links to directories, dangling ones and circles count by their target, and the walk ends.
#[test]
fn links_count_as_the_guide_says() {
    let folder = Folder::with_dir();
    folder.write("a.bin", "A");
    folder.write("sub/f", "F");
    for (target, name) in [
        ("missing", "d1"),
        ("a.bin", "l1"),
        (".", "loop"),
        ("loop2", "loop2"),
        ("../sub", "sub/up"),
        ("/etc/passwd", "outside"),
        ("a.bin/below", "through-a-file"),
    ] {
        symlink(target, folder.data().join(name)).unwrap();
    }
    let kinds = paths(&folder);
    let expected = [
        ("a.bin", "file"),
        ("d1", "symlink"),
        ("l1", "file"),
        ("loop", "symlink"),
        ("loop2", "symlink"),
        ("outside", "file"),
        ("sub/f", "file"),
        ("sub/up", "symlink"),
        ("through-a-file", "symlink"),
    ];
    assert_eq!(
        kinds,
        expected.map(|(path, kind)| (path.to_owned(), kind.to_owned()))
    );
}

/// P030
#[test]
fn retargeting_a_link_is_a_change_and_edits_behind_a_directory_link_are_not() {
    let folder = Folder::with_dir();
    fs::create_dir(folder.path("other")).unwrap();
    fs::write(folder.path("other/x"), "1").unwrap();
    let (dir, dangling) = (folder.data().join("dir"), folder.data().join("dangling"));
    symlink("../other", &dir).unwrap();
    symlink("nowhere", &dangling).unwrap();
    let first = folder.state();
    assert_eq!((number(&first, "count"), number(&first, "size")), (2, 0));

    fs::write(folder.path("other/x"), "22").unwrap();
    assert_eq!(folder.state(), first);
    fs::remove_file(&dangling).unwrap();
    symlink("nowhere-else", &dangling).unwrap();
    let second = folder.state();
    assert_ne!(second, first);
    fs::remove_file(&dir).unwrap();
    symlink("../data", &dir).unwrap();
    assert_ne!(folder.state(), second);
    // A dangling link whose target appears is that file from then on.
    fs::write(folder.data().join("nowhere-else"), "here").unwrap();
    assert_eq!(number(&folder.state(), "size"), 8);
}

/// E41: the root itself may be a link, to a directory or to a file.
#[test]
fn a_root_that_is_a_link_is_what_it_points_at() {
    let folder = Folder::with_dir();
    folder.write("a", "A");
    symlink("data", folder.path("link")).unwrap();
    symlink("data/a", folder.path("file-link")).unwrap();
    assert_eq!(
        folder.state_of(&folder.path("link")).unwrap(),
        folder.state()
    );
    let file = folder.state_of(&folder.path("file-link")).unwrap();
    assert_eq!(file.str("type"), Some("file"));
}

/// E42: refused by path, never opened: opening the FIFO would wait for a writer.
#[test]
fn special_files_are_refused_by_path_and_never_opened() {
    let started = Instant::now();
    let folder = Folder::with_dir();
    folder.write("sub/ok", "1");
    let fifo = folder.data().join("sub/p");
    let make = |path: &std::path::Path, kind: FileType| {
        rustix::fs::mknodat(rustix::fs::CWD, path, kind, Mode::from_raw_mode(0o644), 0)
    };
    make(&fifo, FileType::Fifo).unwrap();
    let error = folder.error();
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(error.message().contains("is a named pipe"), "{error}");
    assert!(error.message().contains(fifo.to_str().unwrap()), "{error}");
    assert!(error.hint().unwrap().contains("move it out"));

    // A second one is counted, and the first in order is the one that is named.
    let socket = folder.data().join("a-socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    let error = folder.error();
    assert!(error.message().contains("a-socket is a socket"), "{error}");
    assert!(error.message().ends_with("(and 1 more)"), "{error}");

    // The root of the object, and a link to it.
    for path in [fifo.clone(), folder.path("link")] {
        let _ = symlink(&fifo, folder.path("link"));
        let error = folder.state_of(&path).unwrap_err();
        assert!(error.message().contains("is a named pipe"), "{error}");
    }
    let error = folder
        .state_of(std::path::Path::new("/dev/null"))
        .unwrap_err();
    assert!(error.message().contains("is a device"), "{error}");

    // A link inside the directory to something special counts by its target, like one to a directory.
    fs::remove_file(&fifo).unwrap();
    fs::remove_file(&socket).unwrap();
    make(&folder.path("p"), FileType::Fifo).unwrap();
    symlink("../p", folder.data().join("to-fifo")).unwrap();
    symlink("/dev/null", folder.data().join("to-device")).unwrap();
    assert_eq!(
        paths(&folder)
            .iter()
            .map(|(_, kind)| kind.as_str())
            .collect::<Vec<_>>(),
        ["file", "symlink", "symlink"]
    );
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "something waited"
    );
}

/// E39
#[test]
fn names_that_are_not_utf8_stay_apart_and_in_a_stable_order() {
    let folder = Folder::with_dir();
    let write = |name: &[u8]| fs::write(folder.data().join(OsStr::from_bytes(name)), "").unwrap();
    // U+E000 sorts after the stand-ins of invalid bytes, every other of these before; bytes alone would say otherwise.
    for name in [
        b"a\xffb".as_slice(),
        b"a\xfeb",
        b"tab\tnl\nq\"\\",
        "日本 é.bin".as_bytes(),
        "a\u{e000}".as_bytes(),
        "a\u{d7ff}".as_bytes(),
    ] {
        write(name);
    }
    let state = folder.state();
    assert_eq!(number(&state, "count"), 6);
    let text = folder.listing(&state).unwrap();
    assert!(text.is_ascii());
    for line in text.lines() {
        assert!(
            serde_json::from_str::<serde_json::Value>(line).is_ok() || line.contains("\\udc"),
            "{line}"
        );
    }
    let entries = listing::parse(text.as_bytes()).unwrap();
    let names: Vec<&[u8]> = entries.iter().map(|entry| entry.path.as_slice()).collect();
    assert_eq!(
        names,
        [
            "a\u{d7ff}".as_bytes(),
            b"a\xfeb",
            b"a\xffb",
            "a\u{e000}".as_bytes(),
            b"tab\tnl\nq\"\\",
            "日本 é.bin".as_bytes(),
        ]
    );
    let pairs = entries
        .iter()
        .map(|entry| (entry.path.as_slice(), entry.token.as_str()));
    assert_eq!(state.str("digest"), Some(listing::digest(pairs).as_str()));
    // One removed: the other is still known as itself, from the cache as well.
    fs::remove_file(folder.data().join(OsStr::from_bytes(b"a\xfeb"))).unwrap();
    assert_eq!(number(&folder.state(), "count"), 5);
    assert_ne!(folder.state(), state);
}

/// The digest, the count and the size are those of the listing, for a tree that mixes everything.
#[test]
fn state_and_listing_agree_for_a_mixed_tree() {
    let folder = Folder::with_dir();
    let mut seed = 12345_u32;
    let mut random = |below: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) % below
    };
    let parts = ["a", "a-", "a.", "a0", "b", "é", "\u{e000}", "z z"];
    for index in 0..400 {
        let mut path = Vec::new();
        for _ in 0..random(4) {
            path.push(format!("{}d", parts[random(8) as usize]));
        }
        path.push(format!("{}{index}", parts[random(8) as usize]));
        let path = path.join("/");
        if random(10) == 0 {
            folder.write(&format!("{path}-dir/.keep"), "");
            symlink("../nowhere", folder.data().join(&path)).unwrap();
        } else {
            folder.write(&path, "x".repeat(random(50) as usize));
        }
    }
    let state = folder.state();
    let text = folder.listing(&state).unwrap();
    let entries = listing::parse(text.as_bytes()).unwrap();
    assert!(entries.is_sorted_by(|a, b| listing::path_order(&a.path, &b.path).is_lt()));
    assert_eq!(entries.len() as u64, number(&state, "count"));
    assert_eq!(
        entries.iter().map(|entry| entry.size).sum::<u64>(),
        number(&state, "size")
    );
    let pairs = entries
        .iter()
        .map(|entry| (entry.path.as_slice(), entry.token.as_str()));
    assert_eq!(state.str("digest"), Some(listing::digest(pairs).as_str()));
}

/// A listing is of the state it was asked for, or there is none.
#[test]
fn a_listing_of_another_state_is_not_made() {
    let folder = Folder::with_dir();
    folder.write("a", "A");
    let backend = folder.backend();
    let object = store(&folder.data());
    let first = folder.run(backend.fingerprint(&object, None)).unwrap();
    let of_first = folder.run(backend.listing(&object, &first)).unwrap();
    folder.write("b", "B");
    let second = folder.run(backend.fingerprint(&object, None)).unwrap();
    assert_eq!(folder.run(backend.listing(&object, &first)).unwrap(), None);
    let of_second = folder.run(backend.listing(&object, &second)).unwrap();
    assert_eq!(of_first.unwrap().split(|byte| *byte == b'\n').count(), 2);
    assert_eq!(of_second.unwrap().split(|byte| *byte == b'\n').count(), 3);
    // Another process, after the directory went on or went away.
    assert_eq!(folder.listing(&first), None);
    fs::remove_dir_all(folder.data()).unwrap();
    assert_eq!(folder.listing(&second), None);
}

/// E41: a file whose reading fails is an error with its path, also for root: `/proc/self/mem` opens and then says no.
#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = Folder::with_dir();
    folder.write("ok", "1");
    symlink("/proc/self/mem", folder.data().join("bad")).unwrap();
    let error = folder.error();
    assert_eq!(error.kind(), ErrorKind::Store);
    let path = folder.data().join("bad");
    assert_eq!(error.message(), format!("cannot read {}", path.display()));
}

/// E41: permissions. Root is not subject to them, so as root the test runs itself again as another user.
#[test]
fn a_directory_or_file_without_permission_is_named() {
    const AGAIN: &str = "TETHER_TEST_AS_NOBODY";
    if is_root() && std::env::var_os(AGAIN).is_none() {
        let temp = tempfile::tempdir().unwrap();
        fs::set_permissions(temp.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let program = temp.path().join("suite");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let output = Command::new(&program)
            .args([
                "--exact",
                "kinds::a_directory_or_file_without_permission_is_named",
            ])
            .env(AGAIN, "1")
            .env("TMPDIR", temp.path())
            .current_dir(temp.path())
            .uid(65534)
            .gid(65534)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("1 passed"), "{text}");
        return;
    }
    let folder = Folder::with_dir();
    folder.write("sub/f", "1");
    folder.write("g", "1");
    let set = |name: &str, mode: u32| {
        fs::set_permissions(folder.data().join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let refused = |name: &str| {
        let error = folder.error();
        let path = folder.data().join(name);
        assert_eq!(error.message(), format!("cannot read {}", path.display()));
        assert!(error.hint().unwrap().contains("chmod"), "{error:?}");
    };
    set("sub", 0o000);
    refused("sub");
    // Names can be listed, files not looked at.
    set("sub", 0o600);
    refused("sub/f");
    set("sub", 0o755);
    set("g", 0o000);
    refused("g");
    // A link whose target cannot even be looked at may be a file, so it is not taken for a dangling one.
    set("g", 0o644);
    fs::create_dir(folder.path("closed")).unwrap();
    fs::write(folder.path("closed/f"), "1").unwrap();
    symlink("../closed/f", folder.data().join("link")).unwrap();
    fs::set_permissions(folder.path("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    refused("link");
    fs::set_permissions(folder.path("closed"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(number(&folder.state(), "count"), 3);
}

#[test]
fn a_missing_path_is_an_error_with_a_way_out() {
    let folder = Folder::new();
    let error = folder.error();
    assert_eq!(error.kind(), ErrorKind::Store);
    assert_eq!(
        error.message(),
        format!("{} does not exist", folder.data().display())
    );
    assert!(error.hint().unwrap().contains("tether add"));
    fs::write(folder.data(), "a file").unwrap();
    let error = folder
        .state_of(&folder.data().join("below/it"))
        .unwrap_err();
    assert!(error.message().ends_with("does not exist"), "{error}");
}
