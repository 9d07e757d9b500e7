//! The facade that commands call: one opened dataset with its repository, its backends, and its files.
//!
//! Opening checks the trust boundary before anything but `tether.toml` is read. Manifests and `workspace.toml` are read when asked
//! for. Reads are in `query`, writes in `apply`; this file holds what both share.

pub(crate) mod files;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::backend::{Backend, Options, Registry, Store};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::fsutil;
use crate::id::{CommitId, WorkspaceId};
use crate::key::ObjectKey;
use crate::manifest::{Manifest, Manifests};
use crate::oplog::{self, Head, OpLog, OpStore};
use crate::secrets::Secrets;
use crate::state::{self, State};
use crate::vcs::{Tree, Vcs, VcsKind};
use crate::workspace::Workspace;

/// Files of one checkout that the VCS must not track: a clone would choose what they say.
const PER_CHECKOUT: [&str; 3] = [
    ".tether/secrets.toml",
    ".tether/workspace.toml",
    ".tether/ops.jsonl",
];

/// Manifests that cannot be read: their key, where the file's place is one, and why.
pub type Unreadable = Vec<(Option<ObjectKey>, Error)>;

/// What opening a dataset needs from outside.
pub struct Parts {
    /// The directory that holds `tether.toml`.
    pub root: PathBuf,
    /// The enclosing repository.
    pub vcs: Arc<dyn Vcs>,
    /// Where this checkout's head of the operation log is kept.
    pub oplog: Arc<dyn OpLog>,
    /// The backends of this build.
    pub registry: Registry,
}

/// One opened dataset.
pub struct Dataset {
    /// The directory that holds `tether.toml`, without symlinks.
    pub root: PathBuf,
    /// The dataset's place below [`Vcs::workdir`], `/`-separated, `""` when it is the root itself.
    pub prefix: String,
    /// The enclosing repository.
    pub vcs: Arc<dyn Vcs>,
    /// Where this checkout's head of the operation log is kept.
    pub oplog: Arc<dyn OpLog>,
    /// The backends of this build.
    pub registry: Registry,
    /// `tether.toml`.
    pub config: Config,
    /// `.tether/secrets.toml`.
    pub secrets: Secrets,
    /// Warnings found while opening (readable secrets, ...), for stderr.
    pub warnings: Vec<String>,
}

impl Dataset {
    /// Opens the dataset at `parts.root`.
    ///
    /// Refused with a `Config` error: no or an invalid `tether.toml`, another format version, symbolic links in the place of
    /// tether's directories, and a per-checkout file that the VCS tracks (checked before `secrets.toml` is read).
    pub fn open(parts: Parts) -> Result<Self> {
        let root = canonical(&parts.root)?;
        let prefix = prefix_below(&root, &canonical(parts.vcs.workdir())?)?;
        let mut dataset = Self {
            config: read_config(&root)?,
            root,
            prefix,
            vcs: parts.vcs,
            oplog: parts.oplog,
            registry: parts.registry,
            secrets: Secrets::default(),
            warnings: Vec::new(),
        };
        dataset.refuse_links()?;
        dataset.refuse_tracked()?;
        let (secrets, warning) = Secrets::load(&dataset.tether_path("secrets.toml"))?;
        dataset.secrets = secrets;
        dataset.warnings.extend(warning);
        Ok(dataset)
    }

    /// `.tether/<name>`.
    pub fn tether_path(&self, name: &str) -> PathBuf {
        self.root.join(".tether").join(name)
    }

    /// A path below the dataset's root as the repository has it.
    pub fn repo_path(&self, below_root: &str) -> String {
        if self.prefix.is_empty() {
            below_root.to_owned()
        } else {
            format!("{}/{below_root}", self.prefix)
        }
    }

    /// The path of a manifest as the repository has it.
    pub fn manifest_repo_path(&self, key: &ObjectKey) -> String {
        self.repo_path(&format!(".tether/{}", key.manifest_path()))
    }

    /// The working tree's manifests. One that does not parse is an error that names it; unreadable directories are errors.
    pub fn manifests(&self) -> Result<Manifests> {
        files::manifests(&self.tether_path("objects"))
    }

    /// [`Dataset::manifests`], with the manifests that cannot be read beside the others: their key, where the file's place is one.
    pub fn manifests_tolerant(&self) -> Result<(Manifests, Unreadable)> {
        files::manifests_tolerant(&self.tether_path("objects"))
    }

    /// The bytes of the working tree's manifest of `key`; `None` when there is no file.
    pub fn manifest_bytes(&self, key: &ObjectKey) -> Result<Option<Vec<u8>>> {
        files::manifest_bytes(&self.tether_path("objects"), key)
    }

    /// The manifests at a commit.
    pub fn manifests_at(&self, commit: &CommitId) -> Result<Manifests> {
        self.manifests_in(&self.vcs.tree_at(commit, &self.prefix)?, commit)
    }

    /// The manifests in the tree of a commit.
    pub fn manifests_in(&self, tree: &Tree, commit: &CommitId) -> Result<Manifests> {
        files::manifests_of(tree).map_err(|error| files::at_commit(error, commit))
    }

