//! Shared by all drivers with a network: streams, TLS with libpq's settings, several hosts of one target, and short
//! texts.
//!
//! The stream under a protocol is TCP, a Unix socket, or TLS over TCP; it can have a read buffer, for protocols whose
//! messages begin with their length. Must not know a protocol or a server, or read a clock.

mod tls;

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use highwater_model::user_error::UserError;

use crate::contract::TargetOptions;
use crate::system::LocalStream;
use crate::target_url::{Environment, TargetUrl};
use crate::time_limit::LingeringBackends;

pub use tls::{
    AttemptError, SslMode, Tls, TlsFiles, by_kind, first_bytes, is_loopback, local_listener, no_tls,
};

/// Maximum bytes kept of a server's message.
const MESSAGE_BYTES_MAX: usize = 300;

/// An I/O error on one line, in clearer words than the system's.
pub fn describe(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return "the server closed the connection".to_owned();
    }
    one_line(&error.to_string())
}

/// The error of an interrupted exchange with a server.
pub fn lost(place: &str, error: &io::Error) -> UserError {
    UserError::unreachable(format!("{place}: {}", describe(error)))
}

/// The error of bytes that violate a protocol.
pub fn invalid(cause: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, cause)
}

/// No server was reachable, or it closed the new connection; `place` names it.
pub fn unreachable(place: &str, error: &io::Error) -> UserError {
    lost(place, error).with_hint("is the server running, and are host and port right?")
}

/// A TCP connection that sends written bytes at once.
pub async fn connect_tcp(place: &str, host: &str, port: u16) -> Result<TcpStream, UserError> {
    let connected = async {
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    connected.await.map_err(|error| unreachable(place, &error))
}

/// Text on one line, truncated at a character boundary.
pub fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > MESSAGE_BYTES_MAX {
            break;
        }
    }
    if line.len() > MESSAGE_BYTES_MAX {
        line.truncate(line.floor_char_boundary(MESSAGE_BYTES_MAX));
        line.push('…');
    }
    line
}

/// A connected stream. An enum, so that the hot path has no virtual call per read.
pub enum Stream {
    /// Plain TCP.
    Tcp(TcpStream),
    /// A socket in the file system.
    Unix(LocalStream),
    /// TLS over TCP.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Whether the bytes are encrypted.
    pub fn is_encrypted(&self) -> bool {
        matches!(self, Self::Tls(_))
    }

    /// The certificate of a server with a TLS connection, as DER.
    pub fn server_certificate(&self) -> Option<&[u8]> {
        let Self::Tls(stream) = self else {
            return None;
        };
        let chain = stream.get_ref().1.peer_certificates();
        chain.and_then(|chain| chain.first()).map(AsRef::as_ref)
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream.is_write_vectored(),
            Self::Unix(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(_) | Self::Unix(_) => Poll::Ready(Ok(())),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(context),
        }
    }
}

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
        // If a new connection has this id, the old connection no longer exists.
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

/// The error for a missing host.
pub fn none_given() -> UserError {
    UserError::usage("no host given")
}

/// The host of a session's attempt.
pub fn nth<H>(hosts: &[H], nth: usize) -> Result<&H, UserError> {
    hosts.get(nth).ok_or_else(none_given)
}

/// The hosts of all URLs, at least one; `read` returns those of one URL, given the process's environment.
pub fn of_urls<H>(
    urls: &[TargetUrl],
    options: &TargetOptions,
    read: impl Fn(&TargetUrl, &TargetOptions, Environment<'_>) -> Result<Vec<H>, UserError>,
) -> Result<Vec<H>, UserError> {
    let environment = |name: &str| std::env::var(name).ok();
    let mut hosts = Vec::new();
    for url in urls {
        hosts.extend(read(url, options, &environment)?);
    }
    if hosts.is_empty() {
        return Err(none_given());
    }
    Ok(hosts)
}

/// The first host that opens, with its connection; if none opens, the error of the last one.
pub async fn first_to_open<'h, H, T>(
    hosts: &'h [H],
    open: impl AsyncFn(&'h H) -> Result<T, UserError>,
) -> Result<(&'h H, T), UserError> {
    let mut failed = none_given();
    for host in hosts {
        match open(host).await {
            Ok(opened) => return Ok((host, opened)),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_server_become_one_bounded_line() {
        assert_eq!(one_line(" a\n b\t"), "a b");
        assert_eq!(one_line(""), "");
        let long = one_line(&"ä".repeat(1000));
        assert!(long.len() <= MESSAGE_BYTES_MAX + '…'.len_utf8());
    }
}
