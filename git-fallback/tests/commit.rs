//! Commits: what is refused, and what bytes and paths they hold.

use std::os::unix::fs::PermissionsExt;

use tether_engine::vcs::Vcs;
use tether_engine::{Error, ErrorKind};

use crate::fixture::{MANIFEST, Repo, Scratch, bookmark, executable};

#[test]
fn the_first_commit_of_a_repository_works() {
    let scratch = Scratch::new();
    for hooked in [false, true] {
        let repo = scratch.empty(&format!("r{hooked}"), &[]);
        if hooked {
            repo.hook("commit-msg", "true");
        }
        repo.write("other", "x\n");
        repo.git(&["add", "other"]);
        let files = [("tether.toml", Some("t\n")), (MANIFEST, Some("a\n"))];
        let id = repo.commit("first  \n\n\n", &files).unwrap();
        assert_eq!(repo.rev("main"), id);
        assert_eq!(
            repo.git(&["ls-tree", "-r", "--name-only", "HEAD"]),
            format!("{MANIFEST}\ntether.toml")
        );
        assert!(repo.status().ends_with(" other"), "{}", repo.status());
        assert_eq!(
            repo.git(&["log", "--format=%B%an <%ae> %cn"]),
            "first\nU <u@example.com> U"
        );
        assert_eq!(
            repo.git(&["reflog", "-1", "--format=%gs"]),
            "commit (initial): first"
        );
        let mode = std::fs::metadata(repo.path.join(".git/index"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o644);
        repo.assert_sound();
    }
}

/// The message and the identity are looked at before anything is written.
#[test]
fn a_blank_message_or_a_missing_identity_is_refused_first() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let objects = || repo.git(&["count-objects"]);
    let before = objects();
    for message in ["", "  \n\t\n"] {
        let request = repo.request(message, &[(MANIFEST, Some("new\n"))]);
        let error = repo.vcs().commit(&request, &mut |_| Ok(None)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::User);
    }
    repo.git(&["config", "user.email", ""]);
    let error = repo.vcs().check_can_commit().unwrap_err();
    assert!(error.message().contains("who the author"), "{error}");
    assert!(
        error
            .hint()
            .unwrap()
            .contains("git config --global user.email"),
        "{error:?}"
    );
    assert!(
        repo.vcs()
            .commit(
                &repo.request("x", &[(MANIFEST, Some("new\n"))]),
                &mut |_| Ok(None)
            )
            .is_err()
    );
    assert_eq!(objects(), before);
}

#[test]
fn a_detached_head_or_an_operation_in_progress_is_refused() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    repo.git(&["checkout", "-q", "-b", "side"]);
    let side = repo.advance("side");
    repo.git(&["checkout", "-q", "main"]);
    repo.advance("main");
    repo.vcs().check_can_commit().unwrap();
    let refused = |word: &str, hint: &str| {
        let error = repo.vcs().check_can_commit().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Vcs);
        assert!(error.message().contains(word), "{error}");
        assert!(error.hint().unwrap().contains(hint), "{error:?}");
        let request = repo.request("x", &[(MANIFEST, Some("new\n"))]);
        assert!(repo.vcs().commit(&request, &mut |_| Ok(None)).is_err());
    };
    for (command, word, abort) in [
        (["merge", "side"], "a merge", ["merge", "--abort"]),
        (["rebase", "side"], "a rebase", ["rebase", "--abort"]),
        (
            ["cherry-pick", side.as_str()],
            "a cherry-pick",
            ["cherry-pick", "--abort"],
        ),
        (["revert", side.as_str()], "a revert", ["revert", "--abort"]),
        (["bisect", "start"], "a bisection", ["bisect", "reset"]),
    ] {
        scratch.try_git(&repo.path, &command);
        refused(word, &format!("git {}", abort.join(" ")));
        repo.git(&abort);
        repo.vcs().check_can_commit().unwrap();
    }
    repo.git(&["checkout", "-q", "--detach"]);
    refused("detached", "git switch");
}

