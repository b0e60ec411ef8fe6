//! The thread that takes events in and serves what they add up to.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use highwater_model::event::Event;
use highwater_report::LiveRights;
use highwater_runner::control::Controller;
use tokio::sync::{mpsc, watch};

use crate::access::Access;
use crate::shared::{Shared, lock};
use crate::{bounds, routes};

/// Between two updates of the page.
const UPDATE: Duration = Duration::from_secs(1);
/// For the last update to reach those who watch.
const LAST: Duration = Duration::from_millis(300);

/// The page as it is to be served.
pub(crate) struct Page {
    pub(crate) listener: TcpListener,
    pub(crate) access: Access,
    pub(crate) rights: LiveRights,
    pub(crate) controller: Option<Controller>,
}

/// Everything that the thread needs.
pub(crate) struct Server {
    shared: Arc<Shared>,
    page: Option<TcpListener>,
    metrics: Option<TcpListener>,
    events: mpsc::Receiver<Event>,
    dropped: Arc<AtomicU64>,
}

impl Server {
    pub(crate) fn new(
        page: Option<Page>,
        metrics: Option<TcpListener>,
        events: mpsc::Receiver<Event>,
        dropped: Arc<AtomicU64>,
    ) -> Self {
        let (mut access, mut controller, mut listener) = (None, None, None);
        let mut rights = LiveRights::View;
        if let Some(page) = page {
            (access, controller) = (Some(page.access), page.controller);
            (listener, rights) = (Some(page.listener), page.rights);
        }
        let parts = watch::Sender::new(Arc::from(""));
        Self {
            shared: Arc::new(Shared {
                access,
                rights,
                controller,
                watched: Mutex::default(),
                parts: Mutex::new(Some(parts)),
            }),
            page: listener,
            metrics,
            events,
            dropped,
        }
    }

    /// Serves until no more events come.
    pub(crate) fn run(self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        // Without a runtime there is no page; the run goes on.
        if let Ok(runtime) = runtime {
            runtime.block_on(self.serve());
        }
    }

    #[expect(clippy::disallowed_methods, reason = "browsers live on the real clock")]
    async fn serve(mut self) {
        let pages = [
            (self.page.take(), routes::page(Arc::clone(&self.shared))),
            (
                self.metrics.take(),
                routes::metrics(Arc::clone(&self.shared)),
            ),
        ];
        for (listener, router) in pages {
            if let Some(listener) = listener {
                tokio::spawn(bounds::serve(listener, router));
            }
        }
        let mut update = tokio::time::interval(UPDATE);
        loop {
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => lock(&self.shared.watched).event(&event),
                    None => break,
                },
                _ = update.tick() => {
                    lock(&self.shared.watched).dropped = self.dropped.load(Ordering::Relaxed);
                    self.shared.update();
                }
            }
        }
        lock(&self.shared.watched).is_over = true;
        self.shared.update();
        tokio::time::sleep(LAST).await;
        // Who watches is told by the disconnection.
        lock(&self.shared.parts).take();
        tokio::time::sleep(LAST).await;
    }
}
