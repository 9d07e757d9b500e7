//! Hashes kept between processes.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::sync::Arc;
use std::time::Duration;

use tether_engine::backend::{Backend as _, Verdict};
use tether_engine::state::State;

use crate::common::{Folder, number, store, text};

const FAKE: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// Writes the Python package's cache with a wrong hash for `data/a`, hashed `after` nanoseconds after its last change.
fn python_cache(folder: &Folder, after: i64) -> String {
    let a = folder.data().join("a");
    let meta = fs::metadata(&a).unwrap();
    let nanoseconds = |seconds: i64, rest: i64| seconds * 1_000_000_000 + rest;
    let mtime = nanoseconds(meta.mtime(), meta.mtime_nsec());
    let ctime = nanoseconds(meta.ctime(), meta.ctime_nsec());
    let json = format!(
        "{{\"{}\":[{},{mtime},{ctime},{},\"{FAKE}\",{}]}}",
        a.display(),
        meta.len(),
        meta.ino(),
        mtime.max(ctime) + after
    );
    fs::create_dir_all(folder.cache()).unwrap();
    fs::write(folder.cache().join("file-hashes.json"), &json).unwrap();
    json
}

fn own_files(folder: &Folder) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder.cache())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "file-hashes.json")
        .collect();
    names.sort();
    names
}

#[test]
fn the_python_packages_cache_is_read_where_ours_is_absent_and_never_written() {
    let folder = Folder::with_dir();
    folder.write("a", "A");
    let truth = folder.state();
    fs::remove_dir_all(folder.cache()).unwrap();

    let json = python_cache(&folder, 2_000_000_000);
    let taken = folder.state();
    assert_ne!(taken, truth, "the hash in the cache was not used");
    assert!(folder.listing(&taken).unwrap().contains(FAKE));
    assert_eq!(
        fs::read_to_string(folder.cache().join("file-hashes.json")).unwrap(),
        json
    );
    assert_eq!(own_files(&folder).len(), 1);

    // From now on ours counts; the other is not looked at again.
    fs::write(folder.cache().join("file-hashes.json"), "damaged").unwrap();
    assert_eq!(folder.state(), taken);
}

/// P031
#[test]
fn a_young_entry_of_the_python_packages_cache_is_not_trusted() {
    let folder = Folder::with_dir();
    folder.write("a", "A");
    let truth = folder.state();
    fs::remove_dir_all(folder.cache()).unwrap();
    python_cache(&folder, 1_999_999_999);
    assert_eq!(folder.state(), truth);
}

/// A hash that no longer belongs to the bytes (bit rot, a damaged cache) is found by reading them.
#[test]
fn deep_verify_reads_every_byte_again() {
    let folder = Folder::with_dir();
    folder.write("a", "A");
    let truth = folder.state();
    fs::remove_dir_all(folder.cache()).unwrap();
    python_cache(&folder, 2_000_000_000);
    let backend = folder.backend();
    let verify = |state: &State, deep: bool| {
        let object = store(&folder.data());
        folder
            .run(backend.verify(&object, state, None, deep))
            .unwrap()
            .status
    };
    assert_eq!(verify(&truth, false), Verdict::Drifted);
    assert_eq!(verify(&truth, true), Verdict::Ok);
    assert_eq!(
        verify(&truth, false),
        Verdict::Ok,
        "what was read is remembered"
    );
}

#[test]
fn a_damaged_cache_is_as_good_as_none() {
    let folder = Folder::with_dir();
    folder.write("a", "A");
    let truth = folder.state();
    let path = folder.cache().join(&own_files(&folder)[0]);
    for content in [&b""[..], b"tether file hashes 1\n", &[0xff; 4096]] {
        fs::write(&path, content).unwrap();
        assert_eq!(folder.state(), truth);
    }
    fs::remove_file(&path).unwrap();
    symlink("/dev/zero", &path).unwrap();
    assert_eq!(folder.state(), truth);
}

#[test]
fn a_cache_that_cannot_be_written_changes_no_answer() {
    let folder = Folder::with_dir();
    folder.write("a", "A");
    fs::write(folder.cache(), "a file where the directory should be").unwrap();
    assert_eq!(number(&folder.state(), "count"), 1);
    // Without a `.tether` directory nothing is made.
    fs::remove_dir_all(folder.path(".tether")).unwrap();
    assert_eq!(number(&folder.state(), "count"), 1);
    assert!(!folder.path(".tether").exists());
    assert_eq!(
        number(
            &folder
                .run(
                    tether_backend_file::FileBackend::new(None)
                        .fingerprint(&store(&folder.data()), None)
                )
                .unwrap(),
            "count"
        ),
        1
    );
}

/// P099
#[test]
fn eight_objects_in_parallel_and_several_processes_share_a_cache() {
    let folder = Folder::with_dir();
    let mut expected = Vec::new();
    for index in 0..8 {
        for file in 0..20 {
            folder.write(&format!("{index}/{file}"), format!("{index} {file}"));
        }
        expected.push(
            folder
                .state_of(&folder.data().join(index.to_string()))
                .unwrap(),
        );
    }
    fs::remove_dir_all(folder.cache()).unwrap();
    std::thread::sleep(Duration::from_millis(2100));
    for round in 0..3 {
        let backends = [Arc::new(folder.backend()), Arc::new(folder.backend())];
        let tasks: Vec<_> = (0..32)
            .map(|task| {
                let backend = Arc::clone(&backends[task % 2]);
                let object = store(&folder.data().join((task % 8).to_string()));
                async move { backend.fingerprint(&object, None).await }
            })
            .collect();
        let states: Vec<_> = folder.run(async {
            let tasks: Vec<_> = tasks.into_iter().map(tokio::spawn).collect();
            let mut states = Vec::new();
            for task in tasks {
                states.push(task.await.unwrap().unwrap());
            }
            states
        });
        for (task, state) in states.iter().enumerate() {
            assert_eq!(*state, expected[task % 8], "round {round}");
        }
        // One whole file per root, no temporary one left.
        let files = own_files(&folder);
        assert_eq!(files.len(), 8, "{files:?}");
        assert!(
            files.iter().all(|name| name.starts_with("files-")),
            "{files:?}"
        );
    }
}

#[test]
fn a_temporary_file_of_a_killed_process_goes_after_an_hour() {
    let folder = Folder::with_dir();
    folder.write("a", "A");
    fs::create_dir(folder.cache()).unwrap();
    let (old, young) = (
        folder.cache().join(".tether-tmp-1-0"),
        folder.cache().join(".tether-tmp-2-0"),
    );
    fs::write(&old, "").unwrap();
    fs::write(&young, "").unwrap();
    let hours_ago = std::time::SystemTime::now() - Duration::from_hours(2);
    fs::File::options()
        .append(true)
        .open(&old)
        .unwrap()
        .set_modified(hours_ago)
        .unwrap();
    assert_eq!(text(&folder.state(), "type"), "dir");
    assert!(!old.exists());
    assert!(young.exists());
}
