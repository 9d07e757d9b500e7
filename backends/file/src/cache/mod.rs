//! Hashes kept between runs, one file per scanned root in the dataset's `.tether/cache`.
//!
//! `format` is our file, `python` reads the Python package's. A cache only saves time: one that cannot be read is as good as none,
//! and one that cannot be written is a line in the trace. Files are written aside and renamed, so processes that scan one root at
//! the same time each leave a whole file.

mod format;
mod python;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use tether_engine::{fsutil, json};

use crate::scan::tree::Tree;

/// The age from which a temporary file is nobody's any more.
const LEFT_BEHIND: Duration = Duration::from_hours(1);

/// The cache directory of one dataset.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    dir: PathBuf,
}

/// What a cache knows of a root.
pub(crate) struct Known {
    /// The hashes.
    pub(crate) tree: Tree,
    /// Whether they come from our own file.
    pub(crate) own: bool,
}

impl Cache {
    /// The cache in `dir`, which is made when something is stored.
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// What is known of `root`.
    pub(crate) fn load(&self, root: &Path) -> Option<Known> {
        let bytes = root.as_os_str().as_bytes();
        if let Some(tree) = read(&self.file(root)).and_then(|file| format::decode(bytes, &file)) {
            return Some(Known { tree, own: true });
        }
        let file = read(&self.dir.join(python::NAME))?;
        let tree = python::decode(root.to_str()?, &file)?;
        Some(Known { tree, own: false })
    }

    /// Keeps `tree` for the next scan of `root`.
    pub(crate) fn store(&self, root: &Path, tree: &Tree) {
        if let Err(error) = self.write(root, tree) {
            tracing::debug!(%error, root = %root.display(), "the file hashes were not kept");
        }
    }

    fn write(&self, root: &Path, tree: &Tree) -> io::Result<()> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        // Only the last component: without its `.tether` directory there is no dataset to keep anything for.
        match fs::create_dir(&self.dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        self.sweep()?;
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = self
            .dir
            .join(format!(".tether-tmp-{}-{count}", std::process::id()));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)?;
        let written = fill(file, root, tree).and_then(|()| fs::rename(&temporary, self.file(root)));
        if written.is_err() {
            // It failed already; a left-over temporary file is only litter.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Removes temporary files that a killed process left behind.
    fn sweep(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            if fsutil::is_temporary(&entry.file_name())
                && let Ok(modified) = entry.metadata().and_then(|metadata| metadata.modified())
                && modified.elapsed().is_ok_and(|age| age > LEFT_BEHIND)
            {
                // Another process may have been faster.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }

    fn file(&self, root: &Path) -> PathBuf {
        let name = json::hash(16, [root.as_os_str().as_bytes()]);
        self.dir.join(format!("files-{}.bin", &name[..20]))
    }
}

fn fill(file: File, root: &Path, tree: &Tree) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, file);
    format::encode(root.as_os_str().as_bytes(), tree, |part| {
        out.write_all(part)
    })?;
    out.flush()
}

/// The content of a regular file; a cache that is anything else is never opened for long.
fn read(path: &Path) -> Option<Vec<u8>> {
    if !fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() {
        return None;
    }
    let mut content = Vec::with_capacity(metadata.len() as usize);
    file.read_to_end(&mut content).ok()?;
    Some(content)
}
