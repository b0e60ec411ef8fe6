//! Counts the response to one request, message by message, without decoding it.

use super::errors::ServerError;

/// Counts of one response. Reused from request to request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// Data rows.
    pub(super) rows: u64,
    /// Bytes of the data rows, headers included.
    pub(super) bytes: u64,
    /// Rows that the server reports as written.
    pub(super) applied: u64,
    /// The first error.
    pub(super) error: Option<ServerError>,
    /// Transaction status of `ReadyForQuery`: `I`, `T` or `E`.
    pub(super) status: u8,
}

impl Answer {
    /// Takes one message other than a data row; true when the server is ready again.
    pub(super) fn take(&mut self, tag: u8, body: &[u8]) -> bool {
        match tag {
            b'C' => self.complete(body),
            b'E' if self.error.is_none() => self.error = Some(ServerError::read(body)),
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

/// The count of a command tag such as `INSERT 0 5`, `COPY 5` or CrateDB's `INSERT 0 -3`.
fn written_rows(tag: &[u8]) -> i64 {
    let tag = tag.strip_suffix(&[0]).unwrap_or(tag);
    let number = tag.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    std::str::from_utf8(number).ok().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
