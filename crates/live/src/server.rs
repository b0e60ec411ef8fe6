//! The thread that receives events and serves their aggregated state, within bounds: of connections, of the time for a
//! request and for a reader that does not read, and of the memory of each.
//!
//! Requests read the state of the running command. Must not depend on the served content.

use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::MissedTickBehavior;
use tokio_io_timeout::TimeoutStream;

use highwater_report as report;
use highwater_report::{LiveRights, WatchedPage};
use highwater_runner::control::Controller;
use highwater_runner::record;
use highwater_runner::store::JournalReport;

use crate::followed::Follower;
use crate::otlp::{LAST_WITHIN, Pusher};
use crate::routes;
use crate::routes::Access;

/// Interval of page updates.
const UPDATE: Duration = Duration::from_secs(1);
/// Time for the last update to reach the clients.
const LAST: Duration = Duration::from_millis(300);
/// Maximum time that the report waits for the clients that watched the run.
pub(crate) const REPORT_WAITS: Duration = Duration::from_mins(1);

/// The page to serve.
pub(crate) struct Page {
    pub(crate) listener: TcpListener,
    pub(crate) access: Access,
    pub(crate) rights: LiveRights,
    pub(crate) controller: Option<Controller>,
}

/// State of the thread.
pub(crate) struct Server {
    shared: Arc<ServerState>,
    page: Option<TcpListener>,
    metrics: Option<TcpListener>,
    pusher: Option<Pusher>,
    events: mpsc::Receiver<JournalReport>,
    dropped: Arc<AtomicU64>,
}

impl Server {
    pub(crate) fn new(
        page: Option<Page>,
        metrics: Option<TcpListener>,
        events: mpsc::Receiver<JournalReport>,
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
            shared: Arc::new(ServerState {
                access,
                rights,
                controller,
                watched: Mutex::default(),
                report: OnceLock::new(),
                reports_sent: AtomicUsize::new(0),
                // Metrics come from events alone.
                follower: Mutex::new(listener.is_some().then(Follower::default)),
                parts: Mutex::new(Some(parts)),
            }),
            page: listener,
            metrics,
            pusher: None,
            events,
            dropped,
        }
    }

    /// Also pushes metrics.
    pub(crate) fn pushing(self, pusher: Option<Pusher>) -> Self {
        Self { pusher, ..self }
    }

    fn take(&self, reported: JournalReport) {
        let mut watched = lock(&self.shared.watched);
        let mut follower = lock(&self.shared.follower);
        match reported {
            JournalReport::Event(event) => {
                watched.event(&event);
                follower.iter_mut().for_each(|follower| follower.event(event.clone()));
            }
            JournalReport::Telemetry(point) => {
                watched.telemetry(&point);
                follower.iter_mut().for_each(|follower| follower.page.telemetry(&point));
            }
        }
    }

    /// Makes the page of the result, which is at the same address from then on.
    fn keep_report(&self) {
        let ended = lock(&self.shared.watched).ended.clone();
        let directory = ended.map_or_else(String::new, |(directory, _)| directory);
        if let Ok(record) = record::read(Path::new(&directory)) {
            let saved = [format!("saved in {directory}"), String::new()];
            self.shared.report.get_or_init(|| routes::served_report((&record).into(), saved));
        }
    }

    /// Serves until no more events follow.
    pub(crate) fn run(self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        // Without a runtime there is no page; the run continues.
        if let Ok(runtime) = runtime {
            runtime.block_on(self.serve());
        }
    }

    #[expect(clippy::disallowed_methods, reason = "browsers live on the real clock")]
    async fn serve(mut self) {
        let pages = [
            (self.page.take(), routes::page(Arc::clone(&self.shared))),
            (self.metrics.take(), routes::metrics(Arc::clone(&self.shared))),
        ];
        for (listener, router) in pages {
            if let Some(listener) = listener {
                tokio::spawn(serve(listener, router));
            }
        }
        let (over, is_over) = watch::channel(false);
        let pusher = self.pusher.take();
        let pushing =
            pusher.map(|pusher| tokio::spawn(pusher.push_on(Arc::clone(&self.shared), is_over)));
        let mut update = tokio::time::interval(UPDATE);
        // After a page that took long, the next one is a whole interval later, so that events are read in between.
        update.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                reported = self.events.recv() => match reported {
                    Some(reported) => self.take(reported),
                    None => break,
                },
                _ = update.tick() => {
                    // A page shows what has come until now.
                    for _ in 0..self.events.len() {
                        self.events.try_recv().into_iter().for_each(|reported| self.take(reported));
                    }
                    lock(&self.shared.watched).dropped = self.dropped.load(Ordering::Relaxed);
                    self.shared.update();
                }
            }
        }
        lock(&self.shared.follower).iter_mut().for_each(Follower::release);
        let viewers = self.shared.viewers();
        self.keep_report();
        lock(&self.shared.watched).is_over = true;
        over.send_replace(true);
        self.shared.update();
        tokio::time::sleep(LAST).await;
        // The disconnection notifies the clients.
        lock(&self.shared.parts).take();
        let sent = async {
            while self.shared.reports_sent.load(Ordering::Relaxed) < viewers {
                tokio::time::sleep(LAST / 4).await;
            }
        };
        if self.shared.report.get().is_some() {
            let _ = tokio::time::timeout(REPORT_WAITS, sent).await;
        }
        // The last response is still being written.
        tokio::time::sleep(LAST).await;
        if let Some(pushing) = pushing {
            // Failed pushes have been reported.
            let _ = tokio::time::timeout(LAST_WITHIN, pushing).await;
        }
    }
}

