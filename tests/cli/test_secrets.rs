//! E53: no secret, and no line of a configuration file, in anything tether prints or keeps.

use insta::assert_snapshot;

use crate::common::TestEnvironment;

const SECRET: &str = "s3cr3t-VALUE";

#[test]
fn a_broken_secrets_file_is_named_and_not_quoted() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.write(
        ".tether/secrets.toml",
        format!("[uris.\"mysql://h:3306\"]\npassword = \"{SECRET}\n"),
    );
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(dir.path().join(".tether/secrets.toml"), private).unwrap();
    for args in [
        &["status"][..],
        &["commit", "-m", "x"],
        &["open", "code", "--json"],
    ] {
        let mut command = dir.command(args);
        command
            .env("RUST_BACKTRACE", "full")
            .env("RUST_LOG", "trace");
        let output = dir.run(command).exits(1);
        assert!(!output.to_string().contains("s3cr3t"), "{output}");
    }
    assert_snapshot!(dir.tether(["status"]), @r#"
    ------- stderr -------
    Error: cannot read .tether/secrets.toml: line 2: not TOML (invalid basic string, expected `"`)
    Hint: mend it: `$EDITOR .tether/secrets.toml`
    [exit status: 1]
    "#);
}

#[test]
fn secrets_do_not_reach_plans_operations_or_answers() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.write(
        ".tether/secrets.toml",
        format!("[backends.git]\ntoken = \"{SECRET}\"\n"),
    );
    let path = dir.path().join(".tether/secrets.toml");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    let mut texts = vec![
        dir.tether(["commit", "-m", "second", "--plan", "../p.json"])
            .success()
            .to_string(),
    ];
    for args in [
        &["commit", "-m", "second"][..],
        &["status", "--json"],
        &["ops", "--json"],
        &["open", "code", "--json", "--with-password"],
        &["verify", "--all-history", "--json"],
    ] {
        texts.push(dir.tether(args).success().to_string());
    }
    texts.push(env.work_dir(".").read("p.json"));
    let output = dir.shell("grep -rl s3cr3t .git .tether | grep -v secrets.toml");
    assert_eq!(output.stdout, "");
    assert!(texts.iter().all(|text| !text.contains("s3cr3t")));
}

#[test]
fn secrets_that_others_can_read_are_warned_about() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.write(
        ".tether/secrets.toml",
        format!("[backends.git]\ntoken = \"{SECRET}\"\n"),
    );
    let path = dir.path().join(".tether/secrets.toml");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = dir.tether(["status"]).success();
    assert!(output.stderr.starts_with("Warning: "), "{output}");
    assert!(!output.to_string().contains("s3cr3t"), "{output}");
}

/// P023: a tracked secrets file comes with a clone; it is refused before it is read.
#[test]
fn a_tracked_secrets_file_is_refused() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    dir.write(".tether/secrets.toml", "[vcs]\ngit_path = \"./evil\"\n");
    dir.write("evil", "#!/bin/sh\ntouch PWN\n");
    dir.git(["add", "-f", ".tether/secrets.toml"]);
    assert_snapshot!(dir.tether(["status"]), @r"
    ------- stderr -------
    Error: git tracks .tether/secrets.toml, which belongs to one checkout: a clone must not choose what it says
    Hint: `git rm --cached -- .tether/secrets.toml`, and commit that
    [exit status: 1]
    ");
    assert!(!dir.exists("PWN"));
    // The hint's command is the way out.
    dir.git(["rm", "-q", "--cached", ".tether/secrets.toml"]);
    let output = dir.tether(["status"]);
    assert!(!output.stderr.contains("tracks"), "{output}");
}
