use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;

/// As the Python package wrote it, with our two keys in their place.
const FULL: &str = "\
workspace_id = \"88a18e508bdd455ab84efbd7778a8195\"
bookmark = \"feat/x\"
last_snapshot_at = \"2026-12-01T05:13:48.932665+00:00\"
operation = \"0123456789ab\"
view = \"00112233445566778899aabbccddeeff\"

[working_refs]
\"co de\" = \"tether.ws.aa62c7c4.feat-x-cdd300\"

[pending_forks]
a = \"tether.ws.aa62c7c4.feat-x-cdd300\"
\"q/q\" = \"tether.ws.aa62c7c4.feat-x-cdd300\"

[pending_resets.\"q/q\"]
version = 9

[fork_points.y]
version = 1

[base_states.\"co de\"]
sha = \"78377c54966061716f873bb13169bc2385882038\"
dirty = false

[base_states.empty]

[base_states.nested]
l = [1, \"x\"]

[base_states.nested.a]
b = 1

[last_snapshot.\"a/b\"]
type = \"dir\"

[last_snapshot_errors.z]
ref = \"\"
error = \"[file] path does not exist: \\\"/nope\\\"\"
";

fn ours() -> Workspace {
    Workspace::parse(FULL.as_bytes()).unwrap()
}

#[test]
fn the_file_reads_back_byte_for_byte() {
    let workspace = ours();
    assert_eq!(workspace.to_toml(), FULL);
    assert_eq!(workspace.view.bookmark.as_ref().unwrap().as_str(), "feat/x");
    assert_eq!(
        workspace.view.working_refs["co de"].as_str(),
        "tether.ws.aa62c7c4.feat-x-cdd300"
    );
    assert_eq!(workspace.view.pending_resets["q/q"].0["version"], 9);
    assert!(workspace.view.base_states["empty"].is_empty());
    let error = &workspace.last_snapshot_errors["z"];
    assert_eq!(
        (error.native.as_str(), error.error.as_str()),
        ("", "[file] path does not exist: \"/nope\"")
    );
    let (operation, view) = workspace.materialised.as_ref().unwrap();
    assert_eq!(operation.as_str(), "0123456789ab");
    assert_eq!(view.as_str(), "00112233445566778899aabbccddeeff");
}

#[test]
fn a_fresh_checkout_holds_its_id_only() {
    let id: WorkspaceId = "88a18e508bdd455ab84efbd7778a8195".parse().unwrap();
    let workspace = Workspace::new(id.clone());
    assert_eq!(workspace.to_toml(), format!("workspace_id = \"{id}\"\n"));
    assert_eq!(
        Workspace::parse(workspace.to_toml().as_bytes()).unwrap(),
        workspace
    );
}

/// The Python package drops our keys; half of them, or others, are none.
#[test]
fn a_file_without_both_of_our_keys_is_of_another_hand() {
    let view = "view = \"00112233445566778899aabbccddeeff\"\n";
    for (from, to) in [(view, ""), (view, "view = \"x\"\n"), (view, "view = 1\n")] {
        let other = Workspace::parse(FULL.replace(from, to).as_bytes()).unwrap();
        assert_eq!(other.materialised, None);
        assert_eq!(other.view, ours().view);
    }
}

#[test]
fn unknown_keys_are_kept() {
    let text =
        FULL.replace("\n[working_refs]", "later = 1\n\n[working_refs]") + "\n[more]\nx = 1\n";
    assert_eq!(Workspace::parse(text.as_bytes()).unwrap().to_toml(), text);
}

/// Surprise 3, E53.
#[test]
fn broken_files_are_config_errors_that_quote_nothing() {
    let refused = |text: String| {
        let error = Workspace::parse(text.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(
            error
                .message()
                .starts_with("cannot read .tether/workspace.toml: "),
            "{error}"
        );
        assert!(error.hint().is_some());
        error.message().to_owned()
    };
    assert!(refused(format!("{FULL}s3cr3t = [\n")).contains("not TOML"));
    assert!(!refused(format!("{FULL}s3cr3t\n")).contains("s3cr3t"));
    assert!(refused(String::new()).ends_with("it has no `workspace_id`"));
    assert!(refused(FULL.replace("co de", "../x")).contains("does not name an object"));
    assert!(refused(FULL.replace("version = 1", "version = 2020-01-01")).contains("is a date"));
    let option = FULL.replace("\"tether.ws.aa62c7c4.feat-x-cdd300\"", "\"-f\"");
    assert!(refused(option).ends_with("`working_refs.co de` must be a name of a ref"));
}

#[test]
fn the_canonical_view_holds_content_only_and_reads_back() {
    let mut workspace = ours();
    let canonical = workspace.view.canonical();
    assert!(canonical.starts_with("{\"base_states\":{\"co de\":{\"dirty\":false,\"sha\":"));
    assert_eq!(View::from_canonical(&canonical).unwrap(), workspace.view);

    workspace.last_snapshot.clear();
    workspace.last_snapshot_at = None;
    workspace.materialised = None;
    assert_eq!(workspace.view.canonical(), canonical);

    // What the file cannot hold must not tell two equal views apart.
    let state = workspace.view.base_states.get_mut("nested").unwrap();
    state
        .0
        .insert("nothing".to_owned(), crate::json::Value::Null);
    assert_eq!(workspace.view.canonical(), canonical);

    let empty = "{\"base_states\":{},\"bookmark\":null,\"fork_points\":{},\"pending_forks\":{},\"pending_resets\":{},\"working_refs\":{}}";
    assert_eq!(View::default().canonical(), empty);
    assert_eq!(View::from_canonical(empty).unwrap(), View::default());
}

#[test]
fn a_view_of_a_newer_tether_is_refused_and_not_cut() {
    let newer = View::default()
        .canonical()
        .replace("{\"base_states\"", "{\"also\":1,\"base_states\"");
    assert_eq!(
        View::from_canonical(&newer).unwrap_err().kind(),
        ErrorKind::Config
    );
    assert!(View::from_canonical("{}").is_err());
    assert!(View::from_canonical("").is_err());
}

fn any_key() -> impl Strategy<Value = ObjectKey> {
    "[a-z é\"'-]{1,6}(/[a-z]{1,2})?".prop_map(|text| text.parse().unwrap())
}

fn any_state() -> impl Strategy<Value = State> {
    let value = prop_oneof![
        any::<i64>().prop_map(crate::json::Value::from),
        any::<bool>().prop_map(crate::json::Value::from),
        any::<String>().prop_map(crate::json::Value::from),
        Just(crate::json::Value::Null),
        any::<f64>()
            .prop_filter("finite", |f| f.is_finite())
            .prop_map(crate::json::Value::from),
    ];
    prop::collection::vec(("[a-z]{1,3}", value), 0..4)
        .prop_map(|entries| State(entries.into_iter().collect()))
}

fn any_states() -> impl Strategy<Value = BTreeMap<ObjectKey, State>> {
    prop::collection::btree_map(any_key(), any_state(), 0..4)
}

fn any_refs() -> impl Strategy<Value = BTreeMap<ObjectKey, NativeRef>> {
    let native = "[a-z.\"]{1,8}".prop_map(|text| text.parse().unwrap());
    prop::collection::btree_map(any_key(), native, 0..4)
}

proptest! {
    #[test]
    fn a_view_survives_its_file_and_its_canonical_form(
        bookmark in prop::option::of("[a-z/\"]{1,8}"),
        working_refs in any_refs(),
        pending_forks in any_refs(),
        pending_resets in any_states(),
        fork_points in any_states(),
        base_states in any_states(),
    ) {
        let bookmark = bookmark.map(|text| text.parse().unwrap());
        let view = View { bookmark, working_refs, pending_forks, pending_resets, fork_points, base_states };
        let mut workspace = Workspace::new("88a18e508bdd455ab84efbd7778a8195".parse().unwrap());
        workspace.view = view;
        let text = workspace.to_toml();
        let read = Workspace::parse(text.as_bytes()).unwrap();
        prop_assert_eq!(read.to_toml(), text);
        let canonical = workspace.view.canonical();
        prop_assert_eq!(read.view.canonical(), canonical.clone());
        prop_assert_eq!(View::from_canonical(&canonical).unwrap(), read.view);
    }
}
