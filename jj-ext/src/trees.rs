//! Files at a commit.

use std::sync::Arc;

use jj_lib::backend::{FileId, TreeId, TreeValue};
use jj_lib::commit::Commit;
use jj_lib::file_util::copy_async_to_sync;
use jj_lib::object_id::ObjectId as _;
use jj_lib::repo_path::{RepoPath, RepoPathBuf};
use jj_lib::store::Store;
use tether_engine::Result;
use tether_engine::vcs::{Blob, Tree};

use crate::failed;
use crate::snapshot::repo_path;

/// The file at `path`; of a conflicted one its first side. `None` where there is no file.
pub(crate) async fn read(commit: &Commit, path: &RepoPath) -> Result<Option<Vec<u8>>> {
    let value = commit
        .tree()
        .path_value(path)
        .await
        .map_err(|error| failed("cannot read a commit's tree", error))?;
    let first = value.adds().next().cloned().flatten();
    match first {
        Some(TreeValue::File { id, .. }) => Ok(Some(content(commit.store(), path, &id).await?)),
        _ => Ok(None),
    }
}

/// The manifests of the dataset at `prefix`; of conflicted ones the first side.
pub(crate) async fn objects(commit: &Commit, prefix: &str) -> Result<Tree> {
    let below = if prefix.is_empty() {
        ".tether/objects".to_owned()
    } else {
        format!("{prefix}/.tether/objects")
    };
    let root = repo_path(&below)?;
    let value = commit
        .tree()
        .path_value(&root)
        .await
        .map_err(|error| failed("cannot read a commit's tree", error))?;
    let Some(TreeValue::Tree(id)) = value.adds().next().cloned().flatten() else {
        return Ok(Tree::default());
    };
    let mut tree = Tree {
        objects_id: Some(id.hex()),
        objects: Vec::new(),
    };
    collect(commit.store(), root, id, &mut tree).await?;
    tree.objects.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(tree)
}

async fn collect(store: &Arc<Store>, root: RepoPathBuf, id: TreeId, out: &mut Tree) -> Result<()> {
    let mut folders = vec![(root, id, String::new())];
    while let Some((dir, id, below)) = folders.pop() {
        let tree = store
            .get_tree(dir.clone(), &id)
            .await
            .map_err(|error| failed("cannot read a commit's tree", error))?;
        for entry in tree.entries_non_recursive() {
            let path = dir.join(entry.name());
            let name = format!("{below}{}", entry.name().as_internal_str());
            match entry.value() {
                TreeValue::Tree(id) => folders.push((path, id.clone(), format!("{name}/"))),
                TreeValue::File { id, .. } => {
                    let blob = Blob {
                        id: id.hex(),
                        data: Arc::from(content(store, &path, id).await?),
                    };
                    out.objects.push((name, blob));
                }
                TreeValue::Symlink(_) | TreeValue::GitSubmodule(_) => {}
            }
        }
    }
    Ok(())
}

async fn content(store: &Arc<Store>, path: &RepoPath, id: &FileId) -> Result<Vec<u8>> {
    let unreadable = |error| failed("cannot read a file of a commit", error);
    let reader = store.read_file(path, id).await.map_err(unreadable)?;
    let mut bytes = Vec::new();
    copy_async_to_sync(reader, &mut bytes)
        .await
        .map_err(|error| failed("cannot read a file of a commit", error))?;
    Ok(bytes)
}
