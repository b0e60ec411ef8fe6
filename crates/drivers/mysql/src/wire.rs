//! The bytes of a connection: a read buffer, packets of the MySQL wire protocol, and the exchange of commands and
//! responses.
//!
//! [`Connection::exchange`] is the hot path: as few system calls as possible (one write, one read for a small
//! response), headers parsed in place, rows counted and skipped, nothing decoded. Writing and reading overlap, because
//! a server that responds to many commands stops reading if its responses are not read.
//!
//! Packets are written directly into a reusable byte vector; of numbers and texts, only the few needed forms are
//! parsed. This is only framing; the encoders define the content of packets. Source: MariaDB documentation,
//! "Client/Server Protocol".

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

use highwater_driver::network::{BufferedStream, Stream, invalid};
use highwater_driver::sql::connection::{Row, TextWire};

use super::answer::{Answer, State};
use super::errors::{Failure, ServerError};

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

fn not_protocol() -> io::Error {
    invalid("the server's answer is none of the protocol")
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
                let first = first.filter(|_| length > 0);
                if answer.last_row.is_some() {
                    let Some(payload) = self.stream.take(HEADER, HEADER + length) else {
                        return Ok(false);
                    };
                    let payload = self.stream.at(payload);
                    let continues = answer.state == State::RestOfRow;
                    if answer.counts_row(length, first) {
                        answer.keep(continues, payload);
                    } else {
                        answer.take(sequence, payload).ok_or_else(not_protocol)?;
                    }
                    if answer.done >= until {
                        return Ok(true);
                    }
                    continue;
                }
                if answer.counts_row(length, first) {
                    self.stream.skip(HEADER + length);
                    continue;
                }
            }
            let Some(payload) = self.stream.take(HEADER, HEADER + length) else {
                return Ok(false);
            };
            answer.take(sequence, self.stream.at(payload)).ok_or_else(not_protocol)?;
            if answer.done >= until {
                return Ok(true);
            }
        }
    }

    /// Payload length and sequence number of the packet at the start of the buffer.
    fn header(&self) -> Option<(usize, u8)> {
        let [a, b, c, sequence] = self.stream.unread().first_chunk::<HEADER>()?;
        Some((length(*a, *b, *c), *sequence))
    }

    /// The next packet; one that continues in another is rejected.
    pub(super) async fn next(&mut self) -> io::Result<Packet<'_>> {
        let (sequence, payload) = poll_fn(|context| {
            loop {
                if let Some((length, sequence)) = self.header() {
                    if length == PAYLOAD_MAX {
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

/// Maximum payload of one packet; a longer one continues in the next packet.
pub(super) const PAYLOAD_MAX: usize = 0xff_ffff;
/// Length and sequence number.
pub(super) const HEADER: usize = 4;

/// Client commands.
pub(super) mod command {
    pub(crate) const QUERY: u8 = 0x03;
    pub(crate) const STMT_PREPARE: u8 = 0x16;
    pub(crate) const STMT_EXECUTE: u8 = 0x17;
    /// Closes a prepared statement; the server does not respond to it.
    pub(crate) const STMT_CLOSE: u8 = 0x19;
}

/// Starts a packet, and returns the position of its header for [`finish`].
pub(super) fn start(out: &mut Vec<u8>, sequence: u8) -> usize {
    let at = out.len();
    out.extend_from_slice(&[0, 0, 0, sequence]);
    at
}

/// Writes the length of the packet that began at `at`, and splits it if it is too long.
pub(super) fn finish(out: &mut Vec<u8>, at: usize) {
    let length = out.len() - at - HEADER;
    if length < PAYLOAD_MAX {
        let [a, b, c, ..] = length.to_le_bytes();
        if let Some(header) = out.get_mut(at..at + 3) {
            header.copy_from_slice(&[a, b, c]);
        }
        return;
    }
    let payload = out.split_off(at + HEADER);
    let mut sequence = out.get(at + 3).copied().unwrap_or(0);
    out.truncate(at);
    // A payload that fills its packet is followed by an empty one.
    let whole = payload.len() / PAYLOAD_MAX;
    for part in 0..=whole {
        let first = part * PAYLOAD_MAX;
        let last = payload.len().min(first + PAYLOAD_MAX);
        let piece = payload.get(first..last).unwrap_or_default();
        let [a, b, c, ..] = piece.len().to_le_bytes();
        out.extend_from_slice(&[a, b, c, sequence]);
        out.extend_from_slice(piece);
        sequence = sequence.wrapping_add(1);
    }
}

/// A statement as text.
pub(super) fn query(out: &mut Vec<u8>, sql: &str) {
    one(out, command::QUERY, sql.as_bytes());
}

/// Starts a statement as text; [`finish`] ends it.
pub(super) fn start_query(out: &mut Vec<u8>) -> usize {
    let at = start(out, 0);
    out.push(command::QUERY);
    at
}

/// One command, such as [`command::STMT_CLOSE`], with its argument.
pub(super) fn one(out: &mut Vec<u8>, command: u8, body: &[u8]) {
    let at = start(out, 0);
    out.push(command);
    out.extend_from_slice(body);
    finish(out, at);
}

/// The commands of a sequence, each with all its packets. A command's first packet has sequence number 0; invalid bytes
/// end the sequence.
pub(super) fn commands(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let mut end = 0;
        while let Some([a, b, c, sequence]) = rest.get(end..).and_then(|rest| rest.first_chunk()) {
            if *sequence == 0 && end > 0 {
                break;
            }
            end += HEADER + length(*a, *b, *c);
        }
        let (command, behind) = rest.split_at_checked(end).filter(|_| end > 0)?;
        rest = behind;
        Some(command)
    })
}

/// Length in bytes of the first packet; 0 if there is none.
pub(super) fn first(bytes: &[u8]) -> usize {
    bytes.first_chunk().map_or(0, |[a, b, c, _]: &[u8; HEADER]| HEADER + length(*a, *b, *c))
}

/// The payload's length in a header.
pub(super) fn length(a: u8, b: u8, c: u8) -> usize {
    usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16
}

/// Writes a text or bytes, prefixed with their length.
pub(super) fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let (mark, digits) = match bytes.len() {
        0..=250 => (None, 1),
        251..=0xffff => (Some(0xfc), 2),
        0x1_0000..=0xff_ffff => (Some(0xfd), 3),
        _ => (Some(0xfe), 8),
    };
    out.extend(mark);
    let length = (bytes.len() as u64).to_le_bytes();
    out.extend_from_slice(length.get(..digits).unwrap_or_default());
    out.extend_from_slice(bytes);
}

/// Parses a payload from its start; truncated values are missing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    /// A little-endian number of this many bytes.
    pub(super) fn number(&mut self, bytes: usize) -> Option<u64> {
        let taken = self.bytes(bytes)?;
        let number = |sum, (at, byte): (usize, &u8)| sum | u64::from(*byte) << (8 * at);
        Some(taken.iter().enumerate().fold(0, number))
    }

    /// A length-encoded number; `None` also for the null marker.
    pub(super) fn lenenc(&mut self) -> Option<u64> {
        match self.number(1)? {
            0xfb | 0xff => None,
            0xfc => self.number(2),
            0xfd => self.number(3),
            0xfe => self.number(8),
            small => Some(small),
        }
    }

    /// The next bytes.
    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Length-prefixed bytes.
    pub(super) fn lenenc_bytes(&mut self) -> Option<&'a [u8]> {
        let count = usize::try_from(self.lenenc()?).ok()?;
        self.bytes(count)
    }

    /// Bytes up to a zero, which is consumed as well; the rest if there is none.
    pub(super) fn zero_ended(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0);
        let taken = self.0.get(..end.unwrap_or(self.0.len()));
        self.0 = end.and_then(|end| self.0.get(end + 1..)).unwrap_or_default();
        taken.unwrap_or_default()
    }
}

