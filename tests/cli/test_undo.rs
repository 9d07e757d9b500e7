//! `tether undo`, under git.

use insta::assert_snapshot;

use crate::common::{TestEnvironment, WorkDir};

fn head(dir: &WorkDir<'_>) -> String {
    dir.git(["rev-parse", "HEAD"])
}

#[test]
fn undo_takes_slips_back_newest_first() {
    let env = TestEnvironment::new();
    let dir = env.committed();
    let (before, start) = (dir.git_status(), head(&dir));
    let manifest = dir.read(".tether/objects/raw.toml");

    dir.tether(["set", "raw", "--file", "immutable"]).success();
    dir.tether(["remove", "code"]).success();
    dir.tether(["commit", "-m", "two slips"]).success();
    assert_ne!(head(&dir), start);

    assert_snapshot!(dir.tether(["undo"]), @r"
    undid O3 (commit: vcs O2)
      restored  uncommitted O2; its manifests are working-tree changes again (pins kept)
    ");
    assert_eq!(head(&dir), start);
    assert_snapshot!(dir.git_status(), @r"
    D .tether/objects/code.toml
    M .tether/objects/raw.toml
    ");
    assert_snapshot!(dir.tether(["undo"]), @r"
    undid O4 (remove: code)
      restored  code: manifest restored
    ");
    assert!(dir.exists(".tether/objects/code.toml"));
    assert_snapshot!(dir.tether(["undo"]), @r"
    undid O5 (set: raw: file=versioned->immutable)
      restored  raw: manifest restored
    ");
    assert_eq!(dir.read(".tether/objects/raw.toml"), manifest);
    assert_eq!(dir.git_status(), before);
    assert_snapshot!(dir.tether(["ops"]), @r"
    O6  2026-03-01 12:00:00  undo     undid O5: set raw: file=versioned->immutable
    O7  2026-03-01 12:00:00  undo     undid O4: remove code
    O8  2026-03-01 12:00:00  undo     undid O3: commit vcs O2
    O3  2026-03-01 12:00:00  commit   vcs O2  (undone by O8)
    O4  2026-03-01 12:00:00  remove   code  (undone by O7)
    O5  2026-03-01 12:00:00  set      raw: file=versioned->immutable  (undone by O6)
    O9  2026-03-01 12:00:00  commit   pinned code; recorded raw; vcs O1
    O10  2026-03-01 12:00:00  add      code
    O11  2026-03-01 12:00:00  add      raw
    ");
    assert_snapshot!(dir.tether(["status"]), @r"
    dataset O12; on trunk bookmark main
      states as fingerprinted 0s ago; --snapshot to refresh
          clean  code  [git/forkable]
          clean  raw  [file/observed] unrecoverable
    ");
}
