//! E14: jj's limits for new files hold for the user's files, never for tether's.

use crate::common::{DATASET, TestEnvironment};

use super::story::{Place, Story};

fn with(config: &str, files: usize) {
    let env = TestEnvironment::new();
    env.jj_config(config);
    let story = Story::empty(&env, Place::Colocated);
    let raw = env.work_dir("raw");
    for number in 0..files {
        raw.write(
            &format!("a-rather-long-name-of-a-folder/and-a-file-{number:05}.bin"),
            "",
        );
    }
    story.dir.write("mine.bin", vec![0; 2 << 20]);
    story.does(&["init", "--dataset-id", DATASET]);
    story.does(&["add", "raw", "--kind", "file", "../raw"]);
    let committed = story.run(&["commit", "-m", "first"]).success();
    let files = story.dir.git(["ls-tree", "-r", "-l", "main"]);
    let listing = files.lines().find(|line| line.contains("listings/"));
    let listing = listing.unwrap_or_else(|| panic!("{config}: no listing in {files}\n{committed}"));
    let size = listing.split_whitespace().nth(3).unwrap();
    assert!(size.parse::<usize>().unwrap() > 200, "{listing}");
    assert!(
        files.contains(".tether/objects/raw.toml"),
        "{config}: {files}"
    );
    assert!(files.contains(".tether/.gitignore"), "{config}: {files}");
    // The user's file is where jj would leave it: out of the commit, on the disk.
    assert!(!files.contains("mine.bin"), "{config}: {files}");
    assert!(story.dir.exists("mine.bin"));
    let stock = story.dir.jj_text(["file", "list", "-r", "@"]);
    assert!(!stock.contains("mine.bin"), "{config}: {stock}");
    assert!(stock.contains("listings/"), "{config}: {stock}");
    story.does(&["verify", "--all-history"]);
    // Registered anew, the directory's next listing too.
    raw.write("one-more.bin", "");
    story.does(&["remove", "raw"]);
    story.does(&["add", "raw", "--kind", "file", "../raw"]);
    story.does(&["commit", "-m", "second"]);
    let files = story.dir.git(["ls-tree", "-r", "--name-only", "main"]);
    let listings = files.lines().filter(|it| it.contains("listings/"));
    assert_eq!(listings.count(), 2, "{config}: {files}");
}

#[test]
fn a_listing_above_the_default_limit_is_committed() {
    with("", 12_000);
}

#[test]
fn a_small_limit_does_not_hold_for_tethers_files() {
    with("[snapshot]\nmax-new-file-size = \"1KiB\"\n", 30);
    with("[snapshot]\nmax-new-file-size = 1\n", 30);
}

#[test]
fn tracking_nothing_does_not_hold_for_tethers_files() {
    with("[snapshot]\nauto-track = \"none()\"\n", 30);
}
