//! The outcome of an op, from complete responses or a lost connection. Must not do I/O.

use std::io;

use highwater_model::op::Op;
use highwater_model::outcome::{Certainty, Outcome};

use super::answer::Answer;
use super::errors::Judgment;
use highwater_driver::network::describe;
use highwater_driver::outcomes::{broken, counted, failed, gone, not_applied};

/// The connection was lost before the end of the response. A request that was not sent completely is never executed.
pub(super) fn lost(op: &Op, answer: Answer, error: &io::Error, is_sent_whole: bool) -> Outcome {
    if let Some(server) = answer.error {
        let Judgment { class, certainty, .. } = server.judge();
        let error = server.into_op_error(class);
        return match certainty {
            Certainty::NotApplied => not_applied(op, error),
            Certainty::Applied | Certainty::Unknown => Outcome::unknown(error),
        };
    }
    if !is_sent_whole {
        return not_applied(op, gone(&describe(error)));
    }
    Outcome::unknown(broken(error))
}

/// From complete responses. The outcome includes whether the session is usable.
pub(super) fn judge(op: &Op, answer: Answer) -> Outcome {
    if let Some(error) = answer.error {
        let judgment = error.judge();
        let error = error.into_op_error(judgment.class);
        let mut outcome = failed(op.rows(), judgment.certainty, error);
        outcome.response_bytes = answer.bytes;
        outcome.response_rows = answer.rows;
        outcome.session_usable = !judgment.closes;
        return outcome;
    }
    let answered = Outcome::answered(answer.rows, answer.bytes);
    let mut outcome = counted(op, answer.applied, answered);
    if let Some(error) = &mut outcome.error {
        let said = answer.info.unwrap_or_default();
        error.message.push_str(&format!(": {said}"));
    }
    outcome
}

#[cfg(test)]
mod tests {
    use highwater_model::op::{OpBody, OpId, RowBatch};

    use super::*;
    use crate::errors::ServerError;

    fn insert(rows: usize) -> Op {
        Op {
            id: OpId(0),
            index: 0,
            body: OpBody::Insert(RowBatch { first_row: 0, rows, columns: Vec::new() }),
        }
    }

    fn failed(sequence: u8, code: u16) -> Answer {
        let [a, b] = code.to_le_bytes();
        Answer { error: Some(ServerError::read(sequence, &[0xff, a, b])), ..Answer::default() }
    }

    #[test]
    fn a_smaller_count_is_refused_rows() {
        for (applied, refused) in [(3, 0), (2, 1), (0, 3), (6, 0)] {
            let answer = Answer { applied, ..Answer::default() };
            let outcome = judge(&insert(3), answer);
            assert_eq!(outcome.certainty, Certainty::Applied);
            assert_eq!((outcome.rows_applied, outcome.rows_refused), (applied.min(3), refused));
            assert_eq!(outcome.error.is_some(), refused > 0);
        }
    }

    #[test]
    fn a_cut_connection_is_unknown_unless_the_request_did_not_leave_as_a_whole() {
        let cut = io::Error::from(io::ErrorKind::UnexpectedEof);
        for (answer, is_sent_whole, certainty) in [
            (Answer::default(), true, Certainty::Unknown),
            (Answer::default(), false, Certainty::NotApplied),
            // The packet was too long: the error arrived while the rest of it was still to be sent.
            (failed(1, 1153), false, Certainty::NotApplied),
            (failed(1, 1180), true, Certainty::Unknown),
            // The connection had been idle for too long.
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
