//! Two workspaces on one bookmark: what the other one committed shows.

use super::story::{Place, Story};
use crate::common::{TestEnvironment, WorkDir};

/// `workspace.toml` as the Python package writes it for a checkout on `shared` whose branch of `code` was forked from `sha`.
fn on_shared(dir: &WorkDir<'_>, id: &str, sha: &str) {
    dir.write(
        ".tether/workspace.toml",
        format!(
            "workspace_id = \"{id}\"\nbookmark = \"shared\"\n\n[working_refs]\ncode = \"tether.ws.0a1b2c3d.shared\"\n\n\
             [base_states.code]\nsha = \"{sha}\"\ndirty = false\n\n[fork_points.code]\nsha = \"{sha}\"\ndirty = false\n"
        ),
    );
}

/// Surprise 36: after a peer's commit on a shared bookmark the checkout is stale, and that is what it says.
#[test]
fn a_bookmark_that_a_peer_moved_on_makes_this_checkout_stale() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    let code = env.work_dir("code");
    let sha = code.git(["rev-parse", "HEAD"]);
    code.git(["branch", "tether.ws.0a1b2c3d.shared"]);
    story.stock(&["bookmark", "create", "shared", "-r", "main"]);
    story.stock(&["new", "shared"]);
    let peer = story.dir.jj_workspace("peer");
    peer.stock_jj(["new", "shared"]).success();
    on_shared(&story.dir, &"1".repeat(32), &sha);
    on_shared(&peer, &"2".repeat(32), &sha);
    let status = story.status();
    assert_eq!(status["stale"], false, "{status}");
    assert_eq!(status["bookmark_drift"], serde_json::json!([]), "{status}");

    code.git(["switch", "-q", "tether.ws.0a1b2c3d.shared"]);
    story.advance("print('peer')\n");
    peer.tether(["commit", "-m", "by the peer"]).success();

    let status = story.status();
    assert_eq!(status["stale"], true, "{status}");
    assert_eq!(
        status["stale_keys"],
        serde_json::json!(["code"]),
        "{status}"
    );
    let drift = status["bookmark_drift"].to_string();
    assert!(drift.contains("moved on to"), "{drift}");
    let refused = story.run(&["commit", "-m", "mine"]).exits(1);
    assert!(
        refused.stderr.contains("not on bookmark 'shared'"),
        "{refused}"
    );
    // On the peer's commit it is not stale, and the branch is as that commit says.
    story.stock(&["new", "shared"]);
    let status = story.status();
    assert_eq!(
        status["bookmark_drift"].as_array().unwrap().len(),
        1,
        "{status}"
    );
    // The peer itself never was.
    let status = peer.tether(["status", "--json"]).success().json();
    assert_eq!(status["stale"], false, "{status}");
}
