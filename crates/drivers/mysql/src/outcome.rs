//! The outcome of an op, from whole answers or from the end of its connection. Must not do I/O.

use std::io;

use highwater_model::op::{Op, OpBody};
use highwater_model::outcome::{Certainty, ErrorClass, OpError, Outcome};

use super::answer::Answer;
use super::errors::Judgment;
use highwater_driver::network::{describe, one_line};

/// The error of an op whose connection is closed.
pub(super) fn gone(cause: &str) -> OpError {
    OpError {
        class: ErrorClass::Connection,
        code: None,
        message: one_line(cause),
    }
}

/// Nothing of the op was applied; the session ends.
pub(super) fn not_applied(op: &Op, error: OpError) -> Outcome {
    let mut outcome = Outcome::refused(op.rows(), error);
    outcome.session_usable = false;
    outcome
}

/// The connection ended before the answer did. A request that did not leave as a whole is never run.
pub(super) fn lost(op: &Op, answer: Answer, error: &io::Error, is_sent_whole: bool) -> Outcome {
    if let Some(server) = answer.error {
        let Judgment {
            class, certainty, ..
        } = server.judge();
        let error = server.into_op_error(class);
        return match certainty {
            Certainty::NotApplied => not_applied(op, error),
            Certainty::Applied | Certainty::Unknown => Outcome::unknown(error),
        };
    }
    if !is_sent_whole {
        return not_applied(op, gone(&describe(error)));
    }
    if error.kind() == io::ErrorKind::InvalidData {
        return Outcome::unknown(OpError {
            class: ErrorClass::Protocol,
            ..gone(&describe(error))
        });
    }
    Outcome::unknown(gone(&describe(error)))
}

/// Whole answers came. Whether the session is usable is part of it.
pub(super) fn judge(op: &Op, answer: Answer) -> Outcome {
    let sent = op.rows();
    if let Some(error) = answer.error {
        let judgment = error.judge();
        let error = error.into_op_error(judgment.class);
        let mut outcome = match judgment.certainty {
            Certainty::Unknown => Outcome::unknown(error),
            Certainty::Applied | Certainty::NotApplied => Outcome::refused(sent, error),
        };
        outcome.response_bytes = answer.bytes;
        outcome.response_rows = answer.rows;
        outcome.session_usable = !judgment.closes;
        return outcome;
    }
    if matches!(op.body, OpBody::Query(_)) {
        return Outcome {
            rows_applied: answer.applied,
            ..Outcome::answered(answer.rows, answer.bytes)
        };
    }
    let mut outcome = Outcome::applied(answer.applied.min(sent));
    outcome.rows_refused = sent - outcome.rows_applied;
    if outcome.rows_refused > 0 {
        let said = answer.info.unwrap_or_default();
        outcome.error = Some(OpError {
            class: ErrorClass::Constraint,
            code: None,
            message: format!(
                "the server applied {} of {sent} rows: {said}",
                answer.applied
            ),
        });
    }
    outcome
}

#[cfg(test)]
mod tests {
    use highwater_model::op::{OpId, RowBatch};

    use super::*;
    use crate::errors::ServerError;

    fn insert(rows: usize) -> Op {
        Op {
            id: OpId(0),
            index: 0,
            body: OpBody::Insert(RowBatch {
                first_row: 0,
                rows,
                columns: Vec::new(),
            }),
        }
    }

    fn failed(sequence: u8, code: u16) -> Answer {
        let [a, b] = code.to_le_bytes();
        Answer {
            error: Some(ServerError::read(sequence, &[0xff, a, b])),
            ..Answer::default()
        }
    }

    #[test]
    fn a_smaller_count_is_refused_rows() {
        for (applied, refused) in [(3, 0), (2, 1), (0, 3), (6, 0)] {
            let answer = Answer {
                applied,
                ..Answer::default()
            };
            let outcome = judge(&insert(3), answer);
            assert_eq!(outcome.certainty, Certainty::Applied);
            assert_eq!(
                (outcome.rows_applied, outcome.rows_refused),
                (applied.min(3), refused)
            );
            assert_eq!(outcome.error.is_some(), refused > 0);
        }
    }

    #[test]
    fn a_cut_connection_is_unknown_unless_the_request_did_not_leave_as_a_whole() {
        let cut = io::Error::from(io::ErrorKind::UnexpectedEof);
        for (answer, is_sent_whole, certainty) in [
            (Answer::default(), true, Certainty::Unknown),
            (Answer::default(), false, Certainty::NotApplied),
            // Too long a packet: the reason came while the rest of it was still to be sent.
            (failed(1, 1153), false, Certainty::NotApplied),
            (failed(1, 1180), true, Certainty::Unknown),
            // It had been idle for too long.
            (failed(0, 4031), true, Certainty::NotApplied),
        ] {
            let outcome = lost(&insert(3), answer, &cut, is_sent_whole);
            assert_eq!(outcome.certainty, certainty);
            assert!(!outcome.session_usable);
        }
    }

    #[test]
    fn an_unknown_error_ends_the_session_and_a_known_one_does_not() {
        for (code, usable) in [(1062, true), (1205, true), (1047, false), (1180, false)] {
            let outcome = judge(&insert(3), failed(1, code));
            assert_eq!(outcome.session_usable, usable, "{code}");
        }
    }
}
