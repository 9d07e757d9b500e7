//! The anchor: where jj's own View says which tether operation a workspace is at (notes, 'The anchor').
//!
//! Per workspace one untracked remote tag, `ws/<workspace>` of the pseudo-remote `tether/views` (no real remote can have a `/`); a
//! dataset in a folder of the repository has a pseudo-remote of its own, `tether/views/<digest of the folder>`. Its
//! target is a hidden commit on the root commit whose description names the operation and its view. jj's own undo, redo, restore,
//! revert and merging of operations move it like any other ref.

use std::sync::Arc;

use jj_lib::backend::{ChangeId, CommitId, MillisSinceEpoch, Signature, Timestamp};
use jj_lib::commit::Commit;
use jj_lib::op_store::{RefTarget, RemoteRef, RemoteRefState};
use jj_lib::ref_name::{
    RefName, RefNameBuf, RemoteName, RemoteNameBuf, WorkspaceName, WorkspaceNameBuf,
};
use jj_lib::repo::{MutableRepo, ReadonlyRepo, Repo};
use jj_lib::signing::SignBehavior;
use jj_lib::store::Store;
use jj_lib::view::View;
use tether_engine::json;
use tether_engine::oplog::Head;
use tether_engine::{Error, Result};

use crate::failed;

const REMOTE: &str = "tether/views";

/// The pseudo-remote of the dataset at `prefix`.
pub(crate) fn remote_of(prefix: &str) -> RemoteNameBuf {
    if prefix.is_empty() {
        return RemoteName::new(REMOTE).to_owned();
    }
    let digest = json::hash(8, [prefix.as_bytes()]);
    RemoteName::new(&format!("{REMOTE}/{digest}")).to_owned()
}
const TITLE: &str = "tether view";

/// What an anchor says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// There is none.
    Absent,
    /// The workspace is at this operation.
    At(Head),
    /// Divergent operations left several: what both started from, and each.
    Diverged {
        /// The heads that were given up.
        bases: Vec<Head>,
        /// The heads that are claimed.
        sides: Vec<Head>,
    },
}

/// The anchor of `workspace` in the view of `repo`.
pub(crate) fn read(
    repo: &ReadonlyRepo,
    remote: &RemoteName,
    workspace: &WorkspaceName,
) -> Result<Anchor> {
    let name = name_of(workspace);
    let symbol = name.to_remote_symbol(remote);
    let target = &repo.view().get_remote_tag(symbol).target;
    let heads = |ids: Vec<&CommitId>| -> Result<Vec<Head>> {
        ids.into_iter()
            .map(|id| head_of(repo.store(), id))
            .collect()
    };
    if let Some(resolved) = target.as_resolved() {
        return Ok(match resolved {
            Some(id) => Anchor::At(head_of(repo.store(), id)?),
            None => Anchor::Absent,
        });
    }
    Ok(Anchor::Diverged {
        bases: heads(target.removed_ids().collect())?,
        sides: heads(target.added_ids().collect())?,
    })
}

/// Every workspace that has an anchor.
pub(crate) fn workspaces(view: &View, remote: &RemoteName) -> Vec<WorkspaceNameBuf> {
    let tags = view.remote_tags(remote);
    tags.filter_map(|(name, _)| {
        let name = name.as_str().strip_prefix("ws/")?;
        Some(WorkspaceName::new(name).to_owned())
    })
    .collect()
}

/// Makes `head` the anchor of `workspace`.
pub(crate) async fn set(
    repo: &mut MutableRepo,
    remote: &RemoteName,
    workspace: &WorkspaceName,
    head: &Head,
) -> Result<()> {
    let description = format!(
        "{TITLE}\n\nid: {}\noperation: {}\nworkspace: {}\n",
        head.view,
        head.operation,
        workspace.as_symbol()
    );
    let nobody = Signature {
        name: "tether".to_owned(),
        email: "tether@localhost".to_owned(),
        timestamp: Timestamp {
            timestamp: MillisSinceEpoch(0),
            tz_offset: 0,
        },
    };
    let store = Arc::clone(repo.store());
    let change = change_id(&description, store.change_id_length())?;
    let mut builder = repo
        .new_commit(
            vec![store.root_commit_id().clone()],
            store.empty_merged_tree(),
        )
        .detach();
    builder
        .set_description(description)
        .set_author(nobody.clone())
        .set_committer(nobody)
        .set_change_id(change)
        .set_sign_behavior(SignBehavior::Drop);
    let commit = builder
        .write_hidden()
        .await
        .map_err(|error| failed("cannot write tether's view to jj", error))?;
    repo.index_commits(std::slice::from_ref(&commit))
        .await
        .map_err(|error| failed("cannot index tether's view", error))?;
    put(
        repo,
        remote,
        &name_of(workspace),
        RefTarget::normal(commit.id().clone()),
    );
    Ok(())
}

/// Drops the anchors of workspaces that jj does not have any more, and takes back what `jj tag track` made of anchors. Part of every
/// operation of tether's.
pub(crate) fn heal(repo: &mut MutableRepo, remote: &RemoteName, keep: &WorkspaceName) {
    let anchors: Vec<(RefNameBuf, RemoteRef)> = repo
        .view()
        .remote_tags(remote)
        .map(|(name, target)| (name.to_owned(), target.clone()))
        .collect();
    for (name, anchor) in anchors {
        if anchor.is_tracked() {
            repo.untrack_remote_tag(name.to_remote_symbol(remote));
            if *repo.get_local_tag(&name) == anchor.target {
                repo.set_local_tag_target(&name, RefTarget::absent());
            }
        }
        let workspace = name.as_str().strip_prefix("ws/").map(WorkspaceName::new);
        let alive =
            workspace.is_some_and(|it| it == keep || repo.view().get_wc_commit_id(it).is_some());
        if !alive {
            put(repo, remote, &name, RefTarget::absent());
        }
    }
}

/// Drops the anchor of `workspace`.
pub(crate) fn clear(repo: &mut MutableRepo, remote: &RemoteName, workspace: &WorkspaceName) {
    put(repo, remote, &name_of(workspace), RefTarget::absent());
}

fn put(repo: &mut MutableRepo, remote: &RemoteName, name: &RefName, target: RefTarget) {
    let state = RemoteRefState::New;
    let anchor = if target.is_present() {
        RemoteRef { target, state }
    } else {
        RemoteRef::absent()
    };
    repo.set_remote_tag(name.to_remote_symbol(remote), anchor);
}

fn name_of(workspace: &WorkspaceName) -> RefNameBuf {
    RefName::new(&format!("ws/{}", workspace.as_str())).to_owned()
}

fn head_of(store: &Arc<Store>, id: &CommitId) -> Result<Head> {
    let commit = store
        .get_commit(id)
        .map_err(|error| failed("cannot read tether's view in jj", error))?;
    parse(&commit).ok_or_else(|| {
        Error::vcs("jj's operation log holds a tether view that cannot be read")
            .with_hint("`jj op log` shows the operations; `jj op restore OPERATION` goes back")
    })
}

fn parse(commit: &Commit) -> Option<Head> {
    let text = commit.description();
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name))
            .map(str::trim)
    };
    text.starts_with(TITLE).then_some(())?;
    Some(Head {
        operation: field("operation:")?.parse().ok()?,
        view: field("id:")?.parse().ok()?,
    })
}

fn change_id(description: &str, length: usize) -> Result<ChangeId> {
    let hex = json::hash(length, [description.as_bytes()]);
    ChangeId::try_from_hex(hex)
        .ok_or_else(|| Error::internal("a hash is not made of hexadecimal digits"))
}
