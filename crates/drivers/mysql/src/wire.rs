//! The bytes of a connection: a read buffer, framing, and the exchange of commands and responses.
//!
//! [`Connection::exchange`] is the hot path: as few system calls as possible (one write, one read for a small
//! response), headers parsed in place, rows counted and skipped, nothing decoded. Writing and reading overlap, because
//! a server that responds to many commands stops reading if its responses are not read.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

use super::answer::Answer;
use super::packet::{self, HEADER};
use highwater_driver::network::{BufferedStream, Stream, invalid};

/// A connection past its TLS negotiation.
pub(super) struct Connection {
    pub(super) stream: BufferedStream,
}

/// A complete packet of the server.
#[derive(Debug)]
pub(super) struct Packet<'a> {
    /// Its sequence number since the command.
    pub(super) sequence: u8,
    pub(super) payload: &'a [u8],
}

impl Connection {
    /// Takes over a stream whose greeting was read.
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream: BufferedStream::new(stream) }
    }

    /// Whether the bytes are protected against eavesdropping.
    pub(super) fn is_private(&self) -> bool {
        matches!(self.stream.stream(), Stream::Tls(_) | Stream::Unix(_))
    }

    /// Sends commands, and reads until this many of them are answered.
    ///
    /// A server error is part of the response; an `Err` means that the connection was lost, and the response may
    /// contain the error that the server sent before it closed.
    pub(super) async fn exchange(
        &mut self,
        request: &[u8],
        commands: usize,
        answer: &mut Answer,
    ) -> io::Result<()> {
        self.stream.begin(request.len());
        let until = answer.done + commands;
        let mut flushed = false;
        poll_fn(|context| self.poll_exchange(context, request, &mut flushed, until, answer)).await
    }

    /// Ready once the server closed this idle connection, or reported why it will: it sends nothing else to a waiting
    /// client.
    pub(super) fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.stream.unread().is_empty() {
            return Poll::Ready(());
        }
        self.stream.poll_fill(context).map(drop)
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
            if !*flushed && let Poll::Ready(sent) = self.stream.poll_send(context, request) {
                // A lost connection may still have the server's reason: read it first.
                lost = sent.err();
                *flushed = true;
            }
            if let Err(error) = ready!(self.stream.poll_fill(context)) {
                return Poll::Ready(Err(lost.unwrap_or(error)));
            }
            if self.scan(until, answer)? {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Consumes the packets in the buffer; true once this many commands are answered.
    fn scan(&mut self, until: usize, answer: &mut Answer) -> io::Result<bool> {
        loop {
            self.stream.drop_skipped();
            let Some((length, sequence)) = self.header() else {
                return Ok(false);
            };
            if answer.may_be_row() {
                let first = self.stream.unread().get(HEADER).copied();
                if length > 0 && first.is_none() {
                    return Ok(false);
                }
                if answer.counts_row(length, first.filter(|_| length > 0)) {
                    self.stream.skip(HEADER + length);
                    continue;
                }
            }
            let Some(payload) = self.stream.take(HEADER, HEADER + length) else {
                return Ok(false);
            };
            answer
                .take(sequence, self.stream.at(payload))
                .ok_or_else(|| invalid("the server's answer is none of the protocol"))?;
            if answer.done >= until {
                return Ok(true);
            }
        }
    }

    /// Payload length and sequence number of the packet at the start of the buffer.
    fn header(&self) -> Option<(usize, u8)> {
        let [a, b, c, sequence] = self.stream.unread().first_chunk::<HEADER>()?;
        Some((packet::length(*a, *b, *c), *sequence))
    }

    /// The next packet; one that continues in another is rejected.
    pub(super) async fn next(&mut self) -> io::Result<Packet<'_>> {
        let (sequence, payload) = poll_fn(|context| {
            loop {
                if let Some((length, sequence)) = self.header() {
                    if length == packet::PAYLOAD_MAX {
                        let error = invalid("a packet of the server is longer than 16 MiB");
                        return Poll::Ready(Err(error));
                    }
                    if let Some(payload) = self.stream.take(HEADER, HEADER + length) {
                        return Poll::Ready(Ok::<_, io::Error>((sequence, payload)));
                    }
                }
                ready!(self.stream.poll_fill(context))?;
            }
        })
        .await?;
        let payload = self.stream.at(payload);
        Ok(Packet { sequence, payload })
    }
}
