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
    assert_snapshot!(dir.tether(["diff"]), @r"
    removed  code
      added  extra
    changed  raw  (policy)
    ");
    assert_snapshot!(dir.tether(["diff", "--json"]), @r#"
    [
      {
        "key": "code",
        "change": "removed",
        "a": "0a1b2c3d.P1",
        "b": null,
        "detail": null,
        "detail_error": null,
        "why": []
      },
      {
        "key": "extra",
        "change": "added",
        "a": null,
        "b": null,
        "detail": null,
        "detail_error": null,
        "why": []
      },
      {
        "key": "raw",
        "change": "changed",
        "a": null,
        "b": null,
        "detail": null,
        "detail_error": null,
        "why": [
          "policy"
        ]
      }
    ]
    "#);
    assert_snapshot!(dir.tether(["diff", "--key", "raw", "--key", "ext"]), @r#"
    ------- stderr -------
    Error: no object "ext"
    Hint: `tether status` lists the objects; a prefix ends in `/`
    [exit status: 1]
    "#);
    assert_snapshot!(dir.tether(["diff", "--key", "raw"]), @"    changed  raw  (policy)");
}

#[test]
fn diff_compares_revisions_and_with_content_what_is_inside() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let code = env.work_dir("code");
    code.write("main.py", "print(2)\nprint(3)\n");
    code.git(["commit", "-q", "-a", "-m", "more code"]);
    dir.tether(["commit", "-m", "second"]).success();
    assert_snapshot!(dir.tether(["diff", "HEAD~1", "HEAD"]), @"    changed  code");
    assert_snapshot!(dir.tether(["diff", "HEAD~1"]), @"    changed  code");
    assert_snapshot!(dir.tether(["diff", "HEAD~1", "HEAD", "--content"]), @r"
    changed  code  [+0 -0 ~1 files]
               modified  main.py  +2 -1
    ");
    assert_snapshot!(dir.tether(["diff", "HEAD~1", "HEAD", "-c", "--limit", "0"]), @r"
    changed  code  [+0 -0 ~1 files]
              ... 1 more (use --limit)
    ");
    assert_snapshot!(dir.tether(["diff", "HEAD~1", "HEAD", "-c", "--key", "code", "--json"]), @r#"
    [
      {
        "key": "code",
        "change": "changed",
        "a": "0a1b2c3d.P1",
        "b": "0a1b2c3d.P2",
        "detail": {
          "summary": "+0 -0 ~1 files",
          "unit": "files",
          "added": 0,
          "removed": 0,
          "modified": 1,
          "truncated": false,
          "note": "",
          "entries": [
            {
              "path": "main.py",
              "change": "modified",
              "detail": "+2 -1"
            }
          ]
        },
        "detail_error": null,
        "why": [
          "state",
          "pin"
        ]
      }
    ]
    "#);
    assert_snapshot!(dir.tether(["diff", "nosuch"]), @r#"
    ------- stderr -------
    Error: there is no revision "nosuch"
    Caused by: couldn't parse revision: "nosuch"
    Caused by: The ref partially named "nosuch" could not be found
    Hint: git log --oneline --all
    [exit status: 1]
    "#);
}
