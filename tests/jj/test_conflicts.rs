//! Conflicts that jj keeps instead of stopping at: bookmarks with several targets (E24), manifests with several contents (surprise 59).

use crate::common::TestEnvironment;

use super::story::{Place, Story};

/// Two commits on `main`, and `main` moved by two operations at once.
fn conflicted_bookmark(env: &TestEnvironment) -> Story<'_> {
    let story = Story::committed(env, Place::Colocated);
    story.advance("print(2)\n");
    story.does(&["commit", "-m", "second"]);
    let before = story.dir.jj_operation();
    story.stock(&["commit", "-m", "mine"]);
    story.stock(&["bookmark", "set", "main", "-r", "@-"]);
    story.stock(&[
        "bookmark",
        "set",
        "main",
        "-r",
        "main-",
        "--allow-backwards",
        "--at-op",
        &before,
    ]);
    story.stock(&["status"]);
    story
}

#[test]
fn a_conflicted_bookmark_is_called_so_and_not_committed_on() {
    let env = TestEnvironment::new();
    let story = conflicted_bookmark(&env);
    story.advance("print(3)\n");
    let before = (story.dir.files(), story.heads());
    let pins = env.work_dir("code").git(["for-each-ref"]);
    let status = story.run(&["status", "--json"]).success().json();
    let drift = status["bookmark_drift"].to_string();
    assert!(
        drift.contains("'main'") && drift.contains("conflict"),
        "{status}"
    );
    assert!(drift.contains("jj bookmark set main -r"), "{status}");
    let text = story.run(&["status"]).success().to_string();
    assert!(text.contains("conflict"), "{text}");
    let refused = story.run(&["commit", "-m", "third"]).exits(1);
    assert!(
        refused.stderr.contains("jj bookmark set main -r"),
        "{refused}"
    );
    let refused = story.run(&["commit", "-m", "third", "--dry-run"]);
    assert!(
        refused.to_string().contains("jj bookmark set main -r"),
        "{refused}"
    );
    // A revision that names it does not pick one silently.
    let refused = story.run(&["diff", "main", "--json"]).exits(1);
    assert!(refused.stderr.contains("conflict"), "{refused}");
    // History counts every side.
    story.does(&["verify", "--all-history"]);
    assert_eq!(env.work_dir("code").git(["for-each-ref"]), pins);
    assert_eq!((story.dir.files(), story.heads()), before);
    // As told.
    story.stock(&["bookmark", "set", "main", "-r", "@-", "--allow-backwards"]);
    story.does(&["commit", "-m", "third"]);
    story.clean();
}

/// E24 (a): deleted on the remote, moved here: a conflict with one target.
#[test]
fn a_bookmark_with_one_target_left_is_conflicted_and_not_gone() {
    let env = TestEnvironment::new();
    let remote = env.work_dir("remote.git");
    remote.git(["init", "-q", "--bare"]);
    let story = Story::committed(&env, Place::Colocated);
    story.stock(&["git", "remote", "add", "origin", "../remote.git"]);
    story.stock(&["bookmark", "track", "main", "--remote", "origin"]);
    story.stock(&["git", "push", "--bookmark", "main"]);
    remote.git(["update-ref", "-d", "refs/heads/main"]);
    story.advance("print(2)\n");
    story.does(&["commit", "-m", "second"]);
    story.stock(&["git", "fetch"]);
    let list = story.dir.jj_text(["bookmark", "list", "main"]);
    assert!(list.contains("conflicted"), "{list}");
    let status = story.run(&["status", "--json"]).success().json();
    let drift = status["bookmark_drift"].to_string();
    assert!(drift.contains("conflict"), "{status}");
    assert!(
        !drift.contains("gone") && !drift.contains("no longer"),
        "{status}"
    );
    story.advance("print(3)\n");
    let refused = story.run(&["commit", "-m", "third"]).exits(1);
    assert!(
        refused.stderr.contains("jj bookmark set main -r"),
        "{refused}"
    );
}

/// Two commits that change one manifest each in its own way, merged by the working copy.
fn conflicted_manifest(env: &TestEnvironment) -> Story<'_> {
    let story = Story::committed(env, Place::Colocated);
    story.advance("print(2)\n");
    story.does(&["commit", "-m", "left"]);
    let left = story.dir.jj_log("@-", "commit_id").remove(0);
    story.stock(&["new", "main-"]);
    story.stock(&["bookmark", "set", "main", "-r", "@-", "--allow-backwards"]);
    story.advance("print(3)\n");
    story.does(&["commit", "-m", "right"]);
    story.stock(&["new", "main", &left]);
    story
}

