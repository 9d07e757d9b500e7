//! The machine the jj stories run on: hermetic, repeatable, and with stock jj beside ours.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn stock_jj_and_ours_are_the_same_version() {
    let env = TestEnvironment::new();
    let dir = env.work_dir(".");
    let stock = dir.stock_jj(["--version"]).success().stdout;
    let ours = dir.jj(["--version"]).success().stdout;
    assert!(ours.starts_with(stock.trim_end()), "{ours} {stock}");
    assert!(ours.contains("(tether "), "{ours}");
}

#[test]
fn both_kinds_of_repository_and_their_workspaces_work() {
    let env = TestEnvironment::new();
    let colocated = env.jj_repo("a");
    assert!(colocated.exists(".git"));
    let internal = env.jj_repo_internal("b");
    assert!(!internal.exists(".git"));
    for dir in [&colocated, &internal] {
        dir.write("mine.txt", "mine\n");
        dir.jj(["commit", "-m", "first"]).success();
        let name = format!("{}-2", dir.path().display());
        let second = dir.jj_workspace(&name);
        assert_eq!(second.jj_log("@-", "description.first_line()"), ["first"]);
        assert!(dir.jj_operations()[2].starts_with("commit "));
        assert_eq!(dir.jj_operation(), second.jj_operation());
    }
}

#[test]
fn commands_have_times_and_ids_of_their_own_that_repeat() {
    let ids = |env: &TestEnvironment| {
        let dir = env.jj_repo("a");
        dir.stock_jj(["new"]).success();
        dir.stock_jj(["new"]).success();
        dir.jj_log("all()", "commit_id")
    };
    let (one, two) = (TestEnvironment::new(), TestEnvironment::new());
    assert_eq!(ids(&one), ids(&two));
    assert_eq!(ids(&TestEnvironment::new()).len(), 4);
}

#[test]
fn what_is_configured_later_wins() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("a");
    env.jj_config("[user]\nname = \"Somebody Else\"\n");
    assert_snapshot!(dir.stock_jj(["config", "list", "user"]), @r#"
    user.email = "test.user@example.org"
    user.name = "Somebody Else"
    "#);
}
