//! Where a repository's directories are, found without opening it: cheap, and safe for a path nobody has checked yet.

use std::path::{Component, Path, PathBuf};

/// The canonical form of `path`, for paths that do not exist (yet) as well: what exists is resolved, the rest is kept.
pub(crate) fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.components().next_back()) {
        (Some(parent), Some(Component::Normal(name))) => real(parent).join(name),
        (Some(parent), Some(Component::CurDir)) => real(parent),
        (Some(parent), Some(Component::ParentDir)) => {
            let mut above = real(parent);
            above.pop();
            above
        }
        _ => path.to_path_buf(),
    }
}

/// `path` without `.` and `..`, symlinks not followed.
pub(crate) fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

/// The git directory of the working tree (or bare repository) at `path`.
///
/// `.git` is taken first; a jj repository that is not colocated has its git directory inside `.jj`.
pub(crate) fn git_dir(path: &Path) -> Option<PathBuf> {
    let dot_git = path.join(".git");
    if dot_git.is_dir() {
        return Some(dot_git);
    }
    if dot_git.is_file() {
        return pointer(&dot_git, "gitdir:");
    }
    if path.join(".jj").is_dir() {
        return jj_git_dir(path);
    }
    let bare = path.join("HEAD").is_file() && path.join("objects").is_dir();
    bare.then(|| path.to_path_buf())
}

/// The git directory a jj repository without `.git` beside it keeps its commits in.
pub(crate) fn jj_git_dir(path: &Path) -> Option<PathBuf> {
    let repo = path.join(".jj").join("repo");
    let repo = if repo.is_file() {
        pointer(&repo, "")?
    } else {
        repo
    };
    pointer(&repo.join("store").join("git_target"), "")
}

/// The directory all worktrees of a repository share, canonical.
pub(crate) fn common_dir(git_dir: &Path) -> PathBuf {
    let common = pointer(&git_dir.join("commondir"), "");
    real(&common.unwrap_or_else(|| git_dir.to_path_buf()))
}

/// The common directory of the repository that `start` lies in.
pub(crate) fn enclosing(start: &Path) -> Option<PathBuf> {
    start
        .ancestors()
        .find_map(|dir| {
            let marked = dir.join(".git").exists() || dir.join(".jj").exists();
            marked.then(|| git_dir(dir)).flatten()
        })
        .map(|dir| common_dir(&dir))
}

/// Whether the repository is a jj repository: `.jj` beside the working tree's or the main working tree's `.git`.
pub(crate) fn is_jj(path: &Path, common_dir: &Path) -> bool {
    let beside = common_dir.parent().is_some_and(|dir| {
        common_dir.file_name() == Some(".git".as_ref()) && dir.join(".jj").is_dir()
    });
    beside || path.join(".jj").is_dir()
}

/// The path a one-line file names, relative to the file's directory.
fn pointer(file: &Path, prefix: &str) -> Option<PathBuf> {
    let text = std::fs::read_to_string(file).ok()?;
    let target = text
        .trim_end_matches(['\n', '\r'])
        .strip_prefix(prefix)?
        .trim_start();
    if target.is_empty() {
        return None;
    }
    Some(file.parent()?.join(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_does_not_exist_is_resolved_as_far_as_it_exists() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("a")).unwrap();
        std::os::unix::fs::symlink(root.join("a"), root.join("link")).unwrap();
        assert_eq!(real(&root.join("link/x/../y/.")), root.join("a/y"));
        assert_eq!(real(&root.join("link/../link")), root.join("a"));
        assert_eq!(lexical(&root.join("link/x/../y/.")), root.join("link/y"));
    }

    #[test]
    fn the_git_directory_is_found_through_pointers() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for made in [
            "code/.git/worktrees/w",
            "w",
            "jj/.jj/repo/store/git",
            "ws/.jj",
        ] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        let gitdir = format!("gitdir: {}\n", root.join("code/.git/worktrees/w").display());
        std::fs::write(root.join("w/.git"), gitdir).unwrap();
        std::fs::write(root.join("code/.git/worktrees/w/commondir"), "../..\n").unwrap();
        std::fs::write(root.join("jj/.jj/repo/store/git_target"), "git").unwrap();
        std::fs::write(root.join("ws/.jj/repo"), "../../jj/.jj/repo").unwrap();

        let worktree = git_dir(&root.join("w")).unwrap();
        assert_eq!(common_dir(&worktree), root.join("code/.git"));
        assert_eq!(enclosing(&root.join("w")), Some(root.join("code/.git")));
        let jj = git_dir(&root.join("ws")).unwrap();
        assert_eq!(common_dir(&jj), root.join("jj/.jj/repo/store/git"));
        assert_eq!(git_dir(&root), None);
    }
}
