use super::*;
use crate::error::ErrorKind;
use crate::manifest::{FileMode, PinMode};

const HEAD: &str = "[tether]\nversion = 5\n[dataset]\nid = \"0a1b2c3d\"\n";

fn parse(rest: &str) -> Result<Config> {
    Config::parse(format!("{HEAD}{rest}"))
}

fn refused(rest: &str) -> Error {
    let error = parse(rest).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{rest}");
    assert!(
        error.message().starts_with("cannot read tether.toml: "),
        "{error}"
    );
    assert!(error.hint().is_some(), "{error}");
    error
}

#[test]
fn the_initial_text_is_that_of_the_python_package() {
    let dataset: DatasetId = "0a1b2c3d".parse().unwrap();
    let main = Config::initial_text(&dataset, &"main".parse().unwrap());
    let expected = "\
[tether]
version = 5

[dataset]
id = \"0a1b2c3d\"

[snapshot]
auto = false

[verify]
on_status = false

[new]
fork = \"lazy\"

[defaults]
file = \"immutable\"
pin = \"native\"
";
    assert_eq!(main, expected);
    let dev = Config::initial_text(&dataset, &"dev".parse().unwrap());
    assert_eq!(dev, format!("{expected}\n[vcs]\ntrunk = \"dev\"\n"));

    let config = Config::parse(&dev).unwrap();
    assert_eq!(config.trunk.as_str(), "dev");
    assert_eq!(Config::parse(&main).unwrap(), Config::parse(HEAD).unwrap());
}

#[test]
fn every_setting_is_read() {
    let config = parse(
        "[snapshot]\nauto = true\n[verify]\non_status = true\n[new]\nfork = \"lazy\"\nrecord = \"defer\"\n\
         [defaults]\nfile = \"versioned\"\npin = \"record\"\n[vcs]\nprefer = \"git\"\ntrunk = \"dev\"\n\
         [backends.file]\nstorage_options = { region = \"us-west-2\", allow_http = true }\n\
         [backends.iceberg.catalog]\ntype = \"rest\"\nwarehouse = \"w\"\nname = \"n\"\n",
    )
    .unwrap();
    assert!(config.snapshot_auto && config.verify_on_status && config.defer_record);
    assert!(config.prefer_git && !config.fork_eagerly);
    assert_eq!(config.defaults.file, FileMode::Versioned);
    assert_eq!(config.defaults.pin, PinMode::Record);
    assert_eq!(
        config.backends["file"]["storage_options"]["region"],
        "us-west-2"
    );
    assert_eq!(config.backends["iceberg"]["catalog"]["warehouse"], "w");
    assert!(parse("[new]\nfork = \"eager\"\n").unwrap().fork_eagerly);
}

#[test]
fn other_format_versions_say_what_to_run() {
    let version = |text: &str| Config::parse(text).unwrap_err();
    let old = version("[tether]\nversion = 4\n[later]\nx = 1\n");
    assert_eq!(
        old.message(),
        "tether.toml is of version 4, older than this tether's 5"
    );
    assert_eq!(
        old.hint(),
        Some("`tether upgrade --dry-run`, then `tether upgrade`")
    );
    assert!(
        version("[dataset]\nid = \"0a1b2c3d\"\n")
            .message()
            .contains("version 1")
    );
    let new = version("[tether]\nversion = 6\n[later]\nx = 1\n");
    assert_eq!(
        new.message(),
        "tether.toml is of version 6, newer than this tether understands (5)"
    );
    // Surprise 3.
    let wrong = version("[tether]\nversion = \"x\"\n");
    assert_eq!(
        wrong.message(),
        "cannot read tether.toml: line 2: `tether.version` must be an integer, not text"
    );
    assert!(version("tether = 5\n").message().contains("version 1"));
}

