//! Kill points: where a test can end the process, as a power cut would.

/// Marks the place `name` in a journalled operation. Does nothing in release builds.
///
/// In debug builds `TETHER_TEST_TRACE_STEPS=<file>` adds the name as a line to the file, and `TETHER_TEST_KILL_AT=<name>` (the first
/// time it is reached) or `<name>#<n>` (the n-th time, from 1) sends SIGKILL to the process itself. A test traces one whole run and
/// then kills one run at each line.
///
/// The operation log marks `begin`, `intent.<action>` (announced), `effect.<action>` (landed, not recorded), `did.<action>`
/// (recorded), `view.written`, `operation.written`, `publish` and `published` (the head), `closing` and `closed` (the journal), and
/// every atomic write marks `file.renaming`.
#[inline]
pub fn step(name: &str) {
    #[cfg(debug_assertions)]
    test::reach(name);
    #[cfg(not(debug_assertions))]
    let _ = name;
}

#[cfg(debug_assertions)]
mod test {
    use std::collections::HashMap;
    use std::fs::OpenOptions;
    use std::io::Write as _;
    use std::sync::{LazyLock, Mutex, PoisonError};

    struct Setup {
        kill_at: Option<(String, u32)>,
        trace: Option<std::ffi::OsString>,
    }

    static SETUP: LazyLock<Setup> = LazyLock::new(|| Setup {
        kill_at: std::env::var("TETHER_TEST_KILL_AT").ok().map(parse),
        trace: std::env::var_os("TETHER_TEST_TRACE_STEPS"),
    });

    static REACHED: LazyLock<Mutex<HashMap<String, u32>>> = LazyLock::new(Mutex::default);

    /// `name#3` is the third time at `name`; `name` the first.
    pub(super) fn parse(text: String) -> (String, u32) {
        match text.rsplit_once('#').map(|(name, n)| (name, n.parse())) {
            Some((name, Ok(n))) => (name.to_owned(), n),
            _ => (text, 1),
        }
    }

    pub(super) fn reach(name: &str) {
        if SETUP.kill_at.is_none() && SETUP.trace.is_none() {
            return;
        }
        let mut reached = REACHED.lock().unwrap_or_else(PoisonError::into_inner);
        let count = reached.entry(name.to_owned()).or_default();
        *count += 1;
        if let Some(path) = &SETUP.trace {
            // A test that asked for a trace notices when it is missing.
            let _ = OpenOptions::new()
                .append(true)
                .create(true)
                .open(path)
                .and_then(|mut file| file.write_all(format!("{name}\n").as_bytes()));
        }
        if SETUP
            .kill_at
            .as_ref()
            .is_some_and(|(at, n)| at == name && n == count)
        {
            let _ = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::KILL,
            );
            // The signal may take a moment; nothing more must happen here.
            loop {
                std::thread::park();
            }
        }
    }
}

#[cfg(test)]
#[cfg(debug_assertions)]
#[path = "step_tests.rs"]
mod tests;
