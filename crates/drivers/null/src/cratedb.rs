//! The server's side of CrateDB's HTTP endpoint `_sql`: every statement succeeds.
//!
//! Reads all of every body and answers in the words of a real server, with the counts that a
//! success must name. Source of the words: `docs/reference/cratedb.md` and what a real server
//! answered. Must not read bodies; see `sql_body`.

use std::io::Write as _;

use super::conversation::Conversation;
use super::sql_body::{BodySummary, SqlBody};

/// Bytes of the headers of a request, at most.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Headers of a request, at most.
const HEADERS_MAX: usize = 32;
/// The entry of a row that was applied, with what parts it from the next one.
const APPLIED: &[u8] = b"{\"rowcount\":1},";
/// Before and after the entries.
const RESULTS: [&[u8]; 2] = [b"{\"cols\":[],\"duration\":0.1,\"results\":[", b"]}"];
/// One row for every query; also the health of a cluster of one node.
const ROW: &[u8] = b"{\"cols\":[\"a\",\"b\"],\"rows\":[[1,1]],\"rowcount\":1,\"duration\":0.1}";
/// The response to a body that cannot be read.
const NONSENSE: &[u8] =
    b"{\"error\":{\"message\":\"SQLParseException[the sink cannot read this]\",\"code\":4000}}";

/// One connection.
#[derive(Debug, Default)]
pub(super) struct Server {
    head: Vec<u8>,
    /// Bytes of the body that are to come; absent while headers are read.
    left: Option<u64>,
    body: SqlBody,
    /// Entries for the largest number of rows of one request so far.
    entries: Vec<u8>,
}

impl Server {
    /// Takes bytes of the headers; false if they make no sense.
    fn read_head(&mut self, input: &mut &[u8]) -> bool {
        let before = self.head.len();
        let taken = input.len().min(HEAD_BYTES_MAX.saturating_sub(before));
        let (mine, _) = input.split_at(taken);
        self.head.extend_from_slice(mine);
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let length = match request.parse(&self.head) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => {
                *input = input.get(taken..).unwrap_or_default();
                return self.head.len() < HEAD_BYTES_MAX;
            }
            Err(_) => return false,
        };
        let mut lengths = request.headers.iter();
        let length_of = |header: &httparse::Header<'_>| {
            let is_length = header.name.eq_ignore_ascii_case("content-length");
            let text = std::str::from_utf8(header.value).ok().filter(|_| is_length);
            text.and_then(|text| text.trim().parse().ok())
        };
        self.left = Some(lengths.find_map(length_of).unwrap_or(0));
        *input = input
            .get(length.saturating_sub(before)..)
            .unwrap_or_default();
        self.head.clear();
        true
    }

    fn answer(&mut self, out: &mut Vec<u8>) {
        match self.body.finish() {
            BodySummary::Bulk(rows) => {
                let entries = self.entries(rows);
                put(out, "200 OK", &[RESULTS[0], entries, RESULTS[1]]);
            }
            BodySummary::Inserted(rows) => counted(out, rows),
            BodySummary::Done => counted(out, 1),
            BodySummary::Query => put(out, "200 OK", &[ROW]),
            BodySummary::Nonsense => put(out, "400 Bad Request", &[NONSENSE]),
        }
    }

    fn entries(&mut self, rows: u64) -> &[u8] {
        let length = usize::try_from(rows).unwrap_or(0) * APPLIED.len();
        while self.entries.len() < length {
            self.entries.extend_from_slice(APPLIED);
        }
        // No comma after the last one.
        self.entries
            .get(..length.saturating_sub(1))
            .unwrap_or_default()
    }
}

impl Conversation for Server {
    fn take(&mut self, mut input: &[u8], answer: &mut Vec<u8>) -> bool {
        loop {
            let Some(left) = self.left else {
                if input.is_empty() {
                    return true;
                }
                if !self.read_head(&mut input) {
                    return false;
                }
                continue;
            };
            let there = usize::try_from(left).map_or(input.len(), |left| left.min(input.len()));
            let (mine, rest) = input.split_at(there);
            self.body.take(mine);
            input = rest;
            let left = left - there as u64;
            self.left = Some(left);
            if left > 0 {
                return true;
            }
            self.answer(answer);
            self.left = None;
        }
    }
}

/// A statement that is not bulk, and its count.
fn counted(out: &mut Vec<u8>, rows: u64) {
    let body = format!("{{\"cols\":[],\"rows\":[[]],\"rowcount\":{rows},\"duration\":0.1}}");
    put(out, "200 OK", &[body.as_bytes()]);
}

/// An answer of these parts.
fn put(out: &mut Vec<u8>, status: &str, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    // Writing to a vector cannot fail.
    let _written = write!(
        out,
        "HTTP/1.1 {status}\r\ncontent-type: application/json; charset=UTF-8\r\n\
         content-length: {length}\r\n\r\n"
    );
    for part in parts {
        out.extend_from_slice(part);
    }
}
