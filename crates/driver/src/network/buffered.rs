//! A stream with a read buffer, for protocols of messages that begin with their length.
//!
//! Must not know a message: who reads says how long one is, and takes it where it lies.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::stream::Stream;
use crate::lingering::LingeringBackends;

/// Size of the read buffer; a larger single message lets it grow.
const INPUT_BYTES: usize = 32 * 1024;

/// See the module.
pub struct BufferedStream {
    stream: Stream,
    input: Vec<u8>,
    /// `input[start..end]` was read and not yet consumed.
    start: usize,
    end: usize,
    /// Bytes of the current message still to be read and dropped.
    skip: usize,
    /// Bytes of the current request that the system took, and how many it has.
    written: usize,
    length: usize,
    /// The server's number of this connection, and who wants to know that we left it.
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
    /// Takes over a stream of which nothing is left unread.
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

    /// Names the connection as the server does; it is recorded as lingering when it ends.
    pub fn set_backend(&mut self, backend: i64, lingering: &Arc<LingeringBackends>) {
        // A new connection with this number means that the old one is gone.
        lingering.forget(&[backend]);
        self.backend = Some((backend, Arc::clone(lingering)));
    }

    /// The stream below.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// A request of this length is sent next.
    pub fn begin(&mut self, length: usize) {
        (self.written, self.length) = (0, length);
    }

    /// Bytes of the last request that left this process.
    pub fn sent(&self) -> usize {
        self.written
    }

    /// Whether all of them did.
    pub fn is_sent_whole(&self) -> bool {
        self.written == self.length
    }

    /// Sends bytes without waiting for an answer.
    ///
    /// # Errors
    ///
    /// The connection is lost.
    pub async fn send(&mut self, request: &[u8]) -> io::Result<()> {
        self.begin(request.len());
        poll_fn(|context| self.poll_send(context, request)).await
    }

    /// Sends what is left of the request that was begun.
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

    /// What was read and not yet consumed.
    #[inline]
    pub fn unread(&self) -> &[u8] {
        self.input.get(self.start..self.end).unwrap_or_default()
    }

    /// The next so many bytes are dropped by [`Self::drop_skipped`], as they come.
    #[inline]
    pub fn skip(&mut self, length: usize) {
        self.skip = length;
    }

    /// Drops what of the bytes to be skipped was read.
    #[inline]
    pub fn drop_skipped(&mut self) {
        let dropped = self.skip.min(self.end - self.start);
        self.start += dropped;
        self.skip -= dropped;
    }

    /// Consumes a message of that whole length; the place of what follows its header, or none if more bytes
    /// are needed, for which the buffer then has room.
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

    /// What lies at a place that [`Self::take`] returned.
    #[inline]
    pub fn at(&self, place: Range<usize>) -> &[u8] {
        self.input.get(place).unwrap_or_default()
    }
}
