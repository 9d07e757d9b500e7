//! The guide's loop in jj repositories of every kind, by either program: what it answers, what it leaves in jj, and what it leaves alone.

use crate::common::{DATASET, Names, TestEnvironment};

use super::story::{Place, Program, Story};

const FIRST: [&str; 6] = [
    ".tether/.gitignore",
    ".tether/listings/",
    ".tether/objects/code.toml",
    ".tether/objects/raw.toml",
    "mine.txt",
    "tether.toml",
];

/// Tells the story by `program` and returns every answer.
fn loop_by(program: Program, place: Place) -> Vec<String> {
    let env = TestEnvironment::new();
    let mut story = Story::empty(&env, place);
    story.program = program;
    let mut answers = Vec::new();
    let mut say = |args: &[&str]| {
        let output = story.run(args);
        // Names of its own: how often a test has met an id before says nothing.
        let stdout = Names::new(env.root()).normalise(&output.stdout);
        answers.push(format!("{args:?} {}\n{stdout}", output.code));
        output
    };

    // The first change becomes the first dataset commit: `main` is on it from the start.
    let change = story.dir.jj_log("@", "change_id");
    let made = story.operations_of(|| {
        say(&["init", "--dataset-id", DATASET, "--json"]).success();
    });
    assert_eq!(made, ["tether init"]);
    assert_eq!(story.dir.jj_log("main", "change_id"), change);
    story.settled();

    for (key, kind, uri) in [("raw", "file", "../raw"), ("code", "git", "../code")] {
        let made = story.operations_of(|| {
            say(&["add", key, "--kind", kind, uri]).success();
        });
        assert_eq!(made, [format!("tether add: {key}")]);
        let manifest = format!(".tether/objects/{key}.toml");
        assert!(story.changed_in("@").contains(&manifest));
        story.settled();
    }
    story.dir.write("mine.txt", "mine\n");
    story.stock(&["status"]);
    for args in [
        &["status", "--json"][..],
        &["status", "--snapshot", "--json"],
        &["snapshot", "--json"],
        &["diff", "--json"],
        &["verify", "--json"],
        &["log", "code", "--json"],
        &["ops", "--json"],
        &["backends", "--json"],
        &["commit", "-m", "first", "--dry-run", "--json"],
    ] {
        let made = story.operations_of(|| drop(say(args)));
        assert!(made.is_empty(), "{args:?} made {made:?}");
    }

    // The dataset commit keeps the change; what is not tether's goes on in the next one.
    let made = story.operations_of(|| {
        say(&["commit", "-m", "first", "--json"]).success();
    });
    assert_eq!(made.last().unwrap(), "tether commit: 2 objects", "{made:?}");
    assert!(made.len() <= 2, "{made:?}");
    assert_eq!(story.dir.jj_log("@-", "change_id"), change);
    assert_eq!(story.dir.jj_log("@-", "local_bookmarks"), ["main"]);
    assert_eq!(
        story.dir.jj_log("@-", "description.first_line()"),
        ["first"]
    );
    assert_eq!(story.changed_in("@"), ["mine.txt"]);
    let paths = story.changed_in("@-");
    assert!(
        paths
            .iter()
            .all(|path| FIRST.iter().any(|own| path.starts_with(own)) && path != "mine.txt"),
        "{paths:?}"
    );
    assert!(paths.len() >= 5, "{paths:?}");
    story.settled();
    let made = story.operations_of(|| {
        say(&["commit", "-m", "again", "--json"]).success();
    });
    assert!(made.is_empty(), "{made:?}");
    story.stock(&["commit", "-m", "mine"]);
    story.stock(&["bookmark", "set", "main", "-r", "@-"]);
    story.clean();

    // The world moves on.
    story.advance("print(2)\n");
    say(&["status", "--snapshot", "--json"]).success();
    let made = story.operations_of(|| {
        say(&["commit", "-m", "second", "--json"]).success();
    });
    assert_eq!(made.last().unwrap(), "tether commit: 1 object", "{made:?}");
    assert_eq!(story.changed_in("@-"), [".tether/objects/code.toml"]);
    story.clean();
    for args in [
        &["status", "--json"][..],
        &["verify", "--json"],
        &["verify", "--all-history", "--deep", "--json"],
        &["verify", "--rev", "main-", "--json"],
        &["diff", "main--", "main", "--json"],
        &["diff", "main--", "--content", "--json"],
        &["diff", "--json"],
        &["log", "code", "--json"],
        &["ops", "--json"],
        &["open", "code", "--json"],
        &["open", "code", "--rev", "main-", "--json"],
        &["open", "raw", "--json"],
        &["diff", "nosuch", "--json"],
    ] {
        let made = story.operations_of(|| drop(say(args)));
        assert!(made.is_empty(), "{args:?} made {made:?}");
    }

    let made = story.operations_of(|| {
        say(&["set", "raw", "--file", "versioned", "--json"]).success();
    });
    assert_eq!(made, ["tether set: 1 object"]);
    let made = story.operations_of(|| {
        say(&["remove", "code"]).success();
    });
    assert_eq!(made, ["tether remove: code"]);
    story.settled();
    say(&["commit", "-m", "third", "--json"]).success();
    assert_eq!(
        story.changed_in("@-"),
        [".tether/objects/code.toml", ".tether/objects/raw.toml"]
    );
    story.clean();
    say(&["verify", "--all-history", "--json"]).success();
    say(&["ops", "--json"]).success();
    let expected = ["third", "second", "mine", "first"];
    assert_eq!(
        story.dir.jj_log("::main", "description.first_line()"),
        expected
    );
    answers
}

fn both_programs_answer_the_same(place: Place) {
    let tether = loop_by(Program::Tether, place);
    let jj = loop_by(Program::Jj, place);
    for (a, b) in tether.iter().zip(&jj) {
        let differs = a.lines().zip(b.lines()).find(|(a, b)| a != b);
        assert_eq!(differs, None, "{}", a.lines().next().unwrap());
        assert_eq!(a, b);
    }
    assert_eq!(tether.len(), jj.len());
}

#[test]
fn the_loop_in_a_repository_that_git_shares() {
    both_programs_answer_the_same(Place::Colocated);
}

#[test]
fn the_loop_in_a_repository_of_its_own() {
    both_programs_answer_the_same(Place::Internal);
}

#[test]
fn the_loop_in_a_second_workspace() {
    both_programs_answer_the_same(Place::Secondary);
}
