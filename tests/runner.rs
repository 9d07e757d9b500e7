//! The single test binary.
