//! Runs one statement and buffers its response, for everything except the load, on the connection before and after it.
//! Must not measure time.

use std::rc::Rc;

use serde::Deserialize;
use serde_json::Value;

use highwater_driver::contract::Timeline;
use highwater_driver::failure::{self, ServerMessage};
use highwater_driver::http::{HttpConnection, Sink};
use highwater_driver::network::one_line;
use highwater_driver::sql::connection::{SqlQuery, Texts};
use highwater_driver::sql::dialect::{literal, quoted};
use highwater_driver::time_limit::{self, unanswered, within};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::answer::Reason;
use super::encode::{compress, head};
use super::judge::{self, TOO_LONG};
use super::options::Node;

/// Maximum bytes of a buffered response.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Maximum values of a response, counted by its commas: a short value needs many times as much memory as bytes on the
/// wire. An audit has fewer.
const VALUES_MAX: usize = 2_000_000;

/// Why a statement returned no rows.
pub(super) type Failure = failure::Failure<ServerError>;

/// An error that the server returned.
#[derive(Debug)]
pub(super) struct ServerError {
    pub(super) status: u16,
    pub(super) reason: Reason,
}

impl ServerError {
    /// Whether a node that has just started responds this way.
    pub(super) fn is_of_a_start(&self) -> bool {
        self.status == 503
            || (self.status == 500 && self.reason.text.contains("NullPointer"))
            || self.reason.code == 5031
    }
}

impl ServerMessage for ServerError {
    fn into_target_error(self, place: &str) -> UserError {
        judge::target_error(place, self.status, &self.reason)
    }
}

/// The server's response to a non-bulk statement.
#[derive(Deserialize)]
struct SqlResponse {
    rows: Vec<Vec<Value>>,
}

#[derive(Deserialize)]
struct ErrorResponse {
    error: Reason,
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

/// Runs one statement without parameters; returns its rows as text, in the format of the PostgreSQL wire.
pub(super) async fn rows(
    connection: &mut HttpConnection,
    node: &Node,
    sql: &str,
) -> Result<Texts, Failure> {
    let mut body = head(sql);
    body.extend_from_slice(b"\"}");
    if let Some(level) = node.gzip {
        let plain = std::mem::take(&mut body);
        compress(&plain, level, &mut body);
    }
    let mut head = Vec::new();
    finish_head(&mut head, node, body.len());
    let mut response = BufferedBody::default();
    connection.exchange(&head, &body, &mut response).await?;
    let status = response.status;
    read(&response).map_err(|reason| Failure::Server(ServerError { status, reason }))
}

fn read(response: &BufferedBody) -> Result<Texts, Reason> {
    let (status, body) = (response.status, response.body.as_slice());
    let too_long = |text: &str| Err(Reason { code: TOO_LONG, text: text.to_owned() });
    if response.too_long {
        return too_long("the answer is longer than 64 MiB");
    }
    if memchr::memchr_iter(b',', body).count() > VALUES_MAX {
        return too_long("the answer has more than 2,000,000 values");
    }
    let without_code = |text: String| Err(Reason { code: 0, text });
    if status == 200
        && let Ok(result) = serde_json::from_slice::<SqlResponse>(body)
    {
        return Ok(result.rows.into_iter().map(texts).collect());
    }
    if let Ok(failed) = serde_json::from_slice::<ErrorResponse>(body) {
        return Err(failed.error);
    }
    if body.trim_ascii_start().starts_with(b"<") {
        return without_code(format!(
            "a web server answers there with a page (HTTP {status}), not CrateDB"
        ));
    }
    let text = one_line(&String::from_utf8_lossy(body));
    without_code(format!("HTTP {status}: {text}"))
}

/// A value of the first row as a number.
pub(super) fn number(rows: &Texts, column: usize) -> Option<u64> {
    rows.first()?.get(column)?.as_ref()?.parse().ok()
}

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

/// First pause between two polls of a busy server.
pub(super) const PAUSE_MIN: Nanos = Nanos::from_millis(10);
/// Longest pause between two polls.
pub(super) const PAUSE_MAX: Nanos = Nanos::from_millis(250);

/// See the module documentation.
pub(super) struct AdminConnection {
    pub(super) http: HttpConnection,
    pub(super) node: Node,
    /// The insert mode, for the facts.
    pub(super) insert: &'static str,
    pub(super) timeline: Rc<dyn Timeline>,
    /// The last statement got no complete response.
    unanswered: bool,
}

impl AdminConnection {
    pub(super) fn new(
        http: HttpConnection,
        node: Node,
        insert: &'static str,
        timeline: Rc<dyn Timeline>,
    ) -> Self {
        Self { http, node, insert, timeline, unanswered: false }
    }

    /// Runs a fast statement, and reads its rows.
    pub(super) async fn rows(&mut self, sql: &str) -> Result<Texts, UserError> {
        let limit = time_limit::of_response(self.node.connect_timeout);
        self.rows_within(limit, sql).await
    }

    /// Runs a statement that may read a whole table; the caller sets the time limit.
    pub(super) async fn long_rows(&mut self, sql: &str) -> Result<Texts, UserError> {
        if std::mem::replace(&mut self.unanswered, true) {
            return Err(unanswered(&self.node.shown));
        }
        let read = rows(&mut self.http, &self.node, sql).await;
        self.unanswered = false;
        read.map_err(|failure| failure.into_target_error(&self.node.shown))
    }

    async fn rows_within(&mut self, limit: Nanos, sql: &str) -> Result<Texts, UserError> {
        let (timeline, place) = (Rc::clone(&self.timeline), self.node.shown.clone());
        within(&timeline, limit, &place, self.long_rows(sql)).await
    }

    /// Makes writes to a table visible.
    pub(super) async fn refresh(&mut self, table: &str) -> Result<(), UserError> {
        let refresh = format!("REFRESH TABLE {}", quoted(table));
        self.long_rows(&refresh).await.map(drop)
    }

    pub(super) async fn pause(&self, pause: Nanos) {
        self.timeline.sleep_until(self.timeline.now().saturating_add(pause)).await;
    }
}

impl SqlQuery for AdminConnection {
    async fn texts(&mut self, sql: &str) -> Result<Texts, UserError> {
        let limit = time_limit::of_long_response(self.node.connect_timeout);
        self.rows_within(limit, sql).await
    }

    async fn quick_texts(&mut self, sql: &str) -> Result<Texts, UserError> {
        self.rows(sql).await
    }
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
