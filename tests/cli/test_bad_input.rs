//! Bad input: one clear message, the guide's exit code, nothing changed.

use insta::assert_snapshot;

use crate::common::{TestEnvironment, WorkDir};

/// Runs every kind of command; each must refuse with `code` 1 and change nothing.
fn refused_everywhere(dir: &WorkDir<'_>, sentence: &str) {
    let before = dir.files();
    for line in [
        "status",
        "status --json",
        "snapshot",
        "verify",
        "diff",
        "commit -m x",
        "open code",
    ] {
        let output = dir.tether(line.split(' ')).exits(1);
        assert!(output.stderr.starts_with("Error: "), "{line}: {output}");
        assert!(output.stderr.contains(sentence), "{line}: {output}");
        assert_eq!(output.stdout, "", "{line}");
    }
    assert_eq!(dir.files(), before);
}

/// Surprise 3: no file of a dataset that cannot be read ends in anything but a sentence.
#[test]
fn a_broken_dataset_file_is_named() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let good = dir.read("tether.toml");
    let broken = |text: &[u8]| {
        dir.write("tether.toml", text);
        refused_everywhere(&dir, "tether.toml");
        dir.tether(["status"])
    };
    assert_snapshot!(broken(b"[tether\nversion = 5\n"), @"");
    assert_snapshot!(broken(b"\xff\xfe"), @"");
    assert_snapshot!(broken(b""), @"");
    assert_snapshot!(broken(good.replace("version = 5", "version = \"x\"").as_bytes()), @"");
    assert_snapshot!(broken(good.replace("version = 5", "version = 4").as_bytes()), @"");
    assert_snapshot!(broken(good.replace("version = 5", "version = 6").as_bytes()), @"");
    assert_snapshot!(broken(good.replace("0a1b2c3d", "XYZ").as_bytes()), @"");
    assert_snapshot!(broken(format!("{good}\n[nosuch]\na = 1\n").as_bytes()), @"");
    assert_snapshot!(broken(format!("{good}\n[vcs]\ngit_path = \"./evil\"\n").as_bytes()), @"");
}

#[test]
fn a_broken_manifest_is_named() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let good = dir.read(".tether/objects/code.toml");
    let broken = |text: &[u8]| {
        dir.write(".tether/objects/code.toml", text);
        let before = dir.files();
        dir.tether(["commit", "-m", "x"]).exits(1);
        let output = dir.tether(["open", "code"]).exits(1);
        assert_eq!(dir.files(), before);
        output
    };
    assert_snapshot!(broken(b"key = \"code\nkind = \"git\"\n"), @"");
    assert_snapshot!(broken(b"\xff\xfe"), @"");
    assert_snapshot!(broken(b""), @"");
    assert_snapshot!(broken(good.replace("key = \"code\"", "key = \"other\"").as_bytes()), @"");
    assert_snapshot!(
        broken(format!("<<<<<<< HEAD\n{good}=======\n{good}>>>>>>> theirs\n").as_bytes()),
        @""
    );
    assert_snapshot!(broken(good.replace("kind = \"git\"", "kind = \"nosuch\"").as_bytes()), @"");
}

#[test]
fn a_broken_workspace_file_is_named() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.write(".tether/workspace.toml", "workspace_id = \"\n");
    assert_snapshot!(dir.tether(["status"]), @"");
    dir.tether(["commit", "-m", "x"]).exits(1);
}

#[test]
fn a_store_that_is_missing_is_named_by_every_command_that_needs_it() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    std::fs::rename(env.root().join("code"), env.root().join("gone")).unwrap();
    std::fs::rename(env.root().join("raw"), env.root().join("raw-gone")).unwrap();
    assert_snapshot!(dir.tether(["verify"]), @"");
    assert_snapshot!(dir.tether(["log", "code"]), @"");
    assert_snapshot!(dir.tether(["open", "code"]), @"");
    assert_snapshot!(dir.tether(["commit", "-m", "x"]), @"");
    assert_eq!(dir.git(["log", "--format=%s"]), "first");
}

/// A locator inside the dataset's own checkout would track itself.
#[test]
fn a_locator_inside_the_checkout_is_refused() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.write("inside/a.txt", "x");
    let before = dir.files();
    assert_snapshot!(dir.tether(["add", "inside", "--kind", "file", "inside"]), @"");
    assert_snapshot!(dir.tether(["add", "meta", "--kind", "file", ".tether"]), @"");
    dir.dir("sub").git(["init", "-q"]);
    assert_snapshot!(dir.tether(["add", "sub", "--kind", "git", "sub"]), @"");
    let _ = std::fs::remove_dir_all(dir.path().join("sub"));
    assert_eq!(dir.files(), before);
}

#[test]
fn without_an_identity_nothing_is_pinned() {
    let env = TestEnvironment::new();
    env.code("code");
    let dir = env.dataset();
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    let before = dir.git_status();
    let mut command = dir.command(["commit", "-m", "first"]);
    let empty = env.root().join("empty");
    std::fs::write(&empty, "[user]\n\tuseConfigOnly = true\n").unwrap();
    command.env("GIT_CONFIG_GLOBAL", empty);
    assert_snapshot!(dir.run(command), @"");
    assert_eq!(env.work_dir("code").git(["tag"]), "");
    assert_eq!(dir.git_status(), before);
    assert_eq!(dir.git(["rev-list", "--all"]), "");
}

/// No space on the device: everything stays as it was, and works again when there is room.
#[test]
fn a_full_disk_leaves_everything_as_it_was() {
    let env = TestEnvironment::new();
    let raw = env.work_dir("raw");
    for n in 0..2000 {
        raw.write(&format!("file-with-a-long-name-{n:06}.bin"), "x");
    }
    let dir = env.dataset();
    dir.tether(["add", "raw", "--kind", "file", "../raw"])
        .success();
    let before = dir.git_status();
    // Files may not grow beyond 32 KiB; the listing of the directory is larger.
    let output = dir.shell("trap '' XFSZ; ulimit -f 32; tether commit -m first");
    assert_eq!(output.code, 1, "{output}");
    assert!(output.stderr.starts_with("Error: "), "{output}");
    assert!(output.stderr.contains("File too large"), "{output}");
    assert_eq!(dir.git(["rev-list", "--all"]), "");
    assert_eq!(dir.git_status(), before);
    dir.tether(["commit", "-m", "first"]).success();
}

/// Surprise 3: a `.tether` that cannot be written.
#[test]
fn a_read_only_checkout_is_said_in_one_sentence() {
    use std::os::unix::fs::PermissionsExt as _;
    if rustix::process::geteuid().is_root() {
        // Root may write anywhere; a file where a directory should be has the same effect.
        let env = TestEnvironment::new();
        let dir = env.dataset();
        env.code("code");
        dir.write(".tether/objects", "");
        assert_snapshot!(dir.tether(["add", "code", "--kind", "git", "../code"]), @"");
        return;
    }
    let env = TestEnvironment::new();
    let dir = env.dataset();
    env.code("code");
    let tether = dir.path().join(".tether");
    std::fs::set_permissions(&tether, std::fs::Permissions::from_mode(0o555)).unwrap();
    let output = dir
        .tether(["add", "code", "--kind", "git", "../code"])
        .exits(1);
    assert!(output.stderr.contains("Permission denied"), "{output}");
    std::fs::set_permissions(&tether, std::fs::Permissions::from_mode(0o755)).unwrap();
}
