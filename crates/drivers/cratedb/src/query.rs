//! One statement and its body response, for everything but the load. Must not measure time.

use std::io;

use serde::Deserialize;
use serde_json::Value;

use super::answer::Reason;
use super::errors;
use super::json;
use super::options::Node;
use highwater_driver::contract::TargetError;
use highwater_driver::http::{HttpConnection, Sink};
use highwater_driver::network::{describe, one_line};
use highwater_driver::sql::quoting::literal;
use highwater_driver::sql_query::Texts;

/// Longest response that is buffered.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Values of a response that is read, at most, counted by its commas: a short value takes many times
/// as much memory as bytes on the wire. An audit has fewer.
const VALUES_MAX: usize = 2_000_000;

/// Rows of a response.
pub(super) type Rows = Vec<Vec<Value>>;

/// Why a statement has no rows to return.
#[derive(Debug)]
pub(super) enum Failure {
    /// The connection is lost.
    Io(io::Error),
    /// The server returned an error.
    Server { status: u16, reason: Reason },
}

impl Failure {
    /// Whether a node that has just started responds like that.
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

    /// As the reason why a target cannot be used; `place` names the node.
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

/// The server's response to a statement that is not bulk.
#[derive(Deserialize)]
struct SqlResponse {
    rows: Rows,
}

#[derive(Deserialize)]
struct ErrorResponse {
    error: ErrorBody,
}

#[derive(Deserialize)]
struct ErrorBody {
    code: i64,
    message: String,
}

#[derive(Default)]
struct BufferedBody {
    status: u16,
    body: Vec<u8>,
    too_long: bool,
}

impl Sink for BufferedBody {
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

/// Writes everything before the body of a request.
pub(super) fn finish_head(out: &mut Vec<u8>, node: &Node, length: usize) {
    out.clear();
    out.extend_from_slice(node.request.reveal().as_bytes());
    let mut digits = itoa::Buffer::new();
    out.extend_from_slice(digits.format(length).as_bytes());
    out.extend_from_slice(b"\r\n\r\n");
}

/// Runs one statement without parameters.
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
    let mut response = BufferedBody::default();
    let exchanged = connection.exchange(&head, &body, &mut response).await;
    exchanged.map_err(Failure::Io)?;
    read(&response)
}

fn read(response: &BufferedBody) -> Result<Rows, Failure> {
    let server = |code, text: String| {
        let status = response.status;
        Err(Failure::Server {
            status,
            reason: Reason { code, text },
        })
    };
    if response.too_long {
        return server(0, "the answer is longer than 64 MiB".to_owned());
    }
    if memchr::memchr_iter(b',', &response.body).count() > VALUES_MAX {
        return server(0, "the answer has more than 2,000,000 values".to_owned());
    }
    if response.status == 200
        && let Ok(result) = serde_json::from_slice::<SqlResponse>(&response.body)
    {
        return Ok(result.rows);
    }
    if let Ok(failed) = serde_json::from_slice::<ErrorResponse>(&response.body) {
        return server(failed.error.code, failed.error.message);
    }
    if response.body.trim_ascii_start().starts_with(b"<") {
        let status = response.status;
        let text = format!("a web server answers there with a page (HTTP {status}), not CrateDB");
        return server(0, text);
    }
    let text = one_line(&String::from_utf8_lossy(&response.body));
    server(0, format!("HTTP {}: {text}", response.status))
}

/// A value of the first row as a number.
pub(super) fn number(rows: &Rows, column: usize) -> Option<u64> {
    rows.first()?.get(column)?.as_u64()
}

/// All of them as text.
pub(super) fn all_texts(rows: Rows) -> Texts {
    rows.into_iter().map(texts).collect()
}

/// Values as text, in the format of the PostgreSQL wire.
fn texts(row: Vec<Value>) -> Vec<Option<String>> {
    let text = |value| match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    row.into_iter().map(text).collect()
}

/// Table names as literals, for an `IN` list.
pub(super) fn name_list(tables: &[String]) -> String {
    let names: Vec<String> = tables.iter().map(|table| literal(table)).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_texts() {
        let row = serde_json::json!([null, 1, 0.5, -1, true, "a", {"b": "c"}]);
        let texts = texts(row.as_array().cloned().unwrap());
        let texts: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
        let expected = [
            None,
            Some("1"),
            Some("0.5"),
            Some("-1"),
            Some("true"),
            Some("a"),
            Some(r#"{"b":"c"}"#),
        ];
        assert_eq!(texts, expected);
    }
}
