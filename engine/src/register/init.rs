//! `tether init`: whole, or nothing stays behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::clock;
use crate::config::{Config, GITIGNORE};
use crate::error::{Error, Result};
use crate::fsutil;
use crate::id::{DatasetId, OpId, WorkspaceId};
use crate::name::BookmarkName;
use crate::oplog::{OpLog, OpStore, Operation};
use crate::report::InitReport;
use crate::vcs::{Vcs, VcsKind};
use crate::workspace::Workspace;

/// The file whose presence makes a directory a dataset; written last.
const CONFIG: &str = "tether.toml";

/// Makes a dataset at `root`, whole or not at all: nothing stays behind when it fails.
///
/// The checkout works on the trunk from then on: the bookmark it is on. Refused on a detached head, inside another dataset, and where
/// an ignore rule of the repository covers the dataset's files.
pub fn init(
    root: &Path,
    vcs: &Arc<dyn Vcs>,
    oplog: &Arc<dyn OpLog>,
    id: Option<DatasetId>,
) -> Result<InitReport> {
    // A log that cannot be read is a fault now.
    oplog.head()?;
    oplog.begin()?;
    let root = real(root);
    refuse_place(&root, &**vcs)?;
    let trunk = trunk(&**vcs)?;
    refuse_ignored(&root, &**vcs)?;
    let id = id.map_or_else(DatasetId::random, Ok)?;
    let mut made = Made::default();
    let written = write(&root, &**vcs, &id, &trunk, &mut made)
        .and_then(|workspace| publish_first(&root, &**vcs, &**oplog, workspace));
    match written {
        Ok(()) => Ok(InitReport {
            root: root.display().to_string(),
            dataset_id: id,
        }),
        Err(error) => {
            made.take_back();
            Err(error)
        }
    }
}

fn write(
    root: &Path,
    vcs: &dyn Vcs,
    id: &DatasetId,
    trunk: &BookmarkName,
    made: &mut Made,
) -> Result<Workspace> {
    let tether = root.join(".tether");
    made.dir(&tether.join("objects"))?;
    made.file(&tether.join(".gitignore"), GITIGNORE)?;
    let mut workspace = Workspace::new(WorkspaceId::random()?);
    workspace.view.bookmark = Some(trunk.clone());
    made.file(&tether.join("workspace.toml"), &workspace.to_toml())?;
    vcs.adopt_trunk(trunk)?;
    made.file(&root.join(CONFIG), &Config::initial_text(id, trunk))?;
    Ok(workspace)
}

/// Where the repository's own undo moves the log, it begins here, and `init` can be undone like anything else. Elsewhere the first
/// operation records the view that `init` leaves.
fn publish_first(
    root: &Path,
    vcs: &dyn Vcs,
    oplog: &dyn OpLog,
    mut workspace: Workspace,
) -> Result<()> {
    if !oplog.moves_with_vcs() {
        return Ok(());
    }
    let store = OpStore::new(vcs.shared_dir());
    let expected = oplog.head()?;
    let operation = Operation {
        id: OpId::random()?,
        previous: None,
        at: clock::now(),
        command: "init".to_owned(),
        workspace: workspace.id.clone(),
        view: store.put_view(&workspace.view)?,
        plan: None,
        result: Value::Null,
        pre: Value::Null,
        commit: None,
        undoes: None,
        step_of: None,
        progress: Vec::new(),
    };
    store.put_operation(&operation)?;
    oplog.publish(&operation, expected.as_ref())?;
    workspace.materialised = Some((operation.id, operation.view));
    let path = root.join(".tether/workspace.toml");
    fsutil::write_atomic(&path, workspace.to_toml().as_bytes())
}

fn refuse_place(root: &Path, vcs: &dyn Vcs) -> Result<()> {
    let workdir = real(vcs.workdir());
    if !root.starts_with(&workdir) {
        return Err(Error::vcs(format!(
            "{} is not inside the repository's checkout {}",
            root.display(),
            workdir.display()
        ))
        .with_hint("run `tether init` inside the checkout"));
    }
    if root.exists() && !root.is_dir() {
        return Err(
            Error::user(format!("{} is not a directory", root.display()))
                .with_hint("`tether init DIRECTORY`"),
        );
    }
    for dir in root.ancestors().take_while(|dir| dir.starts_with(&workdir)) {
        if fs::symlink_metadata(dir.join(CONFIG)).is_ok() {
            return Err(if dir == root {
                Error::user(format!("there is a dataset at {} already", dir.display()))
                    .with_hint("`tether status` shows it")
            } else {
                Error::user(format!(
                    "{} is inside the dataset at {}",
                    root.display(),
                    dir.display()
                ))
                .with_hint("use that dataset, or a directory beside it")
            });
        }
    }
    refuse_remains(&root.join(".tether"), vcs.kind())
}

