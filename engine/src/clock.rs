//! Time as text, and the clock as a port so that tests can stop it.

use jiff::Timestamp;

use crate::error::{Error, Result};

/// Now, as `2026-09-04T22:10:03.118273+00:00` (always six digits).
///
/// `TETHER_TEST_NOW` (the same format) overrides it in test builds only.
pub fn now() -> String {
    if cfg!(debug_assertions)
        && let Ok(stopped) = std::env::var("TETHER_TEST_NOW")
        && stopped.parse::<Timestamp>().is_ok()
    {
        return stopped;
    }
    text(Timestamp::now())
}

/// Seconds since `earlier` (a value of [`now`] or any ISO 8601 time with an offset); negative when it lies ahead.
pub fn seconds_since(earlier: &str) -> Result<f64> {
    Ok(instant(&now())?
        .duration_since(instant(earlier)?)
        .as_secs_f64())
}

fn instant(text: &str) -> Result<Timestamp> {
    text.parse().map_err(|error: jiff::Error| {
        Error::user(format!("{text:?} is not a time"))
            .with_source(error)
            .with_hint("write it as 2026-09-04T22:10:03+00:00")
    })
}

fn text(instant: Timestamp) -> String {
    format!("{}+00:00", instant.strftime("%Y-%m-%dT%H:%M:%S.%6f"))
}
