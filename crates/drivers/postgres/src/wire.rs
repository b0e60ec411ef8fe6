//! The bytes of a connection: a read buffer, messages of the PostgreSQL wire protocol v3, and the exchange of a request
//! and its response.
//!
//! [`Connection::exchange`] is the hot path: as few system calls as possible (one write, one read for a small
//! response), headers parsed in place, data rows counted and skipped, nothing decoded. Writing and reading overlap,
//! because a server that responds to a long pipeline stops reading if its responses are not read.
//!
//! Messages are written directly into a reusable byte vector. This is only framing; the encoders define the content of
//! messages. Source: PostgreSQL documentation, "Message Formats". A response is counted message by message, without
//! decoding it, and shows how an op ended.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use highwater_driver::failure::{broken, counted, failed, gone, not_applied};
use highwater_driver::network::{BufferedStream, Stream, describe};
use highwater_driver::time_limit::LingeringBackends;
use highwater_model::op::Op;
use highwater_model::outcome::{Certainty, ErrorClass, Outcome};

use super::errors::{Failure, ServerError};
use crate::product::Product;

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
            if tag == b'D' && answer.last_row.is_none() {
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

/// Execute of the unnamed portal without a row limit, then Sync.
pub(super) const EXECUTE_SYNC: [u8; 15] = [b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0, b'S', 0, 0, 0, 4];
/// Execute of the unnamed portal without a row limit.
pub(super) const EXECUTE: [u8; 10] = [b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0];
/// Sync: ends a pipeline and its implicit transaction.
pub(super) const SYNC: [u8; 5] = [b'S', 0, 0, 0, 4];
/// `CopyDone`: ends the data of a COPY.
pub(super) const COPY_DONE: [u8; 5] = [b'c', 0, 0, 0, 4];

/// Starts a message, and returns the position of its length for [`finish`].
pub(super) fn start(out: &mut Vec<u8>, tag: u8) -> usize {
    out.push(tag);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    at
}

/// Writes the length of the message, or of the field, that began at `at`.
///
/// The length of a message counts itself; see [`finish_field`] for values, which do not.
pub(super) fn finish(out: &mut [u8], at: usize) {
    write_length(out, at, out.len() - at);
}

/// Writes the length of the value whose four length bytes are at `at`.
pub(super) fn finish_field(out: &mut [u8], at: usize) {
    write_length(out, at, out.len() - at - 4);
}

fn write_length(out: &mut [u8], at: usize, length: usize) {
    // A message over 2 GiB is rejected by every server; it is never silently truncated.
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    if let Some(bytes) = out.get_mut(at..at + 4) {
        bytes.copy_from_slice(&length.to_be_bytes());
    }
}

/// Writes text and its terminating zero byte.
pub(super) fn put_cstr(out: &mut Vec<u8>, text: &str) {
    // A zero byte would end the text early; the protocol cannot represent one.
    out.extend(text.bytes().filter(|byte| *byte != 0));
    out.push(0);
}

/// Writes a 16-bit count; the encoders never need more than 65,535.
pub(super) fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&u16::try_from(count).unwrap_or(u16::MAX).to_be_bytes());
}

/// A simple query.
pub(super) fn query(out: &mut Vec<u8>, sql: &str) {
    let at = start(out, b'Q');
    put_cstr(out, sql);
    finish(out, at);
}

/// Parse: prepares a statement under a name; the server determines parameters of type 0.
pub(super) fn parse(out: &mut Vec<u8>, name: &str, sql: &str, types: &[u32]) {
    let at = start(out, b'P');
    put_cstr(out, name);
    put_cstr(out, sql);
    put_count(out, types.len());
    for kind in types {
        out.extend_from_slice(&kind.to_be_bytes());
    }
    finish(out, at);
}

/// Describe of a prepared statement.
pub(super) fn describe_statement(out: &mut Vec<u8>, name: &str) {
    let at = start(out, b'D');
    out.push(b'S');
    put_cstr(out, name);
    finish(out, at);
}

/// Close of a prepared statement; a missing one is not an error.
pub(super) fn close(out: &mut Vec<u8>, name: &str) {
    let at = start(out, b'C');
    out.push(b'S');
    put_cstr(out, name);
    finish(out, at);
}

