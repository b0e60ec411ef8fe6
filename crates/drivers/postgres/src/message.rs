//! Messages of the PostgreSQL wire protocol v3, written directly into a reusable byte vector.
//!
//! Contains only framing; the encoders define the content of messages. Source: PostgreSQL documentation, "Message
//! Formats".

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
pub(super) fn describe(out: &mut Vec<u8>, name: &str) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_is_cut_behind_every_sync() {
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
}
