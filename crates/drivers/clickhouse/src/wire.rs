//! A connection and its requests: each is SQL, followed by the rows of an insert, and gets a response.
//!
//! The server closes a connection that is idle for some seconds, even while a request is in transit. So a connection
//! that was idle for two thirds of that time is replaced before it is used. A connection is moved into the future of an
//! exchange, and returns only if it is still in sync with the server.
//!
//! HTTP has no start-up exchange, so a first query checks user and password, and the settings that the server knows.
//! Must not interpret any other response.

use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};

use highwater_driver::contract::Timeline;
use highwater_driver::failure::Failure;
use highwater_driver::http::{HttpConnection, Sink};
use highwater_driver::sql::connection::{Row, TextWire, rows_of};
use highwater_driver::time_limit;
use highwater_driver::time_limit::UnderWay;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::answer::RowReader;
use super::errors::ServerError;
use super::options::Node;
use super::plan::{Format, Mode};

/// The server does not number connections, so any unique number is used.
static NEXT_ABANDONED: AtomicI64 = AtomicI64::new(0);
/// Settings of each request that the server knows. An insert is acknowledged when its rows are stored, also on other
/// servers unless a run allows spools, and is not deduplicated against an earlier one; the status of a response covers
/// all of it, and no server is left out. A subquery over distributed tables is executed once for all servers; by
/// default it is rejected.
const SETTINGS: [(&str, &str); 11] = [
    ("async_insert", "0"),
    ("insert_deduplicate", "0"),
    // The old name of the next setting, and the only name in 18.16.
    ("insert_distributed_sync", "1"),
    ("distributed_foreground_insert", "1"),
    ("skip_unavailable_shards", "0"),
    ("distributed_product_mode", "global"),
    (EXACT_FRACTIONS, "1"),
    ("send_progress_in_http_headers", "0"),
    ("http_write_exception_in_output_format", "0"),
    ("max_query_size", "16777216"),
    // A profile may truncate a response at its row limit without an error.
    ("result_overflow_mode", "throw"),
];
/// The setting that parses fractions in text exactly. A server without it may store another number.
const EXACT_FRACTIONS: &str = "precise_float_parsing";
/// Default idle timeout of a connection if the server does not report one: as in 18.16.
const KEPT_FOR: u64 = 3;

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An insert. Its empty response begins when everything is done, so that its status is reliable.
    Insert,
    /// Another statement. Its response is sent while it is computed, so its status is only that of the beginning.
    Statement,
}

/// A connection past its TLS negotiation, and how it is replaced.
pub(super) struct Wire {
    /// `None` during a request, and if the next one needs a new connection.
    http: Option<HttpConnection>,
    node: Node,
    timeline: Rc<dyn Timeline>,
    /// When the connection was used last.
    used: Nanos,
    is_encrypted: bool,
    /// Requests up to the value of their length, for both kinds.
    heads: [Vec<u8>; 2],
    /// The head of the current request.
    head: Vec<u8>,
}

/// Why there is no response.
#[derive(Debug)]
pub(super) enum Lost {
    /// There was no connection on which to send.
    NotConnected(UserError),
    /// The connection was lost, or the protocol was violated.
    Io {
        /// The cause.
        error: io::Error,
        /// The request had been sent completely.
        is_sent_whole: bool,
    },
}

/// Connects, with TLS if the scheme requires it.
async fn dial(node: &Node) -> Result<HttpConnection, UserError> {
    let encrypted = node.tls.mode().kinds().first() == Some(&true);
    let (place, host) = (&node.shown, &node.host);
    let stream = node.tls.connect(place, host, node.port, encrypted).await?;
    Ok(HttpConnection::new(stream))
}

impl Wire {
    /// Takes over a new connection.
    pub(super) fn new(http: HttpConnection, node: Node, timeline: Rc<dyn Timeline>) -> Self {
        let mut wire = Self {
            used: timeline.now(),
            is_encrypted: http.is_encrypted(),
            http: Some(http),
            node,
            timeline,
            heads: [Vec::new(), Vec::new()],
            head: Vec::new(),
        };
        wire.write_heads();
        wire
    }

    /// Rebuilds the heads of requests with the settings that the server is known to support.
    fn write_heads(&mut self) {
        let known = self.node.known.get().map(Vec::as_slice).unwrap_or_default();
        let settings = SETTINGS.iter().filter(|(name, _)| known.iter().any(|known| known == name));
        let settings: String = settings
            .map(|(name, value)| format!("&{name}={}", self.node.spooling.value(name, value)))
            .collect();
        let (path, headers) = (&self.node.path, self.node.headers.reveal());
        self.heads = ["&wait_end_of_query=1", ""].map(|kind| {
            let head = format!("POST {path}{settings}{kind}{headers}");
            head.into_bytes()
        });
    }