/// The requests of a sequence, each up to its Sync; invalid bytes end it.
pub(super) fn requests(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let mut end = 0;
        while let Some([tag, a, b, c, d]) = rest.get(end..).and_then(|rest| rest.first_chunk()) {
            let length = u32::from_be_bytes([*a, *b, *c, *d]);
            end = end.saturating_add(usize::try_from(length).ok()?.saturating_add(1));
            if *tag == b'S' {
                break;
            }
        }
        let (request, behind) = rest.split_at_checked(end).filter(|_| end > 0)?;
        rest = behind;
        Some(request)
    })
}

/// Bind of the unnamed portal to a statement without parameters, and its execution.
pub(super) fn run_prepared(out: &mut Vec<u8>, name: &str) {
    let at = start(out, b'B');
    out.push(0);
    put_cstr(out, name);
    out.extend_from_slice(&[0; 6]);
    finish(out, at);
    out.extend_from_slice(&EXECUTE);
}

/// Counts of one response. Reused from request to request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// Data rows.
    pub(super) rows: u64,
    /// Bytes of the data rows, headers included.
    pub(super) bytes: u64,
    /// Rows that the server reports as written.
    applied: u64,
    /// The first error.
    pub(super) error: Option<ServerError>,
    /// Transaction status of `ReadyForQuery`: `I`, `T` or `E`.
    pub(super) status: u8,
    /// The body of the last data row, if that is kept.
    pub(super) last_row: Option<Vec<u8>>,
}

impl Answer {
    /// Takes one message other than a data row; true when the server is ready again.
    pub(super) fn take(&mut self, tag: u8, body: &[u8]) -> bool {
        match tag {
            b'C' => self.complete(body),
            b'E' if self.error.is_none() => self.error = Some(ServerError::read(body)),
            b'D' => {
                self.rows += 1;
                self.bytes += (HEADER + body.len()) as u64;
                let row = self.last_row.get_or_insert_default();
                row.clear();
                row.extend_from_slice(body);
            }
            b'Z' => {
                self.status = body.first().copied().unwrap_or(b'I');
                return true;
            }
            // BindComplete, ParseComplete, notices, parameters, COPY responses: no count.
            _ => {}
        }
        false
    }

    /// Whether the connection ends with the error.
    pub(super) fn is_fatal(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.fatal)
    }

    fn complete(&mut self, body: &[u8]) {
        // `SELECT 1` is the common case, and its rows were already counted.
        if body.first() == Some(&b'S') {
            return;
        }
        // A negative count is that of rejected rows.
        self.applied += u64::try_from(written_rows(body)).unwrap_or(0);
    }
}

/// A column of a data row in text format; `None` for null, and if there is no such column.
pub(super) fn text_of(row: &[u8], column: usize) -> Option<&str> {
    let mut rest = row.get(2..)?;
    for _ in 0..column {
        let (length, behind) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
        rest = behind.get(length..)?;
    }
    let (length, behind) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
    std::str::from_utf8(behind.get(..length)?).ok()
}

