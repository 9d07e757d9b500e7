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
    assert_snapshot!(broken(b"[tether\nversion = 5\n"), @r"
    ------- stderr -------
    Error: cannot read tether.toml: line 1: not TOML (unclosed table, expected `]`)
    Hint: mend it, or take back the committed one: `git restore -- tether.toml` (under jj `jj restore tether.toml`)
    [exit status: 1]
    ");
    assert_snapshot!(broken(b"\xff\xfe"), @r"
    ------- stderr -------
    Error: tether.toml is not UTF-8
    Hint: save it as UTF-8
    [exit status: 1]
    ");
    assert_snapshot!(broken(b""), @r"
    ------- stderr -------
    Error: tether.toml is of version 1, older than this tether's 5
    Hint: `tether upgrade --dry-run`, then `tether upgrade`
    [exit status: 1]
    ");
    assert_snapshot!(broken(good.replace("version = 5", "version = \"x\"").as_bytes()), @r"
    ------- stderr -------
    Error: cannot read tether.toml: line 2: `tether.version` must be an integer, not text
    Hint: mend it, or take back the committed one: `git restore -- tether.toml` (under jj `jj restore tether.toml`)
    [exit status: 1]
    ");
    assert_snapshot!(broken(good.replace("version = 5", "version = 4").as_bytes()), @r"
    ------- stderr -------
    Error: tether.toml is of version 4, older than this tether's 5
    Hint: `tether upgrade --dry-run`, then `tether upgrade`
    [exit status: 1]
    ");
    assert_snapshot!(broken(good.replace("version = 5", "version = 6").as_bytes()), @r"
    ------- stderr -------
    Error: tether.toml is of version 6, newer than this tether understands (5)
    Hint: install a newer tether; `tether --version` shows this one's
    [exit status: 1]
    ");
    assert_snapshot!(broken(good.replace("0a1b2c3d", "XYZ").as_bytes()), @r"
    ------- stderr -------
    Error: cannot read tether.toml: line 5: `dataset.id` must be 8 lower-case hexadecimal digits
    Hint: mend it, or take back the committed one: `git restore -- tether.toml` (under jj `jj restore tether.toml`)
    [exit status: 1]
    ");
    assert_snapshot!(broken(format!("{good}\n[nosuch]\na = 1\n").as_bytes()), @r"
    ------- stderr -------
    Error: cannot read tether.toml: line 20: `[nosuch]` is not a setting of this tether
    Hint: remove it from tether.toml; the user guide's Configuration page lists every setting
    [exit status: 1]
    ");
    assert_snapshot!(broken(format!("{good}\n[vcs]\ngit_path = \"./evil\"\n").as_bytes()), @r"
    ------- stderr -------
    Error: cannot read tether.toml: line 21: `vcs.git_path` may not be set in a committed file, which arrives with every clone
    Hint: remove it from tether.toml and put it under `[vcs]` in .tether/secrets.toml
    [exit status: 1]
    ");
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
    assert_snapshot!(broken(b"key = \"code\nkind = \"git\"\n"), @r#"
    ------- stderr -------
    Error: cannot read .tether/objects/code.toml: line 1: not TOML (invalid basic string, expected `"`)
    Hint: mend it, or take back the committed one: `git restore -- .tether/objects/code.toml` (under jj `jj restore .tether/objects/code.toml`)
    [exit status: 1]
    "#);
    assert_snapshot!(broken(b"\xff\xfe"), @r"
    ------- stderr -------
    Error: cannot read .tether/objects/code.toml: line 1 is not UTF-8 text
    Hint: mend it, or take back the committed one: `git restore -- .tether/objects/code.toml` (under jj `jj restore .tether/objects/code.toml`)
    [exit status: 1]
    ");
    assert_snapshot!(broken(b""), @r"
    ------- stderr -------
    Error: cannot read .tether/objects/code.toml: it has no `key`
    Hint: mend it, or take back the committed one: `git restore -- .tether/objects/code.toml` (under jj `jj restore .tether/objects/code.toml`)
    [exit status: 1]
    ");
    assert_snapshot!(broken(good.replace("key = \"code\"", "key = \"other\"").as_bytes()), @r#"
    ------- stderr -------
    Error: cannot read .tether/objects/code.toml: line 1: `key` must be "code", as its place says
    Hint: mend it, or take back the committed one: `git restore -- .tether/objects/code.toml` (under jj `jj restore .tether/objects/code.toml`)
    [exit status: 1]
    "#);
    assert_snapshot!(
        broken(format!("<<<<<<< HEAD\n{good}=======\n{good}>>>>>>> theirs\n").as_bytes()),
        @r"
    ------- stderr -------
    Error: cannot read .tether/objects/code.toml: line 1 starts a merge conflict
    Hint: resolve the conflict in .tether/objects/code.toml, then `tether status`
    [exit status: 1]
    "
    );
}

/// A kind this build does not have is one object's trouble, not the dataset's.
#[test]
fn an_object_of_a_kind_this_build_lacks_does_not_stop_the_others() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let manifest = dir.read(".tether/objects/code.toml");
    dir.write(
        ".tether/objects/ice.toml",
        manifest
            .replace("\"code\"", "\"ice\"")
            .replace("\"git\"", "\"icechunk\""),
    );
    assert_snapshot!(dir.tether(["status", "--snapshot"]), @r"
    dataset O2; on trunk bookmark main
          clean  code  [git/forkable]
          error  ice  [icechunk/observed]
          clean  raw  [file/observed] unrecoverable
    ------- stderr -------
    Error: ice (icechunk): this build has no icechunk backend: it comes in a later build (`tether backends` lists the kinds of this build)
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["verify"]), @r#"
            ok  code
            ok  raw
    ------- stderr -------
    Warning: 1 manifest(s) of kind "icechunk" skipped: this build has no "icechunk" backend; not verified
    "#);
    assert_snapshot!(dir.tether(["open", "ice"]), @r"
    ------- stderr -------
    Error: ice (icechunk): this build has no icechunk backend: it comes in a later build
    Hint: `tether backends` lists the kinds of this build
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["commit", "-m", "x"]), @r"
    committed O3
    ------- stderr -------
    note: ice: not looked at, and stays as committed; `tether status ice` says why
    ");
    assert_snapshot!(dir.tether(["diff", "HEAD"]), @"");
}

#[test]
fn a_broken_workspace_file_is_named() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.write(".tether/workspace.toml", "workspace_id = \"\n");
    assert_snapshot!(dir.tether(["status"]), @r#"
    ------- stderr -------
    Error: cannot read .tether/workspace.toml: line 1: not TOML (invalid basic string, expected `"`)
    Hint: mend it, or start over: `rm .tether/workspace.toml`, then `tether new BOOKMARK`
    [exit status: 1]
    "#);
    dir.tether(["commit", "-m", "x"]).exits(1);
}

#[test]
fn a_store_that_is_missing_is_named_by_every_command_that_needs_it() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    std::fs::rename(env.root().join("code"), env.root().join("gone")).unwrap();
    std::fs::rename(env.root().join("raw"), env.root().join("raw-gone")).unwrap();
    assert_snapshot!(dir.tether(["verify"]), @r"
       unknown  code  $TEST_ENV/code does not exist (clone the repository to $TEST_ENV/code)
       missing  raw  [file] path does not exist: $TEST_ENV/raw
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["log", "code"]), @r"
    ------- stderr -------
    Error: code (git): $TEST_ENV/code does not exist
    Hint: clone the repository to $TEST_ENV/code
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["open", "code"]), @r"
    ------- stderr -------
    Error: code (git): $TEST_ENV/code does not exist
    Hint: clone the repository to $TEST_ENV/code
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["commit", "-m", "x"]), @r"
    ------- stderr -------
    Error: code (git): $TEST_ENV/code does not exist
    Hint: clone the repository to $TEST_ENV/code
    [exit status: 1]
    ");
    assert_eq!(dir.git(["log", "--format=%s"]), "first");
}

/// A locator inside the dataset's own checkout would track itself.
#[test]
fn a_locator_inside_the_checkout_is_refused() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.write("inside/a.txt", "x");
    let before = dir.files();
    assert_snapshot!(dir.tether(["add", "inside", "--kind", "file", "inside"]), @r"
    ------- stderr -------
    Error: inside (file): $TEST_ENV/ds/inside is inside the dataset's own checkout ($TEST_ENV/ds), whose files the repository versions
    Hint: move it out of the checkout, and `tether add` it there
    [exit status: 1]
    ");
    assert_snapshot!(dir.tether(["add", "meta", "--kind", "file", ".tether"]), @r"
    ------- stderr -------
    Error: meta (file): $TEST_ENV/ds/.tether is tether's own, and its commands write there
    Hint: keep data outside `.tether`
    [exit status: 1]
    ");
    dir.dir("sub").git(["init", "-q"]);
    assert_snapshot!(dir.tether(["add", "sub", "--kind", "git", "sub"]), @r"
    ------- stderr -------
    Error: sub (git): $TEST_ENV/ds/sub is inside the dataset's checkout, whose files came with the clone
    Hint: point `path` at a repository outside it
    [exit status: 1]
    ");
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
    assert_snapshot!(dir.run(command), @r"
    ------- stderr -------
    Error: git does not know who the author of a commit is
    Hint: git config --global user.name NAME && git config --global user.email ADDRESS
    [exit status: 1]
    ");
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
        let objects = dir.path().join(".tether/objects");
        let _ = std::fs::remove_dir_all(&objects);
        dir.write(".tether/objects", "");
        assert_snapshot!(dir.tether(["add", "code", "--kind", "git", "../code"]), @r"
        ------- stderr -------
        Error: cannot list $TEST_ENV/ds/.tether/objects
        Caused by: Not a directory (os error 20)
        [exit status: 1]
        ");
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