    /// The server.
    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    /// Sends a request, and reads its response.
    pub(super) async fn exchange(
        &mut self,
        kind: Kind,
        body: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), Lost> {
        let idle = self.timeline.now().saturating_sub(self.used);
        let fresh = self.http.take().filter(|http| idle <= idle_max(http));
        let mut http = if let Some(http) = fresh {
            http
        } else {
            dial(&self.node).await.map_err(Lost::NotConnected)?
        };
        self.head.clear();
        let [insert, statement] = &self.heads;
        self.head.extend_from_slice(match kind {
            Kind::Insert => insert,
            Kind::Statement => statement,
        });
        let mut digits = itoa::Buffer::new();
        self.head.extend_from_slice(digits.format(body.len()).as_bytes());
        self.head.extend_from_slice(b"\r\n\r\n");
        // The server may continue a request that ends without a response.
        let lingering = &self.node.lingering;
        let under_way =
            UnderWay::new(|| lingering.add(NEXT_ABANDONED.fetch_add(1, Ordering::Relaxed)));
        let exchanged = http.exchange(&self.head, body, sink).await;
        match exchanged {
            Ok(reusable) => {
                under_way.ended();
                self.used = self.timeline.now();
                self.http = Some(http).filter(|_| reusable);
                Ok(())
            }
            Err(error) => Err(Lost::Io { error, is_sent_whole: http.all_sent() }),
        }
    }

    /// Ready once the server closed the connection before its idle timeout. A connection that exceeded the timeout is
    /// closed as usual, and replaced when needed.
    pub(super) fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(http) = &mut self.http else {
            return Poll::Pending;
        };
        if http.poll_closed(context).is_pending() {
            return Poll::Pending;
        }
        let usual = idle_max(http);
        self.http = None;
        if self.timeline.now().saturating_sub(self.used) > usual {
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

/// Maximum idle time after which a connection is reused: two thirds of the server's idle timeout.
fn idle_max(http: &HttpConnection) -> Nanos {
    let seconds = http.kept_for().unwrap_or(KEPT_FOR);
    Nanos::from_millis(seconds.saturating_mul(1_000) / 3 * 2)
}

impl TextWire for Wire {
    type Error = ServerError;

    async fn each_row(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(Row) -> io::Result<()>,
    ) -> Result<(), Failure<ServerError>> {
        let mut reader = RowReader::new(take);
        let exchanged = self.exchange(Kind::Statement, sql.as_bytes(), &mut reader).await;
        let (answer, refused) = reader.finish();
        if let Some(error) = refused {
            // The rest of the response is still to arrive on this connection.
            self.http = None;
            return Err(Failure::Io(error));
        }
        if let Some(error) = answer.into_error() {
            return Err(Failure::Server(error));
        }
        exchanged.map_err(|lost| match lost {
            Lost::Io { error, .. } => Failure::Io(error),
            Lost::NotConnected(error) => Failure::Io(io::Error::other(error.message)),
        })
    }

    fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }
}

/// Connects within the node's time limit.
pub(super) async fn open(node: &Node, timeline: &Rc<dyn Timeline>) -> Result<Wire, UserError> {
    let opening = async {
        let http = dial(node).await?;
        let mut wire = Wire::new(http, node.clone(), Rc::clone(timeline));
        if node.known.get().is_none() {
            let names = SETTINGS.map(|(name, _)| format!("'{name}'")).join(", ");
            let sql = format!("SELECT name FROM system.settings WHERE name IN ({names})");
            let rows = rows_of(&mut wire, &node.shown, &sql).await?;
            // If another session was faster, it has the same response.
            drop(node.known.set(rows.into_iter().flatten().flatten().collect()));
            wire.write_heads();
        }
        // Checks the login, and that it may set these settings.
        rows_of(&mut wire, &node.shown, "SELECT 1").await?;
        Ok(wire)
    };
    time_limit::connected(timeline, node.connect_timeout, &node.shown, opening).await
}

/// Fails for a format in which the connected server would read other numbers than were sent.
pub(super) fn check_format(node: &Node, mode: Mode) -> Result<(), UserError> {
    let mut known = node.known.get().into_iter().flatten();
    if mode.format != Format::JsonEachRow || known.any(|name| name == EXACT_FRACTIONS) {
        return Ok(());
    }
    let (shown, name) = (&node.shown, mode.name());
    Err(UserError::usage(format!(
        "{shown}: `--insert {name}`: the server has no setting `{EXACT_FRACTIONS}`, so that it reads \
         fractions inexactly"
    ))
    .with_hint("use --insert native or --insert rowbinary, which send numbers as they are"))
}
