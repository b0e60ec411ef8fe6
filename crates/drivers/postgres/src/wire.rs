//! The bytes of a connection: a read buffer, framing, and the exchange of a request and its response.
//!
//! [`Connection::exchange`] is the hot path: as few system calls as possible (one write, one read for a small
//! response), headers parsed in place, data rows counted and skipped, nothing decoded. Writing and reading overlap,
//! because a server that responds to a long pipeline stops reading if its responses are not read.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::answer::Answer;
use super::errors::{Failure, ServerError};
use highwater_driver::network::{BufferedStream, Stream};
use highwater_driver::time_limit::LingeringBackends;

/// Bytes of a message before its body.
const HEADER: usize = 5;
/// Maximum bytes of a message that is kept; data rows of load queries are never kept.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A connection past its TLS negotiation.
pub(super) struct Connection(BufferedStream);

/// A complete message of the server.
#[derive(Debug)]
pub(super) struct Message<'a> {
    /// Its kind.
    pub(super) tag: u8,
    /// The bytes after its length.
    pub(super) body: &'a [u8],
}

impl Connection {
    /// Takes over a stream that is ready for the start-up message.
    pub(super) fn new(stream: Stream) -> Self {
        Self(BufferedStream::new(stream))
    }

    /// Sets the id of the backend; it is recorded as lingering when the connection ends.
    pub(super) fn set_backend(&mut self, backend: i64, lingering: &Arc<LingeringBackends>) {
        self.0.set_backend(backend, lingering);
    }

    /// Whether the bytes are encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.0.stream().is_encrypted()
    }

    /// The certificate of a server with a TLS connection, as DER.
    pub(super) fn server_certificate(&self) -> Option<&[u8]> {
        self.0.stream().server_certificate()
    }

    /// Whether no byte of the last request was sent.
    pub(super) fn nothing_sent(&self) -> bool {
        self.0.sent() == 0
    }

    /// Sends a request, and reads until the server is ready for the next one.
    ///
    /// A server error is part of the response; an `Err` means that the connection was lost, and the response may
    /// contain the error that the server sent before it closed.
    pub(super) async fn exchange(&mut self, request: &[u8], answer: &mut Answer) -> io::Result<()> {
        self.0.begin(request.len());
        let mut flushed = false;
        poll_fn(|context| self.poll_exchange(context, request, &mut flushed, answer)).await
    }

    /// Ready once the server closed this idle connection, or reported why it will. Notices and parameters stay in the
    /// buffer, before the next response.
    pub(super) fn poll_closed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.0.unread().first() == Some(&b'E') {
                return Poll::Ready(());
            }
            if ready!(self.0.poll_fill(context)).is_err() {
                return Poll::Ready(());
            }
        }
    }

    fn poll_exchange(
        &mut self,
        context: &mut Context<'_>,
        request: &[u8],
        flushed: &mut bool,
        answer: &mut Answer,
    ) -> Poll<io::Result<()>> {
        loop {
            if !*flushed && let Poll::Ready(sent) = self.0.poll_send(context, request) {
                // A lost connection may still have the server's reason: read it first.
                if let Err(error) = sent {
                    return self.poll_rest(context, answer).map_err(|_| error);
                }
                *flushed = true;
            }
            ready!(self.0.poll_fill(context))?;
            if self.scan(answer)? {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Reads the remaining bytes of a server that went away.
    fn poll_rest(
        &mut self,
        context: &mut Context<'_>,
        answer: &mut Answer,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_fill(context))?;
            if self.scan(answer)? {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Consumes the messages in the buffer; true once the server is ready.
    fn scan(&mut self, answer: &mut Answer) -> io::Result<bool> {
        loop {
            self.0.drop_skipped();
            let Some((tag, length)) = self.header()? else {
                return Ok(false);
            };
            if tag == b'D' {
                answer.rows += 1;
                answer.bytes += length as u64;
                self.0.skip(length);
                continue;
            }
            let Some(body) = self.take(length)? else {
                return Ok(false);
            };
            if answer.take(tag, self.0.at(body)) {
                return Ok(true);
            }
        }
    }

    /// Tag and total length of the message at the start of the buffer.
    fn header(&self) -> io::Result<Option<(u8, usize)>> {
        let Some([tag, a, b, c, d]) = self.0.unread().first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_be_bytes([*a, *b, *c, *d])).unwrap_or(0);
        if !(4..=0x7fff_ffff).contains(&length) {
            return Err(invalid("a message of the server has an impossible length"));
        }
        Ok(Some((*tag, length + 1)))
    }

    /// Consumes a message of this total length. Returns the range of its body, or `None` if more bytes are needed, for
    /// which it makes space in the buffer.
    fn take(&mut self, length: usize) -> io::Result<Option<Range<usize>>> {
        if length > MESSAGE_BYTES_MAX && self.0.unread().len() < length {
            return Err(invalid("a message of the server is longer than 16 MiB"));
        }
        Ok(self.0.take(HEADER, length))
    }

    /// Sends bytes without waiting for a response.
    pub(super) async fn send(&mut self, request: &[u8]) -> io::Result<()> {
        self.0.send(request).await
    }

    /// The next message.
    pub(super) async fn next(&mut self) -> io::Result<Message<'_>> {
        let (tag, body) = poll_fn(|context| {
            loop {
                if let Some((tag, length)) = self.header()?
                    && let Some(body) = self.take(length)?
                {
                    return Poll::Ready(Ok::<_, io::Error>((tag, body)));
                }
                ready!(self.0.poll_fill(context))?;
            }
        })
        .await?;
        let body = self.0.at(body);
        Ok(Message { tag, body })
    }

    /// Sends a request, and passes every message up to `ReadyForQuery` to `each`.
    ///
    /// The first server error is returned afterwards, so that the connection stays usable; an error of `each` is
    /// returned at once, and leaves the connection out of sync.
    pub(super) async fn request(
        &mut self,
        request: &[u8],
        mut each: impl FnMut(&Message<'_>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        self.send(request).await?;
        let mut failed = None;
        loop {
            let message = match self.next().await {
                Ok(message) => message,
                Err(error) => return Err(failed.map_or(Failure::Io(error), Failure::Server)),
            };
            match message.tag {
                b'Z' => return failed.map_or(Ok(()), |error| Err(Failure::Server(error))),
                b'E' if failed.is_none() => failed = Some(ServerError::read(message.body)),
                b'E' => {}
                _ => each(&message)?,
            }
        }
    }
}

fn invalid(cause: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, cause)
}
