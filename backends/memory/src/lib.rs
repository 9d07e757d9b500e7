//! The reference backend: every capability, in memory.
