//! Repositories opened once per process, and one call's view of its repository.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tether_engine::backend::Store;
use tether_engine::error::{Error, Result};
use tether_gitkit::exec::Git;
use tether_gitkit::open::{Role, open};

use crate::layout;
use crate::locator::{PinSpace, Site};

/// What outlives one call: opened repositories, and where `git` is.
#[derive(Debug)]
pub(crate) struct Core {
    git_path: Option<PathBuf>,
    opened: Mutex<Cache>,
    /// Held while a checkout is moved: git gives up at once when another process has its index lock.
    pub(crate) moving: Mutex<()>,
}

/// The files whose change means the repository must be opened again.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp(Vec<Option<FileStamp>>);

/// What tells one life of a file from another: device, inode, change time and size.
type FileStamp = (u64, u64, i64, i64, u64);

/// Opened repositories by path.
type Cache = HashMap<PathBuf, (Stamp, gix::ThreadSafeRepository)>;

impl Stamp {
    fn of(git_dir: &Path) -> Self {
        let common = layout::common_dir(git_dir);
        let files = [
            common.join("config"),
            git_dir.join("config.worktree"),
            common.join("objects").join("info").join("alternates"),
            common.join("shallow"),
        ];
        Self(files.iter().map(|file| stat(file)).collect())
    }
}

fn stat(path: &Path) -> Option<FileStamp> {
    let meta = std::fs::metadata(path).ok()?;
    Some((
        meta.dev(),
        meta.ino(),
        meta.ctime(),
        meta.ctime_nsec(),
        meta.size(),
    ))
}

impl Core {
    pub(crate) fn new(git_path: Option<PathBuf>) -> Self {
        Self {
            git_path,
            opened: Mutex::default(),
            moving: Mutex::default(),
        }
    }

    /// The `git` executable.
    pub(crate) fn git(&self) -> Result<Git> {
        Git::find(self.git_path.as_deref())
    }

    /// The site's repository, opened at most once while its configuration stays as it is.
    pub(crate) fn open(&self, site: &Site) -> Result<gix::Repository> {
        let git_dir = layout::git_dir(&site.path).ok_or_else(|| missing(&site.path))?;
        let stamp = Stamp::of(&git_dir);
        let known = self.lock().get(&site.path).cloned();
        if let Some((seen, repo)) = known
            && seen == stamp
        {
            return allowed(repo.to_thread_local(), site);
        }
        let place = if site.path.join(".git").exists() {
            &site.path
        } else {
            &git_dir
        };
        let repo = open(place, Role::Foreign)?.into_sync();
        self.lock().insert(site.path.clone(), (stamp, repo.clone()));
        allowed(repo.to_thread_local(), site)
    }

    /// Forgets the repository at `path`.
    pub(crate) fn forget(&self, path: &Path) {
        self.lock().remove(path);
    }

    fn lock(&self) -> MutexGuard<'_, Cache> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A bare repository needs the secrets file's word: it may be buried anywhere, such as in a clone's files.
fn allowed(mut repo: gix::Repository, site: &Site) -> Result<gix::Repository> {
    // Set by opening, but not carried over to another thread's handle.
    repo.objects.ignore_replacements = true;
    if repo.workdir().is_none() && !site.bare && !site.path.join(".jj").is_dir() {
        return Err(
            Error::store(format!("{} is a bare repository", site.path.display())).with_hint(
                "`bare = true` under [objects.\"KEY\"] in .tether/secrets.toml allows it",
            ),
        );
    }
    Ok(repo)
}

fn missing(path: &Path) -> Error {
    if path.exists() {
        Error::store(format!("{} is not a git repository", path.display())).with_hint(format!(
            "`git -C {} init`, or register another path",
            path.display()
        ))
    } else {
        Error::store(format!("{} does not exist", path.display()))
            .with_hint(format!("clone the repository to {}", path.display()))
    }
}

/// One call's repository.
pub(crate) struct Opened {
    pub(crate) core: Arc<Core>,
    pub(crate) site: Site,
    pub(crate) repo: gix::Repository,
}

impl Opened {
    pub(crate) fn new(core: Arc<Core>, store: &Store) -> Result<Self> {
        let site = Site::new(store)?;
        let repo = core.open(&site)?;
        Ok(Self { core, site, repo })
    }

    /// The checkout's path, for messages.
    pub(crate) fn shown(&self) -> std::path::Display<'_> {
        self.site.path.display()
    }

    /// Where new pins go.
    pub(crate) fn pin_space(&self) -> PinSpace {
        self.site.pins.unwrap_or_else(|| {
            if self.is_jj() {
                PinSpace::Hidden
            } else {
                PinSpace::Tags
            }
        })
    }

    /// Whether jj manages the repository.
    pub(crate) fn is_jj(&self) -> bool {
        layout::is_jj(&self.site.path, &layout::real(self.repo.common_dir()))
    }
}
