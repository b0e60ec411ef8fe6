//! A stream with a read buffer, for protocols whose messages begin with their length.
//!
//! Must not parse messages: the caller determines a message's length, and reads it in the buffer.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::stream::Stream;
use crate::time_limit::LingeringBackends;

/// Size of the read buffer; it grows for a larger single message.
const INPUT_BYTES: usize = 32 * 1024;

/// See the module documentation.
pub struct BufferedStream {
    stream: Stream,
    input: Vec<u8>,
    /// `input[start..end]` was read but not consumed.
    start: usize,
    end: usize,
    /// Bytes of the current message still to be skipped.
    skip: usize,
    /// Bytes of the current request that the system accepted, and its total.
    written: usize,
    length: usize,
    /// The server's id of this connection, and where to record that it was closed.
    backend: Option<(i64, Arc<LingeringBackends>)>,
}

impl Drop for BufferedStream {
    fn drop(&mut self) {
        if let Some((backend, lingering)) = &self.backend {
            lingering.add(*backend);
        }
    }
}

impl BufferedStream {
    /// Takes over a stream without unread bytes.
    pub fn new(stream: Stream) -> Self {
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

    /// Sets the server's id of the connection; it is recorded as lingering when the connection ends.
    pub fn set_backend(&mut self, backend: i64, lingering: &Arc<LingeringBackends>) {
        // If a new connection has this id, the old one is gone.
        lingering.forget(&[backend]);
        self.backend = Some((backend, Arc::clone(lingering)));
    }

    /// The underlying stream.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Begins a request of this length.
    pub fn begin(&mut self, length: usize) {
        (self.written, self.length) = (0, length);
    }

    /// Bytes of the last request that were sent.
    pub fn sent(&self) -> usize {
        self.written
    }

    /// Whether the last request was sent completely.
    pub fn is_sent_whole(&self) -> bool {
        self.written == self.length
    }

    /// Sends bytes without waiting for a response.
    ///
    /// # Errors
    ///
    /// The connection is lost.
    pub async fn send(&mut self, request: &[u8]) -> io::Result<()> {
        self.begin(request.len());
        poll_fn(|context| self.poll_send(context, request)).await
    }

    /// Sends the rest of the current request.
    pub fn poll_send(&mut self, context: &mut Context<'_>, request: &[u8]) -> Poll<io::Result<()>> {
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
    pub fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        } else if self.end == self.input.len() {
            self.move_to_front();
        }
        let free = self.input.get_mut(self.end..).unwrap_or_default();
        let mut buffer = ReadBuf::new(free);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
        let count = buffer.filled().len();
        self.end += count;
        Poll::Ready(if count == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) })
    }

    fn move_to_front(&mut self) {
        self.input.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
    }

    /// Bytes that were read but not consumed.
    #[inline]
    pub fn unread(&self) -> &[u8] {
        self.input.get(self.start..self.end).unwrap_or_default()
    }

    /// Marks the next bytes to be dropped by [`Self::drop_skipped`] as they arrive.
    #[inline]
    pub fn skip(&mut self, length: usize) {
        self.skip = length;
    }

    /// Drops the bytes to skip that were read.
    #[inline]
    pub fn drop_skipped(&mut self) {
        let dropped = self.skip.min(self.end - self.start);
        self.start += dropped;
        self.skip -= dropped;
    }

    /// Consumes a message of this total length. Returns the place of its body, after the header, or `None` if more
    /// bytes are needed, for which it makes space in the buffer.
    #[inline]
    pub fn take(&mut self, header: usize, length: usize) -> Option<Range<usize>> {
        if self.end - self.start >= length {
            let body = self.start + header..self.start + length;
            self.start += length;
            return Some(body);
        }
        if self.input.len() < length {
            self.input.resize(length, 0);
        }
        if self.input.len() - self.start < length {
            self.move_to_front();
        }
        None
    }

    /// The bytes at a place returned by [`Self::take`].
    #[inline]
    pub fn at(&self, place: Range<usize>) -> &[u8] {
        self.input.get(place).unwrap_or_default()
    }
}
