//! Moves of refs.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use tether_engine::ErrorKind;
use tether_gitkit::open::{Role, open};
use tether_gitkit::refs::{Old, Outcome, delete, set, target};

use crate::fixture::Scratch;

const NAME: &str = "refs/heads/x";

#[test]
fn a_move_says_what_it_did() {
    let scratch = Scratch::new();
    let path = scratch.repo("r");
    let [a, b, c] = scratch.commits(&path, 3)[..] else {
        panic!()
    };
    let repo = open(&path, Role::Foreign).unwrap();
    let go = |new, old| set(&repo, NAME, new, old, "test").unwrap();
    assert_eq!(go(a, Old::Is(b)), Outcome::Elsewhere(None));
    assert_eq!(go(a, Old::Absent), Outcome::Created);
    assert_eq!(go(a, Old::Absent), Outcome::Found);
    assert_eq!(go(b, Old::Absent), Outcome::Elsewhere(Some(a)));
    assert_eq!(go(b, Old::Is(c)), Outcome::Elsewhere(Some(a)));
    assert_eq!(go(b, Old::Is(a)), Outcome::Changed(a));
    assert_eq!(go(b, Old::Is(a)), Outcome::Found);
    scratch.git(&path, &["pack-refs", "--all"]);
    assert_eq!(go(c, Old::Any), Outcome::Changed(b));
    assert_eq!(target(&repo, NAME).unwrap(), Some(c));
    let log = scratch.git(&path, &["reflog", "show", "--format=%gs", NAME]);
    assert_eq!(log.lines().collect::<Vec<_>>(), ["test"; 3]);
    let gone = |old| delete(&repo, NAME, old).unwrap();
    assert_eq!(gone(Old::Is(a)), Outcome::Elsewhere(Some(c)));
    assert_eq!(gone(Old::Absent), Outcome::Elsewhere(Some(c)));
    assert_eq!(gone(Old::Is(c)), Outcome::Changed(c));
    assert_eq!(gone(Old::Is(c)), Outcome::Found);
    assert_eq!(go(a, Old::Any), Outcome::Created);
    assert_eq!(gone(Old::Any), Outcome::Changed(a));
    assert_eq!(target(&repo, NAME).unwrap(), None);
    assert!(!scratch.git(&path, &["for-each-ref"]).contains(NAME));
}

/// A name is exactly that ref, not one that git's lookup rules would find in its place.
#[test]
fn names_are_not_looked_up_elsewhere() {
    let scratch = Scratch::new();
    let path = scratch.repo("r");
    let a = scratch.commits(&path, 1)[0];
    scratch.git(
        &path,
        &["update-ref", "refs/heads/refs/heads/x", &a.to_string()],
    );
    let repo = open(&path, Role::Foreign).unwrap();
    assert_eq!(target(&repo, NAME).unwrap(), None);
    assert_eq!(
        set(&repo, NAME, a, Old::Absent, "").unwrap(),
        Outcome::Created
    );
}

#[test]
fn folders_of_packed_and_loose_refs_are_not_mixed_up() {
    let scratch = Scratch::new();
    let path = scratch.repo("r");
    let a = scratch.commits(&path, 1)[0];
    let repo = open(&path, Role::Foreign).unwrap();
    for logs in ["true", "false"] {
        for packed in [false, true] {
            scratch.git(&path, &["config", "core.logAllRefUpdates", logs]);
            scratch.git(&path, &["update-ref", "refs/heads/feat", &a.to_string()]);
            scratch.git(
                &path,
                &["update-ref", "refs/heads/deep/er/x", &a.to_string()],
            );
            if packed {
                scratch.git(&path, &["pack-refs", "--all", "--prune"]);
            }
            for name in [
                "refs/heads/feat/x",
                "refs/heads/feat/x/y",
                "refs/heads/deep",
                "refs/heads/deep/er",
            ] {
                let error = set(&repo, name, a, Old::Absent, "").unwrap_err();
                assert!(
                    error.message().contains("beside refs/heads/"),
                    "{name}: {error}"
                );
            }
            assert_eq!(
                set(&repo, "refs/heads/feature", a, Old::Absent, "").unwrap(),
                Outcome::Created
            );
            assert_eq!(
                delete(&repo, "refs/heads/feature", Old::Any).unwrap(),
                Outcome::Changed(a)
            );
            // What was a folder can be a ref once it is empty, and the other way round.
            assert_eq!(
                delete(&repo, "refs/heads/deep/er/x", Old::Any).unwrap(),
                Outcome::Changed(a)
            );
            assert_eq!(
                set(&repo, "refs/heads/deep", a, Old::Absent, "").unwrap(),
                Outcome::Created
            );
            assert_eq!(
                delete(&repo, "refs/heads/deep", Old::Any).unwrap(),
                Outcome::Changed(a)
            );
            scratch.git(&path, &["fsck", "--no-dangling"]);
            scratch.git(&path, &["update-ref", "-d", "refs/heads/feat"]);
        }
    }
}

