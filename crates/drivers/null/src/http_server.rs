//! The server's side of HTTP/1.1: requests with a content length, whose bodies are passed on as they arrive.
//!
//! Must not read a body, or know the responses.

use std::io::Write as _;

use super::conversation::Conversation;

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
