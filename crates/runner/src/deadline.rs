//! Waits with a time limit. Must not decide what to do on a timeout.

use futures_util::future::{Either, select};
use highwater_driver::Timeline;
use highwater_model::units::Nanos;

/// The future's result, or `None` if the deadline comes first.
pub(crate) async fn until<T>(
    deadline: Nanos,
    timeline: &dyn Timeline,
    future: impl Future<Output = T> + Unpin,
) -> Option<T> {
    match select(future, timeline.sleep_until(deadline)).await {
        Either::Left((value, _)) => Some(value),
        Either::Right(_) => None,
    }
}

/// The same, with a time limit that starts now.
pub(crate) async fn within<T>(
    limit: Nanos,
    timeline: &dyn Timeline,
    future: impl Future<Output = T> + Unpin,
) -> Option<T> {
    until(timeline.now().saturating_add(limit), timeline, future).await
}
