//! An HTTP/1.1 connection that sends one request at a time.
//!
//! It does not pipeline requests, because some servers answer pipelined requests out of order. It passes a response on
//! in pieces as they arrive, so that a response need not fit in memory.
//!
//! Must not know SQL or JSON, or interpret a status.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use highwater_model::user_error::UserError;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::network::{Stream, invalid};
use crate::target_url::Secret;

/// Size of the read buffer. The response to a batch of a thousand rows fits.
const INPUT_BYTES: usize = 32 * 1024;
/// Maximum headers of a response. The read buffer must hold all of them at once.
const HEADERS_MAX: usize = 64;

/// Receives a response as it arrives.
pub trait Sink {
    /// Status of the response; its body follows.
    fn status(&mut self, status: u16);
    /// A header of the response; all headers come before its status.
    fn header(&mut self, _name: &str, _value: &[u8]) {}
    /// A piece of the body; returns false to stop.
    fn body(&mut self, bytes: &[u8]) -> bool;
}

/// A connection past its TLS negotiation.
pub struct HttpConnection {
    stream: Stream,
    input: Vec<u8>,
    /// `input[start..end]` was read but not consumed.
    start: usize,
    end: usize,
    /// Bytes of the current request that the system accepted.
    written: usize,
    /// Bytes of the current request.
    length: usize,
    /// The server's idle timeout of this connection in seconds, if it reports one.
    kept_for: Option<u64>,
}

/// The current position in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    /// This many bytes of the body remain.
    Body(u64),
    ChunkSize,
    Chunk(u64),
    /// The line break after a chunk.
    ChunkEnd,
    /// Lines after the last chunk.
    Trailer,
    /// The body ends when the connection is closed.
    UntilClosed,
    Done,
}

/// State of an exchange between polls.
struct Exchange {
    phase: Phase,
    /// Nothing more will be sent: the request is complete, or the connection broke.
    sent: bool,
    broken: Option<io::Error>,
    /// As reported by the server.
    keep_alive: bool,
}

impl HttpConnection {
    /// Takes over a stream that is ready for a request.
    pub fn new(stream: Stream) -> Self {
        Self {
            stream,
            input: vec![0; INPUT_BYTES],
            start: 0,
            end: 0,
            written: 0,
            length: 0,
            kept_for: None,
        }
    }

    /// The server's idle timeout in seconds, from its last response.
    pub fn kept_for(&self) -> Option<u64> {
        self.kept_for
    }

