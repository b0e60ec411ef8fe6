//! Decides which session tries to connect while the target is away. Must not wait or connect itself.

use std::cell::Cell;

use tokio::sync::Notify;

/// The sessions of one thread at a target that accepts none: one of them retries often, and wakes the others once
/// connected. This measures an outage at a fine resolution, and does not flood a target that starts.
#[derive(Default)]
pub(crate) struct ReconnectOrder {
    has_first: Cell<bool>,
    opened: Notify,
}

/// The place at the front; released when dropped.
pub(super) struct First<'a>(&'a ReconnectOrder);

impl ReconnectOrder {
    /// Takes the place at the front, if it is free.
    pub(super) fn take_first(&self) -> Option<First<'_>> {
        (!self.has_first.replace(true)).then_some(First(self))
    }

    /// Waits until the session at the front leaves: it is connected, or has given up.
    pub(super) async fn opened(&self) {
        self.opened.notified().await;
    }
}

impl Drop for First<'_> {
    fn drop(&mut self) {
        self.0.has_first.set(false);
        // The others try as well; the first that fails takes the front.
        self.0.opened.notify_waiters();
    }
}
