//! Commands of tether that this build does not have say so; they never look as if they had worked.

use insta::assert_snapshot;
use tether::cli::NOT_YET;

use crate::common::TestEnvironment;

#[test]
fn a_command_of_a_later_build_says_that_it_is_not_here() {
    let env = TestEnvironment::new();
    let dir = env.dataset();
    let before = dir.files();
    assert_snapshot!(dir.tether(["new", "-b", "relabel"]), @r"
    ------- stderr -------
    Error: `tether new` is not in this build yet; nothing was done
    Hint: `tether --help` lists the commands of this build
    [exit status: 1]
    ");
    for name in NOT_YET {
        for arguments in [&["--help"][..], &[], &["--no-dry-run", "x", "-m", "y"]] {
            let output = dir.tether([&[*name], arguments].concat()).exits(1);
            let sentence = format!("Error: `tether {name}` is not in this build yet");
            assert!(output.stderr.starts_with(&sentence), "{output}");
            assert_eq!(output.stdout, "");
        }
    }
    assert_eq!(dir.files(), before);
}

#[test]
fn help_lists_only_the_commands_there_are() {
    let env = TestEnvironment::new();
    let help = env.work_dir(".").tether(["--help"]).success().stdout;
    for name in NOT_YET {
        assert!(!help.contains(&format!("\n  {name} ")), "{name} is listed");
    }
}
