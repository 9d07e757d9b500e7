use std::os::unix::fs::{PermissionsExt as _, symlink};

use tempfile::tempdir;

use super::*;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn write_atomic_creates_parents_and_leaves_only_the_target() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("a/b/c.toml");
    write_atomic(&path, b"one").unwrap();
    write_atomic(&path, b"two").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
    assert_eq!(names(path.parent().unwrap()), ["c.toml"]);
}

#[test]
fn write_atomic_replaces_a_symlink_and_spares_what_it_points_to() {
    let dir = tempdir().unwrap();
    let outside = dir.path().join("outside");
    fs::write(&outside, "precious").unwrap();
    let path = dir.path().join("link");
    symlink(&outside, &path).unwrap();
    write_atomic(&path, b"new").unwrap();
    assert_eq!(fs::read(&outside).unwrap(), b"precious");
    assert!(!path.is_symlink());
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn write_atomic_keeps_no_stale_permissions() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    write_atomic(&path, b"new").unwrap();
    let fresh = dir.path().join("fresh");
    fs::write(&fresh, "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), mode(&fresh));
}

#[test]
fn write_atomic_takes_the_longest_file_name() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("n".repeat(255));
    write_atomic(&path, b"x").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"x");
}

#[test]
fn write_atomic_onto_a_directory_fails_and_leaves_nothing_behind() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("taken");
    fs::create_dir(&path).unwrap();
    let error = write_atomic(&path, b"x").unwrap_err();
    assert!(error.message().contains(path.to_str().unwrap()), "{error}");
    assert_eq!(names(dir.path()), ["taken"]);
}

/// E54: a full disk is an error that names the path, and leaves the old content alone.
#[test]
fn a_failed_write_names_the_path_and_keeps_the_old_content() {
    // Files of this process cannot grow beyond its limit, which fails as a full disk does. The limit is the process's, so a child takes it.
    let dir = tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "old").unwrap();
    let status = std::process::Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "fsutil::tests::child_writes_too_much",
            "--ignored",
        ])
        .env("TETHER_TEST_PATH", &path)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(dir.path()), ["file"]);
}

#[test]
#[ignore = "run by a_failed_write_names_the_path_and_keeps_the_old_content"]
fn child_writes_too_much() {
    let Some(path) = std::env::var_os("TETHER_TEST_PATH").map(PathBuf::from) else {
        return;
    };
    let error = write_atomic(&path, &vec![b'x'; 1 << 20]).unwrap_err();
    assert_eq!(error.message(), format!("cannot write {}", path.display()));
    assert!(error.one_line().contains("File too large"), "{error:?}");
}

#[test]
fn errors_of_full_and_read_only_file_systems_carry_a_hint() {
    let path = Path::new("/d/file");
    let hint = |errno: rustix::io::Errno| {
        let error = write_error(path, errno.into());
        assert_eq!(error.message(), "cannot write /d/file");
        error.hint().map(str::to_owned)
    };
    let full = "free space there, then run the command again";
    assert_eq!(hint(rustix::io::Errno::NOSPC).as_deref(), Some(full));
    assert_eq!(hint(rustix::io::Errno::DQUOT).as_deref(), Some(full));
    let locked = "make /d writable, then run the command again";
    assert_eq!(hint(rustix::io::Errno::ROFS).as_deref(), Some(locked));
    assert_eq!(hint(rustix::io::Errno::ACCESS).as_deref(), Some(locked));
    assert_eq!(hint(rustix::io::Errno::IO), None);
}

#[test]
fn append_starts_on_a_fresh_line_after_a_torn_one() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("lines");
    // (before, appended, after)
    let table: &[(&[u8], &[u8], &[u8])] = &[
        (b"", b"a\n", b"a\n"),
        (b"a\n", b"b\n", b"a\nb\n"),
        (b"a\nto", b"b\n", b"a\nto\nb\n"),
        (b"to", b"b\nc\n", b"to\nb\nc\n"),
        (b"to", b"", b"to"),
        (b"\n", b"b\n", b"\nb\n"),
    ];
    for (before, lines, after) in table {
        fs::write(&path, before).unwrap();
        append_synced(&path, lines).unwrap();
        assert_eq!(fs::read(&path).unwrap(), *after, "{before:?} + {lines:?}");
    }
}

#[test]
fn append_creates_the_file_also_for_no_line_and_follows_no_symlink() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("lines");
    append_synced(&path, b"").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"");
    let link = dir.path().join("link");
    symlink(&path, &link).unwrap();
    append_synced(&link, b"x\n").unwrap_err();
    assert_eq!(fs::read(&path).unwrap(), b"");
}

#[test]
fn read_regular_tells_nothing_from_something() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("file");
    assert_eq!(read_regular(&path).unwrap(), None);
    fs::write(&path, "x").unwrap();
    assert_eq!(read_regular(&path).unwrap().as_deref(), Some(&b"x"[..]));
    let link = dir.path().join("link");
    symlink(&path, &link).unwrap();
    assert_eq!(read_regular(&link).unwrap().as_deref(), Some(&b"x"[..]));
}

#[test]
fn read_regular_refuses_fifos_sockets_devices_and_directories_at_once() {
    let dir = tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .unwrap();
    let socket = dir.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for path in [&fifo, &socket, Path::new("/dev/zero"), dir.path()] {
        let error = read_regular(path).unwrap_err();
        assert!(
            error.one_line().ends_with("it is not a regular file"),
            "{error:?}"
        );
        let error = append(path, b"x\n").unwrap_err();
        assert_ne!(error.kind(), io::ErrorKind::NotFound, "{}", path.display());
    }
}

#[test]
fn removing_what_is_gone_is_success() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "x").unwrap();
    remove_durably(&path).unwrap();
    remove_durably(&path).unwrap();
    assert!(!path.exists());
    remove_durably(dir.path()).unwrap_err();
}

#[test]
fn temporary_names_are_unique_and_known() {
    let dir = tempdir().unwrap();
    let one = temporary_name(dir.path()).unwrap();
    let two = temporary_name(dir.path()).unwrap();
    assert_ne!(one, two);
    assert!(is_temporary(one.file_name().unwrap()));
    assert!(!is_temporary(OsStr::new("zarr.toml")));
}

#[test]
fn sixteen_threads_replacing_one_file_leave_one_whole_content() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("deep/file");
    std::thread::scope(|scope| {
        for n in 0..16_u8 {
            let path = &path;
            scope.spawn(move || write_atomic(path, &vec![b'a' + n; 10_000]).unwrap());
        }
    });
    let content = fs::read(&path).unwrap();
    assert_eq!(content.len(), 10_000);
    assert!(content.iter().all(|byte| *byte == content[0]));
    assert_eq!(names(path.parent().unwrap()), ["file"]);
}

/// E12: what a killed process left goes, whatever else is there stays.
#[test]
fn temporary_files_of_killed_processes_are_removed_at_every_depth() {
    let dir = tempfile::tempdir().unwrap();
    let below = dir.path().join("a/b");
    fs::create_dir_all(&below).unwrap();
    for place in [dir.path(), &below] {
        fs::write(temporary_name(place).unwrap(), "half").unwrap();
        fs::write(place.join("zarr.toml"), "whole").unwrap();
    }
    remove_temporary(dir.path());
    let left = |place: &Path| {
        let mut names: Vec<_> = fs::read_dir(place)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(left(dir.path()), ["a", "zarr.toml"]);
    assert_eq!(left(&below), ["zarr.toml"]);
    // A directory that is not there holds none.
    remove_temporary(&dir.path().join("nosuch"));
}
