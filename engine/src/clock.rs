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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_six_digits_and_an_offset() {
        let whole: Timestamp = "2026-09-04T22:10:03Z".parse().unwrap();
        assert_eq!(text(whole), "2026-09-04T22:10:03.000000+00:00");
        let fine: Timestamp = "2026-09-04T22:10:03.118273999+02:00".parse().unwrap();
        assert_eq!(text(fine), "2026-09-04T20:10:03.118273+00:00");
        assert_eq!(now().len(), text(whole).len());
        assert!(now().ends_with("+00:00"));
    }

    #[test]
    fn seconds_are_counted_from_any_offset() {
        let hour_ago = Timestamp::now() - jiff::SignedDuration::from_hours(1);
        let elapsed = seconds_since(&text(hour_ago)).unwrap();
        assert!((3600.0..3700.0).contains(&elapsed), "{elapsed}");
        assert!(seconds_since("2100-01-01T00:00:00+02:00").unwrap() < 0.0);
        let error = seconds_since("yesterday").unwrap_err();
        assert_eq!(error.message(), "\"yesterday\" is not a time");
    }
}
