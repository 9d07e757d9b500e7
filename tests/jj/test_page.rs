//! `docs/jj.md` is true.

use crate::common::TestEnvironment;

/// The fenced blocks of `docs/jj.md` in a language.
fn blocks(language: &str) -> Vec<String> {
    let page = std::fs::read_to_string(crate::common::checkout().join("docs/jj.md")).unwrap();
    let open = format!("```{language}");
    let (mut blocks, mut inside) = (Vec::new(), None);
    for line in page.lines().map(str::trim) {
        match &mut inside {
            None if line == open => inside = Some(String::new()),
            Some(_) if line == "```" => blocks.extend(inside.take()),
            Some(block) => {
                block.push_str(line);
                block.push('\n');
            }
            None => {}
        }
    }
    blocks
}

/// The examples of the page for jj users run, and its configuration does what it says.
#[test]
fn the_page_for_jj_users_is_true() {
    let env = TestEnvironment::new();
    let dir = env.jj_repo("ds");
    let code = env.code("code");
    dir.tether(["init"]).success();
    dir.tether(["add", "code", "--kind", "git", "../code"])
        .success();
    dir.tether(["commit", "-m", "first"]).success();
    code.write("main.py", "print(2)\n");
    code.git(["commit", "-q", "-a", "-m", "more"]);
    dir.tether(["commit", "-m", "second"]).success();
    let examples = blocks("bash").concat();
    for example in examples.lines() {
        // There is no remote here.
        let example = example.replace("main@origin", "root()");
        let output = dir.shell(&example).success();
        assert!(output.stderr.is_empty(), "{example}: {output}");
    }
    assert_eq!(examples.lines().count(), 8);
    let toml = blocks("toml");
    let [alias, words, stock] = toml.as_slice() else {
        panic!("{toml:?}");
    };
    env.jj_config(alias);
    assert_eq!(
        dir.shell("stock-jj tether ops").success().stdout,
        dir.tether(["ops"]).success().stdout
    );
    env.jj_config(words);
    let coloured = |args: &[&str]| {
        let args = [args, &["--no-graph", "--color", "always"]].concat();
        dir.jj(args).success().stdout
    };
    let log = coloured(&["log"]);
    assert!(log.contains("data: ") && !log.contains("tether: "), "{log}");
    let operations = coloured(&["op", "log"]);
    assert!(
        operations.contains("\u{1b}[38;5;3mtether commit: 1 object ("),
        "{operations:?}"
    );
    env.jj_config(stock);
    assert_eq!(
        dir.jj(["log"]).success().stdout,
        dir.stock_jj(["log"]).success().stdout
    );
}
