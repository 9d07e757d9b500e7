//! What `jj op log` shows of tether.

use insta::assert_snapshot;

use super::test_display::lines;
use crate::common::{DATASET, TestEnvironment};

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