/// A `.tether` that is there already: one without objects (an interrupted `init`) is taken over.
fn refuse_remains(tether: &Path, vcs: VcsKind) -> Result<()> {
    let Ok(meta) = fs::symlink_metadata(tether) else {
        return Ok(());
    };
    let shown = tether.display();
    if !meta.is_dir() {
        let what = if meta.is_symlink() {
            "a symbolic link, which the repository does not look behind"
        } else {
            "no directory"
        };
        return Err(Error::user(format!("{shown} is {what}"))
            .with_hint(format!("remove {shown}, then `tether init`")));
    }
    let objects = tether.join("objects");
    let holds_objects = fs::read_dir(&objects).is_ok_and(|mut entries| entries.next().is_some());
    if holds_objects {
        return Err(Error::user(format!(
            "{} holds objects of a dataset whose tether.toml is gone",
            objects.display()
        ))
        .with_hint(format!(
            "`{}` brings it back; to start anew, move .tether away",
            vcs.restore("tether.toml")
        )));
    }
    Ok(())
}

/// The bookmark that becomes the trunk: the one the working copy is on.
fn trunk(vcs: &dyn Vcs) -> Result<BookmarkName> {
    let position = vcs.position()?;
    let detached =
        vcs.kind() == VcsKind::Git && position.head.is_some() && position.bookmarks.is_empty();
    if detached {
        return Err(Error::vcs(
            "the checkout is on no branch, so there is no trunk for the dataset",
        )
        .with_hint("`git switch BRANCH`, or `git switch -c main`, then `tether init`"));
    }
    vcs.default_trunk()
}

/// P046: files that an ignore rule covers would never be committed.
fn refuse_ignored(root: &Path, vcs: &dyn Vcs) -> Result<()> {
    let workdir = real(vcs.workdir());
    let below = root.strip_prefix(&workdir).unwrap_or(Path::new(""));
    let prefix = below.to_str().ok_or_else(|| {
        Error::user(format!("the path {} is not UTF-8", root.display()))
            .with_hint("rename the directory")
    })?;
    let paths: Vec<String> = [CONFIG, ".tether/.gitignore", ".tether/objects/key.toml"]
        .iter()
        .map(|file| match prefix {
            "" => (*file).to_owned(),
            prefix => format!("{prefix}/{file}"),
        })
        .collect();
    let ignored = vcs.ignored(&paths)?;
    let Some(path) = ignored.first() else {
        return Ok(());
    };
    Err(Error::vcs(format!(
        "an ignore rule of the repository covers {path}, so no commit could hold the dataset"
    ))
    .with_hint(format!(
        "`git check-ignore -v {path}` names the rule; change it, then `tether init`"
    )))
}

/// What `init` made, in order.
#[derive(Default)]
struct Made(Vec<PathBuf>);

impl Made {
    fn dir(&mut self, dir: &Path) -> Result<()> {
        let missing: Vec<PathBuf> = dir
            .ancestors()
            .take_while(|dir| !dir.exists())
            .map(Path::to_owned)
            .collect();
        self.0.extend(missing.into_iter().rev());
        fsutil::create_dirs(dir)
    }

    fn file(&mut self, path: &Path, text: &str) -> Result<()> {
        if fs::symlink_metadata(path).is_err() {
            self.0.push(path.to_owned());
        }
        fsutil::write_atomic(path, text.as_bytes())
    }

    /// Best effort: the error that led here is the one to show.
    fn take_back(self) {
        for path in self.0.into_iter().rev() {
            let _ = match fs::symlink_metadata(&path) {
                Ok(meta) if meta.is_dir() => fs::remove_dir(&path),
                Ok(_) => fs::remove_file(&path),
                Err(_) => Ok(()),
            };
        }
    }
}

/// `path` with links resolved as far as it exists.
fn real(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut existing = path;
    while let (Err(_), Some(name), Some(parent)) = (
        existing.canonicalize(),
        existing.file_name(),
        existing.parent(),
    ) {
        missing.push(name.to_owned());
        existing = parent;
    }
    let found = existing
        .canonicalize()
        .unwrap_or_else(|_| existing.to_owned());
    missing
        .iter()
        .rev()
        .fold(found, |path, name| path.join(name))
}
