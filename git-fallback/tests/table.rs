//! The state table: what is staged, changed, intended, untracked or in conflict elsewhere, under each kind of hook, signed or not,
//! shows after a dataset commit as it showed before.

use tether_engine::ErrorKind;
use tether_engine::vcs::Vcs;

use crate::fixture::{MANIFEST, Repo, Scratch};
use crate::signing;

const NEW: &str = ".tether/objects/deep/b.toml";
const GONE: &str = ".tether/objects/gone.toml";
const LISTING: &str = ".tether/listings/0123.jsonl";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Hook {
    None,
    Pass,
    Refuse,
    Edit,
}

/// A repository in which every other file is in another state.
fn prepare<'s>(scratch: &'s Scratch, name: &str, ours: Ours) -> Repo<'s> {
    let repo = scratch.repo(name);
    for file in [
        "staged", "unstaged", "both", "removed", "deleted", "assumed",
    ] {
        repo.write(file, "before\n");
    }
    repo.write(GONE, "gone\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "two"]);
    repo.git(&["update-index", "--assume-unchanged", "assumed"]);
    for (file, content) in [
        ("staged", "s\n"),
        ("unstaged", "u\n"),
        ("both", "b1\n"),
        ("added", "a\n"),
        ("assumed", "x\n"),
    ] {
        repo.write(file, content);
    }
    repo.git(&["add", "staged", "both", "added"]);
    repo.write("both", "b2\n");
    repo.git(&["rm", "-q", "removed"]);
    std::fs::remove_file(repo.path.join("deleted")).unwrap();
    repo.write("intended", "i\n");
    repo.git(&["add", "-N", "intended"]);
    repo.write("untracked", "t\n");
    conflict(&repo, "conflicted");
    match ours {
        Ours::Clean => {}
        Ours::Staged => {
            for path in [MANIFEST, NEW] {
                repo.write(path, "an older state\n");
                repo.git(&["add", path]);
            }
        }
        Ours::Intended => {
            repo.write(NEW, "an older state\n");
            repo.git(&["add", "-N", NEW]);
        }
    }
    repo
}

/// How the commit's own paths are before.
#[derive(Clone, Copy, Debug)]
enum Ours {
    Clean,
    Staged,
    Intended,
}

/// Puts a path in conflict without an operation in progress, as `git stash pop` does.
fn conflict(repo: &Repo<'_>, path: &str) {
    repo.write(path, "<<<<<<<\n");
    let blob = repo.git(&["hash-object", "-w", "file"]);
    let entries = [1, 2, 3]
        .map(|stage| format!("100644 {blob} {stage}\t{path}\n"))
        .concat();
    let mut child = repo
        .scratch
        .command("git", &repo.path)
        .args(["update-index", "--index-info"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), entries.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Everything git says about other paths than ours.
fn others(repo: &Repo<'_>) -> [String; 3] {
    let without_ours = |text: String| {
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.contains(".tether/"))
            .collect();
        lines.join("\n")
    };
    [
        without_ours(repo.status()),
        without_ours(repo.git(&["diff", "--cached", "--raw", "--abbrev=40"])),
        without_ours(repo.git(&["ls-files", "--stage", "-v"])),
    ]
}

fn run(scratch: &Scratch, name: &str, hook: Hook, ours: Ours, signed: bool) {
    let case = format!("{hook:?} {ours:?} signed={signed}");
    let repo = prepare(scratch, name, ours);
    match hook {
        Hook::None => {}
        Hook::Pass => repo.hook(
            "pre-commit",
            "git diff --cached --name-status > ../hook-saw",
        ),
        Hook::Refuse => repo.hook("pre-commit", "echo not today >&2; exit 1"),
        Hook::Edit => repo.hook("commit-msg", "echo 'Trailer: yes' >> \"$1\""),
    }
    if signed {
        signing::with_ssh(&repo);
    }
    let head = repo.rev("HEAD");
    let before = others(&repo);
    let files = [
        (MANIFEST, Some("new\n")),
        (NEW, Some("b\n")),
        (GONE, None),
        (LISTING, Some("{}\n")),
    ];
    repo.put(&files);
    let status_before = repo.status();
    let request = repo.request("Change\n\nwith a body", &files);
    let mut announced = None;
    let result = repo.vcs().commit(&request, &mut |id| {
        announced = Some(id.clone());
        Ok(None)
    });
    assert_eq!(others(&repo), before, "{case}");
    if hook == Hook::Refuse {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Vcs, "{case}");
        assert!(error.message().ends_with("not today"), "{case}: {error}");
        assert_eq!(repo.rev("HEAD"), head, "{case}");
        assert_eq!(
            repo.status(),
            status_before,
            "{case}: surprise 38, nothing is staged"
        );
        repo.assert_sound();
        return;
    }
    let id = result.unwrap_or_else(|error| panic!("{case}: {}", error.one_line()));
    assert_eq!(repo.rev("HEAD"), id, "{case}");
    assert_eq!(repo.rev("main"), id, "{case}");
    assert_eq!(repo.rev("HEAD~1"), head, "{case}");
    if hook == Hook::None {
        assert_eq!(announced, Some(id.clone()), "{case}");
    }
    assert_eq!(
        repo.git(&["diff-tree", "-r", "--no-commit-id", "--name-status", "HEAD"]),
        format!("A\t{LISTING}\nM\t{MANIFEST}\nA\t{NEW}\nD\t{GONE}"),
        "{case}"
    );
    assert_eq!(
        repo.git(&["show", &format!("HEAD:{MANIFEST}")]),
        "new",
        "{case}"
    );
    let trailer = if hook == Hook::Edit {
        "\nTrailer: yes"
    } else {
        ""
    };
    assert_eq!(
        repo.git(&["log", "-1", "--format=%B"]).trim_end(),
        format!("Change\n\nwith a body{trailer}"),
        "{case}"
    );
    assert!(
        !repo.status().contains(".tether/"),
        "{case}: {}",
        repo.status()
    );
    for name in ["HEAD", "main"] {
        assert_eq!(
            repo.git(&["reflog", "show", "-1", "--format=%gs", name]),
            "commit: Change",
            "{case}"
        );
    }
    if hook == Hook::Pass {
        // The hook saw exactly our paths, staged.
        let saw = std::fs::read_to_string(scratch.path("hook-saw")).unwrap();
        assert_eq!(
            saw,
            format!("A\t{LISTING}\nM\t{MANIFEST}\nA\t{NEW}\nD\t{GONE}\n"),
            "{case}"
        );
    }
    let verified = repo.scratch.try_git(&repo.path, &["verify-commit", "HEAD"]);
    assert_eq!(verified.status.success(), signed, "{case}: {verified:?}");
    assert_eq!(
        repo.vcs().find_landed(&request).unwrap(),
        Some(id),
        "{case}"
    );
    repo.assert_sound();
    // Git can go on from there, and commits what was staged and nothing else.
    if signed {
        repo.git(&["config", "commit.gpgSign", "false"]);
    }
    repo.git(&["rm", "-q", "-f", "--cached", "conflicted"]);
    repo.git(&["commit", "-q", "--no-verify", "-m", "rest"]);
    assert_eq!(
        repo.git(&["diff-tree", "-r", "--no-commit-id", "--name-status", "HEAD"]),
        "A\tadded\nM\tboth\nD\tremoved\nM\tstaged",
        "{case}"
    );
}

