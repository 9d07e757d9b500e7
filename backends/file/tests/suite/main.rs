//! The backend on real files: `directories` against the Python package's recorded answers, one module per hazard otherwise.

mod common;
mod directories;
