//! What requests see of a command that goes on. Must not serve, and must not take events in.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use highwater_report::{self as report, LiveRights, Watched};
use highwater_runner::control::Controller;
use tokio::sync::watch;

use crate::access::Access;

/// What requests see.
pub(crate) struct Shared {
    /// Absent where only metrics are served.
    pub(crate) access: Option<Access>,
    pub(crate) rights: LiveRights,
    pub(crate) controller: Option<Controller>,
    pub(crate) watched: Mutex<Watched>,
    /// Absent when nothing more comes.
    pub(crate) parts: Mutex<Option<watch::Sender<Arc<str>>>>,
}

impl Shared {
    /// What is to be seen now.
    pub(crate) fn watched(&self) -> Watched {
        lock(&self.watched).clone()
    }

    /// Each version of the parts of the page, beginning with what is to be seen now; none when nothing more comes.
    pub(crate) fn parts(&self) -> watch::Receiver<Arc<str>> {
        let parts = lock(&self.parts).as_ref().map(watch::Sender::subscribe);
        self.update();
        parts.unwrap_or_else(|| watch::channel(Arc::from("")).1)
    }

    /// Makes the parts anew, if anybody looks.
    pub(crate) fn update(&self) {
        if let Some(parts) = lock(&self.parts)
            .as_ref()
            .filter(|parts| parts.receiver_count() > 0)
        {
            parts.send_replace(Arc::from(report::live_parts(&self.watched())));
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
