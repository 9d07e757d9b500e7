//! What `jj log` and `jj op log` show of tether, how revsets ask for it, and that the user's configuration wins.

use insta::assert_snapshot;

use crate::common::{DATASET, Output, TestEnvironment, WorkDir};

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

fn lines(output: &Output) -> Vec<String> {
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
    let mut shown = shown(
        &dir,
        "separate(\" \", tether, if(conflict, \"X\"), if(dataset, \"D\"))",
    );
    shown.sort();
    assert_eq!(
        shown,
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
    let said: Vec<_> = shown
        .iter()
        .filter(|line| line.ends_with(" D"))
        .map(|line| line.split(" | ").next().unwrap().to_owned())
        .collect();
    assert_eq!(touching, said);
    assert_eq!(
        found(&dir, "merges() & tether_changed(zarr)"),
        ["busy merge"]
    );
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

#[test]
fn the_operation_log_shows_an_operation_of_tether_once() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("ds");
    let raw = env.work_dir("raw");
    raw.write("a.txt", "one\n");
    dir.tether(["init", "--dataset-id", DATASET]).success();
    dir.tether(["add", "raw", "--kind", "file", "../raw"])
        .success();
    dir.tether(["commit", "-m", "data"]).success();
    dir.jj(["describe", "-m", "mine"]).success();
    env.jj_config("[template-aliases]\n'format_time_range(t)' = '\"then\"'\n");
    let ours = dir.jj(["op", "log"]).success();
    assert_snapshot!(ours, @"
    @  O2 test-user@host.example.org default@ then
    │  describe commit C2
    │  args: jj describe -m mine
    ○  O3 test-user@host.example.org default@ then
    │  tether commit: 1 object (O4)
    ○  O5 test-user@host.example.org default@ then
    │  snapshot working copy
    │  tether.step: O4
    ○  O6 test-user@host.example.org default@ then
    │  tether add: raw (O7)
    ○  O8 test-user@host.example.org default@ then
    │  tether init (O9)
    ○  O10 test-user@host.example.org then
    │  add workspace 'default'
    ○  O11 root()
    ");
    let id = dir.tether(["ops", "--json"]).success().json()[0]["id"].clone();
    let id = id.as_str().unwrap();
    assert_eq!(ours.stdout.matches(&format!("({id})")).count(), 1);
    assert!(!ours.stdout.contains("tether.op"), "{ours}");
    assert!(ours.stdout.contains("args: jj describe -m mine"), "{ours}");
    // Stock jj has no words of its own for it and shows the attributes.
    let stock = dir.stock_jj(["op", "log"]).success().stdout;
    assert!(stock.contains("tether commit: 1 object\n"), "{stock}");
    assert!(stock.contains(&format!("tether.op: {id}")), "{stock}");
    let oneline = dir
        .jj(["op", "log", "-T", "builtin_op_log_oneline"])
        .success();
    assert_eq!(
        lines(&oneline).len(),
        dir.jj_operations().len() + 1,
        "{oneline}"
    );
    let text = dir.jj(["op", "log", "--no-graph", "-T", "tether ++ \"\\n\""]);
    assert_snapshot!(text, @"

    tether commit: 1 object (O4)

    tether add: raw (O7)
    tether init (O9)
    ");
    // Where operations are in a template of commits.
    let evolution = dir.jj([
        "evolog",
        "-r",
        "main",
        "--no-graph",
        "-T",
        "operation.tether() ++ \"\\n\"",
    ]);
    assert!(
        evolution
            .success()
            .stdout
            .starts_with("tether commit: 1 object (")
    );
    // The user's words win.
    env.jj_config("[template-aliases]\n'format_operation(o)' = 'o.id().short() ++ \"\\n\"'\n");
    let own = dir.jj(["op", "log", "--no-graph", "-n1"]).success().stdout;
    assert_eq!(own.trim_end().len(), 12, "{own}");
}

/// What jj's own undo goes by stays in the description of an undo of tether's; the id is on a line of its own.
#[test]
fn the_operation_log_shows_an_undo_of_tether() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("ds");
    env.code("code");
    dir.tether(["init"]).success();
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    dir.tether(["commit", "-m", "data"]).success();
    dir.tether(["undo"]).success();
    let args = ["op", "log", "--ignore-working-copy", "--no-graph", "-n1"];
    let shown = lines(&dir.jj(args).success());
    let id = dir.tether(["ops", "--json"]).success().json()[0]["id"].clone();
    let [_, undo, own] = shown.as_slice() else {
        panic!("{shown:?}");
    };
    assert!(undo.starts_with("undo: restore to operation "), "{undo}");
    assert_eq!(*own, format!("tether undo ({})", id.as_str().unwrap()));
    let oneline = [&args[..], &["-T", "builtin_op_log_oneline"]].concat();
    let oneline = lines(&dir.jj(oneline).success());
    let [oneline] = oneline.as_slice() else {
        panic!("{oneline:?}");
    };
    assert!(oneline.ends_with(&format!("{undo} {own}")), "{oneline}");
}

/// The fenced blocks of `docs/jj.md` in a language.
fn blocks(language: &str) -> Vec<String> {
    let page = std::fs::read_to_string(crate::common::checkout().join("docs/jj.md")).unwrap();
    let open = format!("```{language}");
    let (mut blocks, mut inside) = (Vec::new(), None);
    for line in page.lines().map(str::trim) {
        match &mut inside {
            None if line == open => inside = Some(String::new()),
            Some(_) if line == "```" => blocks.extend(inside.take()),
            Some(block) => {
                block.push_str(line);
                block.push('\n');
            }
            None => {}
        }
    }
    blocks
}

/// The examples of the page for jj users run, and its configuration does what it says.
#[test]
fn the_page_for_jj_users_is_true() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("ds");
    let code = env.code("code");
    dir.tether(["init"]).success();
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    dir.tether(["commit", "-m", "first"]).success();
    code.write("main.py", "print(2)\n");
    code.git(["commit", "-q", "-a", "-m", "more"]);
    dir.tether(["commit", "-m", "second"]).success();
    let examples = blocks("bash").concat();
    for example in examples.lines() {
        // There is no remote here.
        let example = example.replace("main@origin", "root()");
        let output = dir.shell(&example).success();
        assert!(output.stderr.is_empty(), "{example}: {output}");
    }
    assert_eq!(examples.lines().count(), 8);
    let toml = blocks("toml");
    let [alias, words, stock] = toml.as_slice() else {
        panic!("{toml:?}");
    };
    env.jj_config(alias);
    assert_eq!(
        dir.shell("stock-jj tether ops").success().stdout,
        dir.tether(["ops"]).success().stdout
    );
    env.jj_config(words);
    let coloured = |args: &[&str]| {
        let args = [args, &["--no-graph", "--color", "always"]].concat();
        dir.jj(args).success().stdout
    };
    let log = coloured(&["log"]);
    assert!(log.contains("data: ") && !log.contains("tether: "), "{log}");
    let operations = coloured(&["op", "log"]);
    assert!(
        operations.contains("\u{1b}[38;5;3mtether commit: 1 object ("),
        "{operations:?}"
    );
    env.jj_config(stock);
    assert_eq!(
        dir.jj(["log"]).success().stdout,
        dir.stock_jj(["log"]).success().stdout
    );
}
