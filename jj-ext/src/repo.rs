//! A jj repository, opened in process at one operation, and how it moves on from there.
//!
//! Two locks inside: the repository as loaded (held for a moment), and the workspace (held while its working copy is written). Nobody
//! waits for the first while holding the second.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jj_lib::default_backend_factories::{
    default_backend_factories, default_working_copy_factories,
};
use jj_lib::lock::FileLock;
use jj_lib::op_walk;
use jj_lib::ref_name::{RemoteNameBuf, WorkspaceName, WorkspaceNameBuf};
use jj_lib::repo::{ReadonlyRepo, Repo as _, RepoLoader};
use jj_lib::settings::UserSettings;
use jj_lib::workspace::{
    DefaultWorkspaceLoaderFactory, Workspace, WorkspaceLoadError, WorkspaceLoaderFactory as _,
};
use pollster::FutureExt as _;
use tether_engine::name::BookmarkName;
use tether_engine::oplog::OpStore;
use tether_engine::{Error, Result};
use tether_gitkit::history::Memo;

use crate::{Options, anchor, failed, settings};

/// How long another process may hold jj's lock on git's refs.
const PATIENCE: Duration = Duration::from_secs(30);

/// An opened jj repository, in one of its workspaces.
pub struct Jj {
    /// The workspace's root, as jj has it.
    pub(crate) root: PathBuf,
    /// `.jj/repo`, without links.
    pub(crate) repository: PathBuf,
    pub(crate) name: WorkspaceNameBuf,
    pub(crate) settings: UserSettings,
    /// Whether git sees the working copy too.
    pub(crate) colocated: bool,
    /// The dataset's place below the root, `""` for the root itself.
    pub(crate) prefix: String,
    /// The pseudo-remote of the dataset's anchors.
    pub(crate) anchors: RemoteNameBuf,
    pub(crate) options: Options,
    pub(crate) store: OpStore,
    /// A bookmark that the next published operation creates where the working copy is.
    pub(crate) trunk: Mutex<Option<BookmarkName>>,
    /// The last walk over every commit.
    pub(crate) walked: Memo,
    repo: Mutex<Arc<ReadonlyRepo>>,
    workspace: Mutex<Workspace>,
}

