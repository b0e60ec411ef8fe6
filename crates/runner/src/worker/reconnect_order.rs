//! Who tries to connect while the target is away. Must not wait or connect itself.

use std::cell::Cell;

use tokio::sync::Notify;

/// The sessions of one thread before a target that does not let them in: one of them tries often,
/// and calls the others when it is in. So an outage is measured finely, and a target that starts is
/// not stormed.
#[derive(Default)]
pub(crate) struct ReconnectOrder {
    has_first: Cell<bool>,
    opened: Notify,
}

/// The place at the front; left when dropped.
pub(super) struct First<'a>(&'a ReconnectOrder);

impl ReconnectOrder {
    /// The place at the front, if nobody has it.
    pub(super) fn take_first(&self) -> Option<First<'_>> {
        (!self.has_first.replace(true)).then_some(First(self))
    }

    /// Waits until the one at the front leaves: it is in, or has given up.
    pub(super) async fn opened(&self) {
        self.opened.notified().await;
    }
}

impl Drop for First<'_> {
    fn drop(&mut self) {
        self.0.has_first.set(false);
        // The others try too; whoever fails first stands in front then.
        self.0.opened.notify_waiters();
    }
}
