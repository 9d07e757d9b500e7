//! Opening a repository with guards.

use std::path::{Path, PathBuf};

use gix::sec::Permission;
use tether_engine::{Error, ErrorKind, Result};

use crate::env;

/// Whose repository it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The dataset's own: the user's identity, hooks, filters and signing apply.
    Own,
    /// A store: nothing its configuration names is run.
    Foreign,
}

impl Role {
    fn error(self, message: String) -> Error {
        let kind = match self {
            Self::Own => ErrorKind::Vcs,
            Self::Foreign => ErrorKind::Store,
        };
        Error::new(kind, message)
    }
}

/// The extensions whose meaning gix knows or that do not matter to it, lower case.
const KNOWN_EXTENSIONS: [&str; 9] = [
    "noop",
    "noop-v1",
    "preciousobjects",
    "partialclone",
    "worktreeconfig",
    "objectformat",
    "compatobjectformat",
    "relativeworktrees",
    "refstorage",
];

/// Opens the repository whose working tree or git dir is at `path` (never walks up, never takes an embedded bare repository).
///
/// A working tree is a directory with a `.git` in it. Anything else is a git dir only for [`Role::Foreign`], where a caller that did not
/// ask for a bare repository has to look at [`gix::Repository::workdir`]; [`Role::Own`] refuses a repository without a working tree.
///
/// Errors (kind `Vcs` for `Own`, `Store` for `Foreign`): not a repository, owned by somebody else (with git's `safe.directory` line as
/// the hint), reftable (`git refs migrate --ref-format=files`), an unknown extension.
pub fn open(path: &Path, role: Role) -> Result<gix::Repository> {
    let git_dir = git_dir_at(path, role)?;
    let mut repo = options(role)
        .open(git_dir)
        .map_err(|error| refused(path, role, error))?
        .to_thread_local();
    // `git replace` must not hide commits or change files.
    repo.objects.ignore_replacements = true;
    check_format(&repo, path, role)?;
    if role == Role::Own && repo.workdir().is_none() {
        return Err(role
            .error(format!(
                "{} is a bare repository, a dataset needs a working tree",
                path.display()
            ))
            .with_hint(format!("git -C {} worktree add PATH", quoted(path))));
    }
    Ok(repo)
}

/// The nearest directory at or above `start` that is a git working tree, with `safe.bareRepository=explicit` semantics.
///
/// A `.git` that is a broken link to a repository is an error; a directory `.git` that is no repository is passed by, as git does.
pub fn discover(start: &Path) -> Result<Option<PathBuf>> {
    let start = std::path::absolute(start).map_err(|error| Error::io("find", start, error))?;
    for dir in start.ancestors() {
        let dot_git = dir.join(".git");
        let Ok(meta) = std::fs::metadata(&dot_git) else {
            continue;
        };
        match gix::discover::is_git(&dot_git) {
            Ok(_) => return Ok(Some(dir.to_owned())),
            Err(error) if meta.is_file() => {
                return Err(Error::vcs(format!(
                    "{} does not lead to a git repository",
                    dot_git.display()
                ))
                .with_source(error)
                .with_hint("git worktree repair"));
            }
            Err(_) => {}
        }
    }
    Ok(None)
}

/// `path/.git` when there is one, else (foreign only) `path` itself.
fn git_dir_at(path: &Path, role: Role) -> Result<PathBuf> {
    let dot_git = path.join(".git");
    if path.file_name().is_some_and(|name| name == ".git") && role == Role::Foreign {
        return Ok(path.to_owned());
    }
    if dot_git.exists() {
        return Ok(dot_git);
    }
    if role == Role::Foreign {
        return Ok(path.to_owned());
    }
    let error = role.error(format!(
        "{} is not the root of a git working tree",
        path.display()
    ));
    Err(error.with_hint(format!("git init {}", quoted(path))))
}

fn options(role: Role) -> gix::open::Options {
    let mut permissions = gix::open::Permissions::all();
    permissions.config.env = false;
    permissions.config.git_binary = false;
    permissions.env.objects = Permission::Deny;
    if !env::poisoned().is_empty() {
        permissions.env.git_prefix = Permission::Deny;
    }
    let options = gix::open::Options::default()
        .permissions(permissions)
        .open_path_as_is(true)
        .bail_if_untrusted(true)
        .strict_config(false)
        .config_overrides([
            "core.filesRefLockTimeout=2000",
            "core.packedRefsTimeout=10000",
            "core.deltaBaseCacheLimit=96m",
        ]);
    match role {
        Role::Own => options,
        Role::Foreign => options.filter_config_section(|meta| {
            meta.source.kind() != gix::config::source::Kind::Repository
        }),
    }
}

fn refused(path: &Path, role: Role, error: gix::open::Error) -> Error {
    match error {
        gix::open::Error::UnsafeGitDir { path: unsafe_path } => role
            .error(format!(
                "detected dubious ownership in repository at {}: another user owns it",
                unsafe_path.display()
            ))
            .with_hint(format!(
                "git config --global --add safe.directory {}",
                quoted(&unsafe_path)
            )),
        gix::open::Error::NotARepository { source, .. } => role
            .error(format!("{} is not a git repository", path.display()))
            .with_source(source),
        gix::open::Error::Config(
            source @ (gix::config::Error::UnsupportedRepositoryFormatVersion { .. }
            | gix::config::Error::UnsupportedObjectFormat { .. }
            | gix::config::Error::ObjectFormatRequiresV1
            | gix::config::Error::Io { .. }),
        ) => role
            .error(format!(
                "cannot open the git repository at {}",
                path.display()
            ))
            .with_source(source),
        // The text of a configuration must not reach a message: it may hold a secret.
        gix::open::Error::Config(_) => role
            .error(format!(
                "the git configuration of {} cannot be read",
                path.display()
            ))
            .with_hint(format!(
                "git -C {} config --list --show-origin",
                quoted(path)
            )),
        error => role
            .error(format!(
                "cannot open the git repository at {}",
                path.display()
            ))
            .with_source(error),
    }
}

/// What git refuses and gix does not.
fn check_format(repo: &gix::Repository, path: &Path, role: Role) -> Result<()> {
    let config = repo.config_snapshot();
    let version = config.integer("core.repositoryFormatVersion").unwrap_or(0);
    let storage = config.string("extensions.refStorage");
    if storage.is_some_and(|storage| !storage.eq_ignore_ascii_case(b"files")) {
        return Err(role
            .error(format!(
                "the git repository at {} keeps its refs in a reftable",
                path.display()
            ))
            .with_hint(format!(
                "git -C {} refs migrate --ref-format=files",
                quoted(path)
            )));
    }
    if version == 0 {
        return Ok(());
    }
    for section in config
        .plumbing()
        .sections_by_name("extensions")
        .into_iter()
        .flatten()
    {
        if section.meta().source.kind() != gix::config::source::Kind::Repository {
            continue;
        }
        for name in section.value_names() {
            let known = KNOWN_EXTENSIONS
                .iter()
                .any(|known| name.eq_ignore_ascii_case(known));
            if !known {
                return Err(role.error(format!(
                    "the git repository at {} uses the extension {:?}, which this tether does not know",
                    path.display(),
                    name
                )));
            }
        }
    }
    Ok(())
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:@,%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
