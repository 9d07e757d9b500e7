//! What every command receives: the console, the directory it runs in, and a runtime that starts when it is needed.

use std::cell::OnceCell;
use std::future::Future;
use std::path::PathBuf;

use tether_engine::dataset::Dataset;
use tether_engine::{Error, Result};
use tether_jj::Options;
use tokio::runtime::Runtime;

use crate::console::Console;
use crate::discover;

/// What a command works with.
#[derive(Debug)]
pub struct Context {
    /// Where answers go.
    pub console: Console,
    /// The directory the command runs in, absolute.
    pub cwd: PathBuf,
    /// How a jj repository is opened.
    pub jj: Options,
    runtime: OnceCell<Runtime>,
}

impl Context {
    /// A context in the process's directory.
    pub fn here(console: Console) -> Result<Self> {
        let cwd = std::env::current_dir().map_err(|error| {
            Error::user("the current directory cannot be read; was it deleted?")
                .with_source(error)
                .with_hint("cd to a directory that exists")
        })?;
        Ok(Self::new(console, cwd, Options::default()))
    }

    /// A context in `cwd`, which is absolute.
    pub fn new(console: Console, cwd: PathBuf, jj: Options) -> Self {
        Self {
            console,
            cwd,
            jj,
            runtime: OnceCell::new(),
        }
    }

    /// The dataset this directory belongs to. Its warnings go to standard error.
    pub fn dataset(&self) -> Result<Dataset> {
        let dataset = discover::dataset(&self.cwd, &self.jj)?;
        for warning in &dataset.warnings {
            self.console.warn(warning);
        }
        Ok(dataset)
    }

    /// Runs a future to its end, showing `what` while that takes long.
    pub fn wait<T>(&self, what: &str, future: impl Future<Output = Result<T>>) -> Result<T> {
        let runtime = self.runtime()?;
        let _progress = self.console.progress(what);
        runtime.block_on(future)
    }

    fn runtime(&self) -> Result<&Runtime> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads.min(MAX_WORKERS))
            .enable_time()
            .build()
            .map_err(|error| Error::internal("cannot start threads").with_source(error))?;
        Ok(self.runtime.get_or_init(|| runtime))
    }
}

/// Stores are waited for, not computed with: more threads than this only cost start-up time.
const MAX_WORKERS: usize = 8;
