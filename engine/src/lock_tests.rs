use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::tempdir;

use super::*;

fn quiet() -> impl FnMut(&str) {
    |_: &str| {}
}

fn acquire(path: &Path) -> Result<Lock> {
    Lock::acquire(path, LockKind::Checkout, "commit", &mut quiet())
}

/// Whether `flock(1)`, and with it the Python package, can take the lock now.
fn is_free(path: &Path) -> bool {
    Command::new("flock")
        .args(["--nonblock", "--exclusive"])
        .arg(path)
        .arg("true")
        .status()
        .unwrap()
        .success()
}

/// A child of this test binary that runs the ignored test `name`, and has printed its first line of output.
fn child(name: &str, path: &Path, wait_ms: u32) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            &format!("lock::tests::{name}"),
            "--ignored",
            "--nocapture",
        ])
        .env("TETHER_TEST_PATH", path)
        .env("TETHER_TEST_LOCK_WAIT_MS", wait_ms.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = child.stdout.as_mut().unwrap();
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(b"READY\n") && out.read(&mut byte).unwrap() == 1 {
        seen.push(byte[0]);
    }
    assert!(
        seen.ends_with(b"READY\n"),
        "{}",
        String::from_utf8_lossy(&seen)
    );
    child
}

fn test_path() -> Option<PathBuf> {
    std::env::var_os("TETHER_TEST_PATH").map(PathBuf::from)
}

#[test]
#[ignore = "run by other tests"]
fn child_holds_the_lock() {
    let Some(path) = test_path() else { return };
    let lock = Lock::acquire(&path, LockKind::Repository, "commit -m held", &mut quiet()).unwrap();
    println!("\nREADY");
    // Until the parent ends or closes the pipe.
    let _ = io::stdin().read(&mut [0]);
    drop(lock);
}

#[test]
#[ignore = "run by other tests"]
fn child_waits_in_vain() {
    let Some(path) = test_path() else { return };
    let mut notices = Vec::new();
    let error = Lock::acquire(&path, LockKind::Checkout, "new", &mut |text| {
        notices.push(text.to_owned());
    })
    .unwrap_err();
    println!("\nREADY");
    assert_eq!(error.kind(), ErrorKind::Locked);
    println!("{}", notices.join("|"));
    println!("{}", error.message());
    println!("{}", error.hint().unwrap());
}

#[test]
#[ignore = "run by other tests"]
fn child_waits_and_gets_it() {
    let Some(path) = test_path() else { return };
    println!("\nREADY");
    let lock = Lock::acquire(&path, LockKind::Checkout, "new", &mut quiet()).unwrap();
    println!("GOT IT");
    drop(lock);
}

/// E18: a left-over file is not a lock, twice in a row.
#[test]
fn a_left_over_file_is_not_a_lock() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("lock");
    fs::write(&path, "4711 commit\n").unwrap();
    for _ in 0..2 {
        let lock = acquire(&path).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            format!("{} commit\n", std::process::id())
        );
        drop(lock);
        assert_eq!(fs::read_to_string(&path).unwrap(), "");
    }
}

/// E18, and surprise 30: the waiter names path, pid and command, once before it gives up and once in the error.
#[test]
fn a_waiter_names_the_holder_and_gives_up() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("tether.lock");
    let holder = child("child_holds_the_lock", &path, 1000);
    let output = child("child_waits_in_vain", &path, 300)
        .wait_with_output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    let (pid, path) = (holder.id(), path.display());
    assert_eq!(
        lines.next().unwrap(),
        format!(
            "waiting for process {pid} (commit -m held), which holds the lock of this checkout ({path})"
        )
    );
    assert_eq!(
        lines.next().unwrap(),
        format!(
            "process {pid} (commit -m held) holds the lock of this checkout ({path}); gave up after 1 s"
        )
    );
    assert!(lines.next().unwrap().contains(&format!("`kill {pid}`")));
    end(holder);
}

fn end(mut child: Child) {
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

/// E18: a killed holder frees the lock at once.
#[test]
fn a_killed_holder_frees_the_lock_at_once() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("tether.lock");
    let mut holder = child("child_holds_the_lock", &path, 1000);
    assert!(!is_free(&path));
    holder.kill().unwrap();
    holder.wait().unwrap();
    let start = Instant::now();
    let lock = acquire(&path).unwrap();
    assert!(start.elapsed() < Duration::from_millis(500));
    drop(lock);
}

#[test]
fn a_waiter_gets_the_lock_when_the_holder_ends() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("lock");
    let lock = acquire(&path).unwrap();
    let waiter = child("child_waits_and_gets_it", &path, 20_000);
    thread::sleep(Duration::from_millis(100));
    drop(lock);
    let output = waiter.wait_with_output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("GOT IT"));
}

