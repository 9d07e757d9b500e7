//! E05: a git store that is a jj repository. jj takes a deleted tag or branch for a wish to abandon what only it reached, and makes what
//! is tagged immutable: a pin there must be neither.

use crate::common::{TestEnvironment, WorkDir};

/// A code repository of jj's with three changes no bookmark is on, and a dataset that pins the newest.
fn pinned<'a>(env: &'a TestEnvironment, code: &WorkDir<'a>) -> WorkDir<'a> {
    for name in ["one", "two", "three"] {
        code.write(&format!("{name}.py"), name);
        code.stock_jj(["commit", "-m", name]).success();
    }
    let dir = env.dataset();
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    dir.tether(["commit", "-m", "pinned"]).success();
    dir
}

fn visible(code: &WorkDir<'_>) -> Vec<String> {
    code.stock_jj(["status"]).success();
    code.jj_log("all()", "commit_id")
}

fn pins(code: &WorkDir<'_>) -> Vec<String> {
    let refs = code.git(["for-each-ref", "--format=%(refname)"]);
    let pins = refs.lines().filter(|name| name.contains("tether"));
    pins.map(str::to_owned).collect()
}

#[test]
fn a_pin_in_a_jj_repository_is_none_of_jjs_business() {
    let env = TestEnvironment::new();
    let code = env.jj_repo("code");
    let dir = pinned(&env, &code);
    let before = visible(&code);
    let pins = pins(&code);
    assert_eq!(pins.len(), 1, "{pins:?}");
    assert!(pins[0].starts_with("refs/tether/"), "{pins:?}");
    assert_eq!(code.jj_text(["tag", "list"]), "");
    // What was pinned can still be rewritten.
    code.stock_jj(["describe", "-m", "three, again", "-r", "@-"])
        .success();
    dir.tether(["verify"]).success();
    code.stock_jj(["undo"]).success();
    // The pin goes: nothing is abandoned, nothing rebased.
    code.git(["update-ref", "-d", &pins[0]]);
    assert_eq!(visible(&code), before);
}

#[test]
fn a_pin_in_a_jj_repository_is_not_pushed() {
    let env = TestEnvironment::new();
    let remote = env.work_dir("remote.git");
    remote.git(["init", "-q", "--bare"]);
    let code = env.jj_repo("code");
    code.stock_jj(["git", "remote", "add", "origin", "../remote.git"])
        .success();
    let _dir = pinned(&env, &code);
    code.stock_jj(["bookmark", "create", "main", "-r", "@-"])
        .success();
    code.stock_jj(["git", "push", "--all"]).success();
    assert_eq!(
        remote.git(["for-each-ref", "--format=%(refname)"]),
        "refs/heads/main"
    );
}
