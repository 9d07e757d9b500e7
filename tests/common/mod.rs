//! What every story needs: a machine of its own, and what a command answered as one text.

mod environment;
mod jj;
mod output;
mod saved;

pub(crate) use environment::{DATASET, TestEnvironment, WorkDir};
pub(crate) use output::{Names, Output};
pub(crate) use saved::Saved;

/// The root of the checkout that runs. Asked at run time: build artefacts kept outside the checkout may have been compiled in another one.
pub(crate) fn checkout() -> std::path::PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), Into::into)
}
