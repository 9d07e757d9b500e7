//! E25, E26: names that mean something else in jj's languages are names.

use serde_json::Value;

use crate::common::TestEnvironment;

use super::story::{Place, Story};

/// A name as jj's command line takes it.
fn quoted(name: &str) -> String {
    format!("{name:?}")
}

/// Two dataset commits on `main`; the first one's code commit and the second one's.
fn two_commits(env: &TestEnvironment, place: Place) -> (Story<'_>, [String; 2]) {
    let story = Story::committed(env, place);
    let code = env.work_dir("code");
    let first = code.git(["rev-parse", "HEAD"]);
    story.advance("print(2)\n");
    story.does(&["commit", "-m", "second"]);
    (story, [first, code.git(["rev-parse", "HEAD"])])
}

/// The code commit that a revision of the dataset recorded.
fn opened(story: &Story<'_>, rev: &str) -> String {
    let rev = format!("--rev={rev}");
    let opened = story.run(&["open", "code", "--json", &rev]).success();
    let address = opened.json()["address"].as_str().unwrap().to_owned();
    address.rsplit('@').next().unwrap().to_owned()
}

#[test]
fn bookmarks_named_like_ids_and_operators_shadow_nothing() {
    for place in [Place::Colocated, Place::Internal] {
        let env = TestEnvironment::new();
        let (story, [first, second]) = two_commits(&env, place);
        let change = story.dir.jj_log("main", "change_id").remove(0);
        let commit = story.dir.jj_log("main", "commit_id").remove(0);
        let reads = [
            &["status", "--json"][..],
            &["verify", "--all-history", "--json"],
            &["diff", "--json"],
            &["log", "code", "--json"],
            &["ops", "--json"],
        ];
        let answers = || reads.map(|args| (story.run(args).code, story.run(args).stdout));
        let before = answers();
        let names = [
            &change[..8],
            &change[..1],
            &commit[..8],
            &commit,
            "=-x",
            "-x",
            "a b",
            "..",
            "a..b",
            "x-",
            "root()",
            "all()",
            "@-",
            "日本",
            "first",
            "HEAD",
            "none",
        ];
        for name in names {
            let name = quoted(name);
            let made = story
                .dir
                .stock_jj(["bookmark", "create", "-r", "main-", "--", &name]);
            assert_eq!(made.code, 0, "{name}: {made}");
        }
        let bookmarks = story.dir.jj_log("main-", "local_bookmarks.len()");
        assert_eq!(bookmarks, [names.len().to_string()]);
        assert_eq!(answers(), before, "{place:?}");
        // A revision that is a bookmark's name is that bookmark.
        assert_eq!(opened(&story, "main"), second);
        for name in names {
            assert_eq!(opened(&story, name), first, "{name}");
        }
        // Anything else still is what jj says it is.
        assert_eq!(opened(&story, "main-"), first);
        assert_eq!(opened(&story, &change[..9]), second);
        assert_eq!(opened(&story, &commit[..9]), second);
        assert_eq!(opened(&story, "bookmarks(exact:'a b')"), first);
        story.advance("print(3)\n");
        story.does(&["commit", "-m", "third"]);
        assert_eq!(
            story.dir.jj_log("main", "description.first_line()"),
            ["third"]
        );
        for name in ["=-x", "..", "@-"] {
            let at = story.dir.jj_log(
                &format!("bookmarks(exact:{name:?})"),
                "description.first_line()",
            );
            assert_eq!(at, ["first"], "{name}");
        }
    }
}

/// Surprise 57: working on such a bookmark.
#[test]
fn a_bookmark_of_any_name_is_committed_on() {
    for name in ["=-x", "a b", "..", "@", "日本", "a.lock", "\"", "x'y"] {
        let env = TestEnvironment::new();
        let story = Story::committed(&env, Place::Internal);
        story.stock(&["bookmark", "create", "-r", "main", "--", &quoted(name)]);
        let file = story.dir.read(".tether/workspace.toml");
        let quoted = toml_string(name);
        let file = file.replace("bookmark = \"main\"", &format!("bookmark = {quoted}"));
        story.dir.write(".tether/workspace.toml", file);
        let status = story.status();
        assert_eq!(status["bookmark"], name);
        assert_eq!(status["bookmark_drift"], serde_json::json!([]), "{name}");
        story.does(&["set", "raw", "--file", "immutable"]);
        story.does(&["commit", "-m", "theirs"]);
        let at = |revset: &str| story.dir.jj_log(revset, "description.first_line()");
        assert_eq!(
            at(&format!("bookmarks(exact:{name:?})")),
            ["theirs"],
            "{name}"
        );
        assert_eq!(at("bookmarks(exact:'main')"), ["first"], "{name}");
        story.clean();
    }
}

