//! How long things take. Run by hand: `cargo test --release -p tether-backend-git -- --ignored --nocapture`.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use tether_engine::backend::{Backend, Verdict};

use crate::git::{Fixture, commit_on, dataset, git, state};

/// The best of several runs.
async fn best<F: AsyncFnMut()>(runs: usize, mut work: F) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..runs {
        let start = Instant::now();
        work().await;
        least = least.min(start.elapsed());
    }
    least
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures; needs a quiet machine and the release profile"]
async fn many_pins_are_verified_at_once_and_a_fingerprint_is_cheap() {
    let fx = Fixture::new();
    let base = fx.sha("HEAD").unwrap();
    let commits: Vec<String> = (0..50)
        .map(|n| commit_on(&fx.code, &base, &format!("f{n}"), "x\n"))
        .collect();
    let mut items = Vec::new();
    let mut script = String::new();
    for n in 0..2500 {
        let sha = &commits[n % commits.len()];
        let name = format!("tether.{}.{n:016x}", dataset());
        let pin = tether_engine::manifest::Pin {
            id: name["tether.".len()..].parse().unwrap(),
            native: name.parse().unwrap(),
        };
        writeln!(script, "create refs/tags/{name} {sha}").unwrap();
        items.push((state(sha), Some(pin)));
    }
    let file = fx.root.join("refs");
    std::fs::write(&file, script).unwrap();
    let made = crate::git::command(&fx.code)
        .args(["update-ref", "--stdin"])
        .stdin(std::fs::File::open(&file).unwrap())
        .status();
    assert!(made.unwrap().success());
    for packed in [false, true] {
        if packed {
            git(&fx.code, &["pack-refs", "--all"]);
        }
        let store = fx.store();
        let time = best(10, async || {
            let reports = fx.backend.verify_many(&store, &items, false).await;
            assert!(
                reports
                    .iter()
                    .all(|report| report.as_ref().unwrap().status == Verdict::Ok)
            );
        })
        .await;
        println!("verify of 2500 pins, packed {packed}: {time:?}");
        let time = best(10, async || {
            assert_eq!(fx.backend.list_pins(&store).await.unwrap().len(), 2500);
        })
        .await;
        println!("list of 2500 pins, packed {packed}: {time:?}");
        let time = best(20, async || {
            drop(fx.backend.fingerprint(&store, None).await.unwrap());
        })
        .await;
        println!("fingerprint of HEAD, packed {packed}: {time:?}");
    }
}
