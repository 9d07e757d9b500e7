//! Snapshots of the working copy: what jj would take, and tether's own files always.
//!
//! New files below `.tether/` that are not tether's are left alone; tether's own are tracked whatever `snapshot.auto-track`, the size
//! limit and ignore rules say.

use std::path::PathBuf;
use std::sync::Arc;

use jj_cli::cli_util::load_fileset_aliases;
use jj_cli::ui::Ui;
use jj_lib::commit::Commit;
use jj_lib::fileset::{self, FilesetDiagnostics, FilesetParseContext};
use jj_lib::gitignore::GitIgnoreFile;
use jj_lib::matchers::{DifferenceMatcher, Matcher, PrefixMatcher, UnionMatcher};
use jj_lib::merged_tree::MergedTree;
use jj_lib::op_store::OpStoreError;
use jj_lib::repo::{ReadonlyRepo, Repo as _};
use jj_lib::repo_path::{RepoPath, RepoPathBuf};
use jj_lib::settings::HumanByteSize;
use jj_lib::ui_path::RepoPathUiConverter;
use jj_lib::working_copy::{SnapshotOptions, WorkingCopyFreshness};
use jj_lib::workspace::{LockedWorkspace, Workspace};
use tether_engine::{Error, Result};

use crate::change::OPERATION;
use crate::log::UNDO;
use crate::repo::Jj;
use crate::{failed, settings};

/// The working copy, locked, as it is on disk now.
pub(crate) struct Taken<'a> {
    pub(crate) locked: LockedWorkspace<'a>,
    pub(crate) repo: Arc<ReadonlyRepo>,
    /// The working-copy commit as the repository has it.
    pub(crate) commit: Commit,
    /// The tree on disk.
    pub(crate) tree: MergedTree,
}

impl Taken<'_> {
    /// Whether the working copy holds something that its commit does not.
    pub(crate) fn is_changed(&self) -> bool {
        self.tree.tree_ids_and_labels() != self.commit.tree().tree_ids_and_labels()
    }
}

