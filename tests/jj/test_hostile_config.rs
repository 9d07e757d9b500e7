//! What a user configures in jj changes nothing in what tether reads and writes; where jj itself cannot go on, the error says what it is
//! and nothing is half done.

use crate::common::{DATASET, TestEnvironment};

use super::story::{Place, Program, Story};

/// What a short story answered, and what it left in git.
#[derive(Debug, PartialEq)]
struct Left {
    answers: Vec<String>,
    history: String,
    files: Vec<String>,
}

fn story(config: &str, program: Program) -> Left {
    let env = TestEnvironment::new();
    env.jj_config(config);
    let mut story = Story::empty(&env, Place::Colocated);
    story.program = program;
    story.dir.write("mine.txt", "mine\n");
    let mut answers = Vec::new();
    let say = |answers: &mut Vec<String>, args: &[&str]| {
        let output = story.run(args);
        assert_eq!(output.code, 0, "{config}: {args:?}:\n{output}");
        let stdout = env.normalise(&output.stdout);
        answers.push(format!("{args:?} {}\n{stdout}", output.code));
    };
    for args in [
        &["init", "--dataset-id", DATASET, "--json"][..],
        &["add", "raw", "--kind", "file", "../raw"],
        &["add", "code", "--kind", "git", "../code"],
        &["commit", "-m", "first", "--json"],
        &["status", "--json"],
        &["commit", "-m", "nothing", "--json"],
    ] {
        say(&mut answers, args);
    }
    story.advance("print(2)\n");
    for args in [
        &["commit", "-m", "second", "--json"][..],
        &["status", "--json"],
        &["verify", "--all-history", "--json"],
        &["verify", "--rev", "@--", "--json"],
        &["diff", "@--", "main", "--json"],
        &["diff", "--json"],
        &["log", "code", "--json"],
        &["open", "code", "--rev", "@--", "--json"],
        &["ops", "--json"],
        &["commit", "-m", "third", "--dry-run"],
    ] {
        say(&mut answers, args);
    }
    let history = story.dir.git(["log", "--format=%H %s%n%an <%ae>", "main"]);
    let files = story.dir.git(["ls-tree", "-r", "--name-only", "main"]);
    let show = |name: &str| {
        let text = story.dir.git(["show", &format!("main:{name}")]);
        env.normalise(&format!("{name}\n{text}"))
    };
    Left {
        answers,
        history: env.normalise(&history),
        files: files.lines().map(show).collect(),
    }
}

/// The same story under `config` and without it.
fn changes_nothing(config: &str) {
    let plain = story("", Program::Tether);
    assert_eq!(plain.files.len(), 5, "{:?}", plain.files);
    for program in [Program::Tether, Program::Jj] {
        let left = story(config, program);
        for (a, b) in left.answers.iter().zip(&plain.answers) {
            assert_eq!(a, b, "{program:?} under {config}");
        }
        assert_eq!(left, plain, "{program:?} under {config}");
    }
}

#[test]
fn colour_that_is_forced() {
    changes_nothing("[ui]\ncolor = \"always\"\n");
}

#[test]
fn a_pager_and_an_editor_that_fail() {
    changes_nothing(
        "[ui]\npaginate = \"auto\"\npager = \"false\"\neditor = \"false\"\ndiff-editor = \"false\"\nmerge-editor = \"false\"\n",
    );
}

#[test]
fn aliases_of_the_sets_tether_needs() {
    changes_nothing(
        r#"
        [revset-aliases]
        "all()" = "none()"
        "visible_heads()" = "none()"
        "trunk()" = "root()"
        "mutable()" = "none()"
        "heads(x)" = "none()"
        "bookmarks()" = "none()"
        "main" = "root()"
        "first" = "root()"
        [fileset-aliases]
        "main" = "none()"
        "#,
    );
}

#[test]
fn templates_that_print_something_else() {
    changes_nothing(
        r#"
        [templates]
        log = '"x\n"'
        op_log = '"x\n"'
        show = '"x\n"'
        draft_commit_description = '"x\n"'
        commit_trailers = '"Signed-off-by: Somebody <x@example.org>\n"'
        [template-aliases]
        commit_id = '"x"'
        description = '"x"'
        "format_short_id(id)" = '"x"'
        "#,
    );
}

