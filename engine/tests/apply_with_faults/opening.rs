//! Datasets that a clone tampered with, and files behind the head.

use super::*;

fn open(fixture: &Fixture) -> tether_engine::Result<Dataset> {
    Dataset::open(Parts {
        root: fixture.root(),
        vcs: Arc::clone(&fixture.vcs) as _,
        oplog: Arc::new(FileHeads::new(fixture.dir.path(), "main")),
        registry: Registry::new(),
    })
}

/// The guide's security model, 'Write outside `.tether/`': a clone can bring links, and none is followed.
#[test]
fn links_in_the_place_of_tethers_own_directories_are_refused() {
    for place in [".tether", ".tether/objects", ".tether/listings"] {
        let fixture = Fixture::new();
        let elsewhere = fixture.dir.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        let path = fixture.path(place);
        if path.exists() {
            std::fs::remove_dir_all(&path).unwrap();
        }
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        let error = open(&fixture).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{place}");
        assert!(
            error.message().ends_with(&format!(
                "/ds/{place} is a symbolic link, which tether does not follow there"
            )),
            "{error}"
        );
    }
    let fixture = Fixture::new();
    for name in ["group", "key.toml"] {
        let path = fixture.path(".tether/objects").join(name);
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        let error = fixture.dataset().manifests().unwrap_err();
        assert!(error.message().contains("is a symbolic link"), "{error}");
        std::fs::remove_file(&path).unwrap();
    }
}

/// P022: files whose place is no key are named; files that are no manifests do not count.
#[test]
fn a_manifest_at_a_place_that_is_no_key_is_named() {
    let fixture = Fixture::new();
    for name in [".toml", "C:.toml", "a\\b.toml"] {
        let path = fixture.path(".tether/objects").join(name);
        std::fs::write(&path, "key = \"x\"").unwrap();
        let error = fixture.dataset().manifests().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{name}");
        assert!(
            error
                .message()
                .ends_with("stands at a place that is no object's"),
            "{error}"
        );
        std::fs::remove_file(&path).unwrap();
    }
    for name in ["README", ".tether-tmp-1", "x.toml.orig"] {
        std::fs::write(fixture.path(".tether/objects").join(name), "").unwrap();
    }
    assert!(fixture.dataset().manifests().unwrap().is_empty());
}

/// P023: a tracked per-checkout file is refused when the dataset is opened, before secrets are read.
#[test]
fn a_tracked_per_checkout_file_is_refused_before_secrets_are_read() {
    for name in ["secrets.toml", "workspace.toml", "ops.jsonl"] {
        let fixture = Fixture::new();
        let path = format!(".tether/{name}");
        std::fs::write(fixture.path(".tether/secrets.toml"), "not = [toml").unwrap();
        fixture.vcs.track(&path);
        let Err(error) = open(&fixture) else {
            panic!("{name} was accepted");
        };
        assert_eq!(error.kind(), ErrorKind::Config);
        assert_eq!(
            error.hint().unwrap(),
            format!("`git rm --cached -- {path}`, and commit that")
        );
    }
}

/// An edit of the policy is committed although nothing else changed: surprise 21.
#[tokio::test]
async fn an_edited_policy_is_committed() {
    let fixture = Fixture::new();
    fixture.add_shelf("raw");
    fixture.commit("first").await.unwrap();
    let mut manifest = fixture.manifest("raw");
    manifest.policy.file = FileMode::Versioned;
    fixture.write_manifest(&manifest);
    let dry = planned(&fixture, &options("policy")).await;
    assert!(!dry.is_empty());
    let report = fixture.commit("policy").await.unwrap();
    assert_eq!(report.vcs_commit, fixture.vcs.head());
    assert_eq!(report.unchanged, [key("raw")]);
    assert_eq!(fixture.vcs.changed_paths(), [".tether/objects/raw.toml"]);
    let value: Value = serde_json::to_value(&report).unwrap();
    assert_eq!(
        value,
        json!({
            "vcs_commit": fixture.vcs.head(), "pinned": {}, "unrecoverable": [], "unchanged": ["raw"],
        })
    );
}

/// A `workspace.toml` written before the head moved (a kill between the two) is followed, not taken for an edit.
#[tokio::test]
async fn a_workspace_file_behind_the_head_is_followed() {
    let fixture = Fixture::new();
    fixture.add_memory("a");
    fixture.commit("first").await.unwrap();
    let old = fixture.read(".tether/workspace.toml").unwrap();
    let dataset = fixture.dataset();
    let mut workspace = fixture.workspace();
    workspace
        .view
        .base_states
        .insert(key("a"), fixture.manifest("a").state.unwrap());
    let head = apply::publish::publish(
        &dataset,
        &mut workspace,
        apply::publish::Record::new("new").unwrap(),
    )
    .unwrap();
    std::fs::write(fixture.path(".tether/workspace.toml"), old).unwrap();
    let followed = fixture.workspace();
    assert_eq!(followed.view, workspace.view);
    assert_eq!(followed.materialised, Some((head.operation, head.view)));
}
