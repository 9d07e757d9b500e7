//! What `jj log` shows of tether, and that the user's configuration wins.

use insta::assert_snapshot;

use crate::common::{Output, TestEnvironment, WorkDir};

/// A manifest by hand.
pub(super) fn manifest(dir: &WorkDir<'_>, key: &str, state: &str) {
    let text = format!("key = {key:?}\nkind = \"file\"\nstate = {state:?}\n");
    dir.write(&format!(".tether/objects/{key}.toml"), text);
}

/// What one template says of every commit, one a line, newest first.
pub(super) fn shown(dir: &WorkDir<'_>, template: &str) -> Vec<String> {
    let template = format!("separate(\" | \", description.first_line(), {template}) ++ \"\\n\"");
    let args = ["log", "--no-graph", "-r", "all()", "-T", &template];
    lines(&dir.jj(args).success())
}

/// The descriptions of the commits in a revset, newest first.
pub(super) fn found(dir: &WorkDir<'_>, revset: &str) -> Vec<String> {
    let template = "description.first_line() ++ \"\\n\"";
    let args = ["log", "--no-graph", "-r", revset, "-T", template];
    lines(&dir.jj(args).success())
}

pub(super) fn lines(output: &Output) -> Vec<String> {
    output.stdout.lines().map(str::to_owned).collect()
}

/// Adding, changing and removing manifests beside code, at the root and in a folder.
pub(super) fn history(dir: &WorkDir<'_>) {
    manifest(dir, "zarr/imaging", "1");
    manifest(dir, "db", "1");
    dir.jj(["commit", "-m", "first"]).success();
    dir.write("main.py", "print(1)\n");
    dir.jj(["commit", "-m", "code"]).success();
    manifest(dir, "db", "2");
    dir.write("main.py", "print(2)\n");
    manifest(&dir.dir("exp/two"), "db", "1");
    dir.jj(["commit", "-m", "second"]).success();
    std::fs::remove_file(dir.path().join(".tether/objects/db.toml")).unwrap();
    dir.jj(["commit", "-m", "third"]).success();
}

#[test]
fn the_log_says_what_a_commit_did_to_the_dataset() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("ds");
    env.jj_config("[template-aliases]\n'format_short_commit_header(c)' = 'c.author().email()'\n");
    history(&dir);
    assert_snapshot!(dir.jj(["log"]), @"
    @  test.user@example.org
    │  (empty) (no description set)
    ○  test.user@example.org
    │  third
    │  tether: -db
    ○  test.user@example.org
    │  second
    │  tether: db; exp/two: +db
    ○  test.user@example.org
    │  code
    ○  test.user@example.org
    │  first
    │  tether: +db, +zarr/imaging
    ◆  X6:8 root() 00000000
    ");
    // Stock jj shows the same log without those lines.
    let ours = dir.jj(["log"]).success().stdout;
    let without: Vec<_> = ours
        .lines()
        .filter(|line| !line.contains("tether: "))
        .collect();
    let stock = dir.stock_jj(["log"]).success().stdout;
    assert_eq!(without, stock.lines().collect::<Vec<_>>());
    assert_eq!(without.len() + 3, ours.lines().count());
}

