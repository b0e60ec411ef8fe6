//! One connection's bytes: a read buffer, framing, and the exchange of commands for their answers.
//!
//! [`Connection::exchange`] is the hot path: as few system calls as possible (one write, one read for
//! a small answer), headers parsed in place, rows counted and skipped, nothing decoded. Writing and
//! reading overlap, because a server that answers many commands stops reading if its answers are not
//! read.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::answer::Answer;
use super::packet::{self, HEADER};
use highwater_driver::lingering::LingeringBackends;
use highwater_driver::network::Stream;

/// Size of the read buffer; a larger single packet lets it grow.
const INPUT_BYTES: usize = 32 * 1024;

/// A connection past its TLS negotiation.
pub(super) struct Connection {
    stream: Stream,
    input: Vec<u8>,
    /// `input[start..end]` was read and not yet consumed.
    start: usize,
    end: usize,
    /// Bytes of the current packet still to be read and dropped.
    skip: usize,
    /// Bytes of the current request that the system took, and how many it has.
    written: usize,
    length: usize,
    /// The server's number of this connection, and who wants to know that we left it.
    backend: Option<(i64, Arc<LingeringBackends>)>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some((backend, lingering)) = &self.backend {
            lingering.add(*backend);
        }
    }
}

/// A whole packet of the server.
#[derive(Debug)]
pub(super) struct Packet<'a> {
    /// Its number since the command.
    pub(super) sequence: u8,
    pub(super) payload: &'a [u8],
}

fn invalid(cause: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, cause)
}

