//! The one error type of the engine, its kinds, and the `Hint:` every error can carry.
//!
//! An [`Error`] says in one sentence what could not be done, names the object where there is one, keeps
//! its cause as `source`, and ends in a hint that is a command to type. The [`ErrorKind`] fixes heading and
//! exit code. No error ever carries a secret, a password or a line of a configuration file.

use std::error::Error as StdError;
use std::fmt;

/// The engine's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, as far as a caller acts on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What the user asked for cannot be done: a bad value, a name that exists, nothing to do it to.
    User,
    /// The command line itself is wrong (exit 2).
    Usage,
    /// `tether.toml`, a manifest, `workspace.toml` or `secrets.toml` is invalid or forbidden.
    Config,
    /// A store said no: credentials, network, missing ref, bad locator.
    Store,
    /// The backend, or this object, cannot do that.
    Capability,
    /// jj or git refused, or the repository is in a state tether does not touch.
    Vcs,
    /// The committed state of an object changed since this checkout forked.
    StaleWorkingCopy,
    /// A plan no longer matches the world, was edited, or belongs to another checkout or version.
    StalePlan,
    /// A ref was not where the plan saw it at the moment of the move; nothing was written.
    RefMoved,
    /// A native merge stopped on conflicts; the base is untouched.
    MergeConflict,
    /// A pin's ref points at another state than recorded.
    PinDrift,
    /// The bytes of a `file = "immutable"` object changed.
    ImmutableModified,
    /// `commit --strict` met a state that cannot be pinned.
    Unpinned,
    /// Several objects failed in one fan-out; see [`Error::parts`].
    Several,
    /// Another command holds a lock.
    Locked,
    /// An unfinished operation stands in the way.
    Interrupted,
    /// A bug in tether.
    Internal,
}

/// An error with its kind, the object it is about, its cause, and a hint.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    key: Option<String>,
    backend: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
    hint: Option<String>,
    parts: Vec<Error>,
    units: Vec<String>,
    partly_done: bool,
}

impl Error {
    /// An error of `kind` whose message is a full sentence without a trailing full stop.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            key: None,
            backend: None,
            source: None,
            hint: None,
            parts: Vec::new(),
            units: Vec::new(),
            partly_done: false,
        }))
    }

    /// Shorthand for [`ErrorKind::User`].
    pub fn user(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::User, message)
    }

    /// Shorthand for [`ErrorKind::Config`].
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, message)
    }

    /// Shorthand for [`ErrorKind::Store`].
    pub fn store(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Store, message)
    }

    /// Shorthand for [`ErrorKind::Vcs`].
    pub fn vcs(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Vcs, message)
    }

    /// Shorthand for [`ErrorKind::Capability`].
    pub fn capability(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Capability, message)
    }

    /// Shorthand for [`ErrorKind::Internal`].
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// An error of the operating system about `path`.
    pub fn io(what: &str, path: &std::path::Path, source: std::io::Error) -> Self {
        let error = Self::store(format!("cannot {what} {}", path.display()));
        error.with_source(source)
    }

    /// One error for several failed objects, in key order. `parts` must not be empty.
    ///
    /// One part alone is returned as it is. Where a part left work behind, so did the whole.
    pub fn several(mut parts: Vec<Error>) -> Self {
        if parts.len() == 1 {
            return parts.remove(0);
        }
        let mut error = Self::new(
            ErrorKind::Several,
            format!("{} objects failed", parts.len()),
        );
        error.0.partly_done = parts.iter().any(Self::is_partly_done);
        error.0.parts = parts;
        error
    }

    /// Names the object the error is about, unless one is named already.
    #[must_use]
    pub fn for_object(mut self, key: impl fmt::Display, backend: &str) -> Self {
        if self.0.key.is_none() && self.0.parts.is_empty() {
            self.0.key = Some(key.to_string());
            self.0.backend = Some(backend.to_owned());
        }
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Sets the hint, a command to type or a sentence around one, replacing any earlier hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Names the conflicting units (paths, tables, arrays) of a merge conflict.
    #[must_use]
    pub fn with_units(mut self, units: Vec<String>) -> Self {
        self.0.units = units;
        self
    }

    /// Marks that part of the work was done and stays (exit 3).
    #[must_use]
    pub fn partly_done(mut self) -> Self {
        self.0.partly_done = true;
        self
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message alone, without the object's name.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The key of the object the error is about.
    pub fn key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// The backend kind of the object the error is about.
    pub fn backend(&self) -> Option<&str> {
        self.0.backend.as_deref()
    }

    /// The hint.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The errors of the single objects, for [`ErrorKind::Several`]; empty otherwise.
    pub fn parts(&self) -> &[Error] {
        &self.0.parts
    }

    /// The conflicting units of a merge conflict.
    pub fn units(&self) -> &[String] {
        &self.0.units
    }

    /// Whether part of the work was done and stays.
    pub fn is_partly_done(&self) -> bool {
        self.0.partly_done
    }

    /// The exit code of a command that ends with this error: 1, 2 for usage, 3 when part of the work stays.
    pub fn exit_code(&self) -> u8 {
        match self.0.kind {
            ErrorKind::Usage => 2,
            _ if self.0.partly_done => 3,
            _ => 1,
        }
    }

    /// The message and its causes on one line, `message: cause: cause`, for JSON fields.
    pub fn one_line(&self) -> String {
        let mut text = self.to_string();
        let mut cause = StdError::source(self);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0.key, &self.0.backend) {
            (Some(key), Some(backend)) => write!(f, "{key} ({backend}): {}", self.0.message),
            _ => f.write_str(&self.0.message),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.one_line())
            .field("hint", &self.0.hint)
            .field("parts", &self.0.parts)
            .finish_non_exhaustive()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_failed_objects_are_one_error_and_one_alone_stays_itself() {
        let failed = |key: &str| Error::store("no such bucket").for_object(key, "file");
        let alone = Error::several(vec![failed("a")]);
        assert_eq!(alone.kind(), ErrorKind::Store);
        assert_eq!(alone.to_string(), "a (file): no such bucket");

        let both = Error::several(vec![failed("a"), failed("b").partly_done()]);
        assert_eq!(both.kind(), ErrorKind::Several);
        assert_eq!(both.to_string(), "2 objects failed");
        assert_eq!(both.parts().len(), 2);
        assert_eq!(both.exit_code(), 3);
        // The whole is about no single object.
        assert_eq!(both.for_object("c", "git").key(), None);
    }

    #[test]
    fn the_exit_code_follows_from_kind_and_what_stays() {
        assert_eq!(Error::user("x").exit_code(), 1);
        assert_eq!(
            Error::new(ErrorKind::Usage, "x").partly_done().exit_code(),
            2
        );
        assert_eq!(Error::store("x").partly_done().exit_code(), 3);
    }

    #[test]
    fn causes_follow_the_message_on_one_line() {
        let cause = Error::store("refused").with_source(std::io::Error::other("timed out"));
        let error = Error::vcs("cannot fetch").with_source(cause);
        assert_eq!(error.one_line(), "cannot fetch: refused: timed out");
        assert_eq!(error.with_hint("`git fetch`").hint(), Some("`git fetch`"));
    }
}