/// The Python package locks the same files with `flock`: both directions exclude each other.
#[test]
fn flock_of_another_tool_and_ours_exclude_each_other() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("tether.lock");
    let lock = acquire(&path).unwrap();
    assert!(!is_free(&path));
    drop(lock);
    assert!(is_free(&path));
    let mut other = Command::new("flock")
        .arg("--exclusive")
        .arg(&path)
        .args(["sh", "-c", "echo READY; read line"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    other
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut [0; 6])
        .unwrap();
    let output = child("child_waits_in_vain", &path, 200)
        .wait_with_output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // It wrote no name into the file, but the kernel knows.
    let name = format!("process {} (flock) holds the lock", other.id());
    if Path::new("/proc/locks").exists() {
        assert!(text.contains(&name), "{text}");
    }
    drop(other.stdin.take());
    other.wait().unwrap();
    drop(acquire(&path).unwrap());
}

/// E18: a waiter that opened the file before it was deleted or replaced does not take the old one for the lock.
#[test]
fn a_lock_on_a_deleted_file_is_not_the_lock() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("lock");
    let stale = open(&path).unwrap();
    assert!(is_at(&stale, &path).unwrap());
    fs::remove_file(&path).unwrap();
    assert!(!is_at(&stale, &path).unwrap());
    let fresh = open(&path).unwrap();
    assert!(try_lock(&stale).unwrap() && try_lock(&fresh).unwrap());
    assert!(!is_at(&stale, &path).unwrap());
    assert!(is_at(&fresh, &path).unwrap());
}

/// E18: deleting the lock file while it is held lets no second writer in, neither one that waits nor one that comes later.
#[test]
fn deleting_the_file_while_it_is_held_lets_no_second_writer_in() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("lock");
    let lock = acquire(&path).unwrap();
    let early = child("child_waits_and_gets_it", &path, 20_000);
    thread::sleep(Duration::from_millis(50));
    fs::remove_file(&path).unwrap();
    let late = child("child_waits_in_vain", &path, 400)
        .wait_with_output()
        .unwrap();
    let text = String::from_utf8(late.stdout).unwrap();
    assert!(late.status.success(), "{text}");
    if Path::new("/proc/locks").exists() {
        assert!(
            text.contains(&format!("process {} ", std::process::id())),
            "{text}"
        );
    }
    drop(lock);
    let output = early.wait_with_output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("GOT IT"));
    // And again: the file is the lock as before.
    let lock = acquire(&path).unwrap();
    assert!(!is_free(&path));
    drop(lock);
}

/// E18: a child process does not inherit the lock.
#[test]
fn a_child_process_does_not_keep_the_lock() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("lock");
    let lock = acquire(&path).unwrap();
    let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
    drop(lock);
    let free = is_free(&path);
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert!(free);
}

/// P042: threads of one process take turns, and one that fails midway leaves no lock behind.
#[test]
fn threads_take_turns_and_a_panicking_one_leaves_no_lock() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("lock");
    let inside = AtomicU32::new(0);
    let failures = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|n| {
                let (path, inside) = (&path, &inside);
                scope.spawn(move || {
                    let _lock = acquire(path).unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two at once");
                    thread::sleep(Duration::from_millis(5));
                    inside.fetch_sub(1, Ordering::SeqCst);
                    assert!(n != 3, "thread 3 fails while it holds the lock");
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| u32::from(thread.join().is_err()))
            .sum::<u32>()
    });
    assert_eq!(failures, 1);
    drop(acquire(&path).unwrap());
}

#[test]
fn what_is_not_a_plain_file_is_an_error_that_names_it() {
    let dir = tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, kind, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(dir.path().join("elsewhere"), &link).unwrap();
    let folder = dir.path().join("folder");
    fs::create_dir(&folder).unwrap();
    let absent = dir.path().join("absent/lock");
    for path in [&fifo, &link, &folder, &absent] {
        let error = acquire(path).unwrap_err();
        assert_eq!(error.message(), format!("cannot lock {}", path.display()));
        assert!(error.hint().is_some());
    }
    assert!(!dir.path().join("elsewhere").exists());
}

#[test]
fn a_dead_or_garbled_name_in_the_file_is_not_repeated() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("lock");
    let table: &[(&str, Option<(i32, &str)>)] = &[
        ("", None),
        ("12", None),
        ("12 ", Some((12, ""))),
        ("12 commit", Some((12, "commit"))),
        (
            "12 commit \u{1b}[31m-m x\nrest",
            Some((12, "commit [31m-m x")),
        ),
        ("-1 commit\n", None),
        ("0 commit\n", None),
        ("pid commit\n", None),
    ];
    for (text, expected) in table {
        fs::write(&path, text).unwrap();
        let found = written_holder(&File::open(&path).unwrap());
        let expected = expected.map(|(pid, command)| (pid, command.to_owned()));
        assert_eq!(found, expected, "{text:?}");
    }
    // Nobody holds it and the process of that number is gone: no name at all.
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    fs::write(&path, format!("{} commit\n", gone.id())).unwrap();
    assert_eq!(
        Holder::of(&File::open(&path).unwrap()).to_string(),
        "another process"
    );
}

#[test]
fn patience_is_that_of_the_kind() {
    let seconds = |kind: LockKind| (kind.patience().0.as_secs(), kind.patience().1.as_secs());
    assert_eq!(seconds(LockKind::Checkout), (1, 30));
    assert_eq!(seconds(LockKind::Repository), (1, 60));
}