#[test]
fn another_head_or_branch_than_planned_is_a_stale_plan() {
    let scratch = Scratch::new();
    for hooked in [false, true] {
        let repo = scratch.repo(&format!("r{hooked}"));
        if hooked {
            repo.hook("pre-commit", "true");
        }
        let request = repo.request("x", &[(MANIFEST, Some("new\n"))]);
        let moved = repo.advance("moved");
        let status = repo.status();
        let error = repo.vcs().commit(&request, &mut |_| Ok(None)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StalePlan, "{error}");
        let mut request = repo.request("x", &[(MANIFEST, Some("new\n"))]);
        request.bookmark = bookmark("other");
        assert_eq!(
            repo.vcs()
                .commit(&request, &mut |_| Ok(None))
                .unwrap_err()
                .kind(),
            ErrorKind::StalePlan
        );
        assert_eq!(repo.rev("HEAD"), moved);
        assert_eq!(repo.status(), status);
    }
}

/// The caller's word before anything becomes visible is final.
#[test]
fn a_caller_that_is_not_prepared_stops_the_commit() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let head = repo.rev("HEAD");
    repo.write(MANIFEST, "new\n");
    let status = repo.status();
    let request = repo.request("x", &[(MANIFEST, Some("new\n"))]);
    let error = repo
        .vcs()
        .commit(&request, &mut |_| Err(Error::user("no")))
        .unwrap_err();
    assert_eq!(error.message(), "no");
    assert_eq!(repo.rev("HEAD"), head);
    assert_eq!(repo.status(), status);
    repo.assert_sound();
}

/// E26, P017: paths are paths, not patterns.
#[test]
fn paths_with_pathspec_magic_are_exact() {
    let scratch = Scratch::new();
    for hooked in [false, true] {
        let repo = scratch.repo(&format!("r{hooked}"));
        if hooked {
            repo.hook("pre-commit", "true");
        }
        let odd = ".tether/objects/a[ab].toml";
        let names = [
            odd,
            ".tether/objects/aa.toml",
            ":(x)/*.toml",
            "a b/~1:2*?$id,v.toml",
            "-n",
            "日本/\u{1F600}.toml",
        ];
        for name in names {
            repo.write(name, "before\n");
        }
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-q", "--no-verify", "-m", "two"]);
        for name in names {
            repo.write(name, "after\n");
        }
        repo.commit("one", &[(odd, Some("after\n"))]).unwrap();
        assert_eq!(repo.git(&["diff", "--name-only", "HEAD~1", "HEAD"]), odd);
        let rest: Vec<_> = names[1..]
            .iter()
            .map(|name| (*name, Some("after\n")))
            .collect();
        repo.commit("rest", &rest).unwrap();
        assert_eq!(repo.status(), "");
        repo.assert_sound();
    }
}

/// Filters and line ending rules of the user do not touch what is committed.
#[test]
fn blobs_are_our_bytes_whatever_attributes_say() {
    let scratch = Scratch::new();
    for hooked in [false, true] {
        let repo = scratch.repo(&format!("r{hooked}"));
        if hooked {
            repo.hook("pre-commit", "true");
        }
        let filter = scratch.path("filter");
        executable(&filter, "#!/bin/sh\ntr a-z A-Z\n");
        repo.git(&["config", "filter.up.clean", filter.to_str().unwrap()]);
        repo.write(
            ".gitattributes",
            "*.toml text eol=crlf\n*.jsonl filter=up\n",
        );
        repo.git(&["add", ".gitattributes"]);
        repo.git(&["commit", "-q", "--no-verify", "-m", "attributes"]);
        let listing = ".tether/listings/x.jsonl";
        repo.commit(
            "x",
            &[(MANIFEST, Some("a\nb\n")), (listing, Some("{}abc\n"))],
        )
        .unwrap();
        assert_eq!(
            repo.git(&["cat-file", "blob", &format!("HEAD:{MANIFEST}")]),
            "a\nb"
        );
        assert_eq!(
            repo.git(&["cat-file", "blob", &format!("HEAD:{listing}")]),
            "{}abc"
        );
        assert!(!repo.status().contains(MANIFEST), "{}", repo.status());
        let vcs = repo.vcs();
        let head = vcs.position().unwrap().head.unwrap();
        assert_eq!(vcs.read_at(&head, MANIFEST).unwrap().unwrap(), b"a\nb\n");
    }
}

/// P062, P046: what `git status` hides or ignores is committed all the same.
#[test]
fn hidden_and_ignored_paths_are_committed() {
    let scratch = Scratch::new();
    for hooked in [false, true] {
        let repo = scratch.repo(&format!("r{hooked}"));
        if hooked {
            repo.hook("pre-commit", "true");
        }
        repo.git(&["config", "status.showUntrackedFiles", "no"]);
        repo.write(".git/info/exclude", "*\n");
        let new = "data/.tether/objects/x.toml";
        repo.commit("x", &[(new, Some("x\n"))]).unwrap();
        assert_eq!(
            repo.git(&["ls-tree", "-r", "--name-only", "HEAD", "data"]),
            new
        );
        assert_eq!(repo.status(), "");
    }
}

