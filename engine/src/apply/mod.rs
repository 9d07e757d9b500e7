//! Applying plans: preconditions again, then journalled steps, each conditional and safe to repeat.

pub mod commit;
pub mod publish;
pub mod recover;
pub mod session;
