//! Git's index: locked, looked at, and brought up to a commit for some paths.

use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gix::ObjectId;
use gix::bstr::{BStr, ByteSlice};
use gix::index::entry::{Flags, Mode, Stage, Stat};
use gix::lock::acquire::Fail;
use tether_engine::vcs::PathChange;
use tether_engine::{Error, Result};

use super::back::Before;
use super::{Job, Staged};
use crate::failed;
use tether_gitkit::trees::{EntryKind, Reader};

/// How long another git process's `index.lock` is waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// The index under its lock.
pub(super) struct Index {
    lock: gix::lock::File,
    file: gix::index::File,
    skip_hash: bool,
}

impl Index {
    /// Reads without the lock.
    pub(super) fn read(repo: &gix::Repository) -> Result<gix::index::File> {
        let skip_hash = repo.config_snapshot().boolean("index.skipHash") == Some(true);
        read(repo, &repo.index_path(), skip_hash)
    }

    /// Takes `index.lock`, then reads.
    pub(super) fn lock(repo: &gix::Repository) -> Result<Self> {
        let path = repo.index_path();
        let mode = std::fs::metadata(&path).map_or(0o666, |meta| meta.permissions().mode() & 0o777);
        let lock = gix::lock::File::acquire_to_update_resource_with_permissions(
            &path,
            Fail::AfterDurationWithBackoff(PATIENCE),
            None,
            || std::fs::Permissions::from_mode(mode),
        )
        .map_err(|error| match error {
            gix::lock::acquire::Error::PermanentlyLocked { .. } => {
                tether_gitkit::refs::locked(&with_suffix(&path, ".lock"))
            }
            gix::lock::acquire::Error::Io(error) => Error::io("lock", &path, error),
        })?;
        let skip_hash = repo.config_snapshot().boolean("index.skipHash") == Some(true);
        let file = read(repo, &path, skip_hash)?;
        Ok(Self {
            lock,
            file,
            skip_hash,
        })
    }

    /// [`check`] of this index.
    pub(super) fn check(&self, changes: &[PathChange]) -> Result<()> {
        check(&self.file, changes)
    }

    /// Makes the entries of the job's paths those of the commit, and nothing else, and lets go of the lock.
    pub(super) fn update(mut self, job: &Job<'_>, commit: ObjectId) -> Result<()> {
        let mut reader = Reader::new(job.repo);
        let root = reader.root(commit)?;
        let mut entries = Vec::new();
        for file in &job.staged {
            // A hook may have changed what is committed.
            let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", file.path));
            let found = match reader.descend(root, folder)? {
                Some(tree) => reader.entry(tree, name)?,
                None => None,
            };
            if let Some((id, EntryKind::File)) = found {
                entries.push((file.path, id, stat(job.workdir, file, id)));
            }
        }
        set_entries(&mut self.file, &job.staged, &entries);
        self.file.remove_tree();
        let lock = write(&self.file, self.lock, self.skip_hash)?;
        lock.commit()
            .map(drop)
            .map_err(|error| Error::io("replace", &job.repo.index_path(), error.error))
    }

    /// Makes the entries that are as in a commit those of its parent, and nothing else. What is staged otherwise is the user's.
    pub(super) fn put_back(mut self, before: &[Before]) -> Result<Ready> {
        let mut put = Vec::new();
        self.file.remove_entries(|_, path, entry| {
            let found = before.iter().find(|before| path == before.path);
            let ours = found.filter(|before| before.committed == Some(entry.id));
            put.extend(ours.map(|before| (before, entry.flags & Flags::ASSUME_VALID)));
            ours.is_some()
        });
        let removed = before.iter().filter(|before| before.committed.is_none());
        for before in removed {
            if self
                .file
                .entry_by_path(before.path.as_bytes().as_bstr())
                .is_none()
            {
                put.push((before, Flags::empty()));
            }
        }
        for (before, flags) in put {
            if let Some((id, mode)) = before.blob {
                let path = before.path.as_bytes().as_bstr();
                let stat = Stat::default();
                self.file
                    .dangerously_push_entry(stat, id, flags, mode, path);
            }
        }
        self.file.sort_entries();
        self.file.remove_tree();
        write(&self.file, self.lock, self.skip_hash).map(Ready)
    }

    /// Writes an index with exactly the job's tree to `path`, keeping what is known about unchanged files on disk.
    pub(super) fn write_for_tree(job: &Job<'_>, path: &Path) -> Result<()> {
        let mut file = job
            .repo
            .index_from_tree(&job.tree)
            .map_err(|error| failed("cannot make an index of the new tree", error))?;
        let known = job.repo.open_index().unwrap_or_else(|_| {
            gix::index::File::from_state(gix::index::State::new(job.repo.object_hash()), path)
        });
        for (entry, path) in file.entries_mut_with_paths() {
            if let Some(same) = known.entry_by_path(path)
                && same.id == entry.id
                && same.mode == entry.mode
            {
                entry.stat = same.stat;
                entry.flags |= same.flags & (Flags::ASSUME_VALID | Flags::SKIP_WORKTREE);
            }
        }
        let entries: Vec<_> = job
            .staged
            .iter()
            .filter_map(|staged| {
                let (id, _) = staged.content?;
                Some((staged.path, id, stat(job.workdir, staged, id)))
            })
            .collect();
        set_entries(&mut file, &job.staged, &entries);
        let out = std::fs::File::create(path).map_err(|error| Error::io("create", path, error))?;
        write(&file, out, false).map(drop)
    }
}