/// The count of a command tag such as `INSERT 0 5`, `COPY 5` or CrateDB's `INSERT 0 -3`.
fn written_rows(tag: &[u8]) -> i64 {
    let tag = tag.strip_suffix(&[0]).unwrap_or(tag);
    let number = tag.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    std::str::from_utf8(number).ok().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The connection was lost before the end of the response.
pub(super) fn lost(op: &Op, answer: Answer, error: &std::io::Error, nothing_sent: bool) -> Outcome {
    if nothing_sent {
        return not_applied(op, gone(&describe(error)));
    }
    match answer.error {
        Some(server) if error.kind() != std::io::ErrorKind::InvalidData => {
            Outcome::unknown(server.into_op_error())
        }
        _ => Outcome::unknown(broken(error)),
    }
}

/// From a complete response of a server of this product.
pub(super) fn judge(op: &Op, answer: Answer, product: Product) -> Outcome {
    if let Some(error) = answer.error {
        let (class, mut certainty) = error.judge();
        if class == ErrorClass::Timeout && !product.cancels_whole() {
            certainty = Certainty::Unknown;
        }
        let mut outcome = failed(op.rows(), certainty, error.into_op_error());
        outcome.response_bytes = answer.bytes;
        outcome.response_rows = answer.rows;
        return outcome;
    }
    let answered = Outcome::answered(answer.rows, answer.bytes);
    counted(op, answer.applied, answered)
}

#[cfg(test)]
mod tests {
    use highwater_model::op::{OpBody, OpId, RowBatch};

    use super::*;

    #[test]
    fn a_sequence_is_split_after_every_sync() {
        let mut bytes = Vec::new();
        run_prepared(&mut bytes, "b");
        bytes.extend_from_slice(&SYNC);
        let first = bytes.len();
        run_prepared(&mut bytes, "S\0\0\0\x04");
        bytes.extend_from_slice(&SYNC);
        let lengths: Vec<usize> = requests(&bytes).map(<[u8]>::len).collect();
        assert_eq!(lengths, [first, bytes.len() - first]);
        assert_eq!(requests(&[]).count(), 0);
        assert_eq!(requests(b"S\0\0\x7f\xff").count(), 0);
    }

    #[test]
    fn command_tags_add_up_and_negative_counts_are_not_of_applied_rows() {
        let mut answer = Answer::default();
        for tag in
            ["INSERT 0 5\0", "COPY 7\0", "INSERT 0 -3\0", "BEGIN\0", "SELECT 9\0", "UPDATE 2\0"]
        {
            assert!(!answer.take(b'C', tag.as_bytes()));
        }
        assert_eq!(answer.applied, 14);
    }

    #[test]
    fn the_first_error_counts_and_ready_ends_the_answer() {
        let mut answer = Answer::default();
        assert!(!answer.take(b'E', b"VERROR\0C23505\0Mfirst\0\0"));
        assert!(!answer.take(b'E', b"VERROR\0C25P02\0Msecond\0\0"));
        assert!(answer.take(b'Z', b"E"));
        assert_eq!(answer.error.map(|e| e.code), Some("23505".to_owned()));
        assert_eq!(answer.status, b'E');
    }

    fn insert(rows: usize) -> Op {
        Op {
            id: OpId(0),
            index: 0,
            body: OpBody::Insert(RowBatch { first_row: 0, rows, columns: Vec::new() }),
        }
    }

    #[test]
    fn a_smaller_or_negative_count_is_refused_rows() {
        for (tags, applied, refused) in [
            (&["INSERT 0 3\0"][..], 3, 0),
            (&["INSERT 0 2\0"], 2, 1),
            (&["INSERT 0 1\0", "INSERT 0 -3\0", "INSERT 0 1\0"], 2, 1),
            (&["COPY 3\0"], 3, 0),
            (&[], 0, 3),
        ] {
            let mut answer = Answer::default();
            for tag in tags {
                answer.take(b'C', tag.as_bytes());
            }
            let outcome = judge(&insert(3), answer, Product::PostgreSql);
            assert_eq!(outcome.certainty, Certainty::Applied);
            assert_eq!((outcome.rows_applied, outcome.rows_refused), (applied, refused));
            assert_eq!(outcome.error.is_some(), refused > 0);
        }
    }

    #[test]
    fn the_certainty_of_yugabytedb_errors_follows_its_documents_and_issues() {
        use Certainty::{NotApplied, Unknown};
        for (code, message, class, certainty) in [
            (
                "40001",
                "could not serialize access due to concurrent update",
                ErrorClass::Conflict,
                NotApplied,
            ),
            ("40001", "Restart read required", ErrorClass::Conflict, NotApplied),
            ("40P01", "deadlock detected", ErrorClass::Conflict, NotApplied),
            (
                "23505",
                "duplicate key value violates unique constraint \"kv_pkey\"",
                ErrorClass::Constraint,
                NotApplied,
            ),
            ("57014", "canceling statement due to statement timeout", ErrorClass::Timeout, Unknown),
            (
                "XX000",
                "UpdateTransaction RPC (request call id 19635) to h:9100 timed out after 5.000s",
                ErrorClass::Unavailable,
                Unknown,
            ),
        ] {
            let mut answer = Answer::default();
            let body = format!("SERROR\0VERROR\0C{code}\0M{message}\0\0");
            answer.take(b'E', body.as_bytes());
            let outcome = judge(&insert(3), answer, Product::YugabyteDb);
            assert_eq!(outcome.certainty, certainty, "{message}");
            assert_eq!(outcome.error.unwrap().class, class, "{message}");
        }
    }

    #[test]
    fn a_cut_connection_is_unknown_unless_nothing_was_sent() {
        let cut = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let outcome = lost(&insert(3), Answer::default(), &cut, false);
        assert_eq!(outcome.certainty, Certainty::Unknown);
        let outcome = lost(&insert(3), Answer::default(), &cut, true);
        assert_eq!(outcome.certainty, Certainty::NotApplied);
        assert!(!outcome.session_usable);
    }
}
