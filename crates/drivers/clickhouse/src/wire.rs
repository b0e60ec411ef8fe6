//! One connection and its requests: each is SQL, with the rows of an insert behind it, and an answer.
//!
//! The server closes a connection that is idle for some seconds, also while a request is on its way to
//! it; so one that was idle for two thirds of that is replaced before it is used. A connection moves
//! into the future of an exchange and comes back only if it is still in step with the server.
//!
//! Must not judge an answer.

use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};

use highwater_driver::contract::{TargetError, Timeline};
use highwater_driver::failure::Failure;
use highwater_driver::http::{HttpConnection, Sink};
use highwater_driver::lingering::UnderWay;
use highwater_driver::sql::connection::{Row, TextWire};
use highwater_model::units::Nanos;

use super::errors::ServerError;
use super::options::Node;
use super::rows::RowReader;

/// The server gives connections no names: any number that no other one has.
static NEXT_ABANDONED: AtomicI64 = AtomicI64::new(0);
/// Settings of each request, as far as the server knows them. An insert is answered when its rows are
/// there, on other servers too unless a run lets them wait in spools, and is not taken for an earlier one; the
/// status of an answer is that of the whole, and no server is left out of it. A subquery over distributed tables is
/// answered once for all servers, where by default it is refused.
pub(super) const SETTINGS: [(&str, &str); 10] = [
    ("async_insert", "0"),
    ("insert_deduplicate", "0"),
    // The old name of the next one, and the only one of 18.16.
    ("insert_distributed_sync", "1"),
    ("distributed_foreground_insert", "1"),
    ("skip_unavailable_shards", "0"),
    ("distributed_product_mode", "global"),
    (EXACT_FRACTIONS, "1"),
    ("send_progress_in_http_headers", "0"),
    ("http_write_exception_in_output_format", "0"),
    ("max_query_size", "16777216"),
];
/// The setting with which a fraction in text becomes the number that is nearest to it. A server without it
/// may make another one of it.
pub(super) const EXACT_FRACTIONS: &str = "precise_float_parsing";
/// For how long an idle connection is kept where the server does not say it: as in 18.16.
const KEPT_FOR: u64 = 3;

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An insert. Its answer is empty; it begins when all is done, so that its status is right.
    Insert,
    /// Another statement. What it answers is sent as it is made, so its status is that of the beginning.
    Statement,
}

/// A connection past its TLS negotiation, and how it is replaced.
pub(super) struct Wire {
    /// None while a request is on its way, and where the next one needs a new connection.
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

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Lost {
    /// There was no connection to send anything on.
    NotConnected(TargetError),
    /// The connection ended, or broke the protocol.
    Io {
        /// How.
        error: io::Error,
        /// The whole request had left this process.
        is_sent_whole: bool,
    },
}

/// Connects and, where the scheme says so, speaks TLS.
pub(super) async fn dial(node: &Node) -> Result<HttpConnection, TargetError> {
    let encrypted = node.tls.mode().kinds().first() == Some(&true);
    let (place, host) = (&node.shown, &node.host);
    let stream = node.tls.connect(place, host, node.port, encrypted).await?;
    Ok(HttpConnection::new(stream))
}

impl Wire {
    /// Takes over a connection that was just made.
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

    /// Makes the heads of requests anew: with the settings that the server is known to know.
    pub(super) fn write_heads(&mut self) {
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

    /// Sends a request and reads its answer.
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
        // The server may still work on a request that ends without an answer.
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

    /// Ready when the server closed the idle connection although it was not idle for long. One that was
    /// is closed as usual, and replaced when it is needed.
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

/// How long a connection may be idle and is used again: two thirds of what its server keeps it for.
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
            // The rest of the answer is still to come on this connection.
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