/// P078: what a clone must not choose is refused by name, and the hint says where it belongs.
#[test]
fn what_a_clone_must_not_choose_is_refused_by_name() {
    let cases = [
        ("[vcs]\ngit_path = \"x\"\n", "`vcs.git_path`", "[vcs]"),
        ("[vcs]\njj_path = \"x\"\n", "`vcs.jj_path`", "[vcs]"),
        ("[import]\nquery = \"SELECT 1\"\n", "`[import]`", "[import]"),
        ("[uris.\"s3://b\"]\nprofile = \"p\"\n", "`[uris]`", "[uris]"),
        (
            "[objects.zarr]\nprofile = \"p\"\n",
            "`[objects]`",
            "[objects]",
        ),
        (
            "[backends.neon]\napi_url = \"x\"\n",
            "`backends.neon.api_url`",
            "[backends.neon]",
        ),
        (
            "[backends.ducklake]\ninit_sql = []\n",
            "`backends.ducklake.init_sql`",
            "[backends.ducklake]",
        ),
        (
            "[backends.file.storage_options]\nendpoint = \"x\"\n",
            "`backends.file.storage_options.endpoint`",
            "[backends.file.storage_options]",
        ),
        (
            "[backends.iceberg.catalog]\nuri = \"x\"\n",
            "`backends.iceberg.catalog.uri`",
            "[backends.iceberg.catalog]",
        ),
        (
            "[backends.icechunk]\nstorage_options = {region = \"x\"}\n",
            "`backends.icechunk.storage_options`",
            "[backends.icechunk]",
        ),
        (
            "[backends.iceberg]\nstorage_options = {region = \"x\"}\n",
            "`backends.iceberg.storage_options`",
            "[backends.iceberg]",
        ),
    ];
    for (text, name, place) in cases {
        let error = refused(text);
        assert!(error.message().contains(name), "{error}");
        let hint = error.hint().unwrap();
        assert!(
            hint.contains(place) && hint.contains(".tether/secrets.toml"),
            "{hint}"
        );
    }
}

/// Surprise 13.
#[test]
fn unknown_tables_and_keys_are_refused_by_name() {
    for (text, name) in [
        ("[nosuch]\nx = 1\n", "`[nosuch]`"),
        ("[vcs]\nnosuch = 1\n", "`vcs.nosuch`"),
        (
            "[dataset]\nid = \"0a1b2c3d\"\nname = \"x\"\n",
            "`dataset.name`",
        ),
        ("[defaults]\nwrite = \"x\"\n", "`defaults.write`"),
    ] {
        let text = if text.starts_with("[dataset]") {
            format!("[tether]\nversion = 5\n{text}")
        } else {
            format!("{HEAD}{text}")
        };
        let error = Config::parse(text).unwrap_err();
        assert!(
            error
                .message()
                .contains(&format!("{name} is not a setting")),
            "{error}"
        );
    }
}

#[test]
fn values_of_another_kind_are_refused_with_what_is_wanted() {
    for (text, end) in [
        (
            "[snapshot]\nauto = \"yes\"\n",
            "`snapshot.auto` must be true or false, not text",
        ),
        (
            "[new]\nfork = \"nosuch\"\n",
            "`new.fork` must be \"lazy\" or \"eager\"",
        ),
        (
            "[new]\nrecord = \"nosuch\"\n",
            "`new.record` must be \"fork\" or \"defer\"",
        ),
        (
            "[defaults]\nfile = \"nosuch\"\n",
            "`defaults.file` must be \"immutable\" or \"versioned\"",
        ),
        (
            "[vcs]\nprefer = \"hg\"\n",
            "`vcs.prefer` must be \"jj\" or \"git\"",
        ),
        (
            "[vcs]\ntrunk = \"\"\n",
            "`vcs.trunk` must be a bookmark name",
        ),
        (
            "[backends]\nfile = 1\n",
            "`backends.file` must be a table, not an integer",
        ),
        (
            "[backends.file.storage_options]\nregion = []\n",
            "`backends.file.storage_options.region` must be a single value, not an array",
        ),
        (
            "[new]\nfork = \"eager\"\nrecord = \"defer\"\n",
            "needs `fork = \"lazy\"`",
        ),
    ] {
        let error = refused(text);
        assert!(error.message().ends_with(end), "{error}");
    }
    let error = Config::parse("[tether]\nversion = 5\n[dataset]\nid = \"0A1B2C3D\"\n").unwrap_err();
    assert!(
        error
            .message()
            .ends_with("`dataset.id` must be 8 lower-case hexadecimal digits")
    );
    let error = Config::parse("[tether]\nversion = 5\n").unwrap_err();
    assert!(error.message().ends_with("it has no `id` in `[dataset]`"));
}

/// Surprise 3, E53.
#[test]
fn broken_text_is_named_by_line_and_not_quoted() {
    for (rest, end) in [
        ("x = [\n", "line 5: not TOML"),
        ("s3cr3t\n", "line 5: not TOML"),
        ("<<<<<<< ours\n", "line 5 starts a merge conflict"),
    ] {
        let error = refused(rest);
        assert!(error.message().contains(end), "{error}");
        assert!(!format!("{error:?}").contains("s3cr3t"));
    }
    let error = Config::parse(b"\xff".as_slice()).unwrap_err();
    assert_eq!(
        error.message(),
        "cannot read tether.toml: line 1 is not UTF-8 text"
    );
    let hint = "mend it, or take back the committed one: `git restore -- tether.toml` (under jj `jj restore tether.toml`)";
    assert_eq!(error.hint(), Some(hint));
}