#[test]
fn of_eight_racing_moves_exactly_one_wins() {
    let scratch = Scratch::new();
    let path = scratch.repo("r");
    let start = scratch.commits(&path, 1)[0];
    let targets: Vec<_> = (0..8)
        .map(|n| {
            scratch
                .git(
                    &path,
                    &["commit-tree", "-m", &format!("t{n}"), "HEAD^{tree}"],
                )
                .parse()
                .unwrap()
        })
        .collect();
    for round in 0..10 {
        scratch.git(&path, &["update-ref", NAME, &start.to_string()]);
        if round % 2 == 1 {
            scratch.git(&path, &["pack-refs", "--all"]);
        }
        let barrier = Barrier::new(targets.len());
        let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
            let handles: Vec<_> = targets
                .iter()
                .map(|new| {
                    let (path, barrier) = (&path, &barrier);
                    scope.spawn(move || {
                        let repo = open(path, Role::Foreign).unwrap();
                        barrier.wait();
                        set(&repo, NAME, *new, Old::Is(start), "race").unwrap()
                    })
                })
                .collect();
            handles
                .into_iter()
                .map(|handle| handle.join().unwrap())
                .collect()
        });
        let won: Vec<_> = (0..8)
            .filter(|&n| outcomes[n] == Outcome::Changed(start))
            .collect();
        assert_eq!(won.len(), 1, "{outcomes:?}");
        let repo = open(&path, Role::Foreign).unwrap();
        let stands = target(&repo, NAME).unwrap().unwrap();
        assert_eq!(stands, targets[won[0]]);
        for (n, outcome) in outcomes.iter().enumerate() {
            assert!(
                n == won[0] || *outcome == Outcome::Elsewhere(Some(stands)),
                "{outcomes:?}"
            );
        }
    }
}

/// E12: a kill while a pin is made leaves its lock file, and nothing must be cleaned up by hand. A branch's lock may be git's.
#[test]
fn a_killed_writers_lock_on_a_pin_is_broken() {
    let scratch = Scratch::new();
    let path = scratch.repo("r");
    let [a, ..] = scratch.commits(&path, 1)[..] else {
        panic!()
    };
    let repo = open(&path, Role::Foreign).unwrap();
    let pin = "refs/tags/tether.0a1b2c3d.0123456789abcdef";
    let lock = path.join(".git").join(format!("{pin}.lock"));
    std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
    std::fs::write(&lock, "").unwrap();
    assert_eq!(
        set(&repo, pin, a, Old::Absent, "test").unwrap(),
        Outcome::Created
    );
    assert!(!lock.exists());
    assert_eq!(target(&repo, pin).unwrap(), Some(a));
}

#[test]
fn a_left_over_lock_is_named_and_stays() {
    let scratch = Scratch::new();
    let path = scratch.repo("r");
    let [a, b] = scratch.commits(&path, 2)[..] else {
        panic!()
    };
    scratch.git(&path, &["update-ref", NAME, &a.to_string()]);
    scratch.git(&path, &["pack-refs", "--all"]);
    let repo = open(&path, Role::Foreign).unwrap();
    for lock in [".git/refs/heads/x.lock", ".git/packed-refs.lock"] {
        let lock = path.join(lock);
        std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
        std::fs::write(&lock, "").unwrap();
        let begin = Instant::now();
        let error = set(&repo, NAME, b, Old::Is(a), "").unwrap_err();
        assert!(begin.elapsed() < Duration::from_secs(20));
        assert_eq!(error.kind(), ErrorKind::Locked);
        assert!(error.message().contains(lock.to_str().unwrap()), "{error}");
        assert!(error.hint().unwrap().contains("rm "), "{error:?}");
        assert!(lock.exists());
        std::fs::remove_file(&lock).unwrap();
    }
    assert_eq!(
        set(&repo, NAME, b, Old::Is(a), "").unwrap(),
        Outcome::Changed(a)
    );
}

/// Writing through `HEAD` moves its branch, on a born and on an unborn one, with both reflogs.
#[test]
fn head_is_written_through() {
    let scratch = Scratch::new();
    let path = scratch.repo("r");
    let [a, b] = scratch.commits(&path, 2)[..] else {
        panic!()
    };
    let repo = open(&path, Role::Own).unwrap();
    let head = target(&repo, "HEAD").unwrap().unwrap();
    assert_eq!(
        set(&repo, "HEAD", a, Old::Is(b), "m").unwrap(),
        Outcome::Elsewhere(Some(head))
    );
    assert_eq!(
        set(&repo, "HEAD", a, Old::Is(head), "m").unwrap(),
        Outcome::Changed(head)
    );
    assert_eq!(scratch.git(&path, &["rev-parse", "main"]), a.to_string());
    assert_eq!(
        scratch.git(&path, &["symbolic-ref", "HEAD"]),
        "refs/heads/main"
    );
    for name in ["HEAD", "main"] {
        assert_eq!(
            scratch.git(&path, &["reflog", "show", "-1", "--format=%gs", name]),
            "m"
        );
    }
    scratch.git(&path, &["symbolic-ref", "HEAD", "refs/heads/new/born"]);
    assert_eq!(
        set(&repo, "HEAD", b, Old::Absent, "m").unwrap(),
        Outcome::Created
    );
    assert_eq!(
        scratch.git(&path, &["rev-parse", "refs/heads/new/born"]),
        b.to_string()
    );
    scratch.git(&path, &["symbolic-ref", "HEAD", "refs/heads/new"]);
    assert!(set(&repo, "HEAD", b, Old::Absent, "m").is_err());
}
