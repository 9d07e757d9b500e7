//! What holds for every kind.

use tether_engine::backend::{
    Capability, Expected, Options, Source, Store, Target, Verdict as Status,
};
use tether_engine::error::ErrorKind;
use tether_engine::id::DatasetId;
use tether_engine::json::Value;
use tether_engine::manifest::PinMode;
use tether_engine::state::State;
use tether_engine::{Error, Result};

use crate::cx::{Cx, Verdict, checks, ensure, error, error_of_kind, race, skipped};

checks! {
    [Fingerprint]:
        fingerprint_is_stable_and_changes_with_the_content,
        identity_and_pin_id_are_deterministic,
        another_spelling_of_a_store_is_the_same_store,
        effective_capabilities_are_among_the_declared,
        capabilities_that_are_not_declared_answer_capability_errors,
        reading_writes_nothing,
        verify_without_a_pin_is_unknown_unless_deep,
        verify_many_answers_as_verify_does_in_order,
        the_base_opens_for_reading,
        an_idle_store_is_quiet,
        concurrent_reads_agree,
        errors_name_no_object_and_no_secret;
    [NeedsQuiescence]:
        a_busy_store_is_not_quiet;
}

async fn fingerprint_is_stable_and_changes_with_the_content(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let mut seen: Vec<State> = Vec::new();
    for _ in 0..3 {
        let state = cx.now(&store, None).await?;
        let again = cx.now(&store, None).await?;
        ensure!(
            cx.same(&state, &again),
            "two reads of one content differ: {state:?} and {again:?}"
        );
        ensure!(
            !state.content(cx.backend.volatile_keys()).is_empty(),
            "the state {state:?} has no content key"
        );
        let text = serde_json::to_string(&state).unwrap_or_default();
        let read: Option<State> = serde_json::from_str(&text).ok();
        ensure!(
            read.as_ref() == Some(&state),
            "the state does not survive JSON: {text}"
        );
        ensure!(
            !seen.iter().any(|earlier| cx.same(earlier, &state)),
            "the content changed and the state did not: {state:?}"
        );
        seen.push(state);
        cx.harness.mutate(&store, None).await?;
    }
    Ok(())
}

async fn identity_and_pin_id_are_deterministic(cx: &Cx<'_>) -> Verdict {
    let (store, other) = (cx.store().await?, cx.store().await?);
    let backend = &cx.backend;
    let identity = backend.identity(&store.locator)?;
    ensure!(!identity.is_empty(), "the identity is empty");
    ensure!(
        identity == backend.identity(&store.locator)?,
        "two calls of identity differ"
    );
    ensure!(
        identity != backend.identity(&other.locator)?,
        "two stores have one identity: {identity:?}"
    );
    cx.harness.mutate(&store, None).await?;
    ensure!(
        identity == backend.identity(&store.locator)?,
        "a write changed the identity"
    );
    let dataset = DatasetId::random()?;
    let state = cx.now(&store, None).await?;
    let again = cx.now(&store, None).await?;
    let (id, same) = (
        cx.pin_id(&dataset, &store, &state)?,
        cx.pin_id(&dataset, &store, &again)?,
    );
    ensure!(id == same, "one state has two pin ids: {id} and {same}");
    let changed = cx.mutate(&store, None).await?;
    ensure!(
        id != cx.pin_id(&dataset, &store, &changed)?,
        "two states have one pin id"
    );
    let scope = backend.branch_scope(&store.locator)?;
    ensure!(
        scope.is_some() == backend.capabilities().has(Capability::Fork),
        "branch_scope is {scope:?}, though only kinds that can fork have one"
    );
    ensure!(
        scope == backend.branch_scope(&store.locator)?,
        "two calls of branch_scope differ"
    );
    let namespace = backend.ref_namespace(&store.locator)?;
    ensure!(
        namespace == backend.ref_namespace(&store.locator)?,
        "two calls of ref_namespace differ"
    );
    Ok(())
}

