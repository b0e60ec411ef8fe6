//! One statement and its whole answer, for everything but the load. Nothing here is timed.

use std::io;

use serde::Deserialize;
use serde_json::Value;

use super::answer::Reason;
use super::errors;
use super::http::{HttpConnection, Sink};
use super::json;
use super::options::Node;
use crate::contract::TargetError;
use crate::network::{describe, one_line};

/// Longest answer that is kept whole.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Rows of an answer.
pub(super) type Rows = Vec<Vec<Value>>;

/// Why a statement was not answered.
#[derive(Debug)]
pub(super) enum Failure {
    /// The connection is lost.
    Io(io::Error),
    /// The server said no.
    Server { status: u16, reason: Reason },
}

impl Failure {
    /// Whether a node that has just started answers like that.
    pub(super) fn is_of_a_start(&self) -> bool {
        match self {
            Self::Io(_) => false,
            Self::Server { status, reason } => {
                *status == 503
                    || (*status == 500 && reason.text.contains("NullPointer"))
                    || reason.code == 5031
            }
        }
    }

    /// As the reason why a target cannot be used; `place` says what was tried.
    pub(super) fn into_target_error(self, place: &str) -> TargetError {
        match self {
            Self::Io(error) => lost(place, &error),
            Self::Server { status, reason } => errors::target_error(place, status, &reason),
        }
    }
}

/// A connection that ended.
pub(super) fn lost(place: &str, error: &io::Error) -> TargetError {
    TargetError::unreachable(format!("{place}: {}", describe(error)))
}

/// What the server answers to a statement that is not bulk.
#[derive(Deserialize)]
struct Answered {
    rows: Rows,
}

#[derive(Deserialize)]
struct Refused {
    error: RefusedBody,
}

#[derive(Deserialize)]
struct RefusedBody {
    code: i64,
    message: String,
}

#[derive(Default)]
struct Whole {
    status: u16,
    body: Vec<u8>,
    too_long: bool,
}

impl Sink for Whole {
    fn status(&mut self, status: u16) {
        self.status = status;
    }

    fn body(&mut self, bytes: &[u8]) -> bool {
        self.too_long = self.body.len() + bytes.len() > ANSWER_BYTES_MAX;
        if !self.too_long {
            self.body.extend_from_slice(bytes);
        }
        !self.too_long
    }
}

/// Writes what stands between the head of a node's requests and their body.
pub(super) fn finish_head(out: &mut Vec<u8>, node: &Node, length: usize) {
    out.clear();
    out.extend_from_slice(node.request.reveal());
    let mut digits = itoa::Buffer::new();
    out.extend_from_slice(digits.format(length).as_bytes());
    out.extend_from_slice(b"\r\n\r\n");
}

/// SqlQuery one statement without parameters.
pub(super) async fn rows(
    connection: &mut HttpConnection,
    node: &Node,
    sql: &str,
) -> Result<Rows, Failure> {
    let mut body = b"{\"stmt\":\"".to_vec();
    json::put_escaped(&mut body, sql);
    body.extend_from_slice(b"\"}");
    let body = match node.gzip {
        None => body,
        Some(level) => super::encode::compressed(&body, level),
    };
    let mut head = Vec::new();
    finish_head(&mut head, node, body.len());
    let mut whole = Whole::default();
    let exchanged = connection.exchange(&head, &body, &mut whole).await;
    exchanged.map_err(Failure::Io)?;
    read(&whole)
}

fn read(whole: &Whole) -> Result<Rows, Failure> {
    let server = |code, text: String| {
        let status = whole.status;
        Err(Failure::Server {
            status,
            reason: Reason { code, text },
        })
    };
    if whole.too_long {
        return server(0, "the answer is longer than 64 MiB".to_owned());
    }
    if whole.status == 200
        && let Ok(answer) = serde_json::from_slice::<Answered>(&whole.body)
    {
        return Ok(answer.rows);
    }
    if let Ok(refused) = serde_json::from_slice::<Refused>(&whole.body) {
        return server(refused.error.code, refused.error.message);
    }
    let text = one_line(&String::from_utf8_lossy(&whole.body));
    server(0, format!("HTTP {}: {text}", whole.status))
}
