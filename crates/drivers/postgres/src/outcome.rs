//! The outcome of an op, from a complete response or a lost connection.
//!
//! Must not do I/O.

use highwater_model::op::Op;
use highwater_model::outcome::{Certainty, ErrorClass, Outcome};

use super::answer::Answer;
use highwater_driver::network::describe;
use highwater_driver::outcomes::{broken, counted, failed, gone, not_applied};
use highwater_driver::sql::dialect::Dialect;

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

/// From a complete response of a server of this dialect.
pub(super) fn judge(op: &Op, answer: Answer, dialect: Dialect) -> Outcome {
    if let Some(error) = answer.error {
        let (class, mut certainty) = error.judge();
        if class == ErrorClass::Timeout && !dialect.cancels_whole() {
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
            let outcome = judge(&insert(3), answer, Dialect::PostgreSql);
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
            let outcome = judge(&insert(3), answer, Dialect::YugabyteDb);
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
