//! Standard output and standard error: written whole, flushed, coloured on a terminal only, and quiet when a pipe is closed.
//!
//! A command builds its answer first and writes it once, after its work. A reader that went away (`| head -1`) is not an error and
//! changes nothing, not even the exit code; any other failure to write (a full disk) is one.

use std::io::{self, IsTerminal as _, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;
use tether_engine::{Error, Result};

use crate::render::{Paint, clean};
use crate::{error, render};

/// The two streams and what they are connected to.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    out: Paint,
    err: Paint,
    out_is_terminal: bool,
    err_is_terminal: bool,
}

impl Console {
    /// The process's own streams. Colour only on a terminal, never with `NO_COLOR` or `TERM=dumb`.
    pub fn from_process() -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let colour = !set("NO_COLOR") && !dumb;
        let out_is_terminal = io::stdout().is_terminal();
        let err_is_terminal = io::stderr().is_terminal();
        Self {
            out: Paint::new(colour && out_is_terminal),
            err: Paint::new(colour && err_is_terminal),
            out_is_terminal,
            err_is_terminal,
        }
    }

    /// With colour on both streams or on neither, where somebody decided.
    #[must_use]
    pub fn with_colour(self, colour: Option<bool>) -> Self {
        match colour.map(Paint::new) {
            Some(paint) => Self {
                out: paint,
                err: paint,
                ..self
            },
            None => self,
        }
    }

    /// Whether somebody reads standard output on a terminal.
    pub fn out_is_terminal(self) -> bool {
        self.out_is_terminal
    }

    /// Prints a report: its JSON, or the text that `text` makes of it.
    pub fn answer<T: Serialize>(
        self,
        json: bool,
        report: &T,
        text: impl FnOnce(Paint) -> String,
    ) -> Result<()> {
        if json {
            self.print(&render::json::pretty(report)?)
        } else {
            self.print(&text(self.out))
        }
    }

    /// Prints text that holds its own line ends.
    pub fn print(self, text: &str) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::user("cannot write the answer to standard output")
                    .with_source(error)
                    .with_hint("the command itself is finished; `tether ops` lists what was done"))
            }
            _ => Ok(()),
        }
    }

    /// Prints a line on standard error, where failures to write cannot be told to anybody.
    pub fn note(self, line: &str) {
        self.print_err(&format!("{}\n", clean(line)));
    }

    /// Prints a warning on standard error.
    pub fn warn(self, line: &str) {
        let head = self.err.warning("Warning:");
        self.print_err(&format!("{head} {}\n", clean(line)));
    }

    /// Prints a question on standard error, without a line end.
    pub fn ask(self, question: &str) {
        self.print_err(question);
    }

    /// Prints an error with its causes and hint, and returns its exit code.
    pub fn error(self, error: &Error) -> u8 {
        self.print_err(&error::text(error, self.err));
        error.exit_code()
    }

    /// Prints what the parser of the command line has to say (help included), and returns the exit code.
    pub fn usage(self, error: &clap::Error) -> u8 {
        let paint = if error.use_stderr() {
            self.err
        } else {
            self.out
        };
        let text = if paint.is_on() {
            error.render().ansi().to_string()
        } else {
            error.render().to_string()
        };
        if error.use_stderr() {
            self.print_err(&text.replacen("error:", "Error:", 1));
            return 2;
        }
        match self.print(&text) {
            Ok(()) => 0,
            Err(error) => self.error(&error),
        }
    }

    /// Shows on a terminal's standard error that `what` is still running, from half a second on until the value is dropped.
    pub fn progress(self, what: &str) -> Progress {
        if !self.err_is_terminal {
            return Progress { running: None };
        }
        let (stop, stopped) = mpsc::channel::<()>();
        let what = what.to_owned();
        let started = Instant::now();
        let thread = std::thread::spawn(move || {
            let mut pause = Duration::from_millis(500);
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                pause = Duration::from_secs(1);
                let time = match started.elapsed().as_secs() {
                    0 => String::new(),
                    seconds => format!(" ({seconds} s)"),
                };
                let _ = write!(io::stderr().lock(), "{CLEAR}{what} is working{time}");
            }
            if started.elapsed() >= Duration::from_millis(500) {
                let _ = write!(io::stderr().lock(), "{CLEAR}");
            }
        });
        Progress {
            running: Some((stop, thread)),
        }
    }

    fn print_err(self, text: &str) {
        let clear = if self.err_is_terminal { CLEAR } else { "" };
        let mut err = io::stderr().lock();
        let _ = err
            .write_all(format!("{clear}{text}").as_bytes())
            .and_then(|()| err.flush());
    }
}

/// To the start of the line, and empty it.
const CLEAR: &str = "\r\x1b[K";

/// Ends the display when dropped.
#[derive(Debug)]
#[must_use = "the display ends when this value is dropped"]
pub struct Progress {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            let _ = thread.join();
        }
    }
}