async fn another_spelling_of_a_store_is_the_same_store(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let Some(respelled) = cx.harness.respelled(&store) else {
        return Err(skipped("the harness knows one spelling of a store only"));
    };
    let (a, b) = (&store.locator, &respelled.locator);
    let backend = &cx.backend;
    ensure!(a != b, "the harness spells the store the same way twice");
    let (one, two) = (backend.identity(a)?, backend.identity(b)?);
    ensure!(
        one == two,
        "one store has two identities: {one:?} and {two:?}"
    );
    ensure!(
        backend.branch_scope(a)? == backend.branch_scope(b)?,
        "one store has two branch scopes"
    );
    ensure!(
        backend.ref_namespace(a)? == backend.ref_namespace(b)?,
        "one store has two ref namespaces"
    );
    let (one, two) = (cx.now(&store, None).await?, cx.now(&respelled, None).await?);
    ensure!(
        cx.same(&one, &two),
        "one store has two states: {one:?} and {two:?}"
    );
    Ok(())
}

async fn effective_capabilities_are_among_the_declared(cx: &Cx<'_>) -> Verdict {
    let mut store = cx.store().await?;
    let declared = cx.backend.capabilities();
    ensure!(
        declared.has(Capability::Fingerprint),
        "FINGERPRINT is not declared"
    );
    let effective = cx.backend.effective(&store);
    for item in effective.iter() {
        ensure!(
            declared.has(item),
            "{} is effective and not declared",
            item.name()
        );
    }
    ensure!(
        !cx.backend.kind().is_empty()
            && !cx
                .backend
                .kind()
                .contains(|c: char| !c.is_ascii_lowercase()),
        "{:?} is no kind name",
        cx.backend.kind()
    );
    store.policy.pin = PinMode::Record;
    let recorded = cx.backend.effective(&store);
    ensure!(
        !recorded.has(Capability::Pin),
        "an object with pin = \"record\" still has PIN"
    );
    Ok(())
}

async fn capabilities_that_are_not_declared_answer_capability_errors(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let backend = &cx.backend;
    let declared = backend.capabilities();
    let state = cx.now(&store, None).await?;
    let source = Source::State(state.clone());
    let dataset = DatasetId::random()?;
    let name = cx.name(&dataset)?;
    let kind = ErrorKind::Capability;
    if !declared.has(Capability::Pin) {
        let id = cx.pin_id(&dataset, &store, &state)?;
        error_of_kind(backend.pin(&store, &state, &id).await, kind, "pin")?;
        ensure!(
            backend.list_pins(&store).await?.is_empty(),
            "a kind without pins lists some"
        );
    }
    if !declared.has(Capability::Fork) {
        error_of_kind(
            backend.fork(&store, &source, &name, &Expected::Any).await,
            kind,
            "fork",
        )?;
        let deleted = backend
            .delete_working_ref(&store, &name, &Expected::Any)
            .await;
        error_of_kind(deleted, kind, "delete_working_ref")?;
        ensure!(
            backend.list_working_refs(&store).await?.is_empty(),
            "a kind without branches lists some"
        );
    }
    if !declared.has(Capability::Promote) {
        error_of_kind(
            backend.promote(&store, &source, &Expected::Any).await,
            kind,
            "promote",
        )?;
    }
    if !declared.has(Capability::Merge) {
        let merged = backend.merge(&store, &source, "m", &Expected::Any).await;
        error_of_kind(merged, kind, "merge")?;
    }
    if !declared.has(Capability::History) {
        error_of_kind(backend.history(&store, None, 1).await, kind, "history")?;
    }
    if !declared.has(Capability::Diff) {
        let diff = backend.diff(&store, &state, &state, (None, None)).await;
        error_of_kind(diff, kind, "diff")?;
    }
    if !declared.has(Capability::Create) {
        error_of_kind(backend.create(&store, &dataset).await, kind, "create")?;
        error_of_kind(
            backend.delete_store(&store, &dataset).await,
            kind,
            "delete_store",
        )?;
        ensure!(
            backend.owner(&store).await?.is_none(),
            "a kind without CREATE has an owner"
        );
    }
    Ok(())
}

