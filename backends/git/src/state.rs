//! States: a commit, whether the checkout around it is dirty, and jj's change id. Only the commit identifies.

use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use gix::progress::Discard;
use gix::status::{Item, Submodule, UntrackedFiles};
use gix::worktree::IndexPersistedOrInMemory;
use tether_engine::error::{Error, Result};
use tether_engine::name::NativeRef;
use tether_engine::state::State;

use crate::repos::Opened;
use crate::{branches, error, revision};

/// The keys that do not identify.
pub(crate) const VOLATILE: &[&str] = &["dirty", "change_id"];

/// The state of `commit` without a checkout around it.
pub(crate) fn of(commit: ObjectId) -> State {
    State::default()
        .with("sha", commit.to_string())
        .with("dirty", false)
}

/// The commit a state names: hexadecimal of the repository's length, nothing else.
pub(crate) fn commit_id(repo: &gix::Repository, state: &State) -> Result<ObjectId> {
    let sha = state.str("sha").unwrap_or_default();
    let hex = sha.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if hex
        && sha.len() == repo.object_hash().len_in_hex()
        && let Ok(id) = ObjectId::from_hex(sha.as_bytes())
    {
        return Ok(id);
    }
    Err(Error::config(format!(
        "the recorded `sha` {sha:?} is not the id of a commit"
    )))
}

/// The commit of a state, which must still be there.
pub(crate) fn existing(at: &Opened, state: &State) -> Result<ObjectId> {
    let id = commit_id(&at.repo, state)?;
    if exists(&at.repo, id) {
        return Ok(id);
    }
    Err(
        Error::store(format!("commit {id} is not in {}", at.shown())).with_hint(format!(
            "`git -C {} fetch --all --tags` may bring it back",
            at.shown()
        )),
    )
}

/// Whether `id` is a commit whose tree is there.
pub(crate) fn exists(repo: &gix::Repository, id: ObjectId) -> bool {
    repo.find_commit(id)
        .ok()
        .and_then(|commit| commit.tree_id().ok().map(|tree| repo.has_object(tree)))
        .unwrap_or(false)
}

/// The state at `working_ref`, or at the position the locator names.
pub(crate) fn fingerprint(at: &Opened, working_ref: Option<&NativeRef>) -> Result<State> {
    let current = revision::head_branch(&at.repo)?;
    let (commit, checked_out) = if let Some(native) = working_ref {
        let name = branches::full(native)?;
        let commit = branches::commit(at, &name)?;
        let commit = commit.ok_or_else(|| branches::missing(at, native))?;
        (commit, current == Some(name))
    } else {
        let found = revision::resolve(at, at.site.position())?;
        (
            found.commit,
            found.is_head || (found.branch.is_some() && found.branch == current),
        )
    };
    let dirty = checked_out && !changes(at, 1)?.is_empty();
    let mut state = State::default()
        .with("sha", commit.to_string())
        .with("dirty", dirty);
    if let Some(change) = change_id(&at.repo, commit) {
        state = state.with("change_id", change);
    }
    Ok(state)
}

/// The change id that jj wrote into the commit.
fn change_id(repo: &gix::Repository, commit: ObjectId) -> Option<String> {
    let commit = repo.find_commit(commit).ok()?;
    let decoded = commit.decode().ok()?;
    let value = decoded.extra_headers().find("change-id")?;
    let text = value.to_str().ok()?;
    let reverse_hex = !text.is_empty() && text.bytes().all(|b| (b'k'..=b'z').contains(&b));
    reverse_hex.then(|| text.to_owned())
}

/// Up to `limit` changed paths of the checkout: staged, unstaged, in conflict or untracked (not ignored). Empty for a bare repository.
///
/// Submodules count when they stand at another commit; what is inside them is theirs.
pub(crate) fn changes(at: &Opened, limit: usize) -> Result<Vec<String>> {
    listed(at, limit, UntrackedFiles::Collapsed)
}

/// [`changes`] without untracked paths.
pub(crate) fn tracked_changes(at: &Opened, limit: usize) -> Result<Vec<String>> {
    listed(at, limit, UntrackedFiles::None)
}

fn listed(at: &Opened, limit: usize, untracked: UntrackedFiles) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    if at.repo.workdir().is_none() {
        return Ok(paths);
    }
    let failed = || format!("cannot read the status of {}", at.shown());
    let mut status = at.repo.status(Discard).map_err(error::store(failed()))?;
    // Read anew: the copy gix shares is only as fresh as the file's time stamp is fine.
    if let Ok(index) = at.repo.open_index() {
        status = status.index(IndexPersistedOrInMemory::InMemory(index));
    }
    let items = status
        .untracked_files(untracked)
        .index_worktree_submodules(Submodule::Given {
            ignore: gix::submodule::config::Ignore::Dirty,
            check_dirty: true,
        })
        .index_worktree_rewrites(None)
        .tree_index_track_renames(gix::status::tree_index::TrackRenames::Disabled)
        .into_iter(None)
        .map_err(error::store(failed()))?;
    for item in items {
        let item = item.map_err(error::store(failed()))?;
        if let Some(path) = changed_path(&item) {
            paths.push(path);
            if paths.len() >= limit {
                break;
            }
        }
    }
    paths.sort_unstable();
    paths.dedup();
    Ok(paths)
}

fn changed_path(item: &Item) -> Option<String> {
    use gix::dir::entry::Status;
    use gix::status::index_worktree::Item as Worktree;
    use gix::status::plumbing::index_as_worktree::EntryStatus;
    let path = match item {
        Item::TreeIndex(change) => change.location(),
        Item::IndexWorktree(Worktree::Modification {
            status: EntryStatus::NeedsUpdate(_),
            ..
        }) => return None,
        Item::IndexWorktree(Worktree::Modification { rela_path, .. }) => rela_path.as_bstr(),
        Item::IndexWorktree(Worktree::DirectoryContents { entry, .. }) => {
            if entry.status != Status::Untracked {
                return None;
            }
            entry.rela_path.as_bstr()
        }
        Item::IndexWorktree(Worktree::Rewrite { dirwalk_entry, .. }) => {
            dirwalk_entry.rela_path.as_bstr()
        }
    };
    Some(path.to_str_lossy().into_owned())
}