#[test]
fn a_file_may_take_the_place_of_a_folder_only_when_that_goes() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let below = ".tether/objects/a.toml/b.toml";
    let error = repo
        .vcs()
        .commit(&repo.request("x", &[(below, Some("b\n"))]), &mut |_| {
            Ok(None)
        })
        .unwrap_err();
    assert!(error.message().contains("beside"), "{error}");
    std::fs::remove_file(repo.path.join(MANIFEST)).unwrap();
    repo.write(below, "b\n");
    let request = repo.request("x", &[(below, Some("b\n")), (MANIFEST, None)]);
    repo.vcs().commit(&request, &mut |_| Ok(None)).unwrap();
    assert_eq!(
        repo.git(&["ls-tree", "-r", "--name-only", "HEAD", ".tether"]),
        below
    );
    assert_eq!(repo.status(), "");
    std::fs::remove_dir_all(repo.path.join(MANIFEST)).unwrap();
    repo.write(MANIFEST, "a\n");
    let request = repo.request("y", &[(MANIFEST, Some("a\n")), (below, None)]);
    repo.vcs().commit(&request, &mut |_| Ok(None)).unwrap();
    assert_eq!(
        repo.git(&["ls-tree", "-r", "--name-only", "HEAD", ".tether"]),
        MANIFEST
    );
    assert_eq!(repo.status(), "");
    repo.assert_sound();
}

#[test]
fn removing_the_last_file_leaves_no_empty_folder_in_the_tree() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    repo.commit("gone", &[(MANIFEST, None)]).unwrap();
    assert_eq!(repo.git(&["ls-tree", "--name-only", "HEAD"]), "file");
    assert_eq!(
        repo.vcs()
            .tree_at(&repo.rev("HEAD"), "")
            .unwrap()
            .objects_id,
        None
    );
    repo.assert_sound();
}

#[test]
fn exotic_settings_are_left_to_git() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    repo.git(&["config", "commit.cleanup", "strip"]);
    repo.commit("one\n# a comment", &[(MANIFEST, Some("1\n"))])
        .unwrap();
    assert_eq!(repo.git(&["log", "-1", "--format=%B"]).trim(), "one");
    repo.git(&["config", "commit.cleanup", "default"]);
    repo.git(&["config", "i18n.commitEncoding", "ISO-8859-1"]);
    let id = repo
        .commit("zwei\n# bleibt", &[(MANIFEST, Some("2\n"))])
        .unwrap();
    assert!(
        repo.git(&["cat-file", "commit", id.as_str()])
            .contains("encoding ISO-8859-1")
    );
    assert_eq!(
        repo.git(&["log", "-1", "--format=%B"]).trim(),
        "zwei\n# bleibt"
    );
}

/// Hooks where `core.hooksPath` says, and none where it points nowhere.
#[test]
fn hooks_are_where_the_configuration_says() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    repo.hook("pre-commit", "exit 1");
    repo.git(&["config", "core.hooksPath", "/dev/null"]);
    repo.commit("none", &[(MANIFEST, Some("1\n"))]).unwrap();
    executable(
        &repo.path.join("tools/hooks/pre-commit"),
        "#!/bin/sh\necho from tools >&2; exit 1\n",
    );
    repo.git(&["config", "core.hooksPath", "tools/hooks"]);
    let error = repo.commit("x", &[(MANIFEST, Some("2\n"))]).unwrap_err();
    assert!(error.message().contains("from tools"), "{error}");
    repo.git(&["config", "--unset", "core.hooksPath"]);
    std::fs::set_permissions(
        repo.path.join(".git/hooks/pre-commit"),
        std::fs::Permissions::from_mode(0o644),
    )
    .unwrap();
    repo.commit("not executable", &[(MANIFEST, Some("2\n"))])
        .unwrap();
}

/// A hook that changes what is committed: git's word holds, and the index says what is in the commit.
#[test]
fn a_hook_may_change_the_commit() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    repo.hook(
        "pre-commit",
        &format!("echo changed > {MANIFEST} && git add {MANIFEST}"),
    );
    let id = repo.commit("x", &[(MANIFEST, Some("ours\n"))]).unwrap();
    assert_eq!(repo.rev("HEAD"), id);
    assert_eq!(repo.git(&["show", &format!("HEAD:{MANIFEST}")]), "changed");
    assert_eq!(repo.status(), "");
}