impl std::fmt::Debug for Jj {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jj")
            .field("root", &self.root)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Jj {
    /// Opens the workspace at `root` for the dataset at `dataset`. Writes nothing: divergent operations are merged in memory.
    pub fn open(root: &Path, dataset: &Path, options: &Options) -> Result<Arc<Self>> {
        let loader = DefaultWorkspaceLoaderFactory
            .create(root)
            .map_err(|error| not_loaded(root, error))?;
        let settings = match &options.settings {
            Some(settings) => settings.clone(),
            None => settings::load(loader.workspace_root(), loader.repo_path())?,
        };
        let workspace = loader
            .load(
                &settings,
                &default_backend_factories(),
                &default_working_copy_factories(),
            )
            .map_err(|error| not_loaded(root, error))?;
        let repo = load(workspace.repo_loader(), options).block_on()?;
        let root = workspace.workspace_root().to_owned();
        let repository = real(workspace.repo_path());
        let prefix = below(&real(dataset), &real(&root));
        Ok(Arc::new(Self {
            colocated: jj_cli::git_util::is_colocated_git_workspace(&workspace)
                .map_err(settings::refused)?,
            anchors: anchor::remote_of(&prefix),
            prefix,
            name: workspace.workspace_name().to_owned(),
            store: OpStore::new(&repository),
            options: options.clone(),
            trunk: Mutex::default(),
            walked: Memo::default(),
            repo: Mutex::new(repo),
            workspace: Mutex::new(workspace),
            settings,
            root,
            repository,
        }))
    }

    /// The repository as loaded last.
    pub(crate) fn repo(&self) -> Arc<ReadonlyRepo> {
        Arc::clone(&self.repo.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on the repository is at `repo`.
    pub(crate) fn moved_to(&self, repo: Arc<ReadonlyRepo>) {
        *self.repo.lock().unwrap_or_else(PoisonError::into_inner) = repo;
    }

    pub(crate) fn workspace(&self) -> MutexGuard<'_, Workspace> {
        self.workspace
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn workspace_name(&self) -> &WorkspaceName {
        &self.name
    }

    /// Loads the newest operation; divergent ones are merged and that is published, as every jj command does.
    pub(crate) async fn reload(&self) -> Result<Arc<ReadonlyRepo>> {
        let repo = self
            .repo()
            .loader()
            .load_at_head()
            .await
            .map_err(|error| failed("cannot load the newest operation", error))?;
        self.moved_to(Arc::clone(&repo));
        Ok(repo)
    }

    /// jj's lock on git's refs and `HEAD`; nothing where git does not see the working copy.
    pub(crate) fn git_lock(&self) -> Result<Option<FileLock>> {
        if !self.colocated {
            return Ok(None);
        }
        let path = self.repository.join("git_import_export.lock");
        let started = Instant::now();
        loop {
            let lock = FileLock::try_lock(path.clone())
                .map_err(|error| failed("cannot lock git's refs", error))?;
            if lock.is_some() {
                return Ok(lock);
            }
            if started.elapsed() > PATIENCE {
                return Err(Error::vcs(format!(
                    "another jj command has held {} for {} seconds",
                    path.display(),
                    PATIENCE.as_secs()
                ))
                .with_hint("end that command, then run this one again"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Refuses what `jj` was told not to do.
    pub(crate) fn check_writable(&self) -> Result<()> {
        let options = &self.options;
        let flag = if options.at_operation.is_some() {
            "--at-operation"
        } else if options.ignore_working_copy {
            "--ignore-working-copy"
        } else if options.no_integrate_operation {
            "--no-integrate-operation"
        } else {
            return Ok(());
        };
        Err(Error::user(format!(
            "with {flag} a command can read, and this one writes"
        ))
        .with_hint(format!("leave {flag} out")))
    }

    /// The commit of the working copy.
    pub(crate) fn wc_commit(&self, repo: &Arc<ReadonlyRepo>) -> Result<jj_lib::commit::Commit> {
        let id = repo.view().get_wc_commit_id(&self.name).ok_or_else(|| {
            Error::vcs(format!(
                "the workspace '{}' was forgotten: it has no working-copy commit",
                self.name.as_symbol()
            ))
            .with_hint("`jj workspace add PATH` makes one")
        })?;
        repo.store()
            .get_commit(id)
            .map_err(|error| failed("cannot read the working-copy commit", error))
    }
}

async fn load(loader: &RepoLoader, options: &Options) -> Result<Arc<ReadonlyRepo>> {
    let operation = match options.at_operation.as_deref() {
        Some(text) if text != "@" => {
            let operation = op_walk::resolve_op_for_load(loader, text).await;
            operation.map_err(|error| {
                failed(format!("cannot find operation {text}"), error).with_hint("`jj op log`")
            })?
        }
        _ => return at_head(loader).await,
    };
    loader
        .load_at(&operation)
        .await
        .map_err(|error| failed("cannot load the operation", error))
}

/// The newest operation, without publishing anything.
async fn at_head(loader: &RepoLoader) -> Result<Arc<ReadonlyRepo>> {
    let unreadable = |error| failed("cannot read jj's operation log", error);
    let operations = op_walk::get_current_head_ops(loader.op_store(), &**loader.op_heads_store())
        .await
        .map_err(|error| failed("cannot read jj's operation log", error))?;
    let (repo, _) = loader
        .merge_operations(operations, None, Some("reconcile divergent operations"), [])
        .await
        .map_err(unreadable)?;
    Ok(repo)
}

fn not_loaded(root: &Path, error: WorkspaceLoadError) -> Error {
    failed(
        format!("cannot open the jj workspace at {}", root.display()),
        error,
    )
    .with_hint(format!("`jj -R {} status` says more", root.display()))
}

/// The path of `inner` below `outer`, `/`-separated; `""` where they are one directory.
fn below(inner: &Path, outer: &Path) -> String {
    let parts = inner.strip_prefix(outer).unwrap_or(Path::new(""));
    let parts: Vec<_> = parts.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// A path without links, as far as it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
