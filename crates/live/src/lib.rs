//! Watching a running run or experiment: a page that updates itself (`--ui`), and metrics, scraped
//! (`--metrics-listen`) or pushed (`--otlp`).
//!
//! A separate thread serves both from events, so that slow or many browsers do not slow the load. Must not measure,
//! judge, or decide the effect of a command: commands are passed on.

mod followed;
mod history;
mod metrics;
mod otlp;
mod routes;
mod server;
mod starting;

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc as blocking};
use std::time::Duration;
use std::{io, thread};

use highwater_model::event::Event;
use highwater_model::target_telemetry::TelemetryPoint;
use highwater_report::LiveRights;
use highwater_runner::control::Controller;
use highwater_runner::request::Observer;
use highwater_runner::store::JournalReport;
use tokio::sync::mpsc;

pub use history::{History, HistorySettings, serve};
use otlp::Pusher;
pub use otlp::{
    OTLP_HEADER_VARIABLES, OtlpHeaders, OtlpHeadersError, OtlpSettings, OtlpUrl, OtlpUrlError,
};
use routes::Access;
use server::Server;
pub use starting::{StartField, StartedCommand, StartedState, Starter};

/// Maximum number of events in the queue.
const WAITING_MAX: usize = 4_096;
/// Maximum time that the end of a command waits for clients to be notified, after their report.
const END: Duration = Duration::from_secs(2);

/// Settings of what is served.
#[derive(Debug, Default)]
pub struct LiveSettings {
    /// The page.
    pub page: Option<PageSettings>,
    /// Address of the metrics for scrapers.
    pub metrics: Option<SocketAddr>,
    /// Collector of pushed metrics.
    pub otlp: Option<OtlpSettings>,
}

/// The page.
#[derive(Debug)]
pub struct PageSettings {
    /// Address to listen on. If the port is in use and `may_move` is set, the system chooses another one.
    pub address: SocketAddr,
    /// Whether another port is acceptable.
    pub may_move: bool,
    /// Rights of a browser.
    pub rights: LiveRights,
    /// Takes commands; absent if the page is view-only.
    pub controller: Option<Controller>,
}

/// An address that could not be listened on.
#[derive(Debug)]
pub struct ListenError {
    /// The address.
    pub address: SocketAddr,
    /// The system's error.
    pub error: io::Error,
}

/// The server; dropping it ends it after the clients were notified.
pub struct Live {
    events: Option<mpsc::Sender<JournalReport>>,
    dropped: Arc<AtomicU64>,
    /// Disconnected when the server has ended.
    ended: blocking::Receiver<()>,
    /// URL of the page, with the token if one is required.
    pub page_url: Option<String>,
    /// URL of the metrics.
    pub metrics_url: Option<String>,
}

impl Live {
    /// Starts the server.
    ///
    /// # Errors
    /// If an address cannot be listened on, or no thread can be started.
    pub fn start(settings: LiveSettings) -> Result<Self, ListenError> {
        let mut page_url = None;
        let mut page = None;
        if let Some(of) = settings.page {
            let listener = listen(of.address, of.may_move)?;
            let address = local(&listener, of.address)?;
            let access =
                Access::to(address, false).map_err(|error| ListenError { address, error })?;
            page_url = Some(access.url());
            page = Some(server::Page {
                listener,
                access,
                rights: of.rights,
                controller: of.controller,
            });
        }
        let (metrics, metrics_url) = listen_for_metrics(settings.metrics)?;
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let no_thread = |error| ListenError { address: nowhere, error };
        let pusher = settings.otlp.map(Pusher::new).transpose().map_err(no_thread)?;
        let (events, received) = mpsc::channel(WAITING_MAX);
        let (end, ended) = blocking::sync_channel::<()>(0);
        let dropped = Arc::<AtomicU64>::default();
        let server = Server::new(page, metrics, received, Arc::clone(&dropped)).pushing(pusher);
        let builder = thread::Builder::new().name("live".to_owned());
        let started = builder.spawn(move || {
            server.run();
            drop(end);
        });
        started.map_err(no_thread)?;
        Ok(Self { events: Some(events), dropped, ended, page_url, metrics_url })
    }
}

impl Live {
    fn send(&self, reported: JournalReport) {
        let Some(events) = &self.events else { return };
        if events.try_send(reported).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Observer for Live {
    fn event(&self, event: &Event) {
        self.send(JournalReport::Event(Box::new(event.clone())));
    }

    fn telemetry(&self, point: &dyn Fn() -> TelemetryPoint) {
        self.send(JournalReport::Telemetry(point()));
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.events = None;
        // Ends by the disconnection: nothing is ever sent.
        let _ = self.ended.recv_timeout(server::REPORT_WAITS + END);
    }
}

fn listen(address: SocketAddr, may_move: bool) -> Result<TcpListener, ListenError> {
    let failed = |error| ListenError { address, error };
    let listener = match TcpListener::bind(address) {
        Err(error) if may_move && error.kind() == io::ErrorKind::AddrInUse => {
            TcpListener::bind(SocketAddr::new(address.ip(), 0)).map_err(failed)?
        }
        other => other.map_err(failed)?,
    };
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

fn local(listener: &TcpListener, address: SocketAddr) -> Result<SocketAddr, ListenError> {
    let local = listener.local_addr();
    local.map_err(|error| ListenError { address, error })
}

/// Listener and URL for metrics; absent without an address.
fn listen_for_metrics(
    address: Option<SocketAddr>,
) -> Result<(Option<TcpListener>, Option<String>), ListenError> {
    let Some(address) = address else {
        return Ok((None, None));
    };
    let listener = listen(address, false)?;
    let url = format!("http://{}/metrics", local(&listener, address)?);
    Ok((Some(listener), Some(url)))
}
