//! What a scan takes from an earlier one, and what it never does.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};

use super::tree::Entry;
use super::*;

const FAKE: [u8; 32] = [0xaa; 32];

fn folder() -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap();
    (temp, root)
}

fn found(tree: &Tree) -> Vec<(String, Entry)> {
    let mut found = Vec::new();
    tree.each(|path, entry| found.push((String::from_utf8_lossy(path).into_owned(), *entry)));
    found
}

fn entry<'t>(found: &'t [(String, Entry)], path: &str) -> &'t Entry {
    &found.iter().find(|(name, _)| name == path).unwrap().1
}

/// `tree` as a cache would give it back after the files had settled, with every hash replaced by [`FAKE`].
fn settled_fake(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    for entry in tree.dirs.iter_mut().flat_map(|dir| &mut dir.entries) {
        entry.hash = Hash::Settled;
        entry.sha256 = FAKE;
    }
    tree
}

#[test]
fn files_whose_stamps_are_the_same_are_not_read_again() {
    let (_temp, root) = folder();
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("a/b/same"), "1").unwrap();
    fs::write(root.join("touched"), "2").unwrap();
    std::os::unix::fs::symlink("a/b/same", root.join("link")).unwrap();
    let earlier = settled_fake(&scan(&root, None).unwrap().tree);

    fs::write(root.join("new"), "3").unwrap();
    fs::File::options()
        .append(true)
        .open(root.join("touched"))
        .unwrap()
        .set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(5))
        .unwrap();
    let found = found(&scan(&root, Some(&earlier)).unwrap().tree);
    let hash = |path: &str| entry(&found, path).sha256;
    assert_eq!(hash("a/b/same"), FAKE);
    assert_eq!(hash("link"), FAKE);
    assert_eq!(hash("touched"), <[u8; 32]>::from(Sha256::digest("2")));
    assert_eq!(hash("new"), <[u8; 32]>::from(Sha256::digest("3")));
    assert_eq!(found.len(), 4);
}

#[test]
fn a_single_file_with_the_same_stamp_is_not_read_again() {
    let (_temp, root) = folder();
    let file = root.join("one");
    fs::write(&file, "1").unwrap();
    let earlier = settled_fake(&scan(&file, None).unwrap().tree);
    let again = found(&scan(&file, Some(&earlier)).unwrap().tree);
    assert_eq!(entry(&again, "").sha256, FAKE);
    // The earlier tree of a file says nothing about a directory of that name, nor the other way round.
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let as_dir = scan(&file, Some(&earlier)).unwrap().tree;
    assert_eq!(as_dir.count(), 0);
    fs::remove_dir(&file).unwrap();
    fs::write(&file, "2").unwrap();
    let as_file = found(&scan(&file, Some(&as_dir)).unwrap().tree);
    assert_eq!(
        entry(&as_file, "").sha256,
        <[u8; 32]>::from(Sha256::digest("2"))
    );
}

/// P031, E37: a file hashed right after its last change is read again next time, one dated in the future always.
#[test]
fn young_and_future_files_are_never_settled() {
    let (_temp, root) = folder();
    fs::write(root.join("young"), "1").unwrap();
    fs::write(root.join("future"), "2").unwrap();
    let future = SystemTime::now() + Duration::from_hours(1);
    let file = fs::File::options().append(true).open(root.join("future"));
    file.unwrap().set_modified(future).unwrap();

    let first = scan(&root, None).unwrap();
    assert_eq!(first.learnt, 0);
    let states = |tree: &Tree| {
        let found = found(tree);
        ["young", "future"].map(|path| entry(&found, path).hash)
    };
    assert_eq!(states(&first.tree), [Hash::Unsettled, Hash::Unsettled]);

    std::thread::sleep(Duration::from_millis(2100));
    let second = scan(&root, Some(&first.tree)).unwrap();
    assert_eq!(second.learnt, 1);
    assert_eq!(states(&second.tree), [Hash::Settled, Hash::Unsettled]);
    let third = scan(&root, Some(&second.tree)).unwrap();
    assert_eq!(third.learnt, 0);
}

/// A directory of 5000 names is examined by several threads, with and without an earlier tree.
#[test]
fn large_directories_keep_their_order_and_their_hashes() {
    let (_temp, root) = folder();
    for index in 0..5000 {
        fs::write(
            root.join(format!("{}", index * 7919 % 5000)),
            format!("{index}"),
        )
        .unwrap();
    }
    let first = scan(&root, None).unwrap().tree;
    let names: Vec<String> = found(&first).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 5000);
    assert!(names.is_sorted());
    fs::write(root.join("0"), "changed").unwrap();
    let again = found(&scan(&root, Some(&settled_fake(&first))).unwrap().tree);
    let read: Vec<&str> = again
        .iter()
        .filter(|(_, entry)| entry.sha256 != FAKE)
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(read, ["0"]);
}

/// Paths longer than the system takes in one call.
#[test]
fn a_tree_deeper_than_the_longest_path_is_read() {
    let (_temp, root) = folder();
    let name = "d".repeat(200);
    let mut dir = fs::File::open(&root).unwrap().into();
    for _ in 0..40 {
        rustix::fs::mkdirat(&dir, name.as_str(), Mode::from_raw_mode(0o755)).unwrap();
        dir = hash::open_dir(std::os::fd::AsFd::as_fd(&dir), name.as_bytes()).unwrap();
    }
    let flags = OFlags::WRONLY | OFlags::CREATE;
    let file: std::os::fd::OwnedFd =
        rustix::fs::openat(&dir, "deep", flags, Mode::from_raw_mode(0o644)).unwrap();
    rustix::io::write(&file, b"x").unwrap();
    let found = found(&scan(&root, None).unwrap().tree);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, format!("{}/deep", vec![name; 40].join("/")));
    assert_eq!(found[0].1.sha256, <[u8; 32]>::from(Sha256::digest("x")));
}

/// Neither the stack nor the number of open files grows with the depth or the width of a tree.
#[test]
fn many_directories_do_not_use_up_descriptors() {
    let (_temp, root) = folder();
    let mut deep = root.clone();
    for level in 0..400 {
        deep.push("d");
        fs::create_dir(&deep).unwrap();
        fs::create_dir(deep.with_file_name(format!("side-{level}"))).unwrap();
    }
    for index in 0..3000 {
        fs::create_dir(root.join(format!("w{index}"))).unwrap();
    }
    fs::write(deep.join("end"), "x").unwrap();
    let tree = scan(&root, None).unwrap().tree;
    assert_eq!(tree.count(), 1);
    assert_eq!(tree.dirs.len(), 1 + 800 + 3000);
}