/// Maximum concurrent connections; further ones are closed immediately.
const CONNECTIONS_MAX: usize = 256;
/// Timeout for the head of a request, including the next one on the same connection.
const HEAD: Duration = Duration::from_secs(10);
/// Timeout for the body of a request, after its head.
const BODY: Duration = Duration::from_secs(10);
/// Maximum bytes of a body.
const BODY_MAX: usize = 16 * 1_024;
/// Timeout for a reader that does not read; a browser reconnects, and gets the current state.
const WRITE: Duration = Duration::from_secs(15);
/// Maximum headers of a request.
const HEADERS_MAX: usize = 64;
/// Maximum bytes buffered per client: the head of its request, and unsent data in addition to the piece that is being
/// sent.
const CLIENT_BYTES_MAX: usize = 64 * 1_024;
/// Pause after the system rejected a connection, for example because no file descriptors are left.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections until it is dropped.
#[expect(clippy::disallowed_methods, reason = "browsers live on the real clock")]
pub(crate) async fn serve(listener: TcpListener, router: Router) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    let router = router.layer(middleware::from_fn(whole_body));
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        if let Ok(place) = Arc::clone(&room).try_acquire_owned() {
            tokio::spawn(connection(stream, router.clone(), place));
        }
    }
}

/// Forwards a request when its body is complete, so that no handler waits for a missing one.
async fn whole_body(request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    match tokio::time::timeout(BODY, to_bytes(body, BODY_MAX)).await {
        Ok(Ok(body)) => next.run(Request::from_parts(head, Body::from(body))).await,
        Ok(Err(_)) => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        Err(_) => StatusCode::REQUEST_TIMEOUT.into_response(),
    }
}

async fn connection(stream: TcpStream, router: Router, place: OwnedSemaphorePermit) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(WRITE));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_headers(HEADERS_MAX)
        .max_buf_size(CLIENT_BYTES_MAX)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(router));
    // A broken connection only concerns its client.
    let _ = served.await;
    drop(place);
}

/// State for requests.
pub(crate) struct ServerState {
    /// Absent if only metrics are served.
    pub(crate) access: Option<Access>,
    pub(crate) rights: LiveRights,
    pub(crate) controller: Option<Controller>,
    /// All events so far, for metrics.
    pub(crate) watched: Mutex<WatchedPage>,
    /// The page of the result, once the command has ended.
    pub(crate) report: OnceLock<String>,
    /// How often it was fetched.
    pub(crate) reports_sent: AtomicUsize,
    /// What the page shows; absent if only metrics are served.
    pub(crate) follower: Mutex<Option<Follower>>,
    /// Absent once no more updates follow.
    pub(crate) parts: Mutex<Option<watch::Sender<Arc<str>>>>,
}

impl ServerState {
    /// What the page shows, with the records so far; reads them only if something is new.
    pub(crate) fn followed(&self) -> WatchedPage {
        let mut page =
            lock(&self.follower).as_mut().map_or_else(WatchedPage::default, |follower| {
                follower.follow();
                follower.page.clone()
            });
        let watched = lock(&self.watched);
        (page.dropped, page.is_over) = (watched.dropped, watched.is_over);
        page.is_held = self.controller.as_ref().is_some_and(Controller::is_held);
        page
    }

    /// Number of clients that watch the page.
    fn viewers(&self) -> usize {
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
            parts.send_replace(Arc::from(report::live_parts(&self.followed())));
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
