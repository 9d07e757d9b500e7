//! Time as text, and the clock as a port so that tests can stop it.

use crate::error::Result;

/// Now, as `2026-09-04T22:10:03.118273+00:00` (always six digits).
///
/// `TETHER_TEST_NOW` (the same format) overrides it in test builds only.
pub fn now() -> String {
    todo!("values owner")
}

/// Seconds since `earlier` (a value of [`now`] or any ISO 8601 time with an offset).
pub fn seconds_since(earlier: &str) -> Result<f64> {
    let _ = earlier;
    todo!("values owner")
}