fn toml_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[test]
fn revisions_are_jjs_and_what_is_none_is_refused() {
    let env = TestEnvironment::new();
    let (story, [first, second]) = two_commits(&env, Place::Colocated);
    env.jj_config(
        "[revset-aliases]\n\"mine\" = \"description(substring:'first')\"\n\"before(x)\" = \"x-\"\n",
    );
    for (rev, commit) in [
        ("@-", &second),
        ("main", &second),
        ("main-", &first),
        ("@--", &first),
        ("mine", &first),
        ("before(main)", &first),
        ("latest(::main)", &second),
        ("bookmarks(exact:\"main\")", &second),
    ] {
        assert_eq!(&opened(&story, rev), commit, "{rev}");
    }
    for rev in [
        "nosuch",
        "",
        " ",
        "::main",
        "none()",
        "main |",
        "(",
        "main@nowhere",
        "-x",
    ] {
        let before = story.heads();
        let refused = story.run(&["open", "code", &format!("--rev={rev}")]);
        let refused = refused.exits(1);
        assert!(refused.stderr.starts_with("Error: "), "{rev:?}: {refused}");
        assert!(!refused.stderr.contains("internal"), "{rev:?}: {refused}");
        assert!(refused.stdout.is_empty(), "{rev:?}: {refused}");
        assert_eq!(story.heads(), before);
    }
    // Several commits are told with their ids.
    let refused = story.run(&["diff", "::main", "main"]).exits(1);
    assert!(refused.stderr.contains("::main"), "{refused}");
}

/// E26: a key is a path, never a pattern or an expression.
#[test]
fn awkward_keys_are_committed_exactly() {
    let env = TestEnvironment::new();
    let story = Story::committed(&env, Place::Colocated);
    let awkward = "raw/(app)/[ab] $id,v~1:2*?";
    let keys = [
        awkward,
        "raw/(app)/a",
        "root:x",
        "glob:*",
        "all()",
        "~x",
        "-x",
        "--help",
        "日本/x y",
        "a|b&c",
    ];
    for key in keys {
        story.does(&["add", "--kind", "file", "--", key, "../raw"]);
    }
    for key in keys {
        let one = story.run(&["commit", "-m", "one", "--json", "--", key]);
        assert_eq!(one.code, 0, "{key}: {one}");
        let changed = story.changed_in("@-");
        let objects: Vec<&String> = changed
            .iter()
            .filter(|path| path.contains("objects/"))
            .collect();
        assert_eq!(objects, [&format!(".tether/objects/{key}.toml")], "{key}");
        let status = story.run(&["status", "--json", "--", key]).success().json();
        assert_eq!(status["objects"].as_array().unwrap().len(), 1, "{key}");
        assert_eq!(status["objects"][0]["state"], "clean", "{key}: {status}");
    }
    story.clean();
    let diff = story
        .run(&["diff", "--json", "main-", "main"])
        .success()
        .json();
    let rows = diff.as_array().unwrap().iter();
    let changed = rows.filter(|row| row["change"] != "unchanged");
    let changed: Vec<&Value> = changed.map(|row| &row["key"]).collect();
    assert_eq!(changed, [keys[keys.len() - 1]], "{diff}");
    story.does(&["remove", "--", awkward]);
    assert_eq!(
        story.dir.jj_operations()[0],
        format!("tether remove: {awkward}")
    );
    story.stock(&["undo"]);
    story.clean();
    for key in [
        "",
        "..",
        "a/../b",
        "a\\b",
        "C:/x",
        "a//b",
        "/a",
        "a/",
        "\n",
        "\u{1b}]0;x\u{7}",
    ] {
        let before = story.heads();
        let refused = story.run(&["add", "--kind", "file", "--", key, "../raw"]);
        assert_eq!(refused.code, 1, "{key:?}: {refused}");
        assert_eq!(story.heads(), before, "{key:?}");
    }
}
