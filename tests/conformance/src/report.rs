//! The outcome of each check.

use std::fmt;

use tether_engine::Error;
use tether_engine::backend::Capability;

/// Why a check failed, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(pub String);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(format!("unexpected error: {}", error.one_line()))
    }
}

/// How a check went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// What it checks holds.
    Passed,
    /// The harness cannot provide what the check needs.
    Skipped(String),
    /// What it checks does not hold.
    Failed(Failure),
}

/// One check that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name, a sentence with underscores.
    pub name: &'static str,
    /// The capability it belongs to.
    pub capability: Capability,
    /// How it went.
    pub outcome: Outcome,
}

/// The checks that were run, in order. Its text lists them, failures last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Report {
    /// The checks.
    pub checks: Vec<Check>,
}

impl Report {
    /// Whether no check failed. `assert!(report.passed(), "{report}")` is how a test ends.
    pub fn passed(&self) -> bool {
        self.failures().next().is_none()
    }

    /// The failed checks.
    pub fn failures(&self) -> impl Iterator<Item = (&Check, &Failure)> {
        self.checks.iter().filter_map(|check| match &check.outcome {
            Outcome::Failed(failure) => Some((check, failure)),
            _ => None,
        })
    }

    /// Names of the skipped checks: a harness that can do everything skips none.
    pub fn skipped(&self) -> impl Iterator<Item = &'static str> {
        self.checks
            .iter()
            .filter(|check| matches!(check.outcome, Outcome::Skipped(_)))
            .map(|check| check.name)
    }

    /// The outcome of the check called `name`.
    pub fn outcome(&self, name: &str) -> Option<&Outcome> {
        let check = self.checks.iter().find(|check| check.name == name)?;
        Some(&check.outcome)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for check in &self.checks {
            match &check.outcome {
                Outcome::Passed => writeln!(f, "ok      {}", check.name)?,
                Outcome::Skipped(why) => writeln!(f, "skipped {}: {why}", check.name)?,
                Outcome::Failed(_) => {}
            }
        }
        for (check, failure) in self.failures() {
            let capability = check.capability.name();
            writeln!(f, "FAILED  {} [{capability}]: {}", check.name, failure.0)?;
        }
        Ok(())
    }
}
