//! The conformance suite on the reference backend, plain and decorated, and the suite's own proof: backends that lie are caught.

mod harness;
mod lies;
mod lying;

use std::sync::Arc;
use std::time::Duration;

use tether_backend_memory::Memory;
use tether_conformance::faults::{Calls, Delay, Fault, Faults, Faulty, Method, Recording, Slow};
use tether_conformance::{Decorated, names, run};
use tether_engine::backend::Backend as _;

use harness::MemoryHarness;

#[tokio::test(flavor = "multi_thread")]
async fn the_contract_holds() {
    let report = run(&MemoryHarness).await;
    assert!(report.passed(), "{report}");
    assert_eq!(
        report.skipped().collect::<Vec<_>>(),
        [""; 0],
        "the harness can do everything"
    );
    let checked: Vec<&str> = report.checks.iter().map(|check| check.name).collect();
    let left_out: Vec<&str> = names().filter(|name| !checked.contains(name)).collect();
    // Of the capabilities memory does not declare.
    assert_eq!(
        left_out,
        [
            "a_busy_store_is_not_quiet",
            "deleting_a_branch_deletes_what_only_it_held"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_contract_holds_when_every_call_takes_its_time() {
    let slow = Decorated::new(&MemoryHarness, |inner| {
        Arc::new(Slow::new(inner, Delay(Duration::from_micros(200))))
    });
    let report = run(&slow).await;
    assert!(report.passed(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_contract_holds_while_calls_are_recorded() {
    let recording = Arc::new(Recording::new(Arc::new(Memory), Calls::default()));
    let harness = Decorated::new(&MemoryHarness, |_| recording.clone());
    let report = run(&harness).await;
    assert!(report.passed(), "{report}");
    let calls = recording.calls();
    for method in [
        Method::Fingerprint,
        Method::VerifyMany,
        Method::Merge,
        Method::DeleteStore,
    ] {
        assert!(calls.contains(&method), "{method:?} was never called");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_tells_writes_from_reads() {
    let recording = Recording::new(Arc::new(Memory), Calls::default());
    let store = tether_engine::backend::Store {
        locator: tether_backend_memory::new_system("recorded"),
        ..Default::default()
    };
    let state = recording.fingerprint(&store, None).await.unwrap();
    let name = "tether.ws.60c48e84.x".parse().unwrap();
    let source = tether_engine::backend::Source::State(state);
    let expected = tether_engine::backend::Expected::Any;
    let _ = recording
        .fork(&store, &source, &name, &expected)
        .await
        .unwrap();
    recording.list_working_refs(&store).await.unwrap();
    assert_eq!(
        recording.calls(),
        [Method::Fingerprint, Method::Fork, Method::ListWorkingRefs]
    );
    assert_eq!(recording.writes(), [Method::Fork]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_hits_the_planned_call_only() {
    let store = tether_engine::backend::Store {
        locator: tether_backend_memory::new_system("faulty"),
        ..Default::default()
    };
    let faulty = Faulty::new(Arc::new(Memory), Faults::default());
    faulty.fail(Method::Fingerprint, 2, Fault::Before);
    faulty.fail(Method::Fingerprint, 4, Fault::After);
    faulty.fail(Method::Owner, 1, Fault::LostReply);
    let mut failed = Vec::new();
    for _ in 0..5 {
        failed.push(faulty.fingerprint(&store, None).await.is_err());
    }
    assert_eq!(failed, [false, true, false, true, false]);
    assert!(!faulty.is_spent());
    assert!(faulty.owner(&store).await.is_err());
    assert!(faulty.is_spent());
}