#[test]
fn other_paths_stay_as_they_were_without_hooks() {
    let scratch = Scratch::new();
    for (n, ours) in [Ours::Clean, Ours::Staged, Ours::Intended]
        .into_iter()
        .enumerate()
    {
        run(&scratch, &format!("r{n}"), Hook::None, ours, false);
    }
}

#[test]
fn other_paths_stay_as_they_were_with_hooks_that_pass_or_edit() {
    let scratch = Scratch::new();
    for (n, ours) in [Ours::Clean, Ours::Staged, Ours::Intended]
        .into_iter()
        .enumerate()
    {
        run(&scratch, &format!("p{n}"), Hook::Pass, ours, false);
        run(&scratch, &format!("e{n}"), Hook::Edit, ours, false);
    }
}

/// Surprise 38
#[test]
fn a_refusing_hook_leaves_nothing_staged() {
    let scratch = Scratch::new();
    for (n, ours) in [Ours::Clean, Ours::Staged, Ours::Intended]
        .into_iter()
        .enumerate()
    {
        run(&scratch, &format!("r{n}"), Hook::Refuse, ours, false);
    }
}

#[test]
fn signed_commits_are_the_same_and_verify() {
    if !signing::available() {
        return;
    }
    let scratch = Scratch::new();
    for (n, hook) in [Hook::None, Hook::Pass, Hook::Refuse, Hook::Edit]
        .into_iter()
        .enumerate()
    {
        run(&scratch, &format!("r{n}"), hook, Ours::Clean, true);
    }
}

#[test]
fn a_conflict_on_our_own_path_is_refused() {
    let scratch = Scratch::new();
    for hooked in [false, true] {
        let repo = scratch.repo(&format!("r{hooked}"));
        if hooked {
            repo.hook("pre-commit", "true");
        }
        conflict(&repo, MANIFEST);
        let head = repo.rev("HEAD");
        let status = repo.status();
        repo.write("other", "x");
        let request = repo.request("x", &[(MANIFEST, Some("new\n"))]);
        let error = repo
            .vcs()
            .commit(&request, &mut |_| panic!("nothing is prepared"))
            .unwrap_err();
        assert!(error.message().contains("unresolved conflict"), "{error}");
        assert_eq!(
            error.hint().unwrap(),
            format!("resolve it, then git add {MANIFEST}")
        );
        assert_eq!(repo.rev("HEAD"), head);
        assert!(repo.status().starts_with(&status));
    }
}