#[test]
fn a_conflicted_manifest_is_named_with_what_to_do() {
    let env = TestEnvironment::new();
    let story = conflicted_manifest(&env);
    let before = (story.dir.files(), story.heads());
    let pins = env.work_dir("code").git(["for-each-ref"]);
    for args in [
        &["status"][..],
        &["status", "--json"],
        &["status", "--snapshot"],
        &["verify"],
        &["verify", "--json"],
        &["commit", "-m", "merged"],
        &["commit", "-m", "merged", "--dry-run"],
        &["set", "code", "--pin", "record"],
        &["open", "code"],
    ] {
        let output = story.run(args);
        assert_eq!(output.code, 1, "{args:?}: {output}");
        let text = output.to_string();
        assert!(
            text.contains(".tether/objects/code.toml"),
            "{args:?}: {text}"
        );
        assert!(text.contains("conflict"), "{args:?}: {text}");
        assert!(!text.contains("panicked"), "{args:?}: {text}");
    }
    // As there are two parents, there is nothing to compare with either.
    let refused = story.run(&["diff"]).exits(1);
    assert!(refused.stderr.contains("merge"), "{refused}");
    // The other object is not lost from sight.
    let status = story.run(&["status"]).to_string();
    assert!(status.contains("raw"), "{status}");
    assert_eq!(env.work_dir("code").git(["for-each-ref"]), pins);
    assert_eq!((story.dir.files(), story.heads()), before);
    // Pins of every side count and are there.
    let history = story.run(&["verify", "--all-history", "--json"]);
    let reports = history.success().json();
    assert!(reports.as_object().unwrap().len() >= 3, "{reports}");
    // Resolved, everything works again.
    let parent = story.dir.jj_log("main", "commit_id").remove(0);
    story.stock(&["restore", "--from", &parent, ".tether/objects/code.toml"]);
    story.does(&["status"]);
    story.does(&["verify"]);
    story.settled();
}

/// Each state that a term of a conflict records is looked at: whichever of them is lost, the conflicted commit has lost it.
#[test]
fn every_side_and_the_base_of_a_conflict_are_verified() {
    let env = TestEnvironment::new();
    let story = conflicted_manifest(&env);
    let code = env.work_dir("code");
    let conflicted = story.dir.jj_log("@", "commit_id").remove(0);
    let row = format!("{}:code", &conflicted[..12]);
    let status = || {
        let answer = story.run(&["verify", "--all-history", "--json"]);
        answer.json()[&row]["status"].clone()
    };
    assert_eq!(status(), "ok");
    let pins = code.git([
        "for-each-ref",
        "--format=%(refname) %(objectname)",
        "refs/tags",
    ]);
    assert_eq!(pins.lines().count(), 3, "{pins}");
    for pin in pins.lines() {
        let (name, id) = pin.split_once(' ').unwrap();
        code.git(["update-ref", "-d", name]);
        assert_eq!(status(), "missing", "without {name}");
        code.git(["update-ref", name, id]);
    }
    assert_eq!(status(), "ok");
}

/// P066: a merge as the working copy's parents.
#[test]
fn a_merge_is_no_single_thing_to_compare_with() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    story.stock(&["new", "main"]);
    story.dir.write("mine.txt", "mine\n");
    story.stock(&["commit", "-m", "mine"]);
    let mine = story.dir.jj_log("@-", "commit_id").remove(0);
    story.stock(&["new", "main"]);
    story.dir.write("other.txt", "other\n");
    story.stock(&["commit", "-m", "other"]);
    story.stock(&["new", "@-", &mine]);
    let parents = story.dir.jj_log("@-", "commit_id.short(8)");
    assert_eq!(parents.len(), 2);
    let before = story.heads();
    let refused = story.run(&["diff"]).exits(1);
    for parent in &parents {
        assert!(refused.stderr.contains(parent), "{refused}");
    }
    story.does(&["diff", "main", "main"]);
    story.does(&["status"]);
    assert_eq!(story.heads(), before);
}
