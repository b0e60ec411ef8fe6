//! Checks whether a node is ready: by a query, a URL, or a line of its log. Must not start or end a node.

use std::path::PathBuf;
use std::rc::Rc;

use highwater_driver::Timeline;
use highwater_driver::clock::{RealClock, RealTimeline};
use highwater_driver::http::{HttpConnection, Sink};
use highwater_driver::network::{Stream, connect_tcp, unreachable};
use highwater_driver::time_limit::within;
use highwater_model::cluster::Condition;
use highwater_model::display::{foreign, span};
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::processes::ProcessId;
use super::site::{OpenTarget, Site, from, tail_of};

/// Time limit for one attempt.
const TRY_WITHIN: Nanos = Nanos::from_secs(5);
/// Maximum characters of a displayed value.
const VALUE_MAX: usize = 100;

/// A node that is starting.
pub(super) struct Waiting {
    pub(super) number: u32,
    pub(super) id: ProcessId,
    /// Its readiness condition, with placeholders filled.
    pub(super) condition: Condition,
    pub(super) url: String,
    pub(super) log: PathBuf,
    /// Start of this run's part of the log.
    pub(super) log_begin: u64,
}

/// Why a node is not ready.
enum NotReady {
    /// It may become ready.
    Yet(String),
    /// It never will become ready.
    Ever(UserError),
}

/// Waits until all of them are ready, or one cannot become ready.
pub(super) fn wait(
    site: &mut Site,
    mut waiting: Vec<Waiting>,
    limit: Nanos,
) -> Result<(), UserError> {
    let clock = RealClock::start();
    loop {
        let mut rest = Vec::with_capacity(waiting.len());
        for node in waiting {
            site.check(&format!("node {} was starting", node.number))?;
            if !node.id.is_alive() {
                return Err(ended(&node));
            }
            match tried(&node, &*site.options.open) {
                Ok(()) => site.note(format!("node {} is ready at {}", node.number, node.url)),
                Err(NotReady::Yet(why)) if clock.now() > limit => {
                    return Err(too_late(&node, limit, &why));
                }
                Err(NotReady::Yet(_)) => rest.push(node),
                Err(NotReady::Ever(error)) => {
                    let message = format!("node {}: {error}", node.number);
                    let hint = "correct `url` or `ready` in the cluster file".to_owned();
                    return Err(UserError::usage(message).with_hint(error.hint.unwrap_or(hint)));
                }
            }
        }
        if rest.is_empty() {
            return Ok(());
        }
        site.pause();
        waiting = rest;
    }
}

/// Whether a node is ready now.
pub(super) fn is_ready(node: &Waiting, open: &OpenTarget) -> bool {
    node.id.is_alive() && tried(node, open).is_ok()
}

fn ended(node: &Waiting) -> UserError {
    let (number, last) = (node.number, tail_of(&node.log, node.log_begin));
    UserError::cluster(format!("node {number} ended while it was starting{last}"))
        .with_hint(format!("see its log, {}", node.log.display()))
}

fn too_late(node: &Waiting, limit: Nanos, why: &str) -> UserError {
    let (number, limit) = (node.number, span(limit.0));
    let last = tail_of(&node.log, node.log_begin);
    let message = format!("node {number} is not ready after {limit}: {why}{last}");
    UserError::cluster(message).with_hint(format!(
        "see its log, {}, or raise `within` of [node.ready]",
        node.log.display()
    ))
}

fn tried(node: &Waiting, open: &OpenTarget) -> Result<(), NotReady> {
    match &node.condition {
        Condition::Log(text) => {
            let found = from(&node.log, node.log_begin).contains(text);
            let why = || NotReady::Yet(format!("its log has no `{text}`"));
            if found { Ok(()) } else { Err(why()) }
        }
        Condition::Http(address) => match status(address) {
            Ok(200..300) => Ok(()),
            Ok(status) => Err(NotReady::Yet(format!("{address} responded with {status}"))),
            Err(error) => Err(why(error)),
        },
        Condition::Sql { sql, answer } => {
            let value = value(&node.url, sql, open).map_err(why)?;
            match answer {
                Some(answer) if value.as_ref() != Some(answer) => {
                    let value = value.map_or("nothing".to_owned(), |value| {
                        format!("`{}`", foreign(&value, VALUE_MAX))
                    });
                    Err(NotReady::Yet(format!("`{sql}` is {value}, not `{answer}`")))
                }
                _ => Ok(()),
            }
        }
    }
}

fn why(error: UserError) -> NotReady {
    match error.kind {
        UserErrorKind::Usage => NotReady::Ever(error),
        _ => NotReady::Yet(error.message),
    }
}

/// The first value of the response to a query.
fn value(url: &str, sql: &str, open: &OpenTarget) -> Result<Option<String>, UserError> {
    let target = open(url)?;
    let queried = RealTimeline::block_on(RealClock::start(), |timeline| async move {
        let timeline: Rc<dyn Timeline> = timeline;
        let query = async {
            let mut admin = target.administer(Rc::clone(&timeline)).await?;
            admin.query(sql).await
        };
        within(&timeline, TRY_WITHIN, url, query).await
    });
    let rows = queried.unwrap_or_else(|error| Err(unreachable(url, &error)))?;
    Ok(rows.into_iter().flatten().next().flatten())
}

/// Status of a response; its body is not read.
struct Status(u16);

impl Sink for Status {
    fn status(&mut self, status: u16) {
        self.0 = status;
    }

    fn body(&mut self, _: &[u8]) -> bool {
        false
    }
}

/// The status of a response from an address.
fn status(address: &str) -> Result<u16, UserError> {
    let rest = address.strip_prefix("http://").unwrap_or(address);
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, "80"));
    let port: u16 = port.parse().map_err(|_| UserError::usage(format!("{address} has no port")))?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let head = format!("GET /{path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    let responded = RealTimeline::block_on(RealClock::start(), |timeline| async move {
        let timeline: Rc<dyn Timeline> = timeline;
        let exchange = async {
            let stream = connect_tcp(address, host, port).await?;
            let mut status = Status(0);
            let mut connection = HttpConnection::new(Stream::Tcp(stream));
            let exchanged = connection.exchange(head.as_bytes(), b"", &mut status).await;
            exchanged.map_err(|error| unreachable(address, &error))?;
            Ok(status.0)
        };
        within(&timeline, TRY_WITHIN, address, exchange).await
    });
    responded.unwrap_or_else(|error| Err(unreachable(address, &error)))
}
