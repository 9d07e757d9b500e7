//! Which dataset a directory belongs to.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

#[test]
fn commands_work_anywhere_inside_a_dataset() {
    let env = TestEnvironment::new();
    let dir = env.dataset();
    let below = dir.dir("a/b");
    assert_eq!(
        below.tether(["status", "--json"]).success().json()["bookmark"],
        "main"
    );
}

/// Surprise 4: the message names the absolute path and starts like every error.
#[test]
fn where_there_is_no_dataset_the_path_is_named() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.work_dir("nowhere").tether(["status"]), @r"
    ------- stderr -------
    Error: no tether dataset found at or above $TEST_ENV/nowhere
    Hint: cd to a dataset, or make one of a repository: `tether init`
    [exit status: 1]
    ");
    assert_snapshot!(env.git_repo("plain").tether(["status"]), @r"
    ------- stderr -------
    Error: no tether dataset found at or above $TEST_ENV/plain
    Hint: cd to a dataset, or make one of a repository: `tether init`
    [exit status: 1]
    ");
}

#[test]
fn a_dataset_whose_repository_is_gone_says_so() {
    let env = TestEnvironment::new();
    let dir = env.dataset();
    std::fs::remove_dir_all(dir.path().join(".git")).unwrap();
    assert_snapshot!(dir.tether(["status"]), @r"
    ------- stderr -------
    Error: the dataset $TEST_ENV/ds is in no git or jj repository: there is none at or above it
    Hint: bring its repository back, or make one: `jj git init $TEST_ENV/ds` or `git init $TEST_ENV/ds`
    [exit status: 1]
    ");
}

/// Surprise 10: a `tether.toml` above the repository, in no repository itself, is not this repository's dataset.
#[test]
fn a_stray_dataset_file_above_the_repository_is_not_taken() {
    let env = TestEnvironment::new();
    let dir = env.dataset();
    let text = dir.read("tether.toml");
    env.work_dir(".").write("tether.toml", text);
    let plain = env.git_repo("plain");
    assert_snapshot!(plain.tether(["status"]), @r"
    ------- stderr -------
    Error: no tether dataset found at or above $TEST_ENV/plain: the tether.toml in $TEST_ENV is outside this repository and in none of its own
    Hint: cd to a dataset, or make one of a repository: `tether init`
    [exit status: 1]
    ");
    // Neither where there is no repository at all.
    assert_snapshot!(env.work_dir("nowhere").tether(["status"]), @r"
    ------- stderr -------
    Error: the dataset $TEST_ENV is in no git or jj repository: there is none at or above it
    Hint: bring its repository back, or make one: `jj git init $TEST_ENV` or `git init $TEST_ENV`
    [exit status: 1]
    ");
    // Making a dataset in the repository works.
    plain.tether(["init"]).success();
    plain.tether(["status"]).success();
}

/// A repository inside a dataset (a submodule, a checkout of code) still belongs to the dataset around it.
#[test]
fn a_repository_inside_a_dataset_belongs_to_it() {
    let env = TestEnvironment::new();
    let dir = env.dataset();
    let inner = dir.dir("code");
    inner.git(["init", "-q"]);
    let hash = |json: serde_json::Value| json["manifest_hash"].clone();
    assert_eq!(
        hash(inner.tether(["status", "--json"]).success().json()),
        hash(dir.tether(["status", "--json"]).success().json())
    );
}

/// A colocated repository is a jj repository, unless the dataset says otherwise.
#[test]
fn the_git_side_of_a_jj_repository_is_used_when_it_is_preferred() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("ds");
    dir.tether(["init"]).success();
    assert_eq!(dir.jj_operations()[0], "tether init");
    let text = dir.read("tether.toml");
    dir.write("tether.toml", format!("{text}\n[vcs]\nprefer = \"git\"\n"));
    dir.git(["symbolic-ref", "HEAD", "refs/heads/main"]);
    dir.tether(["commit", "-m", "by git"]).success();
    assert_eq!(dir.jj_operations()[0], "tether init");
    assert_eq!(dir.git(["log", "-1", "--format=%s"]), "by git");
}

/// A directory that is named like jj's and is none of jj's repositories.
#[test]
fn a_broken_jj_repository_is_named() {
    let env = TestEnvironment::new();
    let dir = env.dataset();
    dir.dir(".jj/repo");
    assert_snapshot!(dir.tether(["status"]), @r"
    ------- stderr -------
    Error: cannot open the jj workspace at $TEST_ENV/ds
    Caused by: Cannot read the repo
    Caused by: Failed to read commit backend type
    Caused by: Cannot access $TEST_ENV/ds/.jj/repo/store/type
    Caused by: No such file or directory (os error 2)
    Hint: `jj -R $TEST_ENV/ds status` says more
    [exit status: 1]
    ");
}

/// E55: `.git` may be a file, in a linked worktree or a repository made with `--separate-git-dir`.
#[test]
fn a_dot_git_file_is_followed() {
    let env = TestEnvironment::new();
    let dir = env.work_dir("apart");
    dir.git([
        "init",
        "-q",
        "-b",
        "main",
        "--separate-git-dir",
        "../apart.git",
    ]);
    dir.tether(["init"]).success();
    dir.tether(["status"]).success();
}

/// E31: somebody else's repository is refused with git's own way out, never taken for an empty history.
#[test]
fn a_repository_of_another_owner_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let env = TestEnvironment::new();
    let dir = env.committed();
    let other = Some(rustix::fs::Uid::from_raw(12345));
    rustix::fs::chown(dir.path().join(".git"), other, None).unwrap();
    rustix::fs::chown(dir.path(), other, None).unwrap();
    assert_snapshot!(dir.tether(["status"]), @r"
    ------- stderr -------
    Error: detected dubious ownership in repository at $TEST_ENV/ds: another user owns it
    Hint: git config --global --add safe.directory $TEST_ENV/ds
    [exit status: 1]
    ");
    dir.tether(["verify", "--all-history"]).exits(1);
    // The way out that the hint names.
    let path = dir.path().to_str().unwrap();
    dir.git(["config", "--global", "--add", "safe.directory", path]);
    dir.tether(["status"]).success();
}

/// E32: variables that point git elsewhere do not move tether.
#[test]
fn git_variables_of_a_hook_do_not_lead_elsewhere() {
    let env = TestEnvironment::new();
    let code = env.code("code");
    let before = code.git(["log", "--format=%H", "main"]);
    let dir = env.dataset();
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    let elsewhere = |name: &str| env.root().join(name);
    let mut command = dir.command(["commit", "-m", "env"]);
    command
        .env("GIT_DIR", elsewhere("code/.git"))
        .env("GIT_WORK_TREE", elsewhere("code"))
        .env("GIT_INDEX_FILE", elsewhere("i"))
        .env("GIT_OBJECT_DIRECTORY", elsewhere("o"))
        .env("GIT_NAMESPACE", "n")
        .env("GIT_CEILING_DIRECTORIES", "/")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.worktree")
        .env("GIT_CONFIG_VALUE_0", elsewhere("code"));
    dir.run(command).success();
    assert_eq!(dir.git(["log", "--format=%s", "main"]), "env");
    assert_eq!(code.git(["log", "--format=%H", "main"]), before);
    assert!(!elsewhere("i").exists() && !elsewhere("o").exists());
}

/// Two datasets of one repository: what one does is not in the other's log, and its checkout does not follow the other's.
#[test]
fn datasets_of_one_repository_keep_to_themselves() {
    let env = TestEnvironment::new();
    let repo = env.git_repo("repo");
    env.work_dir("raw").write("a.txt", "one\n");
    let (one, two) = (repo.dir("one"), repo.dir("two"));
    for dir in [&one, &two] {
        dir.tether(["init"]).success();
    }
    one.tether(["add", "only", "../../raw", "--kind", "file"])
        .success();
    one.tether(["commit", "-m", "one"]).success();
    two.tether(["add", "other", "../../raw", "--kind", "file"])
        .success();
    two.tether(["commit", "-m", "two"]).success();
    let ops = |dir: &crate::common::WorkDir<'_>| {
        let rows = dir.tether(["ops", "--json"]).success().json();
        let rows = rows.as_array().unwrap().clone();
        let commands = rows.iter().map(|row| row["command"].as_str().unwrap());
        commands.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(ops(&one), ["commit", "add"]);
    assert_eq!(ops(&two), ["commit", "add"]);
    for (dir, key) in [(&one, "only"), (&two, "other")] {
        let status = dir.tether(["status", "--json"]).success().json();
        assert_eq!(status["objects"].as_array().unwrap().len(), 1);
        assert_eq!(status["objects"][0]["key"], key);
        assert_eq!(status["bookmark"], "main");
        assert_eq!(status["vcs_drift"].as_array().unwrap().len(), 0);
    }
}
