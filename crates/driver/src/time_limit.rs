//! A time limit on requests to a server before and after the load, so that a silent one does not block forever. Must
//! not retry.

use std::rc::Rc;

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
