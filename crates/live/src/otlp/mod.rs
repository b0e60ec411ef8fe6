//! `--otlp URL`: the same metrics, pushed to an OTLP collector over HTTP, as protobuf.
//!
//! Values are cumulative: a failed push loses nothing that the next one does not contain, so nothing is queued. Must
//! not delay or end a command.

mod headers;
mod messages;
mod url;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use highwater_driver::clock::wall_clock;
use highwater_driver::http::{HttpConnection, Sink};
use highwater_driver::network::{SslMode, Stream, Tls, TlsFiles, connect_tcp, unreachable};
use highwater_model::user_error::UserError;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::access::random_digits;
use crate::families;
use crate::shared::Shared;
pub use headers::{OTLP_HEADER_VARIABLES, OtlpHeaders, OtlpHeadersError};
pub use url::{OtlpUrl, OtlpUrlError};

/// Interval of pushes.
const PUSH: Duration = Duration::from_secs(5);
/// Timeout of a push.
const WITHIN: Duration = Duration::from_secs(4);
/// Timeout of the last push, which the end of the command waits for.
pub(crate) const LAST_WITHIN: Duration = Duration::from_secs(1);
/// Maximum bytes of a response that are parsed.
const RESPONSE_MAX: usize = 4_096;
/// Random bytes that distinguish two commands.
const INSTANCE_BYTES: usize = 16;

/// Settings of pushes.
#[derive(Debug, Clone)]
pub struct OtlpSettings {
    /// URL of the collector.
    pub url: OtlpUrl,
    /// Headers of each push.
    pub headers: OtlpHeaders,
    /// Reports the first failure.
    pub warn: fn(&str),
}

/// State shared by all pushes of a command.
pub(crate) struct Pusher {
    settings: OtlpSettings,
    tls: Tls,
    instance: messages::Instance,
    warned: bool,
}

impl Pusher {
    /// # Errors
    /// If the system provides no random bytes.
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

    /// Pushes until the command is over, and then the final state.
    pub(crate) async fn push_on(mut self, shared: Arc<Shared>, mut over: watch::Receiver<bool>) {
        let mut due = interval(PUSH);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick is immediate, when there is nothing to push.
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
                    // The final state is pushed instead.
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

    async fn exchange(&self, body: &[u8]) -> Result<Response, UserError> {
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
    // An error means that the sender is gone, so the command is over as well.
    let _ = over.wait_for(|is_over| *is_over).await;
}

/// Status, and the start of the body.
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
