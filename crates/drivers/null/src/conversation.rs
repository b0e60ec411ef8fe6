//! The server's side of a connection to the sink, the tables that it needs, and what several protocols share.
//!
//! Splits arriving bytes, in pieces of any size, into messages: a head, the start of a body, which is kept, and the
//! rest of it, which is skipped. Of HTTP/1.1 it reads requests with a content length, whose bodies are passed on as
//! they arrive. Must not know a database's protocol.

use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use highwater_model::op::{BoundTable, BoundWorkload};

/// The server's side of one connection; its responses are always the same.
pub(super) trait Conversation {
    /// Writes the server's greeting; in most protocols, the client begins.
    fn greet(&mut self, _answer: &mut Vec<u8>) {}
    /// Reads input and writes the response; false if the connection ends.
    fn take(&mut self, input: &[u8], response: &mut Vec<u8>) -> bool;
}

/// The tables of the connecting sessions' workload; shared by all conversations.
#[derive(Debug, Default)]
pub(super) struct WorkloadTables {
    tables: Mutex<Vec<BoundTable>>,
}

impl WorkloadTables {
    /// Returns a copy.
    pub(super) fn get(&self) -> Vec<BoundTable> {
        let tables = self.tables.lock();
        tables.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces them with those of a workload.
    pub(super) fn set(&self, workload: &BoundWorkload) {
        let mut current = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if *current != workload.tables {
            current.clone_from(&workload.tables);
        }
    }
}

/// The messages of a protocol, on one connection.
pub(super) trait Messages {
    /// Writes the server's greeting; in most protocols, the client begins.
    fn greet(&mut self, _answer: &mut Vec<u8>) {}
    /// Bytes of the next head.
    fn head_bytes(&self) -> usize;
    /// Parses a head: how many bytes of the body to keep, and its length; `None` if it is invalid.
    fn head(&mut self, head: &[u8]) -> Option<(usize, usize)>;
    /// The kept part of a body is complete; false if that ends the connection.
    fn body(&mut self, kept: &[u8], answer: &mut Vec<u8>) -> bool;
    /// Bytes of a body that are not kept.
    fn pass(&mut self, piece: &[u8]);
    /// The message is complete; false if that ends the connection.
    fn end(&mut self, _answer: &mut Vec<u8>) -> bool {
        true
    }
}

/// The part of a message that is read next.
#[derive(Debug, Clone, Copy, Default)]
enum Part {
    #[default]
    Head,
    /// `needed` bytes of the body are kept, and the next `rest` bytes skipped.
    Body { needed: usize, rest: usize },
    /// This many bytes are skipped.
    Rest(usize),
}

/// One connection.
pub(super) struct FramedConnection<M> {
    messages: M,
    part: Part,
    /// First of a head, then of a body.
    kept: Vec<u8>,
}

impl<M> FramedConnection<M> {
    /// A connection with these messages.
    pub(super) fn new(messages: M) -> Self {
        Self { messages, part: Part::default(), kept: Vec::new() }
    }
}

impl<M: Messages> Conversation for FramedConnection<M> {
    fn greet(&mut self, answer: &mut Vec<u8>) {
        self.messages.greet(answer);
    }

    fn take(&mut self, mut input: &[u8], answer: &mut Vec<u8>) -> bool {
        loop {
            match self.part {
                Part::Head => {
                    if !keep(&mut self.kept, &mut input, self.messages.head_bytes()) {
                        return true;
                    }
                    let Some((needed, length)) = self.messages.head(&self.kept) else {
                        return false;
                    };
                    self.kept.clear();
                    let rest = length - needed;
                    self.part = Part::Body { needed, rest };
                }
                Part::Body { needed, rest } => {
                    if !keep(&mut self.kept, &mut input, needed) {
                        return true;
                    }
                    if !self.messages.body(&self.kept, answer) {
                        return false;
                    }
                    self.kept.clear();
                    self.part = Part::Rest(rest);
                }
                Part::Rest(0) => {
                    if !self.messages.end(answer) {
                        return false;
                    }
                    self.part = Part::Head;
                }
                Part::Rest(left) => {
                    if input.is_empty() {
                        return true;
                    }
                    let (passed, rest) = input.split_at(left.min(input.len()));
                    self.messages.pass(passed);
                    input = rest;
                    self.part = Part::Rest(left - passed.len());
                }
            }
        }
    }
}

/// Moves bytes to `kept` until it has `needed`; returns whether it does.
fn keep(kept: &mut Vec<u8>, input: &mut &[u8], needed: usize) -> bool {
    let taken = needed.saturating_sub(kept.len()).min(input.len());
    let (more, rest) = input.split_at(taken);
    kept.extend_from_slice(more);
    *input = rest;
    kept.len() >= needed
}

/// Maximum bytes of a request's headers.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Maximum headers of a request.
const HEADERS_MAX: usize = 32;

/// Receives bodies, and responds to each.
pub(super) trait Responder {
    /// Takes a piece of a body.
    fn take(&mut self, body: &[u8]);
    /// The body is complete: writes the response. The next one begins.
    fn answer(&mut self, out: &mut Vec<u8>);
}

/// One connection.
pub(super) struct HttpServer<R> {
    head: Vec<u8>,
    /// Remaining bytes of the body; absent while headers are read.
    left: Option<u64>,
    responder: R,
}

impl<R: Responder> HttpServer<R> {
    /// A connection with this responder.
    pub(super) fn new(responder: R) -> Self {
        Self { head: Vec::new(), left: None, responder }
    }

    /// Reads bytes of the headers; false if they are invalid.
    fn read_head(&mut self, input: &mut &[u8]) -> bool {
        let before = self.head.len();
        let taken = input.len().min(HEAD_BYTES_MAX.saturating_sub(before));
        self.head.extend_from_slice(&input[..taken]);
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
        *input = input.get(length.saturating_sub(before)..).unwrap_or_default();
        self.head.clear();
        true
    }
}

impl<R: Responder> Conversation for HttpServer<R> {
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
            self.responder.take(mine);
            input = rest;
            let left = left - there as u64;
            self.left = Some(left);
            if left > 0 {
                return true;
            }
            self.responder.answer(answer);
            self.left = None;
        }
    }
}

/// Writes a response: the text after `HTTP/1.1`, its type, and the parts of its body.
pub(super) fn put(out: &mut Vec<u8>, status: &str, content_type: &str, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    // Writing to a vector cannot fail.
    let _written = write!(
        out,
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n"
    );
    for part in parts {
        out.extend_from_slice(part);
    }
}