impl TextWire for Connection {
    type Error = ServerError;

    async fn each_row(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(Row) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut request = Vec::new();
        query(&mut request, sql);
        self.stream.send(&request).await?;
        let head = self.next().await?;
        let columns = match head.payload {
            [0x00, ..] => return Ok(()),
            [0xff, ..] => return Err(ServerError::failure(head.sequence, head.payload)),
            payload => {
                let columns = Reader(payload).lenenc();
                columns.ok_or_else(|| invalid("the answer is cut short"))?
            }
        };
        // Column definitions, and the end packet.
        for _ in 0..=columns {
            self.next().await?;
        }
        loop {
            let message = self.next().await?;
            match message.payload {
                [0xfe, ..] if message.payload.len() < 9 => return Ok(()),
                [0xff, ..] => return Err(ServerError::failure(message.sequence, message.payload)),
                payload => take(row(columns, payload))?,
            }
        }
    }

    fn is_encrypted(&self) -> bool {
        self.stream.stream().is_encrypted()
    }
}

/// The values of a row in the text protocol; truncated ones stay null.
fn row(columns: u64, payload: &[u8]) -> Row {
    let mut reader = Reader(payload);
    (0..columns)
        .map(|_| {
            let value = reader.lenenc_bytes()?;
            Some(String::from_utf8_lossy(value).into_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_is_cut_before_every_command() {
        let mut bytes = Vec::new();
        query(&mut bytes, "BEGIN");
        let at = start(&mut bytes, 0);
        bytes.extend(vec![7; PAYLOAD_MAX]);
        finish(&mut bytes, at);
        one(&mut bytes, command::STMT_CLOSE, &9_u32.to_le_bytes());
        let lengths: Vec<usize> = commands(&bytes).map(<[u8]>::len).collect();
        // Complete, followed by an empty packet.
        assert_eq!(lengths, [10, PAYLOAD_MAX + 2 * HEADER, 9]);
        assert_eq!(commands(&[]).count(), 0);
        assert_eq!(commands(&[9, 0, 0, 0, 1]).count(), 0);
    }

    #[test]
    fn a_long_payload_continues_in_numbered_packets() {
        for (extra, packets) in [(0, 2), (1, 2), (PAYLOAD_MAX, 3)] {
            let mut bytes = Vec::new();
            let at = start(&mut bytes, 0);
            bytes.extend(vec![1; PAYLOAD_MAX + extra]);
            finish(&mut bytes, at);
            let (mut rest, mut sequence) = (bytes.as_slice(), 0);
            while let Some(([a, b, c, number], behind)) = rest.split_first_chunk() {
                assert_eq!(*number, sequence);
                sequence += 1;
                rest = &behind[length(*a, *b, *c)..];
            }
            assert_eq!(sequence, packets, "{extra}");
        }
    }

    #[test]
    fn numbers_and_texts_are_read_by_their_length() {
        for (count, head) in [(0, 1), (250, 1), (251, 3), (0xffff, 3), (0x1_0000, 4)] {
            let mut bytes = Vec::new();
            put_lenenc_bytes(&mut bytes, &vec![b'x'; count]);
            assert_eq!(bytes.len(), count + head);
            let read = Reader(&bytes).lenenc_bytes().unwrap();
            assert_eq!(read.len(), count);
        }
        let mut reader = Reader(b"ab\0\x05\0c");
        assert_eq!(reader.zero_ended(), b"ab");
        assert_eq!(reader.number(2), Some(5));
        assert_eq!(reader.zero_ended(), b"c");
        assert_eq!(reader.number(1), None);
        assert_eq!(Reader(&[0xfb]).lenenc(), None);
        assert_eq!(Reader(&[0xfc, 1]).lenenc(), None);
    }

    #[test]
    fn rows_are_read_and_short_ones_do_no_harm() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(row(3, b"\x017\xfb\x02ab"), [text("7"), None, text("ab")]);
        assert_eq!(row(2, b"\x017\x09ab"), [text("7"), None]);
        assert_eq!(row(1, b""), [None]);
    }
}