/// A merge is compared with what its parents merge to; a conflict is shown, and so is what resolves it.
#[test]
fn merges_and_conflicts_are_compared_with_the_merged_parents() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("ds");
    manifest(&dir, "db", "1");
    manifest(&dir, "same", "1");
    dir.jj(["commit", "-m", "base"]).success();
    for (name, other) in [("left", "zarr"), ("right", "raw")] {
        dir.jj(["new", "subject(base)"]).success();
        manifest(&dir, "db", name);
        manifest(&dir, "same", "2");
        manifest(&dir, other, "1");
        dir.jj(["describe", "-m", name]).success();
        dir.jj(["bookmark", "create", name]).success();
    }
    dir.jj(["new", "left", "right", "-m", "merge"]).success();
    dir.jj(["new", "-m", "child"]).success();
    dir.write("main.py", "print(1)\n");
    dir.jj(["new", "-m", "resolve"]).success();
    manifest(&dir, "db", "both");
    dir.jj(["new", "-m", "evil"]).success();
    dir.jj([
        "new",
        "subject(left)",
        "subject(resolve)",
        "-m",
        "quiet merge",
    ])
    .success();
    dir.jj([
        "new",
        "subject(left)",
        "subject(resolve)",
        "-m",
        "busy merge",
    ])
    .success();
    manifest(&dir, "zarr", "2");
    // A change that is rebased onto one that conflicts with it.
    dir.jj(["new", "subject(left)", "-m", "rebased"]).success();
    manifest(&dir, "db", "rebased");
    dir.jj(["rebase", "-r", "@", "-d", "right"]).success();
    let template = "separate(\" \", tether, if(conflict, \"X\"), if(dataset, \"D\"))";
    let mut told = shown(&dir, template);
    told.sort();
    assert_eq!(
        told,
        [
            "",
            "base | +db, +same D",
            "busy merge | zarr D",
            "child | X",
            "evil",
            "left | db, same, +zarr D",
            "merge | X",
            "quiet merge",
            "rebased | db (conflict) X D",
            "resolve | db D",
            "right | db, +raw, same D",
        ]
    );
    let mut touching = found(&dir, "tether_commits()");
    touching.sort();
    let said: Vec<_> = told
        .iter()
        .filter(|line| line.ends_with(" D"))
        .map(|line| line.split(" | ").next().unwrap().to_owned())
        .collect();
    assert_eq!(touching, said);
    assert_eq!(
        found(&dir, "merges() & tether_changed(zarr)"),
        ["busy merge"]
    );
    // jj's index of changed paths answers the same.
    dir.jj(["debug", "index-changed-paths"]).success();
    let mut indexed = found(&dir, "tether_commits()");
    indexed.sort();
    assert_eq!(indexed, touching);
    let mut retold = shown(&dir, template);
    retold.sort();
    assert_eq!(retold, told);
    assert_snapshot!(dir.jj(["log", "-r", "conflicts()"]), @"
    @  X11:8 test.user@example.org 2026-03-01 12:00:15 C16:8 (conflict)
    │  rebased
    ~  tether: db (conflict)

    ×  X6:8 test.user@example.org 2026-03-01 12:00:10 C10:8 (conflict)
    │  child
    ×  X5:8 test.user@example.org 2026-03-01 12:00:08 C7:8 (conflict)
    │  (empty) merge
    ~
    ");
}

/// A folder where a manifest was, a link for a manifest, a file for the folder: no panic, and something sensible.
#[test]
fn odd_things_below_the_objects_folder_are_shown_as_they_are() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("ds");
    let objects = dir.path().join(".tether/objects");
    manifest(&dir, "a", "1");
    dir.write(".tether/objects/readme.txt", "no manifest\n");
    dir.jj(["commit", "-m", "one"]).success();
    std::fs::remove_file(objects.join("a.toml")).unwrap();
    dir.write(".tether/objects/a.toml/b.toml", "x\n");
    dir.jj(["commit", "-m", "two"]).success();
    std::fs::remove_dir_all(objects.join("a.toml")).unwrap();
    std::os::unix::fs::symlink("readme.txt", objects.join("a.toml")).unwrap();
    dir.jj(["commit", "-m", "three"]).success();
    dir.write(".tether/objects/\u{1b}[31mred\u{202e}.toml", "x\n");
    dir.jj(["commit", "-m", "four"]).success();
    dir.write(".tether/objects/readme.txt", "changed\n");
    dir.jj(["commit", "-m", "five"]).success();
    std::fs::remove_dir_all(&objects).unwrap();
    dir.write(".tether/objects", "a file\n");
    dir.jj(["commit", "-m", "six"]).success();
    let expected = [
        "",
        "six | -\"\\u{1b}[31mred\\u{202e}\", -a",
        "five",
        "four | +\"\\u{1b}[31mred\\u{202e}\"",
        "three | +a, -a.toml/b",
        "two | -a, +a.toml/b",
        "one | +a",
        "",
    ];
    assert_eq!(shown(&dir, "tether"), expected);
    // Both kinds of thing at one place in a conflict.
    dir.jj(["new", "subject(five)", "subject(six)", "-m", "merge"])
        .success();
    dir.jj(["new", "subject(one)", "-m", "side"]).success();
    manifest(&dir, "a", "2");
    dir.jj(["rebase", "-r", "@", "-d", "subject(six)"])
        .success();
    dir.jj(["log", "-r", "all() & ~tether_commits()"]).success();
    dir.jj(["log", "-r", "all()"]).success();
}

