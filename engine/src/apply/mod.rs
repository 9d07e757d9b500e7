//! Applying plans: preconditions again, then journalled steps, each conditional and safe to repeat.

pub mod commit;
mod files;
mod observe;
mod pins;
pub mod publish;
pub mod recover;
pub mod session;
pub mod undo;
