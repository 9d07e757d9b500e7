//! A change of bytes is always seen, anything else never.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};
use tether_engine::json::hex;

use crate::common::{Folder, number, text};

fn modified(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

fn set_modified(path: &Path, time: SystemTime) {
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

fn settle() {
    std::thread::sleep(Duration::from_millis(2100));
}

/// E36
#[test]
fn a_rewrite_of_the_same_size_and_time_is_seen() {
    let folder = Folder::with_dir();
    folder.write("a", "AAAA");
    folder.write("b", "CCCC");
    settle();
    let before = folder.state();
    let (a, b) = (folder.data().join("a"), folder.data().join("b"));
    let time = modified(&a);

    // In place, as `rsync --inplace -t` does.
    fs::write(&a, "BBBB").unwrap();
    set_modified(&a, time);
    let rewritten = folder.state();
    assert_ne!(text(&before, "digest"), text(&rewritten, "digest"));

    // Another file of that size and time moved over it.
    set_modified(&b, time);
    settle();
    assert_eq!(folder.state(), rewritten);
    fs::rename(&b, &a).unwrap();
    let replaced = folder.state();
    assert_ne!(text(&replaced, "digest"), text(&rewritten, "digest"));
    assert_eq!(number(&replaced, "count"), 1);
}

/// E36
#[test]
fn swapped_hard_links_are_seen() {
    let folder = Folder::with_dir();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for (name, content) in [("one", "1111"), ("two", "2222")] {
        fs::write(folder.path(name), content).unwrap();
        set_modified(&folder.path(name), time);
    }
    let link = folder.data().join("x");
    fs::hard_link(folder.path("one"), &link).unwrap();
    settle();
    let before = folder.state();
    fs::remove_file(&link).unwrap();
    fs::hard_link(folder.path("two"), &link).unwrap();
    assert_ne!(folder.state(), before);
}

/// E36: times, permissions and inodes are not content.
#[test]
fn touch_chmod_and_a_copy_are_no_change() {
    let folder = Folder::with_dir();
    folder.write("a", "AAAA");
    let before = folder.state();
    let a = folder.data().join("a");
    set_modified(&a, SystemTime::UNIX_EPOCH + Duration::from_secs(7));
    assert_eq!(folder.state(), before);
    fs::set_permissions(&a, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(folder.state(), before);
    fs::copy(&a, folder.path("copy")).unwrap();
    fs::rename(folder.path("copy"), &a).unwrap();
    assert_eq!(folder.state(), before);
}

/// E37, P031: each round has a new process's view; rewrites fall into the tick of the hash all the time. `TETHER_STRESS_ROUNDS` asks
/// for more of them.
#[test]
fn racy_rewrites_are_always_seen() {
    let folder = Folder::new();
    let data = folder.data();
    fs::write(&data, "00000000").unwrap();
    let rounds: u32 =
        std::env::var("TETHER_STRESS_ROUNDS").map_or(600, |rounds| rounds.parse().unwrap());
    for round in 0..rounds {
        let content = format!("{round:08}");
        if round % 2 == 0 {
            fs::write(folder.path("t"), &content).unwrap();
            fs::rename(folder.path("t"), &data).unwrap();
        } else {
            let time = modified(&data);
            fs::write(&data, &content).unwrap();
            set_modified(&data, time);
        }
        let state = folder.state();
        assert_eq!(
            text(&state, "sha256"),
            hex(&Sha256::digest(&content)),
            "round {round}"
        );
    }
}

/// E37: the same with a writer that does not wait for the reader.
#[test]
fn a_file_replaced_all_the_time_is_one_of_its_contents_or_named() {
    let folder = Folder::with_dir();
    let contents = ["a".repeat(100_000), "b".repeat(100_000)];
    folder.write("x", &contents[0]);
    let known = contents.each_ref().map(|content| {
        folder.write("x", content);
        folder.state()
    });
    let stop = AtomicBool::new(false);
    let (x, t) = (folder.data().join("x"), folder.path("t"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for content in contents.iter().cycle() {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                fs::write(&t, content).unwrap();
                fs::rename(&t, &x).unwrap();
            }
        });
        let states: Vec<_> = (0..100).map(|_| folder.try_state()).collect();
        // Before anything can fail: the scope waits for the writer.
        stop.store(true, Ordering::Relaxed);
        for state in states {
            match state {
                Ok(state) => assert!(known.contains(&state), "{state:?}"),
                Err(error) => assert!(error.message().contains("keeps changing"), "{error}"),
            }
        }
    });
}

#[test]
fn a_file_that_grows_while_it_is_read_is_consistent_or_named() {
    let folder = Folder::new();
    let data = folder.data();
    fs::write(&data, vec![b'x'; 16 << 20]).unwrap();
    let stop = AtomicBool::new(false);
    let (mut named, mut hashed) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::io::Write as _;
            let mut file = File::options().append(true).open(&data).unwrap();
            while !stop.load(Ordering::Relaxed) {
                file.write_all(b"x").unwrap();
            }
        });
        for _ in 0..3 {
            match folder.try_state() {
                Ok(state) => {
                    hashed += 1;
                    let size = usize::try_from(number(&state, "size")).unwrap();
                    assert_eq!(
                        text(&state, "sha256"),
                        hex(&Sha256::digest(vec![b'x'; size]))
                    );
                }
                Err(error) => {
                    named += 1;
                    assert!(error.message().contains("keeps changing"), "{error}");
                    assert!(error.message().contains(data.to_str().unwrap()), "{error}");
                    assert!(error.hint().is_some());
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(named + hashed, 3);
}

#[test]
fn files_that_come_and_go_are_counted_or_named() {
    let folder = Folder::with_dir();
    folder.write("stays", "1");
    let stop = AtomicBool::new(false);
    let data = folder.data();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                fs::write(data.join("comes"), "2").unwrap();
                fs::create_dir(data.join("dir")).unwrap();
                fs::remove_file(data.join("comes")).unwrap();
                fs::remove_dir(data.join("dir")).unwrap();
            }
        });
        for _ in 0..50 {
            match folder.try_state() {
                // A file of size 0 is one that was just made.
                Ok(state) => assert!((1..=2).contains(&number(&state, "count")), "{state:?}"),
                Err(error) => {
                    assert!(error.message().contains("keeps changing"), "{error}");
                    assert!(error.message().contains(data.to_str().unwrap()), "{error}");
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(number(&folder.state(), "count"), 1);
}

/// P031: the inode and both times of a file written twice in one tick are the same; the hash is not.
#[test]
fn an_in_place_rewrite_within_a_tick_is_seen() {
    let folder = Folder::new();
    let data = folder.data();
    let mut same_stamp = 0;
    for round in 0..400_u32 {
        fs::write(&data, format!("{round:08}a")).unwrap();
        let stamp = |path: &Path| {
            let meta = fs::metadata(path).unwrap();
            (meta.mtime_nsec(), meta.ctime_nsec(), meta.ino())
        };
        let first = stamp(&data);
        let before = folder.state();
        fs::write(&data, format!("{round:08}b")).unwrap();
        same_stamp += u32::from(first == stamp(&data));
        assert_ne!(folder.state(), before, "round {round}");
    }
    // Whether any fell into one tick depends on the file system; the loop above holds either way.
    println!("{same_stamp} of 400 rewrites kept the stamp");
}