impl Connection {
    /// Takes over a stream whose greeting was read.
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            input: vec![0; INPUT_BYTES],
            start: 0,
            end: 0,
            skip: 0,
            written: 0,
            length: 0,
            backend: None,
        }
    }

    /// Names the connection as the server does; it is recorded as lingering when it ends.
    pub(super) fn set_backend(&mut self, backend: i64, lingering: &Arc<LingeringBackends>) {
        // A new connection with this number means that the old one is gone.
        lingering.forget(&[backend]);
        self.backend = Some((backend, Arc::clone(lingering)));
    }

    /// Whether the bytes are encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.stream.is_encrypted()
    }

    /// Whether nobody on a network can read the bytes.
    pub(super) fn is_private(&self) -> bool {
        matches!(self.stream, Stream::Tls(_) | Stream::Unix(_))
    }

    /// Bytes of the last request that left this process.
    pub(super) fn sent(&self) -> usize {
        self.written
    }

    /// Whether all of them did; the server runs no part of a command.
    pub(super) fn is_sent_whole(&self) -> bool {
        self.written == self.length
    }

    /// Sends commands and reads until so many of them are answered.
    ///
    /// An error of the server is part of the answer; an `Err` means that the connection is lost, and
    /// the answer may hold the error that the server sent before it closed.
    pub(super) async fn exchange(
        &mut self,
        request: &[u8],
        commands: usize,
        answer: &mut Answer,
    ) -> io::Result<()> {
        (self.written, self.length) = (0, request.len());
        let until = answer.done + commands;
        let mut flushed = false;
        poll_fn(|context| self.poll_exchange(context, request, &mut flushed, until, answer)).await
    }

    /// Ready when the server closed this connection, which is idle, or said why it will: nothing else
    /// is sent to a client that waits.
    pub(super) fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.start < self.end {
            return Poll::Ready(());
        }
        self.poll_fill(context).map(drop)
    }

    fn poll_exchange(
        &mut self,
        context: &mut Context<'_>,
        request: &[u8],
        flushed: &mut bool,
        until: usize,
        answer: &mut Answer,
    ) -> Poll<io::Result<()>> {
        let mut lost = None;
        loop {
            if !*flushed && let Poll::Ready(sent) = self.poll_send(context, request) {
                // A lost connection may still hold the server's reason: read before giving up.
                lost = sent.err();
                *flushed = true;
            }
            if let Err(error) = ready!(self.poll_fill(context)) {
                return Poll::Ready(Err(lost.unwrap_or(error)));
            }
            if self.scan(until, answer)? {
                return Poll::Ready(Ok(()));
            }
        }
    }

    fn poll_send(&mut self, context: &mut Context<'_>, request: &[u8]) -> Poll<io::Result<()>> {
        while self.written < request.len() {
            let rest = request.get(self.written..).unwrap_or_default();
            match ready!(Pin::new(&mut self.stream).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.written += count,
            }
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Reads once into the free end of the buffer.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        } else if self.end == self.input.len() {
            self.input.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let free = self.input.get_mut(self.end..).unwrap_or_default();
        let mut buffer = ReadBuf::new(free);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
        let count = buffer.filled().len();
        self.end += count;
        Poll::Ready(if count == 0 {
            Err(io::ErrorKind::UnexpectedEof.into())
        } else {
            Ok(())
        })
    }

    /// Consumes the packets that are in the buffer; true when so many commands are answered.
    fn scan(&mut self, until: usize, answer: &mut Answer) -> io::Result<bool> {
        loop {
            let dropped = self.skip.min(self.end - self.start);
            self.start += dropped;
            self.skip -= dropped;
            let Some((length, sequence)) = self.header() else {
                return Ok(false);
            };
            if answer.may_be_row() {
                let first = self.byte(HEADER);
                if length > 0 && first.is_none() {
                    return Ok(false);
                }
                if answer.counts_row(length, first.filter(|_| length > 0)) {
                    self.skip = HEADER + length;
                    continue;
                }
            }
            let Some(payload) = self.take(length) else {
                return Ok(false);
            };
            let payload = self.input.get(payload).unwrap_or_default();
            answer
                .take(sequence, payload)
                .ok_or_else(|| invalid("the server's answer is none of the protocol"))?;
            if answer.done >= until {
                return Ok(true);
            }
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.input.get(self.start..self.end)?.get(at).copied()
    }

    /// Payload's length and number of the packet at the start of the buffer.
    fn header(&self) -> Option<(usize, u8)> {
        let [a, b, c, sequence] = self
            .input
            .get(self.start..self.end)?
            .first_chunk::<HEADER>()?;
        Some((packet::length(*a, *b, *c), *sequence))
    }

    /// Consumes a packet with that payload; the range of the payload, or none if more bytes are
    /// needed, for which the buffer then has room.
    fn take(&mut self, length: usize) -> Option<std::ops::Range<usize>> {
        let whole = HEADER + length;
        if self.end - self.start >= whole {
            let payload = self.start + HEADER..self.start + whole;
            self.start += whole;
            return Some(payload);
        }
        if self.input.len() < whole {
            self.input.resize(whole, 0);
        }
        if self.input.len() - self.start < whole {
            self.input.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        None
    }

    /// Sends bytes without waiting for an answer.
    pub(super) async fn send(&mut self, request: &[u8]) -> io::Result<()> {
        (self.written, self.length) = (0, request.len());
        poll_fn(|context| self.poll_send(context, request)).await
    }

    /// The next packet, whole; one that goes on in another is refused.
    pub(super) async fn next(&mut self) -> io::Result<Packet<'_>> {
        let (sequence, payload) = poll_fn(|context| {
            loop {
                if let Some((length, sequence)) = self.header() {
                    if length == packet::PAYLOAD_MAX {
                        let error = invalid("a packet of the server is longer than 16 MiB");
                        return Poll::Ready(Err(error));
                    }
                    if let Some(payload) = self.take(length) {
                        return Poll::Ready(Ok::<_, io::Error>((sequence, payload)));
                    }
                }
                ready!(self.poll_fill(context))?;
            }
        })
        .await?;
        let payload = self.input.get(payload).unwrap_or_default();
        Ok(Packet { sequence, payload })
    }
}
