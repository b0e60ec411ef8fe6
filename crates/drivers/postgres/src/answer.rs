//! Counts the response to one request, message by message, without decoding it, and judges how an op ended.

use highwater_driver::failure::{broken, counted, failed, gone, not_applied};
use highwater_driver::network::describe;
use highwater_model::op::Op;
use highwater_model::outcome::{Certainty, ErrorClass, Outcome};

use super::errors::ServerError;
use crate::product::Product;

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
    use super::*;
    use highwater_model::op::{OpBody, OpId, RowBatch};

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
    fn what_an_error_of_yugabytedb_leaves_certain_is_what_its_documents_and_issues_say() {
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
