//! What commands leave alone, and how failures of the repository are said.

use crate::common::TestEnvironment;

/// P084: reading a dataset writes nothing that git sees, and never the ignore file again.
#[test]
fn ten_reads_leave_the_ignore_file_and_git_status_alone() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let ignore = dir.path().join(".tether/.gitignore");
    let before = std::fs::metadata(&ignore).unwrap().modified().unwrap();
    for _ in 0..10 {
        dir.tether(["status"]).success();
        dir.tether(["verify"]).success();
        dir.tether(["diff"]).success();
        dir.tether(["ops"]).success();
    }
    assert_eq!(
        std::fs::metadata(&ignore).unwrap().modified().unwrap(),
        before
    );
    assert_eq!(dir.git(["status", "--porcelain"]), "");
}

/// P058: a kind this build lacks, in a committed manifest, is that object's error; nothing of it is lost by a commit.
#[test]
fn a_committed_kind_this_build_lacks_stays_as_it_is() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let manifest = "key = \"lake\"\nkind = \"iceberg\"\nrecoverable = true\ncaptured_at = \"2026-01-01T00:00:00.000000+00:00\"\n\n\
                    [locator]\nidentifier = \"ns.t\"\n\n[policy]\nfile = \"immutable\"\npin = \"native\"\n\n[state]\nsnapshot_id = 7\n";
    dir.write(".tether/objects/lake.toml", manifest);
    dir.git(["add", "-A"]);
    dir.git(["commit", "-q", "-m", "lake"]);
    let status = dir.tether(["status"]);
    assert_eq!(status.code, 1, "{status}");
    assert!(status.to_string().contains("error  lake"), "{status}");
    assert!(status.to_string().contains("clean  code"), "{status}");
    env.work_dir("code")
        .git(["commit", "-q", "--allow-empty", "-m", "more"]);
    let commit = dir.tether(["commit", "-m", "code alone"]);
    assert!(
        commit.to_string().contains("lake"),
        "the object that was not looked at is named: {commit}"
    );
    assert_eq!(dir.read(".tether/objects/lake.toml"), manifest);
}

/// Surprise 5: a failure of the repository is said in its own words, not as a command line of ours.
#[test]
fn an_unknown_revision_is_named_in_one_sentence() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    for line in [
        &["verify", "--rev", "nosuch"][..],
        &["diff", "nosuch"],
        &["open", "code", "--rev", "nosuch"],
    ] {
        let answer = dir.tether(line);
        assert_eq!(answer.code, 1, "{answer}");
        let text = answer.to_string();
        assert!(
            text.contains("nosuch") && text.contains("Hint: "),
            "{answer}"
        );
        assert!(
            !text.contains("git -") && !text.contains("rev-parse --"),
            "{answer}"
        );
    }
}
