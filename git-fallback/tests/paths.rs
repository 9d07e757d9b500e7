//! Tracked, ignored, left out.

use tether_engine::vcs::Vcs;

use crate::fixture::{MANIFEST, Scratch};

fn texts(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

/// P023
#[test]
fn tracked_is_the_index_in_any_stage_or_the_head() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let asked = texts(&[
        ".tether/secrets.toml",
        ".tether/workspace.toml",
        ".tether/ops.jsonl",
        "file",
        "nosuch/x",
    ]);
    let tracked = || repo.vcs().tracked(&asked).unwrap();
    assert_eq!(tracked(), ["file"]);
    repo.write(".tether/secrets.toml", "x");
    assert_eq!(tracked(), ["file"]);
    repo.git(&["add", "-f", ".tether/secrets.toml"]);
    assert_eq!(tracked(), [".tether/secrets.toml", "file"]);
    repo.git(&["commit", "-q", "-m", "secrets"]);
    repo.git(&["rm", "-q", "--cached", ".tether/secrets.toml"]);
    assert_eq!(
        tracked(),
        [".tether/secrets.toml", "file"],
        "the head still has it"
    );
    repo.git(&["commit", "-q", "-m", "no secrets"]);
    assert_eq!(tracked(), ["file"]);
    repo.write(".tether/ops.jsonl", "x");
    repo.git(&["add", "-f", "-N", ".tether/ops.jsonl"]);
    let blob = repo.git(&["hash-object", "-w", "file"]);
    let entry = format!("100644 {blob} 2\t.tether/workspace.toml\n");
    let mut feed = scratch.command("git", &repo.path);
    feed.args(["update-index", "--index-info"])
        .stdin(std::process::Stdio::piped());
    let mut child = feed.spawn().unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), entry.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(
        tracked(),
        [".tether/workspace.toml", ".tether/ops.jsonl", "file"]
    );
    let empty = scratch.empty("e", &[]);
    assert_eq!(empty.vcs().tracked(&asked).unwrap(), Vec::<String>::new());
}

/// P023: a clone may bring the per-checkout files through a symlink or a submodule in the place of their folder.
#[test]
fn what_lies_behind_a_tracked_symlink_is_tracked() {
    let scratch = Scratch::new();
    let repo = scratch.empty("r", &[]);
    repo.write("evil/secrets.toml", "[vcs]\n");
    std::os::unix::fs::symlink("evil", repo.path.join(".tether")).unwrap();
    repo.git(&["add", "-A"]);
    let asked = texts(&[".tether/secrets.toml", "evil/secrets.toml", "evil"]);
    let both = [".tether/secrets.toml", "evil/secrets.toml"];
    assert_eq!(repo.vcs().tracked(&asked).unwrap(), both);
    repo.git(&["commit", "-q", "-m", "x"]);
    repo.git(&["rm", "-q", "--cached", ".tether"]);
    assert_eq!(repo.vcs().tracked(&asked).unwrap(), both);
}

#[test]
fn tracked_folds_case_where_the_repository_does() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    repo.write(".Tether/Secrets.toml", "x");
    repo.git(&["add", "-f", ".Tether/Secrets.toml"]);
    let asked = texts(&[".tether/secrets.toml"]);
    assert_eq!(repo.vcs().tracked(&asked).unwrap(), Vec::<String>::new());
    repo.git(&["config", "core.ignoreCase", "true"]);
    assert_eq!(repo.vcs().tracked(&asked).unwrap(), asked);
    repo.git(&["commit", "-q", "-m", "x"]);
    repo.git(&["rm", "-q", "--cached", ".Tether/Secrets.toml"]);
    assert_eq!(repo.vcs().tracked(&asked).unwrap(), asked);
}

/// P046
#[test]
fn ignored_knows_every_source_of_rules_and_spares_what_is_tracked() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    let asked = texts(&[
        MANIFEST,
        ".tether/objects/b.toml",
        "data/.tether/objects/x.toml",
        "tether.toml",
        "sub/tether.toml",
    ]);
    let ignored = || repo.vcs().ignored(&asked).unwrap();
    assert_eq!(ignored(), Vec::<String>::new());
    repo.write(".gitignore", "/data/\n.tether\n");
    assert_eq!(
        ignored(),
        [".tether/objects/b.toml", "data/.tether/objects/x.toml"]
    );
    repo.write(".gitignore", "");
    repo.write(".git/info/exclude", "*.toml\n!tether.toml\n");
    assert_eq!(
        ignored(),
        [".tether/objects/b.toml", "data/.tether/objects/x.toml"]
    );
    repo.write(".git/info/exclude", "");
    repo.write("elsewhere", "tether.toml\n");
    repo.git(&[
        "config",
        "core.excludesFile",
        repo.path.join("elsewhere").to_str().unwrap(),
    ]);
    assert_eq!(ignored(), ["tether.toml", "sub/tether.toml"]);
    repo.write("sub/.gitignore", "!tether.toml\n");
    assert_eq!(ignored(), ["tether.toml"]);
}

#[test]
fn left_out_is_what_sparse_checkouts_leave_out() {
    let scratch = Scratch::new();
    let repo = scratch.repo("r");
    repo.write("data/.tether/objects/x.toml", "x\n");
    repo.write("kept/y.toml", "y\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-q", "-m", "more"]);
    let asked = texts(&[
        "data/.tether/objects/x.toml",
        "kept/y.toml",
        MANIFEST,
        "data/nosuch",
    ]);
    assert_eq!(repo.vcs().left_out(&asked).unwrap(), Vec::<String>::new());
    repo.git(&["sparse-checkout", "set", "kept"]);
    assert_eq!(
        repo.vcs().left_out(&asked).unwrap(),
        ["data/.tether/objects/x.toml", MANIFEST]
    );
    repo.git(&["sparse-checkout", "reapply", "--sparse-index"]);
    assert_eq!(
        repo.vcs().left_out(&asked).unwrap(),
        ["data/.tether/objects/x.toml", MANIFEST, "data/nosuch"]
    );
    let error = repo
        .commit("x", &[("data/.tether/objects/z.toml", Some("z\n"))])
        .unwrap_err();
    assert!(error.message().contains("sparse"), "{error}");
    // In the cone a commit works, and the sparse index stays one that git can use.
    let before = repo.rev("HEAD");
    std::fs::remove_dir_all(repo.path.join("data")).unwrap();
    repo.commit("x", &[("kept/z.toml", Some("z\n"))]).unwrap();
    assert_eq!(
        repo.git(&["diff", "--name-only", before.as_str(), "HEAD"]),
        "kept/z.toml"
    );
    assert_eq!(repo.status(), "");
    repo.hook("pre-commit", "true");
    let before = repo.rev("HEAD");
    repo.commit("x", &[("kept/z.toml", Some("hooked\n"))])
        .unwrap();
    assert_eq!(
        repo.git(&["diff", "--name-only", before.as_str(), "HEAD"]),
        "kept/z.toml"
    );
    assert_eq!(repo.status(), "");
    repo.git(&["sparse-checkout", "disable"]);
    assert_eq!(repo.vcs().left_out(&asked).unwrap(), Vec::<String>::new());
    assert_eq!(repo.status(), "");
    repo.assert_sound();
}
