//! Git repositories, safely: opening with guards, moving refs conditionally, and the few calls of the `git` executable.
//!
//! Shared by `tether-git-fallback` (the dataset's own repository) and `tether-backend-git` (other repositories).
//!
//! ```text
//!   env     the variables that point git elsewhere, and getting rid of them
//!   open    opening with two profiles (own, foreign) and the guards: reftable, unknown extensions, ownership
//!   refs    compare-and-swap moves, D/F guard, which branches worktrees hold
//!   worktree  every worktree, and what it holds
//!   exec    finding `git`, its version, and running it with everything dangerous off
//! ```

pub mod env;
pub mod exec;
pub mod open;
pub mod refs;
pub mod worktree;

pub use gix;
