//! One HTTP/1.1 connection: one request, then its answer, then the next request.
//!
//! Never two requests at once: some servers answer pipelined requests out of order. An answer is
//! handed on piece by piece as it comes, so that no answer has to fit into memory.
//!
//! Must not know SQL or JSON, or interpret a status.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::error::TargetError;
use crate::network::{Stream, invalid};
use crate::target_url::Secret;

/// Size of the read buffer. The answer to a batch of a thousand rows fits.
const INPUT_BYTES: usize = 32 * 1024;
/// Headers of an answer, at most. The read buffer holds all of them at once.
const HEADERS_MAX: usize = 64;

/// Takes an answer as it comes.
pub trait Sink {
    /// Status of the answer; its body follows.
    fn status(&mut self, status: u16);
    /// A header of the answer; all of them come before its status.
    fn header(&mut self, _name: &str, _value: &[u8]) {}
    /// A piece of the body; false if nothing more is wanted.
    fn body(&mut self, bytes: &[u8]) -> bool;
}

/// A connection past its TLS negotiation.
pub struct HttpConnection {
    stream: Stream,
    input: Vec<u8>,
    /// `input[start..end]` was read and not yet consumed.
    start: usize,
    end: usize,
    /// Bytes of the current request that the system took.
    written: usize,
    /// Bytes of the current request.
    length: usize,
    /// How long the server keeps this connection without a request, as far as it says so; seconds.
    kept_for: Option<u64>,
}

/// Where in an answer we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    /// So many bytes of the body are to come.
    Body(u64),
    ChunkSize,
    Chunk(u64),
    /// The line break after a chunk.
    ChunkEnd,
    /// Lines after the last chunk.
    Trailer,
    /// The body ends with the connection.
    UntilClosed,
    Done,
}

/// What an exchange keeps from one poll to the next.
struct Exchange {
    phase: Phase,
    /// Nothing more will be sent: all is, or the connection broke.
    sent: bool,
    broken: Option<io::Error>,
    /// As far as the server reports it.
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

    /// Seconds for which the server keeps the connection without a request, as its last answer said.
    pub fn kept_for(&self) -> Option<u64> {
        self.kept_for
    }

    /// Whether the bytes are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.stream.is_encrypted()
    }

    /// Whether the whole last request left this process. If not, the server cannot have
    /// understood it, and did nothing.
    pub fn all_sent(&self) -> bool {
        self.written == self.length
    }

    /// Sends a request and reads its answer; true if the connection is good for another one.
    ///
    /// An `Err` means that the connection ended, or broke the protocol, before the answer did.
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
        // An answer that came before the end of the request (413) leaves half a request behind.
        Ok(exchange.keep_alive
            && exchange.phase == Phase::Done
            && self.all_sent()
            && exchange.broken.is_none())
    }

    /// Ready when the server closed this connection, which is idle, or sent what nobody asked for.
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
                // A server that refuses early may have answered before it closed: read on.
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

    /// Consumes what is in the buffer; false when nothing more is wanted.
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

    /// Hands on what is there of `left` bytes.
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

    /// Reads status and headers; none if more bytes are needed.
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
            // An interim answer; the real one follows.
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

    /// Consumes a line; its length without its end, or none if it is not whole yet.
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

/// What became of a step through the body.
enum Piece {
    /// Nothing is there.
    None,
    /// The taker wants no more.
    Enough,
    /// So many bytes are left.
    Taken(u64),
}

/// The header that says who asks. It holds the password, so it is for the wire only.
pub fn basic_login(user: &str, password: Option<&Secret>) -> String {
    let password = password.map_or("", Secret::reveal);
    let login = STANDARD.encode(format!("{user}:{password}"));
    format!("Authorization: Basic {login}\r\n")
}

/// The same, for a user whom a URL names.
///
/// # Errors
///
/// The name holds a colon, behind which a server would look for the password.
pub fn checked_login(user: &str, password: Option<&Secret>) -> Result<String, TargetError> {
    if user.contains(':') {
        return Err(TargetError::usage(format!(
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
