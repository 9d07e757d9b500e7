//! Bounded concurrency over objects, with every failure kept.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::error::{Error, Result};

/// How many objects of one backend are worked on at once.
pub const DEFAULT_BOUND: usize = 16;

/// Runs `work` for each item as a task of the current runtime, at most `bound` at a time, and returns the results in the items' order.
///
/// A task that panics becomes an `Internal` error of its item; the others go on.
pub async fn each<I, T, F, Fut>(items: Vec<I>, bound: usize, work: F) -> Vec<Result<T>>
where
    I: Send + 'static,
    T: Send + 'static,
    F: Fn(I) -> Fut,
    Fut: Future<Output = Result<T>> + Send + 'static,
{
    let permits = Arc::new(Semaphore::new(bound.max(1)));
    let tasks: Vec<_> = items
        .into_iter()
        .map(|item| {
            let permits = Arc::clone(&permits);
            let future = work(item);
            tokio::spawn(async move {
                let _permit = permits.acquire_owned().await;
                future.await
            })
        })
        .collect();
    let mut results = Vec::with_capacity(tasks.len());
    for task in tasks {
        results.push(task.await.unwrap_or_else(|_| {
            Err(Error::internal("a task of the fan-out ended unexpectedly")
                .with_hint("run again with RUST_BACKTRACE=1 and report it"))
        }));
    }
    results
}

/// Splits results into values and one aggregated error.
pub fn all<T>(results: Vec<Result<T>>) -> Result<Vec<T>> {
    let mut values = Vec::with_capacity(results.len());
    let mut errors = Vec::new();
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        Ok(values)
    } else {
        Err(Error::several(errors))
    }
}