#[test]
fn nothing_is_tracked_by_itself() {
    changes_nothing("[snapshot]\nauto-track = \"none()\"\n");
}

#[test]
fn new_files_may_have_one_byte() {
    changes_nothing("[snapshot]\nmax-new-file-size = 1\n");
}

#[test]
fn a_file_system_monitor_that_is_not_there() {
    changes_nothing("[fsmonitor]\nbackend = \"watchman\"\n");
}

#[test]
fn nothing_is_immutable() {
    changes_nothing("[revset-aliases]\n\"immutable_heads()\" = \"none()\"\n");
}

#[test]
fn git_things_jj_can_be_told_to_do() {
    changes_nothing(
        "[git]\nabandon-unreachable-commits = false\nauto-local-bookmark = true\nwrite-change-id-header = false\n\
         [merge]\nhunk-level = \"word\"\n[diff.color-words]\nmax-inline-alternation = 0\n[working-copy]\neol-conversion = \"input\"\n",
    );
}

/// Where everything that has a bookmark is immutable, so is the change that `init` puts `main` on, with what the user had in it: the
/// manifests come to be in the next one, and are the same.
#[test]
fn everything_on_a_bookmark_is_immutable() {
    let config = "[revset-aliases]\n\"immutable_heads()\" = \"bookmarks()\"\n";
    let plain = story("", Program::Tether);
    for program in [Program::Tether, Program::Jj] {
        let mut left = story(config, program);
        left.files.retain(|file| !file.starts_with("mine.txt"));
        assert_eq!(left.files, plain.files, "{program:?}");
        assert_eq!(left.answers.len(), plain.answers.len());
    }
}

/// A signer that fails: the error names it, and neither manifests nor bookmarks nor pins are left half way.
#[test]
fn a_signer_that_fails() {
    for program in [Program::Tether, Program::Jj] {
        let env = TestEnvironment::new();
        let mut story = Story::committed(&env, Place::Colocated);
        story.program = program;
        story.advance("print(2)\n");
        story.clean();
        let before = (
            story.dir.files(),
            story.heads(),
            story.dir.jj_log("all()", "commit_id ++ bookmarks"),
            env.work_dir("code").git(["for-each-ref"]),
        );
        env.jj_config(
            "[signing]\nbehavior = \"force\"\nbackend = \"gpg\"\nkey = \"x\"\nbackends.gpg.program = \"false\"\n",
        );
        let output = story.run(&["commit", "-m", "second"]).exits(1);
        assert!(output.stderr.contains("GPG"), "{output}");
        assert!(output.stderr.starts_with("Error: "), "{output}");
        env.jj_config("[signing]\nbehavior = \"drop\"\n");
        let after = (
            story.dir.files(),
            story.heads(),
            story.dir.jj_log("all()", "commit_id ++ bookmarks"),
            env.work_dir("code").git(["for-each-ref"]),
        );
        assert_eq!(after, before);
        story.clean();
        story.does(&["commit", "-m", "second"]);
        story.clean();
    }
}

/// A signer that works signs dataset commits, and nothing that only tether needs.
#[test]
fn a_signer_that_works_signs_the_dataset_commit() {
    let env = TestEnvironment::new();
    let signer = env.root().join("signer");
    let calls = env.root().join("calls");
    let script = format!(
        "#!/bin/sh\ncat >> {calls}\necho >> {calls}\nprintf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n",
        calls = calls.display()
    );
    std::fs::write(&signer, script).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&signer, executable).unwrap();
    env.jj_config(&format!(
        "[signing]\nbehavior = \"own\"\nbackend = \"gpg\"\nbackends.gpg.program = \"{}\"\n",
        signer.display()
    ));
    let story = Story::committed(&env, Place::Colocated);
    let commit = story.dir.git(["cat-file", "commit", "main"]);
    assert!(commit.contains("BEGIN PGP SIGNATURE"), "{commit}");
    let signed = std::fs::read_to_string(calls).unwrap();
    assert!(signed.contains("first"), "{signed}");
    assert!(!signed.contains("tether view"), "{signed}");
}
