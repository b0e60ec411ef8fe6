//! Requests to a server before and after the load: a time limit, so that a silent server does not block forever, and
//! backends whose client disconnected but that may still process requests.
//!
//! Must not retry.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::{Either, select};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use crate::contract::Timeline;

/// Time limit of a response, as a multiple of that of a connection.
const RESPONSE: u64 = 3;
/// The same for a statement that changes something, or reads a whole table.
const LONG_RESPONSE: u64 = 60;

/// The time limit of a response, from that of a connection.
pub fn of_response(connect_timeout: Nanos) -> Nanos {
    Nanos(connect_timeout.0.saturating_mul(RESPONSE))
}

/// The time limit of a slow response.
pub fn of_long_response(connect_timeout: Nanos) -> Nanos {
    Nanos(connect_timeout.0.saturating_mul(LONG_RESPONSE))
}

/// The future's result, if it completes within the limit.
pub async fn ended<T>(
    timeline: &Rc<dyn Timeline>,
    limit: Nanos,
    future: impl Future<Output = T>,
) -> Option<T> {
    let deadline = timeline.sleep_until(timeline.now().saturating_add(limit));
    match select(Box::pin(future), deadline).await {
        Either::Left((result, _)) => Some(result),
        Either::Right(_) => None,
    }
}

/// The future's result, or an error that names the place if it takes longer than the limit.
pub async fn within<T>(
    timeline: &Rc<dyn Timeline>,
    limit: Nanos,
    place: &str,
    future: impl Future<Output = Result<T, UserError>>,
) -> Result<T, UserError> {
    ended(timeline, limit, future).await.unwrap_or_else(|| {
        let seconds = limit.as_secs_f64();
        Err(UserError::unreachable(format!(
            "{place}: it took the connection, and did not respond within {seconds} s"
        ))
        .with_hint(
            "look at the server's load and log; `?connect_timeout=SECONDS` changes the limit, \
             which is a multiple of it",
        ))
    })
}

/// The opened connection, or an error that names the place if it is not ready after `bound`.
pub async fn connected<T>(
    timeline: &Rc<dyn Timeline>,
    bound: Nanos,
    place: &str,
    opening: impl Future<Output = Result<T, UserError>>,
) -> Result<T, UserError> {
    ended(timeline, bound, opening).await.unwrap_or_else(|| {
        let seconds = bound.as_secs_f64();
        let cause = format!("{place}: no connection within {seconds} s");
        Err(UserError::unreachable(cause).with_hint("`?connect_timeout=SECONDS` changes the bound"))
    })
}

/// The error of a request on a connection whose last one got no response: a late response would be taken for that of
/// this request.
pub fn unanswered(place: &str) -> UserError {
    UserError::unreachable(format!("{place}: an earlier question on this connection got no answer"))
}

/// Maximum number of backends kept; beyond that, the lowest ids are dropped.
const BACKENDS_MAX: usize = 65_536;

/// Ids of one server's backends, as the server lists them, from the end of Highwater's connection until they no longer
/// exist.
#[derive(Debug, Default)]
pub struct LingeringBackends(Mutex<BTreeSet<i64>>);

impl LingeringBackends {
    /// Adds the backend of a connection that has ended.
    pub fn add(&self, backend: i64) {
        let mut listed = self.listed();
        listed.insert(backend);
        if listed.len() > BACKENDS_MAX {
            listed.pop_first();
        }
    }

    /// Removes backends that no longer exist, or whose ids belong to new connections.
    pub fn forget(&self, backends: &[i64]) {
        self.listed().retain(|backend| !backends.contains(backend));
    }

    /// All backends that were not forgotten.
    pub fn list(&self) -> Vec<i64> {
        self.listed().iter().copied().collect()
    }

    fn listed(&self) -> MutexGuard<'_, BTreeSet<i64>> {
        // A set of numbers stays consistent whatever happened to the thread that held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in flight; runs a function if it is abandoned before it has ended.
pub struct UnderWay<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> UnderWay<F> {
    /// The request begins.
    pub fn new(abandoned: F) -> Self {
        Self(Some(abandoned))
    }

    /// The request was answered.
    pub fn ended(mut self) {
        self.0 = None;
    }
}

impl<F: FnOnce()> Drop for UnderWay<F> {
    fn drop(&mut self) {
        if let Some(abandoned) = self.0.take() {
            abandoned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_are_listed_until_they_are_forgotten_and_bounded() {
        let lingering = LingeringBackends::default();
        lingering.add(7);
        lingering.add(8);
        lingering.forget(&[7]);
        assert_eq!(lingering.list(), [8]);
        for backend in 0..70_000 {
            lingering.add(backend);
        }
        assert_eq!(lingering.list().len(), BACKENDS_MAX);
    }
}