    /// The manifests of a commit that may not exist yet: none before the first one.
    pub fn committed(&self, head: Option<&CommitId>) -> Result<Manifests> {
        head.map_or_else(|| Ok(Manifests::new()), |head| self.manifests_at(head))
    }

    /// `.tether/workspace.toml`; a fresh one (not written) when absent.
    ///
    /// [`Dataset::open`] refused it when the VCS tracks it. What the operation log says beyond the file counts ([`oplog::follow`]):
    /// `materialised` is `None` when something else wrote the file, and the next writing command records that as an operation
    /// ([`crate::apply::publish::adopt_foreign`]).
    pub fn workspace(&self) -> Result<Workspace> {
        let path = self.tether_path("workspace.toml");
        let head = self.oplog.head()?;
        let Some(text) = fsutil::read_regular(&path)? else {
            return self.without_file(head);
        };
        let mut workspace = Workspace::parse(&text)?;
        // A checkout that took the name of one that is gone does not go on with its log.
        let head = match head {
            Some(head) if self.is_of(&head, &workspace.id)? => Some(head),
            _ => None,
        };
        oplog::follow(
            &mut workspace,
            head.as_ref(),
            &self.op_store(),
            self.oplog.moves_with_vcs(),
        );
        Ok(workspace)
    }

    /// The state of a checkout whose `workspace.toml` is not there: a fresh one, or under jj what its log says.
    fn without_file(&self, head: Option<Head>) -> Result<Workspace> {
        let head = head.filter(|_| self.oplog.moves_with_vcs());
        if let Some(head) = head
            && let Some(operation) = self.op_store().summary(&head.operation)?
        {
            let mut workspace = Workspace::new(operation.workspace);
            workspace.view = self.op_store().view(&head.view)?;
            workspace.materialised = Some((head.operation, head.view));
            return Ok(workspace);
        }
        Ok(Workspace::new(crate::id::WorkspaceId::random()?))
    }

    /// Whether `head` is the head of the checkout `workspace`, and not of an earlier one of the same name.
    pub(crate) fn is_of(&self, head: &Head, workspace: &WorkspaceId) -> Result<bool> {
        let operation = self.op_store().summary(&head.operation)?;
        Ok(operation.is_none_or(|operation| operation.workspace == *workspace))
    }

    /// Writes `.tether/workspace.toml`, atomically. What the old file says about undone operations is kept elsewhere first.
    pub fn write_workspace(&self, workspace: &Workspace) -> Result<()> {
        crate::apply::undo::pending::before_rewrite(self)?;
        let path = self.tether_path("workspace.toml");
        fsutil::write_atomic(&path, workspace.to_toml().as_bytes())
    }

    /// Views and operation records of this repository.
    pub fn op_store(&self) -> OpStore {
        OpStore::new(self.vcs.shared_dir())
    }

    /// The backend and the store of an object, after [`Backend::validate`]. Errors name the object.
    pub fn store_of(&self, manifest: &Manifest) -> Result<(Arc<dyn Backend>, Store)> {
        let named = |error: Error| error.for_object(&manifest.key, &manifest.kind);
        let backend = Arc::clone(self.registry.get(&manifest.kind).map_err(named)?);
        let store = self.store_with(&*backend, manifest);
        backend
            .validate(&store, self.vcs.workdir())
            .map_err(named)?;
        Ok((backend, store))
    }

    fn store_with(&self, backend: &dyn Backend, manifest: &Manifest) -> Store {
        let uri = store_uri(backend, manifest);
        let mut options = self
            .config
            .backends
            .get(&manifest.kind)
            .cloned()
            .unwrap_or_default();
        let secret = self
            .secrets
            .options_for(Some(&manifest.key), &manifest.kind, uri.as_deref());
        options.extend(secret);
        Store {
            locator: manifest.locator.clone(),
            policy: manifest.policy,
            options: Options(options),
        }
    }