/// Calls everything that does not say that it writes.
async fn read_everything(cx: &Cx<'_>, store: &Store) -> Verdict {
    let backend = &cx.backend;
    let state = cx.now(store, None).await?;
    let base = backend.base_ref(store).await?;
    if let Some(base) = &base {
        cx.now(store, Some(base)).await?;
        backend.head(store, base).await?;
        backend.working_ref_blockers(store, base).await?;
    }
    backend.listing(store, &state).await?;
    backend.check_quiescence(store, None).await?;
    backend.list_pins(store).await?;
    backend.list_working_refs(store).await?;
    for deep in [false, true] {
        backend.verify(store, &state, None, deep).await?;
    }
    backend.ancestor_of(store, &state, &state).await?;
    if cx.has(Capability::History) {
        backend.history(store, None, 10).await?;
    }
    if cx.has(Capability::Diff) {
        backend.diff(store, &state, &state, (None, None)).await?;
    }
    if cx.has(Capability::Addressable) {
        backend.open(store, &Target::State(state), false).await?;
    }
    backend.open(store, &Target::Base, false).await?;
    // A kind that is only ever read refuses this one.
    let _ = backend.open(store, &Target::Base, true).await;
    backend.owner(store).await?;
    backend.is_ref_empty(store, &[]).await?;
    Ok(())
}

async fn reading_writes_nothing(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let (refs, state) = (cx.refs(&store).await?, cx.now(&store, None).await?);
    read_everything(cx, &store).await?;
    let (now, after) = (cx.refs(&store).await?, cx.now(&store, None).await?);
    ensure!(refs == now, "reading moved refs from {refs:?} to {now:?}");
    ensure!(
        cx.same(&state, &after),
        "reading changed the state from {state:?} to {after:?}"
    );
    ensure!(
        cx.backend.list_pins(&store).await?.is_empty(),
        "reading made pins"
    );
    ensure!(
        cx.backend.list_working_refs(&store).await?.is_empty(),
        "reading made branches"
    );
    ensure!(
        cx.backend.owner(&store).await?.is_none(),
        "reading made an owner marker"
    );
    Ok(())
}

async fn verify_without_a_pin_is_unknown_unless_deep(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let state = cx.now(&store, None).await?;
    let shallow = cx.backend.verify(&store, &state, None, false).await?;
    // An observed object has nothing to open: comparing it with what is there now is all there is, and may be cheap enough to do at once.
    let observed = !cx.has(Capability::Addressable);
    ensure!(
        shallow.status == Status::Unknown || (observed && shallow.status == Status::Ok),
        "a shallow verify without a pin is {shallow:?}"
    );
    let deep = cx.backend.verify(&store, &state, None, true).await?;
    ensure!(
        deep.status == Status::Ok,
        "a deep verify of the current state is {deep:?}"
    );
    cx.harness.mutate(&store, None).await?;
    let old = cx.backend.verify(&store, &state, None, true).await?;
    let addressable =
        cx.has(Capability::Addressable) && cx.backend.state_addressable(&store.locator, &state);
    ensure!(
        (old.status == Status::Ok) == addressable,
        "a deep verify of a state that was overwritten is {old:?}, though reading it back is {}",
        if addressable {
            "possible"
        } else {
            "impossible"
        }
    );
    Ok(())
}

async fn verify_many_answers_as_verify_does_in_order(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let mut states = vec![(cx.now(&store, None).await?, None)];
    states.push((cx.mutate(&store, None).await?, None));
    if cx.has(Capability::Pin) {
        let state = cx.mutate(&store, None).await?;
        let pin = cx.pinned(&store, &state).await?;
        states.push((state.clone(), Some(pin.clone())));
        // This pin is at another state than the one asked about.
        states.push((states[0].0.clone(), Some(pin)));
    }
    for deep in [false, true] {
        let reports = cx.backend.verify_many(&store, &states, deep).await;
        ensure!(
            reports.len() == states.len(),
            "{} reports for {} states",
            reports.len(),
            states.len()
        );
        for (report, (state, pin)) in reports.into_iter().zip(&states) {
            let alone = cx.backend.verify(&store, state, pin.as_ref(), deep).await?;
            let report = report?;
            ensure!(
                report.status == alone.status,
                "verify_many says {report:?} and verify {alone:?} of {state:?} (deep: {deep})"
            );
        }
    }
    let none = cx.backend.verify_many(&store, &[], true).await;
    ensure!(none.is_empty(), "verify_many of nothing answers {none:?}");
    Ok(())
}

