//! The outcome of an op, from a whole answer or from the end of its connection. Must not do I/O.

use std::io;

use highwater_driver::network::{describe, one_line};
use highwater_model::op::{Op, OpBody};
use highwater_model::outcome::{Certainty, ErrorClass, OpError, Outcome};

use super::answer::Answer;
use super::encode::Plan;
use super::wire::Lost;

/// The error of an op whose connection is gone.
fn gone(cause: &str) -> OpError {
    OpError {
        class: ErrorClass::Connection,
        code: None,
        message: one_line(cause),
    }
}

/// A value of the batch has no form in its column's type: nothing was sent.
pub(super) fn unfit(op: &Op) -> Outcome {
    let error = OpError {
        class: ErrorClass::Data,
        code: None,
        message: "a value does not fit the type of its column, where it would be another value"
            .to_owned(),
    };
    Outcome::refused(op.rows(), error)
}

/// There is no whole answer.
pub(super) fn lost(op: &Op, answer: Answer, lost: Lost) -> Outcome {
    let not_applied = |error| {
        let mut outcome = Outcome::refused(op.rows(), error);
        outcome.session_usable = false;
        outcome
    };
    match lost {
        Lost::NotConnected(error) => not_applied(gone(&error.message)),
        // A block that was cut is refused, and nothing else is sent in more than one piece.
        Lost::Io {
            error,
            is_sent_whole: false,
        } => not_applied(cause(answer, &error)),
        Lost::Io { error, .. } => Outcome::unknown(cause(answer, &error)),
    }
}

/// What the server said before it left, or how it left.
fn cause(answer: Answer, error: &io::Error) -> OpError {
    if let Some(said) = answer.into_error() {
        let class = said.judge().class;
        return said.into_op_error(class);
    }
    let class = match error.kind() {
        io::ErrorKind::InvalidData => ErrorClass::Protocol,
        _ => ErrorClass::Connection,
    };
    OpError {
        class,
        ..gone(&describe(error))
    }
}

/// A whole answer came.
pub(super) fn judge(op: &Op, plan: Option<&Plan>, answer: Answer) -> Outcome {
    let (bytes, rows) = (answer.bytes, answer.rows);
    let is_insert = matches!(op.body, OpBody::Insert(_));
    let Some(error) = answer.into_error() else {
        if !is_insert {
            return Outcome::answered(rows, bytes);
        }
        if bytes == 0 {
            return Outcome::applied(op.rows());
        }
        return Outcome::unknown(OpError {
            class: ErrorClass::Protocol,
            ..gone("an insert was answered with text, which the protocol has no meaning for")
        });
    };
    let judgment = error.judge();
    let certainty = match plan {
        // Whatever became of a question, it changed nothing.
        Some(Plan::Query { reads: true, .. }) => Certainty::NotApplied,
        // Several parts, or none: one may be there.
        Some(Plan::Insert(plan)) if !plan.is_atomic && !judgment.early => Certainty::Unknown,
        _ => judgment.certainty,
    };
    let error = error.into_op_error(judgment.class);
    let mut outcome = match certainty {
        Certainty::Unknown => Outcome::unknown(error),
        Certainty::Applied | Certainty::NotApplied => Outcome::refused(op.rows(), error),
    };
    // The connection is in step after an error, too.
    outcome.session_usable = judgment.class != ErrorClass::Authentication;
    outcome.response_bytes = bytes;
    outcome
}

#[cfg(test)]
mod tests {
    use highwater_driver::contract::TargetError;
    use highwater_driver::http::Sink;
    use highwater_model::literal::LiteralSql;
    use highwater_model::op::{OpId, RowBatch};

    use super::*;
    use crate::encode::InsertPlan;

    fn op(rows: Option<usize>) -> Op {
        let batch = |rows| RowBatch {
            first_row: 0,
            rows,
            columns: Vec::new(),
        };
        Op {
            id: OpId(0),
            index: 0,
            body: rows.map_or(OpBody::Query(Vec::new()), |rows| {
                OpBody::Insert(batch(rows))
            }),
        }
    }

    fn answer(status: u16, text: &str) -> Answer {
        let mut answer = Answer::default();
        answer.status(status);
        answer.body(text.as_bytes());
        answer
    }

    fn insert(is_atomic: bool) -> Plan {
        Plan::Insert(InsertPlan {
            head: Vec::new(),
            columns: Vec::new(),
            is_atomic,
        })
    }

    fn query(reads: bool) -> Plan {
        Plan::Query {
            sql: LiteralSql::default(),
            reads,
        }
    }

    #[test]
    fn an_insert_is_applied_as_a_whole_or_not_at_all_unless_its_table_has_several_parts() {
        let judged = |is_atomic, text: &str| {
            let status = if text.is_empty() { 200 } else { 500 };
            judge(&op(Some(3)), Some(&insert(is_atomic)), answer(status, text))
        };
        let whole = judged(true, "");
        assert_eq!(
            (whole.rows_applied, whole.certainty),
            (3, Certainty::Applied)
        );
        for (code, is_atomic, certainty) in [
            (252, true, Certainty::NotApplied),
            (252, false, Certainty::Unknown),
            (60, false, Certainty::NotApplied),
            (319, true, Certainty::Unknown),
            (394, true, Certainty::Unknown),
        ] {
            let text = format!("Code: {code}, e.displayText() = DB::Exception: x\n");
            let outcome = judged(is_atomic, &text);
            assert_eq!(outcome.certainty, certainty, "{code} {is_atomic}");
            assert!(outcome.session_usable, "{code}");
            let refused = if certainty == Certainty::NotApplied {
                3
            } else {
                0
            };
            assert_eq!(outcome.rows_refused, refused, "{code}");
        }
        let odd = judge(&op(Some(3)), Some(&insert(true)), answer(200, "hello\n"));
        assert_eq!(odd.certainty, Certainty::Unknown);
    }

    #[test]
    fn an_error_behind_rows_is_one_and_a_question_changes_nothing() {
        let rows = judge(&op(None), Some(&query(true)), answer(200, "1\n2\n"));
        assert_eq!((rows.response_rows, rows.response_bytes), (2, 4));
        let text =
            "1\nCode: 159, e.displayText() = DB::Exception: Timeout, e.what() = DB::Exception\n";
        for (reads, certainty) in [(true, Certainty::NotApplied), (false, Certainty::Unknown)] {
            let outcome = judge(&op(None), Some(&query(reads)), answer(200, text));
            let error = outcome.error.unwrap();
            assert_eq!(
                (error.class, outcome.certainty),
                (ErrorClass::Timeout, certainty)
            );
        }
    }

    #[test]
    fn a_lost_connection_is_unknown_unless_the_request_did_not_leave_as_a_whole() {
        for (is_sent_whole, certainty) in
            [(true, Certainty::Unknown), (false, Certainty::NotApplied)]
        {
            let error = io::Error::from(io::ErrorKind::UnexpectedEof);
            let outcome = lost(
                &op(Some(3)),
                Answer::default(),
                Lost::Io {
                    error,
                    is_sent_whole,
                },
            );
            assert_eq!(outcome.certainty, certainty);
            assert!(!outcome.session_usable);
            assert_eq!(outcome.error.unwrap().class, ErrorClass::Connection);
        }
        let refused = Lost::NotConnected(TargetError::unreachable("refused"));
        let outcome = lost(&op(Some(3)), Answer::default(), refused);
        assert_eq!(
            (outcome.certainty, outcome.rows_refused),
            (Certainty::NotApplied, 3)
        );
    }
}
