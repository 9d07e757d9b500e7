//! Environments that point elsewhere.

use tether_engine::vcs::Vcs;

use crate::fixture::{MANIFEST, Repo, Scratch, again, is_inner};

/// E32: run from a hook of another repository, or by hand with everything set, in the main and in a linked worktree. Here without
/// scrubbing (a library's user), so it is gix that must not look.
#[test]
fn a_poisoned_environment_leads_nowhere_else() {
    if !is_inner() {
        let scratch = Scratch::new();
        let code = scratch.repo("code");
        let head = code.rev("HEAD");
        let objects = code.git(&["count-objects"]);
        again(
            "environment::a_poisoned_environment_leads_nowhere_else",
            |command| {
                command
                    .env("GIT_DIR", code.path.join(".git"))
                    .env("GIT_WORK_TREE", &code.path)
                    .env("GIT_COMMON_DIR", code.path.join(".git"))
                    .env("GIT_INDEX_FILE", scratch.path("index"))
                    .env("GIT_OBJECT_DIRECTORY", scratch.path("objects"))
                    .env(
                        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                        scratch.path("alternate"),
                    )
                    .env("GIT_NAMESPACE", "n")
                    .env("GIT_PREFIX", "elsewhere/")
                    .env("GIT_SHALLOW_FILE", scratch.path("shallow"))
                    .env("GIT_REPLACE_REF_BASE", "refs/elsewhere/")
                    .env("GIT_QUARANTINE_PATH", scratch.path("quarantine"))
                    .env("GIT_CEILING_DIRECTORIES", "/")
                    .env("GIT_CONFIG_COUNT", "2")
                    .env("GIT_CONFIG_KEY_0", "user.name")
                    .env("GIT_CONFIG_VALUE_0", "Somebody Else")
                    .env("GIT_CONFIG_KEY_1", "core.hooksPath")
                    .env("GIT_CONFIG_VALUE_1", "/elsewhere")
                    .env("GIT_CONFIG_PARAMETERS", "'user.name'='Somebody Else'");
            },
        );
        assert_eq!(code.rev("HEAD"), head);
        assert_eq!(code.git(&["count-objects"]), objects);
        assert_eq!(code.status(), "");
        assert!(!scratch.path("index").exists() && !scratch.path("objects").exists());
        return;
    }
    let scratch = Scratch::new();
    let repo = scratch.repo("ds");
    let linked = Repo::at(&scratch, scratch.path("ds2"));
    repo.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "two",
        linked.path.to_str().unwrap(),
    ]);
    for hooked in [false, true] {
        if hooked {
            repo.hook("pre-commit", "true");
        }
        for tree in [&repo, &linked] {
            let vcs = tree.vcs();
            assert_eq!(vcs.workdir(), tree.path);
            assert_eq!(vcs.shared_dir(), repo.path.join(".git"));
            let content = format!("{hooked} {}\n", tree.path.display());
            let id = tree.commit("env", &[(MANIFEST, Some(&content))]).unwrap();
            assert_eq!(tree.rev("HEAD"), id);
            assert_eq!(tree.git(&["log", "-1", "--format=%an"]), "U");
            assert_eq!(tree.status(), "");
            assert!(
                vcs.history("")
                    .unwrap()
                    .commits
                    .iter()
                    .any(|commit| commit.id == id)
            );
            assert_eq!(vcs.visible(&[id]).unwrap(), [true]);
            tree.assert_sound();
        }
    }
}

/// E31: the configuration files the user names are honoured.
#[test]
fn the_global_configuration_of_the_user_is_honoured() {
    if !is_inner() {
        let scratch = Scratch::new();
        let global = scratch.path("global");
        std::fs::write(
            &global,
            "[user]\n\tname = From Global\n\temail = g@example.com\n",
        )
        .unwrap();
        again(
            "environment::the_global_configuration_of_the_user_is_honoured",
            |command| {
                command
                    .env("GIT_CONFIG_GLOBAL", &global)
                    .env("GIT_CONFIG_NOSYSTEM", "1")
                    .env("HOME", scratch.path("nowhere"));
            },
        );
        return;
    }
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    for name in ["user.name", "user.email"] {
        repo.git(&["config", "--unset", name]);
    }
    repo.commit("x", &[(MANIFEST, Some("x\n"))]).unwrap();
    assert_eq!(
        repo.git(&["log", "-1", "--format=%an <%ae> %cn"]),
        "From Global <g@example.com> From Global"
    );
}

#[test]
fn dates_and_names_from_the_environment_are_the_commits() {
    if !is_inner() {
        again(
            "environment::dates_and_names_from_the_environment_are_the_commits",
            |command| {
                command
                    .env("GIT_AUTHOR_NAME", "Ann")
                    .env("GIT_AUTHOR_DATE", "2001-02-03T04:05:06+0700")
                    .env("GIT_COMMITTER_EMAIL", "c@example.com")
                    .env("GIT_COMMITTER_DATE", "1000000000 +0000");
            },
        );
        return;
    }
    let scratch = Scratch::new();
    for hooked in [false, true] {
        let repo = scratch.repo(&format!("r{hooked}"));
        if hooked {
            repo.hook("pre-commit", "true");
        }
        repo.commit("x", &[(MANIFEST, Some("x\n"))]).unwrap();
        assert_eq!(
            repo.git(&[
                "log",
                "-1",
                "--format=%an %ae %ad %cn %ce %cd",
                "--date=raw"
            ]),
            "Ann u@example.com 981147906 +0700 U c@example.com 1000000000 +0000"
        );
    }
}