async fn the_base_opens_for_reading(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let read = cx.backend.open(&store, &Target::Base, false).await?;
    ensure!(
        read.read_only,
        "an address to read from is writable: {read:?}"
    );
    ensure!(
        !read.address.is_empty() && !read.handle.is_empty(),
        "an address is empty: {read:?}"
    );
    let again = cx.backend.open(&store, &Target::Base, false).await?;
    ensure!(
        read == again,
        "two calls of open differ: {read:?} and {again:?}"
    );
    Ok(())
}

async fn an_idle_store_is_quiet(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    cx.backend.check_quiescence(&store, None).await?;
    Ok(())
}

async fn a_busy_store_is_not_quiet(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let Some(writer) = cx.harness.busy(&store).await? else {
        return Err(skipped("the harness cannot keep a writer at work"));
    };
    error(
        cx.backend.check_quiescence(&store, None).await,
        "check_quiescence beside a writer",
    )?;
    drop(writer);
    cx.backend.check_quiescence(&store, None).await?;
    Ok(())
}

async fn concurrent_reads_agree(cx: &Cx<'_>) -> Verdict {
    let store = cx.store().await?;
    let states = race(|_| {
        let (backend, store) = (cx.backend.clone(), store.clone());
        async move { backend.fingerprint(&store, None).await }
    })
    .await?;
    for state in &states {
        ensure!(
            cx.same(state, &states[0]),
            "reads at the same moment differ: {states:?}"
        );
    }
    Ok(())
}

/// A value of an option that must not show up anywhere.
const SECRET: &str = "s3cr3t-canary";

async fn errors_name_no_object_and_no_secret(cx: &Cx<'_>) -> Verdict {
    let mut store = cx.store().await?;
    for name in ["password", "token", "secret_access_key"] {
        let Options(options) = &mut store.options;
        options.insert(name.to_owned(), Value::String(SECRET.to_owned()));
    }
    for error in errors(cx, &store).await? {
        let text = format!("{} {}", error.one_line(), error.hint().unwrap_or_default());
        ensure!(!text.contains(SECRET), "an error shows an option's value");
        ensure!(error.key().is_none(), "an error names an object: {text}");
        ensure!(!error.message().is_empty(), "an error has no message");
        ensure!(
            !error.message().ends_with('.'),
            "a message ends in a full stop: {text}"
        );
    }
    let address = cx.backend.open(&store, &Target::Base, false).await?;
    ensure!(
        !address.address.contains(SECRET),
        "an address shows an option's value"
    );
    ensure!(
        !format!("{store:?}").contains(SECRET),
        "a store's Debug shows an option's value"
    );
    Ok(())
}

/// Every error that is easy to come by.
async fn errors(cx: &Cx<'_>, store: &Store) -> Verdict<Vec<Error>> {
    let backend = &cx.backend;
    let dataset = DatasetId::random()?;
    let mut errors = Vec::new();
    let mut note = |answer: Result<()>| errors.extend(answer.err());
    let missing = cx.name(&dataset)?;
    note(cx.now(store, Some(&missing)).await.map(drop));
    note(
        backend
            .open(store, &Target::Ref(missing.clone()), true)
            .await
            .map(drop),
    );
    let state = cx.now(store, None).await?;
    note(backend.create(store, &dataset).await.map(drop));
    note(backend.delete_store(store, &dataset).await);
    if let Some(lost) = cx.harness.unreachable(store, &state) {
        note(
            backend
                .open(store, &Target::State(lost.clone()), false)
                .await
                .map(drop),
        );
        let id = cx.pin_id(&dataset, store, &lost)?;
        note(backend.pin(store, &lost, &id).await.map(drop));
        let source = Source::State(lost);
        note(
            backend
                .fork(store, &source, &missing, &Expected::Any)
                .await
                .map(drop),
        );
        note(
            backend
                .promote(store, &source, &Expected::Any)
                .await
                .map(drop),
        );
    }
    if let Some(base) = backend.base_ref(store).await? {
        note(
            backend
                .delete_working_ref(store, &base, &Expected::Any)
                .await
                .map(drop),
        );
    }
    Ok(errors)
}
