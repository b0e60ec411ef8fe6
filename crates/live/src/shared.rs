//! The state of a running command that requests read. Must not serve or receive events.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use highwater_report::{self as report, LiveRights, Watched};
use highwater_runner::control::Controller;
use tokio::sync::watch;

use crate::access::Access;

/// State for requests.
pub(crate) struct Shared {
    /// Absent if only metrics are served.
    pub(crate) access: Option<Access>,
    pub(crate) rights: LiveRights,
    pub(crate) controller: Option<Controller>,
    pub(crate) watched: Mutex<Watched>,
    /// The page of the result, once the command is over.
    pub(crate) report: OnceLock<String>,
    /// How often it was fetched.
    pub(crate) reports_sent: AtomicUsize,
    /// Whether the page was fetched since the last check.
    pub(crate) fetched: AtomicBool,
    /// Absent once no more updates follow.
    pub(crate) parts: Mutex<Option<watch::Sender<Arc<str>>>>,
}

impl Shared {
    /// The current state.
    pub(crate) fn watched(&self) -> Watched {
        let mut watched = lock(&self.watched).clone();
        watched.is_held = self.controller.as_ref().is_some_and(Controller::is_held);
        watched
    }

    /// Whether a client watches the page, or fetched it since the last call.
    pub(crate) fn is_watched(&self) -> bool {
        self.fetched.swap(false, Ordering::Relaxed) || self.viewers() > 0
    }

    /// Number of clients that watch the page.
    pub(crate) fn viewers(&self) -> usize {
        lock(&self.parts).as_ref().map_or(0, watch::Sender::receiver_count)
    }

    /// Each version of the page's parts, starting with the current one; ends when no more updates follow.
    pub(crate) fn parts(&self) -> watch::Receiver<Arc<str>> {
        let parts = lock(&self.parts).as_ref().map(watch::Sender::subscribe);
        self.update();
        parts.unwrap_or_else(|| watch::channel(Arc::from("")).1)
    }

    /// Renders the parts again, if a client watches.
    pub(crate) fn update(&self) {
        if let Some(parts) = lock(&self.parts).as_ref().filter(|parts| parts.receiver_count() > 0) {
            parts.send_replace(Arc::from(report::live_parts(&self.watched())));
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_watched_while_it_is_open_and_once_after_it_was_fetched() {
        let shared = Shared {
            access: None,
            rights: LiveRights::View,
            controller: None,
            watched: Mutex::default(),
            report: OnceLock::new(),
            reports_sent: AtomicUsize::new(0),
            fetched: AtomicBool::new(false),
            parts: Mutex::new(Some(watch::Sender::new(Arc::from("")))),
        };
        assert!(!shared.is_watched());
        shared.fetched.store(true, Ordering::Relaxed);
        assert!(shared.is_watched() && !shared.is_watched());
        let open = shared.parts();
        assert!(shared.is_watched() && shared.is_watched());
        drop(open);
        assert!(!shared.is_watched());
    }
}
