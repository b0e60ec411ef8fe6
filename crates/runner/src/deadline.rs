//! Waits for something only so long. Must not say what follows where it does not come.

use futures_util::future::{Either, select};
use highwater_driver::Timeline;
use highwater_model::units::Nanos;

/// What a future returns by then; nothing where the time comes first.
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

/// The same within a time that begins now.
pub(crate) async fn within<T>(
    limit: Nanos,
    timeline: &dyn Timeline,
    future: impl Future<Output = T> + Unpin,
) -> Option<T> {
    until(timeline.now().saturating_add(limit), timeline, future).await
}