    /// Whether the bytes are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.stream.is_encrypted()
    }

    /// Whether the last request was sent completely. If not, the server cannot have understood it, and did nothing.
    pub fn all_sent(&self) -> bool {
        self.written == self.length
    }

    /// Sends a request and reads its response; true if the connection can be used for another request.
    ///
    /// An `Err` means that the connection ended, or violated the protocol, before the end of the response.
    pub async fn exchange(
        &mut self,
        head: &[u8],
        body: &[u8],
        sink: &mut impl Sink,
    ) -> io::Result<bool> {
        self.written = 0;
        self.length = head.len() + body.len();
        // Unexpected bytes would be taken for the response.
        if self.start != self.end {
            return Err(invalid("the server sent more than its answer"));
        }
        let mut exchange =
            Exchange { phase: Phase::Head, sent: false, broken: None, keep_alive: true };
        poll_fn(|context| self.poll(context, [head, body], &mut exchange, sink)).await?;
        // A response before the end of the request (413) leaves the request incomplete.
        Ok(exchange.keep_alive
            && exchange.phase == Phase::Done
            && self.all_sent()
            && exchange.broken.is_none())
    }

    /// Ready once the server closed this idle connection, or sent unsolicited bytes.
    pub fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.poll_fill(context).map(drop)
    }

    fn poll(
        &mut self,
        context: &mut Context<'_>,
        request: [&[u8]; 2],
        exchange: &mut Exchange,
        sink: &mut impl Sink,
    ) -> Poll<io::Result<()>> {
        loop {
            if !exchange.sent
                && let Poll::Ready(sent) = self.poll_send(context, request[0], request[1])
            {
                exchange.sent = true;
                // A server that rejects early may have responded before it closed: continue reading.
                exchange.broken = sent.err();
            }
            if !self.advance(exchange, sink)? {
                return Poll::Ready(Ok(()));
            }
            match ready!(self.poll_fill(context)) {
                Ok(true) => {}
                Ok(false) if exchange.phase == Phase::UntilClosed => {
                    exchange.phase = Phase::Done;
                    exchange.keep_alive = false;
                    return Poll::Ready(Ok(()));
                }
                Ok(false) => {
                    let closed = io::Error::from(io::ErrorKind::UnexpectedEof);
                    return Poll::Ready(Err(exchange.broken.take().unwrap_or(closed)));
                }
                Err(error) => return Poll::Ready(Err(exchange.broken.take().unwrap_or(error))),
            }
        }
    }

    fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        head: &[u8],
        body: &[u8],
    ) -> Poll<io::Result<()>> {
        while self.written < self.length {
            let rest = [
                head.get(self.written..).unwrap_or_default(),
                body.get(self.written.saturating_sub(head.len())..).unwrap_or_default(),
            ];
            let slices = rest.map(IoSlice::new);
            match ready!(Pin::new(&mut self.stream).poll_write_vectored(context, &slices))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.written += count,
            }
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Reads once into the free end of the buffer; false at the end of the connection.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        if self.start > 0 {
            self.input.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let free = self.input.get_mut(self.end..).unwrap_or_default();
        if free.is_empty() {
            return Poll::Ready(Err(invalid("the headers of the answer are too long")));
        }
        let mut buffer = ReadBuf::new(free);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
        let count = buffer.filled().len();
        self.end += count;
        Poll::Ready(Ok(count > 0))
    }

    /// Consumes the buffer's content; false if the sink stops.
    fn advance(&mut self, exchange: &mut Exchange, sink: &mut impl Sink) -> io::Result<bool> {
        loop {
            exchange.phase = match exchange.phase {
                Phase::Done => return Ok(false),
                Phase::Body(0) => Phase::Done,
                Phase::Chunk(0) => Phase::ChunkEnd,
                Phase::Head => match self.head(exchange, sink)? {
                    None => return Ok(true),
                    Some(phase) => phase,
                },
                Phase::Body(left) => match self.piece(left, sink) {
                    Piece::None => return Ok(true),
                    Piece::Enough => return Ok(false),
                    Piece::Taken(left) => Phase::Body(left),
                },
                Phase::Chunk(left) => match self.piece(left, sink) {
                    Piece::None => return Ok(true),
                    Piece::Enough => return Ok(false),
                    Piece::Taken(left) => Phase::Chunk(left),
                },
                Phase::UntilClosed => match self.piece(u64::MAX, sink) {
                    Piece::None => return Ok(true),
                    Piece::Enough => return Ok(false),
                    Piece::Taken(_) => Phase::UntilClosed,
                },
                Phase::ChunkSize => match httparse::parse_chunk_size(self.rest()) {
                    Ok(httparse::Status::Partial) => return Ok(true),
                    Ok(httparse::Status::Complete((length, size))) => {
                        self.start += length;
                        if size == 0 { Phase::Trailer } else { Phase::Chunk(size) }
                    }
                    Err(_) => return Err(invalid("a chunk of the answer has no size")),
                },
                Phase::ChunkEnd => match self.line() {
                    None => return Ok(true),
                    Some(0) => Phase::ChunkSize,
                    Some(_) => return Err(invalid("a chunk of the answer is too long")),
                },
                Phase::Trailer => match self.line() {
                    None => return Ok(true),
                    Some(0) => Phase::Done,
                    Some(_) => Phase::Trailer,
                },
            };
        }
    }

    /// Passes on the available part of `left` bytes.
    fn piece(&mut self, left: u64, sink: &mut impl Sink) -> Piece {
        let there = self.end - self.start;
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(there);
        if count == 0 {
            return Piece::None;
        }
        let bytes = self.input.get(self.start..self.start + count).unwrap_or_default();
        let more = sink.body(bytes);
        self.start += count;
        if more { Piece::Taken(left - count as u64) } else { Piece::Enough }
    }

    /// Reads status and headers; `None` if more bytes are needed.
    fn head(&mut self, exchange: &mut Exchange, sink: &mut impl Sink) -> io::Result<Option<Phase>> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut answer = httparse::Response::new(&mut headers);
        let rest = self.input.get(self.start..self.end).unwrap_or_default();
        let length = match answer.parse(rest) {
            Ok(httparse::Status::Partial) => return Ok(None),
            Ok(httparse::Status::Complete(length)) => length,
            Err(_) => return Err(invalid("what answers there does not speak HTTP")),
        };
        let status = answer.code.unwrap_or(0);
        exchange.keep_alive = answer.version == Some(1);
        let mut phase = Phase::UntilClosed;
        let mut kept_for = None;
        for header in answer.headers.iter() {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            let value = header.value.trim_ascii();
            if status >= 200 {
                sink.header(header.name, value);
            }
            if is("content-length") && phase == Phase::UntilClosed {
                let length = std::str::from_utf8(value).ok().and_then(|v| v.parse().ok());
                let length = length.ok_or_else(|| invalid("the answer has no valid length"))?;
                phase = Phase::Body(length);
            } else if is("transfer-encoding") && value.eq_ignore_ascii_case(b"chunked") {
                phase = Phase::ChunkSize;
            } else if is("connection") && value.eq_ignore_ascii_case(b"close") {
                exchange.keep_alive = false;
            } else if is("keep-alive") {
                kept_for = timeout(value);
            }
        }
        self.start += length;
        self.kept_for = kept_for;
        Ok(Some(match status {
            // An interim response; the final one follows.
            100..200 => Phase::Head,
            204 | 304 => {
                sink.status(status);
                Phase::Done
            }
            _ => {
                sink.status(status);
                phase
            }
        }))
    }

    /// Consumes a line; its length without the line end, or `None` if it is incomplete.
    fn line(&mut self) -> Option<usize> {
        let at = memchr::memchr(b'\n', self.rest())?;
        let line = self.rest().get(..at).unwrap_or_default();
        let length = line.strip_suffix(b"\r").unwrap_or(line).len();
        self.start += at + 1;
        Some(length)
    }

    fn rest(&self) -> &[u8] {
        self.input.get(self.start..self.end).unwrap_or_default()
    }
}

/// The result of a step through the body.
enum Piece {
    /// No bytes are available.
    None,
    /// The sink stops.
    Enough,
    /// This many bytes remain.
    Taken(u64),
}

/// The authorization header. It contains the password, so it is for the wire only.
pub fn basic_login(user: &str, password: Option<&Secret>) -> String {
    let password = password.map_or("", Secret::reveal);
    let login = STANDARD.encode(format!("{user}:{password}"));
    format!("Authorization: Basic {login}\r\n")
}

/// The same, for a user from a URL.
///
/// # Errors
///
/// The name contains a colon, after which a server would expect the password.
pub fn checked_login(user: &str, password: Option<&Secret>) -> Result<String, UserError> {
    if user.contains(':') {
        return Err(UserError::usage(format!(
            "`{user}` is not the name of a user: it holds a colon"
        )));
    }
    Ok(basic_login(user, password))
}

/// The seconds of `timeout=5, max=100`.
fn timeout(keep_alive: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(keep_alive).ok()?;
    let mut parameters = text.split(',');
    parameters.find_map(|parameter| parameter.trim().strip_prefix("timeout=")?.parse().ok())
}

#[cfg(test)]
mod tests;