impl Jj {
    /// Locks the working copy and takes a snapshot of it. Refused while it is stale.
    pub(crate) async fn take<'a>(
        &self,
        workspace: &'a mut Workspace,
        repo: Arc<ReadonlyRepo>,
    ) -> Result<Taken<'a>> {
        let unlocked = |error| failed("cannot lock the working copy", error);
        let mut locked = workspace
            .start_working_copy_mutation()
            .await
            .map_err(unlocked)?;
        let (repo, commit, stale) = self.fresh(&mut locked, repo).await?;
        let own = PrefixMatcher::new(self.own_paths()?);
        let theirs = DifferenceMatcher::new(
            self.auto_track()?,
            PrefixMatcher::new([self.path(".tether")?]),
        );
        let start = UnionMatcher::new(theirs, &own);
        let options = SnapshotOptions {
            base_ignores: self.base_ignores(&repo)?,
            progress: None,
            start_tracking_matcher: &start,
            force_tracking_matcher: &own,
            max_new_file_size: self.max_new_file_size()?,
        };
        let (tree, _) = locked
            .locked_wc()
            .snapshot(&options)
            .await
            .map_err(|error| failed("cannot take a snapshot of the working copy", error))?;
        let mut taken = Taken {
            locked,
            repo,
            commit,
            tree,
        };
        // A jj that was killed after it published leaves its record of the files behind; the files themselves are up to date.
        if stale && taken.is_changed() && !self.finish_undo(&mut taken).await? {
            return Err(Error::vcs(
                "jj's working copy is stale: another workspace rewrote its commit and its files are not updated yet",
            )
            .with_hint("`jj workspace update-stale`, then run the command again"));
        }
        Ok(taken)
    }

    /// Updates the files for an undo of tether's own that was killed before it did. Only where they are as that undo found them.
    async fn finish_undo(&self, taken: &mut Taken<'_>) -> Result<bool> {
        let newest = taken.repo.operation().metadata();
        let is_undo = newest.description.starts_with(UNDO)
            && newest.attributes.contains_key(OPERATION)
            && newest.workspace_name.as_deref() == Some(self.workspace_name());
        let working_copy = taken.locked.locked_wc();
        let untouched =
            taken.tree.tree_ids_and_labels() == working_copy.old_tree().tree_ids_and_labels();
        if !is_undo || !untouched {
            return Ok(false);
        }
        working_copy
            .check_out(&taken.commit)
            .await
            .map_err(|error| failed("cannot update the working copy", error))?;
        taken.tree = taken.commit.tree();
        Ok(true)
    }

    /// The repository as new as the working copy is, the working-copy commit, and whether jj's record of the files is older.
    async fn fresh(
        &self,
        locked: &mut LockedWorkspace<'_>,
        repo: Arc<ReadonlyRepo>,
    ) -> Result<(Arc<ReadonlyRepo>, Commit, bool)> {
        let commit = self.wc_commit(&repo)?;
        let found = WorkingCopyFreshness::check_stale(locked.locked_wc(), &commit, &repo).await;
        match found {
            Ok(WorkingCopyFreshness::Fresh) => Ok((repo, commit, false)),
            Ok(WorkingCopyFreshness::Updated(operation)) => {
                let repo = repo
                    .reload_at(&operation)
                    .await
                    .map_err(|error| failed("cannot load the newest operation", error))?;
                let commit = self.wc_commit(&repo)?;
                self.moved_to(Arc::clone(&repo));
                Ok((repo, commit, false))
            }
            Ok(WorkingCopyFreshness::WorkingCopyStale)
            | Err(OpStoreError::ObjectNotFound { .. }) => Ok((repo, commit, true)),
            Ok(WorkingCopyFreshness::SiblingOperation) => Err(Error::vcs(
                "jj's working copy belongs to an operation that is not in its operation log",
            )
            .with_hint("`jj status` names the operation; `jj op integrate OPERATION` takes it in")),
            Err(error) => Err(failed("cannot read jj's operation log", error)),
        }
    }

    /// tether's own files.
    fn own_paths(&self) -> Result<Vec<RepoPathBuf>> {
        [
            "tether.toml",
            ".tether/objects",
            ".tether/listings",
            ".tether/.gitignore",
        ]
        .iter()
        .map(|path| self.path(path))
        .collect()
    }

    /// A path below the dataset's root as jj has it.
    pub(crate) fn path(&self, below: &str) -> Result<RepoPathBuf> {
        if self.prefix.is_empty() {
            repo_path(below)
        } else {
            repo_path(&format!("{}/{below}", self.prefix))
        }
    }

    fn auto_track(&self) -> Result<Box<dyn Matcher>> {
        let pattern = self
            .settings
            .get_string("snapshot.auto-track")
            .map_err(|error| failed("cannot read snapshot.auto-track", error))?;
        let aliases =
            load_fileset_aliases(&Ui::null(), self.settings.config()).map_err(settings::refused)?;
        let converter = RepoPathUiConverter::Fs {
            cwd: self.root.clone(),
            base: self.root.clone(),
        };
        let context = FilesetParseContext {
            aliases_map: &aliases,
            path_converter: &converter,
        };
        let expression = fileset::parse(&mut FilesetDiagnostics::new(), &pattern, &context)
            .map_err(|error| failed("cannot understand snapshot.auto-track", error))?;
        Ok(expression.to_matcher())
    }

    fn max_new_file_size(&self) -> Result<u64> {
        let HumanByteSize(size) = self
            .settings
            .get_value_with("snapshot.max-new-file-size", TryInto::try_into)
            .map_err(|error| failed("cannot read snapshot.max-new-file-size", error))?;
        Ok(if size == 0 { u64::MAX } else { size })
    }

    /// The ignore rules that are in no `.gitignore` of the working copy: `core.excludesFile` and the repository's `info/exclude`.
    fn base_ignores(&self, repo: &ReadonlyRepo) -> Result<Arc<GitIgnoreFile>> {
        let unreadable = |error| failed("cannot read the ignore rules", error);
        let mut rules = GitIgnoreFile::empty();
        let Ok(backend) = jj_lib::git::get_git_backend(repo.store()) else {
            return Ok(rules);
        };
        let git = backend.git_repo();
        let configured = git.config_snapshot().string("core.excludesFile");
        let file = match configured {
            Some(path) => std::str::from_utf8(&path)
                .ok()
                .map(|path| self.root.join(jj_lib::file_util::expand_home_path(path))),
            None => xdg_config_home().map(|home| home.join("git/ignore")),
        };
        if let Some(file) = file {
            rules = rules
                .chain_with_file(RepoPath::root(), file)
                .map_err(unreadable)?;
        }
        let exclude = backend.git_repo_path().join("info/exclude");
        rules
            .chain_with_file(RepoPath::root(), exclude)
            .map_err(unreadable)
    }
}

fn xdg_config_home() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    set("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".config")))
}

/// A `/`-separated path as jj has it.
pub(crate) fn repo_path(path: &str) -> Result<RepoPathBuf> {
    RepoPathBuf::from_internal_string(path)
        .map_err(|error| failed(format!("'{path}' is no path in a repository"), error))
}
