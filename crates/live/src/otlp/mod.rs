//! `--otlp URL`: the same metrics, pushed to a collector that speaks OTLP over HTTP, as protobuf.
//!
//! Cumulative values: a push that fails loses nothing that the next one does not say, so nothing is queued. Must not
//! hold anything up, and must not end a command.

mod headers;
mod messages;
mod url;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use highwater_driver::TargetError;
use highwater_driver::http::{HttpConnection, Sink};
use highwater_driver::network::{SslMode, Stream, Tls, TlsFiles, connect_tcp, unreachable};
use highwater_runner::clock::wall_clock;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::access::random_digits;
use crate::families;
use crate::shared::Shared;
pub use headers::{OTLP_HEADER_VARIABLES, OtlpHeaders, OtlpHeadersError};
pub use url::{OtlpUrl, OtlpUrlError};

/// Between two pushes.
const PUSH: Duration = Duration::from_secs(5);
/// For a push.
const WITHIN: Duration = Duration::from_secs(4);
/// For the last one, which the end of the command waits for.
pub(crate) const LAST_WITHIN: Duration = Duration::from_secs(1);
/// Bytes of a response that are looked at.
const RESPONSE_MAX: usize = 4_096;
/// Bytes that tell two commands apart, all of them random.
const INSTANCE_BYTES: usize = 16;

/// Where metrics are pushed.
#[derive(Debug, Clone)]
pub struct OtlpSettings {
    /// The collector.
    pub url: OtlpUrl,
    /// What goes with each push.
    pub headers: OtlpHeaders,
    /// Says once what does not work.
    pub warn: fn(&str),
}

/// What all pushes of a command have in common.
pub(crate) struct Pusher {
    settings: OtlpSettings,
    tls: Tls,
    instance: messages::Instance,
    warned: bool,
}

impl Pusher {
    /// # Errors
    /// The system gives no random bytes.
    pub(crate) fn new(settings: OtlpSettings) -> io::Result<Self> {
        Ok(Self {
            settings,
            tls: Tls::new(TlsFiles::default(), SslMode::VerifyFull),
            instance: messages::Instance {
                id: random_digits::<INSTANCE_BYTES>()?,
                started: wall_clock(),
            },
            warned: false,
        })
    }

    /// Pushes until the command is over, and then what is known at its end.
    pub(crate) async fn push_on(mut self, shared: Arc<Shared>, mut over: watch::Receiver<bool>) {
        let mut due = interval(PUSH);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick is at once, when nothing is known.
        due.tick().await;
        loop {
            let is_over = tokio::select! {
                _ = due.tick() => false,
                () = end(&mut over) => true,
            };
            let known = families::of_command(&shared.watched());
            let body = messages::request(&known, &self.instance, wall_clock());
            let pushed = if is_over {
                self.within(LAST_WITHIN, &body).await
            } else {
                tokio::select! {
                    pushed = self.within(WITHIN, &body) => pushed,
                    // What is known at the end is pushed instead.
                    () = end(&mut over) => continue,
                }
            };
            if let Err(why) = pushed {
                self.warn(&why);
            }
            if is_over {
                return;
            }
        }
    }

    async fn within(&self, limit: Duration, body: &[u8]) -> Result<(), String> {
        let in_time = timeout(limit, self.push(body)).await;
        in_time.unwrap_or_else(|_| {
            let (url, limit) = (&self.settings.url, limit.as_secs());
            Err(format!("{url} does not respond within {limit} s"))
        })
    }

    async fn push(&self, body: &[u8]) -> Result<(), String> {
        let OtlpSettings { url, headers, .. } = &self.settings;
        let response = self.exchange(body).await.map_err(|error| error.message)?;
        match response.status {
            200..300 => match messages::rejected(&response.body) {
                None => Ok(()),
                Some(why) => {
                    let why = headers.cut_out_of(&why);
                    Err(format!("{url} rejects some metrics: {why}"))
                }
            },
            status @ (401 | 403) => Err(format!(
                "{url} responds with {status}; what it wants to see goes into {}, as name=value",
                OTLP_HEADER_VARIABLES[1]
            )),
            status => Err(format!("{url} responds with {status}")),
        }
    }

    async fn exchange(&self, body: &[u8]) -> Result<Response, TargetError> {
        let url = &self.settings.url;
        let (place, host) = (url.to_string(), url.host.as_str());
        let stream = connect_tcp(&place, host, url.port).await?;
        let stream = if url.is_encrypted {
            Stream::Tls(Box::new(self.tls.handshake(&place, host, stream).await?))
        } else {
            Stream::Tcp(stream)
        };
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\n\
             User-Agent: highwater/{}\r\nConnection: close\r\n{}\r\n",
            url.path,
            url.authority(),
            body.len(),
            env!("CARGO_PKG_VERSION"),
            self.settings.headers.lines()
        );
        let mut response = Response::default();
        let mut connection = HttpConnection::new(stream);
        let exchanged = connection.exchange(head.as_bytes(), body, &mut response).await;
        exchanged.map_err(|error| unreachable(&place, &error))?;
        Ok(response)
    }

    fn warn(&mut self, why: &str) {
        if self.warned {
            return;
        }
        self.warned = true;
        (self.settings.warn)(&format!(
            "--otlp: {why}; the command goes on and tries again every {} s, without another warning",
            PUSH.as_secs()
        ));
    }
}

/// Returns when the command is over.
async fn end(over: &mut watch::Receiver<bool>) {
    // Who would say it is gone: it is over as well.
    let _ = over.wait_for(|is_over| *is_over).await;
}

/// Status, and the begin of the body.
#[derive(Default)]
struct Response {
    status: u16,
    body: Vec<u8>,
}

impl Sink for Response {
    fn status(&mut self, status: u16) {
        self.status = status;
    }

    fn body(&mut self, bytes: &[u8]) -> bool {
        let room = RESPONSE_MAX.saturating_sub(self.body.len());
        self.body.extend(bytes.iter().take(room));
        self.body.len() < RESPONSE_MAX
    }
}
