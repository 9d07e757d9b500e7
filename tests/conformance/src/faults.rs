//! Decorators around any backend: one that fails where a test says, one that is slow, one that writes down what was called.
//!
//! All three are a [`Hooked`] backend with a [`Hook`] that runs around each asynchronous call.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tether_engine::{Error, Result};

pub use crate::hooked::{After, Hook, Hooked, Method};

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call fails and does nothing.
    Before,
    /// The call takes effect and then fails, as when a later part of it was refused.
    After,
    /// The call takes effect and its reply is lost: the caller sees a broken connection and cannot know.
    LostReply,
    /// The call takes effect, its reply is lost, and the store's own client makes it again. The caller sees the second answer only.
    Retried,
}

/// The faults a [`Faulty`] backend has in store, each for one call.
#[derive(Debug, Default)]
pub struct Faults {
    planned: Mutex<Vec<(Method, usize, Fault)>>,
}

/// A backend that fails where it is told to.
pub type Faulty = Hooked<Faults>;

impl Faulty {
    /// Plans `fault` for the `nth` call (from 1) of `method` from now on.
    pub fn fail(&self, method: Method, nth: usize, fault: Fault) {
        let mut planned = self.hook.planned();
        planned.push((method, nth.max(1), fault));
    }

    /// Whether every planned fault has happened.
    pub fn is_spent(&self) -> bool {
        self.hook.planned().is_empty()
    }
}

impl Faults {
    fn planned(&self) -> std::sync::MutexGuard<'_, Vec<(Method, usize, Fault)>> {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fault of this call; counts it.
    fn of(&self, method: Method) -> Option<Fault> {
        let mut planned = self.planned();
        for (_, left, _) in planned.iter_mut().filter(|(name, ..)| *name == method) {
            *left -= 1;
        }
        let due = planned.iter().position(|(_, left, _)| *left == 0)?;
        Some(planned.remove(due).2)
    }
}

#[async_trait]
impl Hook for Faults {
    type Token = Option<Fault>;

    async fn before(&self, method: Method) -> Result<Option<Fault>> {
        match self.of(method) {
            Some(Fault::Before) => Err(Error::store("the store refused (planned fault)")),
            fault => Ok(fault),
        }
    }

    async fn after(&self, _method: Method, fault: Option<Fault>) -> After {
        match fault {
            None | Some(Fault::Before) => After::Answer,
            Some(Fault::After) => {
                After::Fail(Error::store("the store failed half-way (planned fault)"))
            }
            Some(Fault::LostReply) => After::Fail(Error::store(
                "the connection broke before the reply (planned fault)",
            )),
            Some(Fault::Retried) => After::Again,
        }
    }
}

/// Waits before and after each call, which widens every window between a compare and a move.
#[derive(Clone, Copy, Debug)]
pub struct Delay(pub Duration);

/// A backend that takes its time.
pub type Slow = Hooked<Delay>;

#[async_trait]
impl Hook for Delay {
    type Token = ();

    async fn before(&self, _method: Method) -> Result<()> {
        tokio::time::sleep(self.0).await;
        Ok(())
    }

    async fn after(&self, _method: Method, _token: ()) -> After {
        tokio::time::sleep(self.0).await;
        After::Answer
    }
}

/// The calls that were made, in the order they began.
#[derive(Debug, Default)]
pub struct Calls(Mutex<Vec<Method>>);

/// A backend that writes down what was called.
pub type Recording = Hooked<Calls>;

impl Recording {
    /// The calls so far.
    pub fn calls(&self) -> Vec<Method> {
        self.hook
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The calls so far that write to the store.
    pub fn writes(&self) -> Vec<Method> {
        self.calls()
            .into_iter()
            .filter(|method| method.writes())
            .collect()
    }
}

#[async_trait]
impl Hook for Calls {
    type Token = ();

    async fn before(&self, method: Method) -> Result<()> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(method);
        Ok(())
    }

    async fn after(&self, _method: Method, _token: ()) -> After {
        After::Answer
    }
}
