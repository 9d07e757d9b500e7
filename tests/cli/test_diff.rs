//! `tether diff`.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn diff_compares_the_last_commit_with_the_working_tree() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    assert_snapshot!(dir.tether(["diff"]), @"");
    dir.tether(["add", "extra", "--kind", "file", "../raw"])
        .success();
    dir.tether(["remove", "code"]).success();
    dir.tether(["set", "raw", "--file", "immutable"]).success();
    assert_snapshot!(dir.tether(["diff"]), @"");
    assert_snapshot!(dir.tether(["diff", "--json"]), @"");
    assert_snapshot!(dir.tether(["diff", "--key", "raw", "--key", "ext"]), @"");
    assert_snapshot!(dir.tether(["diff", "--key", "raw"]), @"");
}

#[test]
fn diff_compares_revisions_and_with_content_what_is_inside() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let code = env.work_dir("code");
    code.write("main.py", "print(2)\nprint(3)\n");
    code.git(["commit", "-q", "-a", "-m", "more code"]);
    dir.tether(["commit", "-m", "second"]).success();
    assert_snapshot!(dir.tether(["diff", "HEAD~1", "HEAD"]), @"");
    assert_snapshot!(dir.tether(["diff", "HEAD~1"]), @"");
    assert_snapshot!(dir.tether(["diff", "HEAD~1", "HEAD", "--content"]), @"");
    assert_snapshot!(dir.tether(["diff", "HEAD~1", "HEAD", "-c", "--limit", "0"]), @"");
    assert_snapshot!(dir.tether(["diff", "HEAD~1", "HEAD", "-c", "--key", "code", "--json"]), @"");
    assert_snapshot!(dir.tether(["diff", "nosuch"]), @"");
}