    /// The state keys of a kind that address and do not identify; none for a kind this build does not have.
    pub fn volatile_keys(&self, kind: &str) -> &'static [&'static str] {
        self.registry
            .get(kind)
            .map_or(&[], |backend| backend.volatile_keys())
    }

    /// The path of the listing of a state, absolute, in `.tether/listings/`.
    pub fn listing_path(&self, manifest: &Manifest, state: &State) -> Result<PathBuf> {
        let name = self.listing_name(manifest, state)?;
        Ok(self.tether_path("listings").join(name))
    }

    /// The file name of the listing of a state.
    pub fn listing_name(&self, manifest: &Manifest, state: &State) -> Result<String> {
        let backend = self.registry.get(&manifest.kind)?;
        let identity = backend
            .identity(&manifest.locator)
            .map_err(|error| error.for_object(&manifest.key, &manifest.kind))?;
        let content = state.content(backend.volatile_keys());
        Ok(state::listing_name(&manifest.kind, &identity, &content))
    }

    /// Whether this checkout works on the trunk bookmark.
    pub fn on_trunk(&self, workspace: &Workspace) -> bool {
        workspace.view.bookmark.as_ref() == Some(&self.config.trunk)
    }

    /// Where the checkout's bookmark is, when it moved on from the commit the working copy stayed at: another checkout committed on it.
    pub(crate) fn ahead(&self, workspace: &Workspace) -> Result<Option<CommitId>> {
        let Some(bookmark) = &workspace.view.bookmark else {
            return Ok(None);
        };
        let position = self.vcs.position()?;
        if self.vcs.kind() != VcsKind::Jj || position.bookmarks.contains(bookmark) {
            return Ok(None);
        }
        let there = self.vcs.bookmarks()?.remove(bookmark);
        let (Some(there), Some(here)) = (there, &position.head) else {
            return Ok(None);
        };
        Ok(self.vcs.is_ancestor(here, &there)?.then_some(there))
    }

    /// Keys whose committed state is another than this checkout's working refs correspond to; where the bookmark moved on, what is
    /// committed there counts. None on the trunk: its working refs are
    /// the upstream branches, which were never forked.
    pub fn stale_keys(&self, manifests: &Manifests, workspace: &Workspace) -> Vec<ObjectKey> {
        if self.on_trunk(workspace) {
            return Vec::new();
        }
        // What cannot be read there is told by whoever reads it.
        let ahead = self.ahead(workspace).ok().flatten();
        let ahead = ahead.and_then(|commit| self.manifests_at(&commit).ok());
        let manifests = ahead.as_ref().unwrap_or(manifests);
        let bases = workspace.view.base_states.iter();
        let stale = bases.filter(|(key, base)| {
            let Some(manifest) = manifests.get(*key) else {
                return false;
            };
            let volatile = self.volatile_keys(&manifest.kind);
            manifest
                .state
                .as_ref()
                .is_some_and(|state| !state.same_content(base, volatile))
        });
        stale.map(|(key, _)| key.clone()).collect()
    }

    /// The root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A clone can bring links; what tether writes must stay below `.tether/`.
    fn refuse_links(&self) -> Result<()> {
        for name in ["", "objects", "listings", "cache"] {
            let path = self.tether_path(name);
            // Without the slash that an empty name leaves, which would follow the link.
            let path: PathBuf = path.components().collect();
            if std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink()) {
                return Err(files::symlink(&path));
            }
        }
        Ok(())
    }

    fn refuse_tracked(&self) -> Result<()> {
        let paths: Vec<String> = PER_CHECKOUT
            .iter()
            .map(|path| self.repo_path(path))
            .collect();
        let tracked = self.vcs.tracked(&paths)?;
        let Some(path) = tracked.first() else {
            return Ok(());
        };
        let untrack = match self.vcs.kind() {
            VcsKind::Git => format!("git rm --cached -- {path}"),
            VcsKind::Jj => format!("jj file untrack {path}"),
        };
        let message = format!(
            "{} tracks {path}, which belongs to one checkout: a clone must not choose what it says",
            self.vcs.kind().name()
        );
        Err(Error::config(message).with_hint(format!("`{untrack}`, and commit that")))
    }
}

fn canonical(path: &Path) -> Result<PathBuf> {
    std::fs::canonicalize(path).map_err(|error| Error::io("find", path, error))
}

fn prefix_below(root: &Path, workdir: &Path) -> Result<String> {
    let below = root.strip_prefix(workdir).map_err(|_| {
        Error::vcs(format!(
            "the dataset {} is not inside the repository's checkout {}",
            root.display(),
            workdir.display()
        ))
        .with_hint("run tether in the checkout that holds the dataset")
    })?;
    let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
    parts.map(|parts| parts.join("/")).ok_or_else(|| {
        Error::config(format!(
            "the path of the dataset is not UTF-8: {}",
            root.display()
        ))
        .with_hint("rename the directory")
    })
}

fn read_config(root: &Path) -> Result<Config> {
    let path = root.join("tether.toml");
    let bytes = fsutil::read_regular(&path)?.ok_or_else(|| {
        Error::config(format!("there is no dataset at {}", root.display()))
            .with_hint("`tether init` makes one")
    })?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| Error::config("tether.toml is not UTF-8").with_hint("save it as UTF-8"))?;
    Config::parse(text)
}

/// The address that `[uris."<prefix>"]` entries of the secrets are matched with.
fn store_uri(backend: &dyn Backend, manifest: &Manifest) -> Option<String> {
    let locator = &manifest.locator;
    let direct = backend
        .positional_key()
        .into_iter()
        .chain(["uri", "path", "url"])
        .find_map(|field| locator.str(field));
    if let Some(uri) = direct {
        return Some(uri.to_owned());
    }
    // A Dolt server has no single field; the guide names it `mysql://host:port`.
    if manifest.kind == "dolt" {
        let host = locator.str("host").unwrap_or("127.0.0.1");
        let port = locator.get("port").map_or_else(
            || "3306".to_owned(),
            |port| {
                port.as_str()
                    .map_or_else(|| port.to_string(), str::to_owned)
            },
        );
        let database = locator.str("database").unwrap_or_default();
        return Some(format!("mysql://{host}:{port}/{database}"));
    }
    None
}