/// An index that is written beside the old one, under its lock.
pub(super) struct Ready(gix::lock::File);

impl Ready {
    /// Puts it in the old one's place.
    pub(super) fn replace(self, repo: &gix::Repository) -> Result<()> {
        self.0
            .commit()
            .map(drop)
            .map_err(|error| Error::io("replace", &repo.index_path(), error.error))
    }
}

fn read(repo: &gix::Repository, path: &Path, skip_hash: bool) -> Result<gix::index::File> {
    gix::index::File::at_or_default(
        path,
        repo.object_hash(),
        skip_hash,
        gix::index::decode::Options::default(),
    )
    .map_err(|error| failed("cannot read git's index", error))
}

/// Refuses paths that are in conflict, left out by a sparse index, or in the place of another file's folder.
pub(super) fn check(index: &gix::index::File, changes: &[PathChange]) -> Result<()> {
    for change in changes {
        let path = change.path.as_bytes().as_bstr();
        let conflicted = [Stage::Base, Stage::Ours, Stage::Theirs]
            .iter()
            .any(|stage| index.entry_by_path_and_stage(path, *stage).is_some());
        if conflicted {
            return Err(
                Error::vcs(format!("{} has an unresolved conflict", change.path))
                    .with_hint(format!("resolve it, then git add {}", change.path)),
            );
        }
        if crate::paths::in_sparse_folder(index, &change.path) {
            return Err(
                Error::vcs(format!("{} is outside of the sparse checkout", change.path)).with_hint(
                    "git sparse-checkout disable, or git sparse-checkout add the dataset's folder",
                ),
            );
        }
        if change.content.is_some() {
            check_place(index, &change.path, changes)?;
        }
    }
    Ok(())
}

/// A file needs its folders to be folders, and nothing below itself.
fn check_place(index: &gix::index::File, path: &str, changes: &[PathChange]) -> Result<()> {
    let goes = |other: &BStr| {
        changes
            .iter()
            .any(|change| change.content.is_none() && other == change.path.as_str())
    };
    let folders = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
    let above = folders
        .filter_map(|folder| index.entry_by_path(folder.as_bytes().as_bstr()))
        .map(|entry| entry.path(index));
    let below = index
        .prefixed_entries(format!("{path}/").as_bytes().as_bstr())
        .into_iter()
        .flatten()
        .map(|entry| entry.path(index));
    match above.chain(below).find(|other| !goes(other)) {
        None => Ok(()),
        Some(other) => Err(
            Error::vcs(format!("{path} cannot be committed beside {other}"))
                .with_hint(format!("git rm --cached {other}")),
        ),
    }
}

fn set_entries(
    file: &mut gix::index::File,
    staged: &[Staged<'_>],
    entries: &[(&str, ObjectId, Stat)],
) {
    let mut valid = Vec::new();
    file.remove_entries(|_, path, entry| {
        let ours = staged.iter().any(|file| path == file.path);
        if ours && entry.flags.contains(Flags::ASSUME_VALID) {
            valid.push(path.to_owned());
        }
        ours
    });
    for (path, id, stat) in entries {
        let flags = if valid.iter().any(|valid| valid == path) {
            Flags::ASSUME_VALID
        } else {
            Flags::empty()
        };
        file.dangerously_push_entry(*stat, *id, flags, Mode::FILE, path.as_bytes().as_bstr());
    }
    file.sort_entries();
}

/// What is on disk, when that is what was committed; otherwise git has to look.
fn stat(workdir: &Path, file: &Staged<'_>, committed: ObjectId) -> Stat {
    let path = workdir.join(file.path);
    let Some((id, bytes)) = file.content else {
        return Stat::default();
    };
    // Before the content: a change in between then shows as another time.
    let meta = gix::index::fs::Metadata::from_path_no_follow(&path);
    if id != committed || !meta.as_ref().is_ok_and(gix::index::fs::Metadata::is_file) {
        return Stat::default();
    }
    match (std::fs::read(&path), meta) {
        (Ok(on_disk), Ok(meta)) if on_disk == bytes => Stat::from_fs(&meta).unwrap_or_default(),
        _ => Stat::default(),
    }
}

fn write<W: Write>(file: &gix::index::File, out: W, skip_hash: bool) -> Result<W> {
    let mut out = BufWriter::with_capacity(64 << 10, out);
    let options = gix::index::write::Options {
        skip_hash,
        ..Default::default()
    };
    file.write_to(&mut out, options)
        .map_err(|error| failed("cannot write git's index", error))?;
    out.into_inner()
        .map_err(|error| failed("cannot write git's index", error.into_error()))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
