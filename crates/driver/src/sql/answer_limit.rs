//! Limits the size of responses to Highwater itself, but not to the load. Must not read a response.

/// Maximum rows of a response: an audit has one for 100,000 rows or more.
const ROWS_MAX: usize = 250_000;
/// Maximum bytes of a response, including the overhead of storing it.
const BYTES_MAX: usize = 128 * 1024 * 1024;

/// Error text if a response is too long.
pub const TOO_LONG: &str =
    "a response has more than 250,000 rows or 128 MiB, which no answer to Highwater has";

/// The remaining capacity for a response.
#[derive(Debug)]
pub struct AnswerLimit {
    rows: usize,
    bytes: usize,
}

impl Default for AnswerLimit {
    /// The limit at the start of a response.
    fn default() -> Self {
        Self { rows: ROWS_MAX, bytes: BYTES_MAX }
    }
}

impl AnswerLimit {
    /// Whether a row of this size still fits.
    pub fn takes(&mut self, row: &[Option<String>]) -> bool {
        let texts: usize = row.iter().flatten().map(String::len).sum();
        let bytes = texts + size_of_val(row) + size_of::<Vec<Option<String>>>();
        let left = self.rows.checked_sub(1).zip(self.bytes.checked_sub(bytes));
        if let Some((rows, bytes)) = left {
            (self.rows, self.bytes) = (rows, bytes);
        }
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_bytes_are_bounded() {
        let mut limit = AnswerLimit::default();
        let taken = (0..2 * ROWS_MAX).filter(|_| limit.takes(&[])).count();
        assert_eq!(taken, ROWS_MAX);
        let long = [Some("x".repeat(BYTES_MAX / 4))];
        let mut limit = AnswerLimit::default();
        assert_eq!((0..10).filter(|_| limit.takes(&long)).count(), 3);
    }
}
