//! Single rows: messages, plans across jj's snapshots, keys of states that only jj moves.

use serde_json::json;

use crate::common::TestEnvironment;

use super::story::{Place, Story};

/// Surprise 56: a message is a message, and judged before anything is pinned.
#[test]
fn messages_are_the_same_as_under_git() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    story.advance("print(2)\n");
    let pins = || env.work_dir("code").git(["tag"]);
    let before = (story.heads(), pins(), story.dir.files());
    for message in ["", "   ", "\n"] {
        let refused = story.run(&["commit", "-m", message]);
        assert_ne!(refused.code, 0, "{message:?}: {refused}");
        assert!(refused.stderr.contains("message"), "{refused}");
    }
    assert_eq!((story.heads(), pins(), story.dir.files()), before);
    for (number, message) in ["-x", "--help", "undo: restore to operation x"]
        .iter()
        .enumerate()
    {
        story.advance(&format!("print('{number}')\n"));
        story.does(&["commit", &format!("--message={message}")]);
        assert_eq!(
            story.dir.jj_log("main", "description.first_line()"),
            [*message]
        );
    }
    // Not even that last one is in the way of jj's undo.
    story.stock(&["undo"]);
    assert_eq!(
        story.dir.jj_log("main", "description.first_line()"),
        ["--help"]
    );
}

/// P086: a snapshot of the user's files makes no plan stale; another dataset commit does.
#[test]
fn a_plan_outlives_jjs_snapshots() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    story.advance("print(2)\n");
    let plan = env.root().join("plan.json");
    let plan = plan.to_str().unwrap();
    story.does(&["commit", "-m", "planned", "--plan", plan]);
    story.dir.write("mine.txt", "mine\n");
    story.stock(&["status"]);
    story.stock(&["describe", "-m", "my change"]);
    story.does(&["commit", "--from-plan", plan]);
    assert_eq!(
        story.dir.jj_log("main", "description.first_line()"),
        ["planned"]
    );
    assert_eq!(story.changed_in("main"), [".tether/objects/code.toml"]);
    assert_eq!(story.changed_in("@"), ["mine.txt"]);
    let stale = story.run(&["commit", "--from-plan", plan]).exits(1);
    assert!(stale.stderr.contains("plan"), "{stale}");
}

/// P104: the same commit is the same state, whether jj is there to give it a change id or not.
#[test]
fn a_code_repository_that_becomes_jjs_has_not_changed() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    let pin = |text: String| {
        text.lines()
            .find(|line| line.starts_with("id = "))
            .unwrap()
            .to_owned()
    };
    let before = pin(story.dir.read(".tether/objects/code.toml"));
    let code = env.work_dir("code");
    code.stock_jj(["git", "init", "--colocate"]).success();
    code.stock_jj(["new", "main"]).success();
    let status = story
        .run(&["status", "--snapshot", "--json"])
        .success()
        .json();
    assert_eq!(status["objects"][0]["key"], "code");
    assert_eq!(status["objects"][0]["state"], "clean", "{status}");
    let report = story
        .run(&["commit", "-m", "nothing", "--json"])
        .success()
        .json();
    assert_eq!(report["vcs_commit"], json!(null), "{report}");
    assert_eq!(pin(story.dir.read(".tether/objects/code.toml")), before);
    story.does(&["verify", "--all-history", "--deep"]);
    // Registered anew, it gets the very same pin.
    story.does(&["remove", "code"]);
    story.does(&["add", "code", "--kind", "git", "../code"]);
    story.does(&["commit", "-m", "anew"]);
    assert_eq!(pin(story.dir.read(".tether/objects/code.toml")), before);
}

/// A dataset below the repository's root, worked on from a folder below that.
#[test]
fn a_dataset_in_a_folder_of_the_repository() {
    let env = TestEnvironment::new();
    let story = Story::empty(&env, Place::Colocated);
    story.dir.write("mine.txt", "mine\n");
    let sub = story.dir.dir("data/set");
    sub.tether(["init"]).success();
    sub.tether(["add", "code", "--kind", "git", "../../../code"])
        .success();
    let deep = sub.dir("deep");
    deep.tether(["commit", "-m", "first"]).success();
    let paths = story.changed_in("main");
    assert!(
        paths.iter().all(|path| path.starts_with("data/set/")),
        "{paths:?}"
    );
    assert_eq!(story.changed_in("@"), ["mine.txt"]);
    deep.jj(["tether", "verify", "--all-history"]).success();
    story.advance("print(2)\n");
    deep.jj(["tether", "commit", "-m", "second"]).success();
    assert_eq!(
        story.changed_in("main"),
        ["data/set/.tether/objects/code.toml"]
    );
    story.dir.jj(["undo"]).success();
    let status = deep.tether(["status", "--json"]).success().json();
    assert_eq!(status["bookmark_drift"], json!([]));
    story.settled();
}

/// What cannot be meant for a writing command is refused; reading an older operation reads that one.
#[test]
fn other_operations_are_read_and_not_written() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    let first = story.dir.jj_operation();
    story.advance("print(2)\n");
    story.does(&["commit", "-m", "second"]);
    // `jj -R` says which repository, as for every command of jj's.
    let elsewhere = env.work_dir(".");
    elsewhere.jj(["-R", "ds", "tether", "status"]).success();
    let before = (story.heads(), story.dir.files());
    for option in [
        &["--at-operation", &first][..],
        &["--ignore-working-copy"],
        &["--no-integrate-operation"],
    ] {
        let commit = ["tether", "commit", "-m", "third"];
        let refused = story.dir.jj([option, &commit].concat()).exits(1);
        assert!(refused.stderr.contains(option[0]), "{refused}");
        story
            .dir
            .jj([option, &["tether", "status"]].concat())
            .success();
        assert_eq!((story.heads(), story.dir.files()), before, "{option:?}");
    }
}