#[test]
fn output_in_a_pipe_is_plain_unless_colour_is_forced() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("ds");
    manifest(&dir, "db", "1");
    dir.jj(["commit", "-m", "first"]).success();
    let plain = dir.jj(["log"]).success().stdout;
    assert!(plain.contains("\n│  tether: +db\n"), "{plain}");
    env.jj_config("[ui]\ncolor = \"always\"\n");
    let coloured = dir.jj(["log"]).success().stdout;
    assert!(
        coloured.contains("\u{1b}[38;5;8mtether: +db\u{1b}[39m\n"),
        "{coloured:?}"
    );
    assert_eq!(dir.jj(["log", "--color", "never"]).success().stdout, plain);
    let text = dir.jj([
        "log",
        "-r",
        "@-",
        "--no-graph",
        "-T",
        "tether",
        "--color",
        "never",
    ]);
    assert_eq!(text.success().stdout, "+db");
    let json = dir.jj(["log", "-r", "@-", "--no-graph", "-T", "json(tether)"]);
    assert_eq!(json.success().stdout, "\"+db\"");
    env.jj_config("[colors]\ntether = \"red\"\n");
    let coloured = dir.jj(["log"]).success().stdout;
    assert!(
        coloured.contains("\u{1b}[38;5;1mtether: +db"),
        "{coloured:?}"
    );
}

#[test]
fn the_configuration_of_the_user_wins() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("ds");
    manifest(&dir, "db", "1");
    dir.jj(["commit", "-m", "first"]).success();
    let log = |args: &[&str]| {
        let args = [&["log", "--no-graph", "-r", "@-"], args].concat();
        dir.jj(args).success().stdout
    };
    // Names of the user's that look like ours change nothing of ours.
    env.jj_config(
        "[template-aliases]\ntether = '\"mine\"'\ndataset = '\"mine\"'\n'tether()' = '\"mine\"'\n",
    );
    assert!(log(&[]).ends_with("first\ntether: +db\n"));
    // jj's own hook points stay hook points.
    env.jj_config("[template-aliases]\n'format_short_commit_header(c)' = '\"HEAD\"'\n");
    assert_eq!(log(&[]), "HEAD\nfirst\ntether: +db\n");
    env.jj_config("[template-aliases]\n'builtin_log_compact(c)' = '\"LOG\\n\"'\n");
    assert_eq!(log(&[]), "LOG\ntether: +db\n");
    env.jj_config(
        "[template-aliases]\n'format_tether_changes(c)' = '\"[\" ++ c.tether() ++ \"]\\n\"'\n",
    );
    assert_eq!(log(&[]), "LOG\n[+db]\n");
    env.jj_config("[templates]\nlog = 'description'\n");
    assert_eq!(log(&[]), "first\n");
    dir.jj(["config", "set", "--repo", "templates.log", "'\"repo\"'"])
        .success();
    assert_eq!(log(&[]), "repo");
    assert_eq!(log(&["-T", "self.tether()"]), "+db");
    // An alias in the place of a function of ours.
    env.jj_config("[revset-aliases]\n'tether_commits()' = 'root()'\n");
    assert_eq!(found(&dir, "tether_commits()"), [""]);
}
