//! Packets of the MySQL wire protocol: written directly into a reusable byte vector, and parsing of the few needed
//! forms of numbers and texts.
//!
//! Contains only framing; the encoders define the content of packets. Source: MariaDB documentation, "Client/Server
//! Protocol".

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
    fn a_long_payload_goes_on_in_packets_that_are_numbered() {
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
}