/// Linked worktrees have their own HEAD and index, and their hooks are the repository's.
#[test]
fn commits_of_a_linked_worktree_are_its_own() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let linked = Repo::at(&scratch, scratch.path("w"));
    repo.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "w",
        linked.path.to_str().unwrap(),
    ]);
    let main = repo.rev("main");
    for hooked in [false, true] {
        if hooked {
            repo.hook("pre-commit", "true");
        }
        let id = linked
            .commit("x", &[(MANIFEST, Some(&format!("{hooked}\n")))])
            .unwrap();
        assert_eq!(repo.rev("w"), id);
        assert_eq!(repo.rev("main"), main);
        assert_eq!(linked.status(), "");
        assert_eq!(repo.status(), "");
        linked.assert_sound();
    }
}

#[test]
fn a_landed_commit_is_found_and_another_is_not() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let files = [(MANIFEST, Some("new\n")), ("tether.toml", Some("t\n"))];
    let request = repo.request("the message", &files);
    assert_eq!(repo.vcs().find_landed(&request).unwrap(), None);
    repo.put(&files);
    let id = repo.vcs().commit(&request, &mut |_| Ok(None)).unwrap();
    assert_eq!(repo.vcs().find_landed(&request).unwrap(), Some(id.clone()));
    repo.advance("on top");
    assert_eq!(repo.vcs().find_landed(&request).unwrap(), Some(id));
    // The same change with something else, with another message, or with another content is not it.
    repo.git(&["reset", "-q", "--hard", "HEAD~2"]);
    repo.put(&files);
    repo.write("extra", "x\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "the message"]);
    assert_eq!(repo.vcs().find_landed(&request).unwrap(), None);
    repo.git(&["rm", "-q", "--cached", "extra"]);
    repo.git(&["commit", "-q", "--amend", "-m", "the message"]);
    assert!(repo.vcs().find_landed(&request).unwrap().is_some());
    repo.git(&["commit", "-q", "--amend", "-m", "another"]);
    assert_eq!(repo.vcs().find_landed(&request).unwrap(), None);
    let mut other = request;
    other.message = "another".to_owned();
    other.changes[0].content = Some(b"else\n".to_vec());
    assert_eq!(repo.vcs().find_landed(&other).unwrap(), None);
    // The very first commit has no head to be expected.
    let empty = scratch.empty("e", &[]);
    let request = empty.request("first", &files);
    assert_eq!(empty.vcs().find_landed(&request).unwrap(), None);
    empty.put(&files);
    let id = empty.vcs().commit(&request, &mut |_| Ok(None)).unwrap();
    assert_eq!(empty.vcs().find_landed(&request).unwrap(), Some(id));
}

/// A run that is killed between the moves leaves the index behind; recovering brings it up, and nothing that the user staged since.
#[test]
fn recovering_brings_the_index_up_to_a_landed_commit() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let other = ".tether/objects/other.toml";
    let files = [
        (MANIFEST, Some("new\n")),
        ("tether.toml", Some("t\n")),
        (other, Some("o\n")),
    ];
    let index = repo.path.join(".git/index");
    let before = std::fs::read(&index).unwrap();
    let request = repo.request("x", &files);
    repo.put(&files);
    let id = repo.vcs().commit(&request, &mut |_| Ok(None)).unwrap();
    std::fs::write(&index, &before).unwrap();
    repo.write(other, "staged since\n");
    repo.git(&["add", other]);
    assert!(
        repo.status().contains("D. N... 100644 000000"),
        "{}",
        repo.status()
    );
    // On another branch the index is none of this commit's business.
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/elsewhere"]);
    let bytes = std::fs::read(&index).unwrap();
    assert_eq!(repo.vcs().find_landed(&request).unwrap(), Some(id.clone()));
    assert_eq!(std::fs::read(&index).unwrap(), bytes);
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
    assert_eq!(repo.vcs().find_landed(&request).unwrap(), Some(id.clone()));
    let status = repo.status();
    assert_eq!(status.lines().count(), 1, "{status}");
    assert!(
        status.starts_with("1 M.") && status.ends_with(other),
        "{status}"
    );
    assert_eq!(repo.vcs().find_landed(&request).unwrap(), Some(id));
    repo.assert_sound();
}
