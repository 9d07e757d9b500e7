//! A panic is a bug in tether: the user gets one sentence and exit code 1, and with `RUST_BACKTRACE` the details as well.
//!
//! The panic's own text is not shown by default: it may hold what a store said.

use std::panic::PanicHookInfo;
use std::sync::Mutex;

use tether_engine::Error;

static PLACE: Mutex<Option<String>> = Mutex::new(None);

/// Keeps where a panic happened instead of printing it.
pub(crate) fn install() {
    let details = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        if let (Ok(mut place), Some(location)) = (PLACE.lock(), info.location()) {
            place.get_or_insert_with(|| format!("{}:{}", location.file(), location.line()));
        }
        if details {
            default(info);
        }
    }));
}

/// The error that stands for the panic that was caught.
pub(crate) fn error() -> Error {
    let place = PLACE.lock().ok().and_then(|place| place.clone());
    let place = place.unwrap_or_else(|| "an unknown place".to_owned());
    Error::internal(format!("tether has a bug and stopped at {place}"))
        .with_hint("run it again with RUST_BACKTRACE=1 and report what it prints")
}

/// Panics when a test of a debug build asks for it.
#[expect(clippy::panic, reason = "this is what is tested")]
pub(crate) fn on_request() {
    if cfg!(debug_assertions)
        && let Some(text) = std::env::var_os("TETHER_TEST_PANIC")
    {
        std::panic::panic_any(text);
    }
}
