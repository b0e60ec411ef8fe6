//! The server's side of CrateDB's HTTP endpoint `_sql`: every statement succeeds.
//!
//! Reads every body completely, and responds like a real server, with the counts required for a success. Source of the
//! responses: `docs/reference/cratedb.md`, and a real server. Must not read bodies; see `sql_body`.

use super::http_server::{Responder, put};
use super::sql_body::{BodySummary, SqlBody};

/// The content type of every response.
const JSON: &str = "application/json; charset=UTF-8";
/// The entry of an applied row, with its separator.
const APPLIED: &[u8] = b"{\"rowcount\":1},";
/// The text before and after the entries.
const RESULTS: [&[u8]; 2] = [b"{\"cols\":[],\"duration\":0.1,\"results\":[", b"]}"];
/// One row for every query; also the health of a cluster of one node.
const ROW: &[u8] = b"{\"cols\":[\"a\",\"b\"],\"rows\":[[1,1]],\"rowcount\":1,\"duration\":0.1}";
/// The response to an unparsable body.
const NONSENSE: &[u8] =
    b"{\"error\":{\"message\":\"SQLParseException[the sink cannot read this]\",\"code\":4000}}";

/// The endpoint, on one connection.
#[derive(Debug, Default)]
pub(super) struct Endpoint {
    body: SqlBody,
    /// Entries for the largest number of rows of one request so far.
    entries: Vec<u8>,
}

impl Endpoint {
    fn entries(&mut self, rows: u64) -> &[u8] {
        let length = usize::try_from(rows).unwrap_or(0) * APPLIED.len();
        while self.entries.len() < length {
            self.entries.extend_from_slice(APPLIED);
        }
        // No comma after the last one.
        self.entries.get(..length.saturating_sub(1)).unwrap_or_default()
    }
}

impl Responder for Endpoint {
    fn take(&mut self, body: &[u8]) {
        self.body.take(body);
    }

    fn answer(&mut self, out: &mut Vec<u8>) {
        match self.body.finish() {
            BodySummary::Bulk(rows) => {
                let entries = self.entries(rows);
                put(out, "200 OK", JSON, &[RESULTS[0], entries, RESULTS[1]]);
            }
            BodySummary::Inserted(rows) => counted(out, rows),
            BodySummary::Done => counted(out, 1),
            BodySummary::Query => put(out, "200 OK", JSON, &[ROW]),
            BodySummary::Nonsense => put(out, "400 Bad Request", JSON, &[NONSENSE]),
        }
    }
}

/// A non-bulk response with its count.
fn counted(out: &mut Vec<u8>, rows: u64) {
    let body = format!("{{\"cols\":[],\"rows\":[[]],\"rowcount\":{rows},\"duration\":0.1}}");
    put(out, "200 OK", JSON, &[body.as_bytes()]);
}
