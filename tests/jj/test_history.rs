//! What counts as history under jj: every visible head, whatever keeps it visible, and every side of a conflict (E02, P048).

use std::collections::BTreeSet;

use super::story::{Place, Story};
use crate::common::{TestEnvironment, WorkDir};

/// The commit of the code repository that is checked out.
fn code(env: &TestEnvironment) -> String {
    env.work_dir("code").git(["rev-parse", "HEAD"])
}

/// The code commits that the manifests of every visible commit name. `verify` asks each pin.
fn recorded(story: &Story<'_>, dir: &WorkDir<'_>) -> BTreeSet<String> {
    let rows = dir.tether(["verify", "--all-history", "--json"]);
    let rows = rows.success().json();
    let commits = rows.as_object().unwrap().keys();
    let commits: BTreeSet<&str> = commits
        .filter_map(|label| label.strip_suffix(":code"))
        .collect();
    // Each row is of a visible commit; what it records is in its manifest.
    let mut found = BTreeSet::new();
    for commit in commits {
        let manifest = story.dir.stock_jj([
            "file",
            "show",
            "--ignore-working-copy",
            "-r",
            commit,
            "root:.tether/objects/code.toml",
        ]);
        let manifest = manifest.success();
        found.extend(
            manifest
                .stdout
                .lines()
                .filter_map(|line| line.split_once("sha = \"")?.1.split('"').next())
                .map(ToOwned::to_owned),
        );
    }
    found
}

/// Commits what the code repository has now, on a line of its own on top of the first commit; nothing but the working copy is there
/// afterwards. Returns the dataset commit and the code commit.
fn line(env: &TestEnvironment, story: &Story<'_>, text: &str) -> (String, String) {
    let base = story
        .dir
        .jj_log("description(substring:'first')", "commit_id")
        .remove(0);
    story.stock(&["new", &base]);
    story.stock(&["bookmark", "set", "main", "-r", &base, "--allow-backwards"]);
    story.advance(text);
    story.does(&["commit", "-m", text]);
    let commit = story.dir.jj_log("@-", "commit_id").remove(0);
    (commit, code(env))
}

#[test]
fn whatever_keeps_a_commit_visible_keeps_its_pins() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    let first = code(&env);
    let mut expected = BTreeSet::from([first]);

    // Another bookmark; a tag; git's own tag; a remote's bookmark; nothing at all (an anonymous head); another workspace.
    let (bookmark, sha) = line(&env, &story, "print('bookmark')\n");
    story.stock(&["bookmark", "create", "other", "-r", &bookmark]);
    expected.insert(sha);
    let (tag, sha) = line(&env, &story, "print('tag')\n");
    story.stock(&["tag", "set", "v1", "-r", &tag]);
    expected.insert(sha);
    let (git_tag, sha) = line(&env, &story, "print('git tag')\n");
    story.dir.git(["tag", "v2", &git_tag]);
    expected.insert(sha);
    let (_anonymous, sha) = line(&env, &story, "print('anonymous')\n");
    expected.insert(sha);
    let (remote, sha) = line(&env, &story, "print('remote')\n");
    env.work_dir("remote").git(["init", "-q", "--bare"]);
    story.stock(&["git", "remote", "add", "origin", "../remote"]);
    story.stock(&["bookmark", "create", "there", "-r", &remote]);
    story.stock(&["git", "push", "--bookmark", "there"]);
    story.stock(&["bookmark", "forget", "there"]);
    expected.insert(sha);
    let (elsewhere, sha) = line(&env, &story, "print('elsewhere')\n");
    let second = story.dir.jj_workspace("second");
    second.stock_jj(["new", &elsewhere]).success();
    expected.insert(sha);
    let (_last, sha) = line(&env, &story, "print('last')\n");
    expected.insert(sha);

    assert_eq!(expected.len(), 8);
    assert_eq!(recorded(&story, &story.dir), expected);
    // From the other workspace it is the same history.
    assert_eq!(recorded(&story, &second), expected);

    // A commit that was abandoned is no history, and comes back when that is undone.
    let (abandoned, sha) = line(&env, &story, "print('abandoned')\n");
    let main = story.dir.jj_log("main-", "commit_id").remove(0);
    story.stock(&["bookmark", "set", "main", "-r", &main, "--allow-backwards"]);
    story.stock(&["abandon", &abandoned]);
    assert_eq!(recorded(&story, &story.dir), expected);
    story.stock(&["undo"]);
    expected.insert(sha);
    assert_eq!(recorded(&story, &story.dir), expected);
}

/// P048: a rebase that conflicts on a manifest. The pins of each side and of the base count.
#[test]
fn every_side_of_a_conflict_counts() {
    for place in [Place::Colocated, Place::Internal] {
        let env = TestEnvironment::new();
        let story = Story::committed(&env, place);
        let (base, base_sha) = line(&env, &story, "print('base')\n");
        story.advance("print('ours')\n");
        story.does(&["commit", "-m", "ours"]);
        let (ours, ours_sha) = (story.dir.jj_log("@-", "commit_id").remove(0), code(&env));
        let (_theirs, theirs_sha) = line(&env, &story, "print('theirs')\n");
        // `ours` goes on top of `theirs`, and what it was based on is abandoned: only the conflict knows of it.
        story.stock(&["rebase", "-s", &ours, "-d", "main"]);
        story.stock(&["abandon", &base]);
        let conflicted = story.dir.jj_log("conflicts()", "commit_id.short(12)");
        assert_eq!(conflicted.len(), 1, "{conflicted:?}");

        let rows = story.run(&["verify", "--all-history", "--json"]).success();
        let rows = rows.json();
        let row = &rows[format!("{}:code", conflicted[0])];
        assert_eq!(row["status"], "ok", "{rows}");

        // Each of the three is looked at: a pin that is gone shows at the conflict.
        for sha in [&base_sha, &ours_sha, &theirs_sha] {
            let code = env.work_dir("code");
            let pins = code.git(["tag", "--points-at", sha]);
            let pin = pins.lines().next().unwrap().to_owned();
            code.git(["tag", "-d", &pin]);
            let rows = story.run(&["verify", "--all-history", "--json"]).exits(1);
            let row = &rows.json()[format!("{}:code", conflicted[0])];
            assert_ne!(row["status"], "ok", "{place:?}: the pin of {sha} is gone");
            code.git(["tag", &pin, sha]);
        }
        story.does(&["verify", "--all-history"]);
    }
}

/// P086: a plan is not made stale by a snapshot that jj takes in between.
#[test]
fn a_saved_plan_outlives_a_snapshot() {
    let env = TestEnvironment::new();
    let story = Story::added(&env, Place::Colocated);
    story.does(&["commit", "-m", "planned", "--plan", "../plan.json"]);
    story.dir.write("notes.txt", "mine\n");
    story.stock(&["status"]);
    story.dir.write("more.txt", "mine too\n");
    story.does(&["commit", "--from-plan", "../plan.json"]);
    assert_eq!(
        story.dir.jj_log("main", "description.first_line()"),
        ["planned"]
    );
    assert_eq!(
        story.dir.jj_text(["diff", "--summary"]),
        "A more.txt\nA notes.txt"
    );
}
