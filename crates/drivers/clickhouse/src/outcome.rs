//! The outcome of an op, from a complete response or a lost connection. Must not do I/O.

use std::io;

use highwater_driver::failure::{broken, failed, gone, not_applied};
use highwater_model::op::{Op, OpBody};
use highwater_model::outcome::{Certainty, ErrorClass, OpError, Outcome};

use super::answer::Answer;
use super::encode::Plan;
use super::wire::Lost;

/// A value of the batch does not fit its column's type: nothing was sent.
pub(super) fn unfit(op: &Op) -> Outcome {
    let error = OpError {
        class: ErrorClass::Data,
        code: None,
        message: "a value does not fit the type of its column, where it would be another value"
            .to_owned(),
    };
    Outcome::refused(op.rows(), error)
}

/// There is no complete response.
pub(super) fn lost(op: &Op, plan: Option<&Plan>, answer: Answer, lost: Lost) -> Outcome {
    let adds_nothing = match plan {
        Some(Plan::Insert(plan)) => plan.refuses_cuts(),
        // A part of its rows may look complete.
        Some(Plan::Query { inserts: 1.., .. }) => false,
        // Everything else is sent in one piece.
        _ => true,
    };
    match lost {
        Lost::NotConnected(error) => not_applied(op, gone(&error.message)),
        Lost::Io { error, is_sent_whole: false } if adds_nothing => {
            not_applied(op, cause(answer, &error))
        }
        Lost::Io { error, .. } => Outcome::unknown(cause(answer, &error)),
    }
}

/// The server's error before the connection was lost, or how it was lost.
fn cause(answer: Answer, error: &io::Error) -> OpError {
    if let Some(said) = answer.into_error() {
        let class = said.judge().class;
        return said.into_op_error(class);
    }
    broken(error)
}

/// A complete response to a request of this many bytes.
pub(super) fn judge(op: &Op, plan: Option<&Plan>, sent: usize, answer: Answer) -> Outcome {
    let (bytes, rows) = (answer.bytes, answer.rows);
    let is_insert = matches!(op.body, OpBody::Insert(_));
    let Some(error) = answer.into_error() else {
        if !is_insert {
            let rows_applied = match plan {
                Some(Plan::Query { inserts, .. }) => *inserts,
                _ => 0,
            };
            return Outcome { rows_applied, ..Outcome::answered(rows, bytes) };
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
        // A query never changes anything.
        Some(Plan::Query { reads: true, .. }) => Certainty::NotApplied,
        // Whatever one server reports, others may have stored their rows.
        Some(Plan::Insert(plan)) if plan.is_distributed => Certainty::Unknown,
        // Several parts, or none: one may exist.
        Some(Plan::Insert(plan)) if !plan.is_whole(op.rows(), sent) && !judgment.early => {
            Certainty::Unknown
        }
        _ => judgment.certainty,
    };
    let error = error.into_op_error(judgment.class);
    let mut outcome = failed(op.rows(), certainty, error);
    // The connection is also in sync after an error.
    outcome.session_usable = judgment.class != ErrorClass::Authentication;
    outcome.response_bytes = bytes;
    outcome
}

#[cfg(test)]
mod tests {
    use highwater_driver::http::Sink;
    use highwater_model::literal::LiteralSql;
    use highwater_model::op::{OpId, RowBatch};
    use highwater_model::user_error::UserError;

    use super::*;
    use crate::encode::InsertPlan;
    use crate::insert_mode::Format;

    fn op(rows: Option<usize>) -> Op {
        let batch = |rows| RowBatch { first_row: 0, rows, columns: Vec::new() };
        Op {
            id: OpId(0),
            index: 0,
            body: rows.map_or(OpBody::Query(Vec::new()), |rows| OpBody::Insert(batch(rows))),
        }
    }

    fn answer(status: u16, text: &str) -> Answer {
        let mut answer = Answer::default();
        answer.status(status);
        answer.body(text.as_bytes());
        answer
    }

    fn insert_as(format: Format, is_atomic: bool, is_distributed: bool) -> Plan {
        Plan::Insert(InsertPlan {
            head: Vec::new(),
            columns: Vec::new(),
            format,
            is_atomic,
            is_distributed,
        })
    }

    fn insert(is_atomic: bool) -> Plan {
        insert_as(Format::Native, is_atomic, false)
    }

    fn query(reads: bool) -> Plan {
        Plan::Query { sql: LiteralSql::default(), reads, inserts: 0 }
    }

    #[test]
    fn an_insert_as_text_applies_its_rows_and_is_unknown_when_it_was_cut() {
        let plan = Plan::Query { sql: LiteralSql::default(), reads: false, inserts: 3 };
        let whole = judge(&op(None), Some(&plan), 9, answer(200, ""));
        assert_eq!((whole.rows_applied, whole.certainty), (3, Certainty::Applied));
        let cut = Lost::Io { error: io::ErrorKind::BrokenPipe.into(), is_sent_whole: false };
        let outcome = lost(&op(None), Some(&plan), Answer::default(), cut);
        assert_eq!(outcome.certainty, Certainty::Unknown);
    }

    #[test]
    fn an_insert_is_applied_as_a_whole_or_not_at_all_unless_its_table_has_several_parts() {
        let judged = |is_atomic, text: &str| {
            let status = if text.is_empty() { 200 } else { 500 };
            judge(&op(Some(3)), Some(&insert(is_atomic)), 9, answer(status, text))
        };
        let whole = judged(true, "");
        assert_eq!((whole.rows_applied, whole.certainty), (3, Certainty::Applied));
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
            let refused = if certainty == Certainty::NotApplied { 3 } else { 0 };
            assert_eq!(outcome.rows_refused, refused, "{code}");
        }
        let odd = judge(&op(Some(3)), Some(&insert(true)), 9, answer(200, "hello\n"));
        assert_eq!(odd.certainty, Certainty::Unknown);
    }

    #[test]
    fn an_error_behind_rows_is_one_and_a_question_changes_nothing() {
        let rows = judge(&op(None), Some(&query(true)), 9, answer(200, "1\n2\n"));
        assert_eq!((rows.response_rows, rows.response_bytes), (2, 4));
        let text =
            "1\nCode: 159, e.displayText() = DB::Exception: Timeout, e.what() = DB::Exception\n";
        for (reads, certainty) in [(true, Certainty::NotApplied), (false, Certainty::Unknown)] {
            let outcome = judge(&op(None), Some(&query(reads)), 9, answer(200, text));
            let error = outcome.error.unwrap();
            assert_eq!((error.class, outcome.certainty), (ErrorClass::Timeout, certainty));
        }
    }

    #[test]
    fn rows_that_come_one_by_one_are_a_whole_up_to_the_size_of_a_block() {
        let error = "Code: 27, e.displayText() = DB::Exception: x\n";
        for (format, rows, sent, certainty) in [
            (Format::Native, 5_000_000, 1 << 30, Certainty::NotApplied),
            (Format::RowBinary, 1_000_000, 1 << 20, Certainty::NotApplied),
            (Format::RowBinary, 1_000_001, 1 << 20, Certainty::Unknown),
            (Format::JsonEachRow, 1_000, 1 << 27, Certainty::Unknown),
        ] {
            let plan = insert_as(format, true, false);
            let outcome = judge(&op(Some(rows)), Some(&plan), sent, answer(500, error));
            assert_eq!(outcome.certainty, certainty, "{format:?} {rows} {sent}");
        }
    }

    #[test]
    fn of_a_batch_for_several_servers_no_error_is_certain() {
        let plan = insert_as(Format::Native, true, true);
        for (code, class) in [
            (60, ErrorClass::Statement),
            (252, ErrorClass::Rejected),
            (279, ErrorClass::Unavailable),
        ] {
            let text = format!("Code: {code}, e.displayText() = DB::Exception: x\n");
            let outcome = judge(&op(Some(3)), Some(&plan), 9, answer(500, &text));
            assert_eq!(outcome.certainty, Certainty::Unknown, "{code}");
            assert_eq!(outcome.error.unwrap().class, class, "{code}");
        }
        let whole = judge(&op(Some(3)), Some(&plan), 9, answer(200, ""));
        assert_eq!(whole.rows_applied, 3);
    }

    #[test]
    fn a_lost_connection_is_unknown_unless_half_a_request_left_and_is_none() {
        for (format, is_sent_whole, certainty) in [
            (Format::Native, true, Certainty::Unknown),
            (Format::Native, false, Certainty::NotApplied),
            // The first rows may be taken for a complete request.
            (Format::RowBinary, false, Certainty::Unknown),
            (Format::JsonEachRow, false, Certainty::Unknown),
        ] {
            let cut =
                Lost::Io { error: io::Error::from(io::ErrorKind::UnexpectedEof), is_sent_whole };
            let plan = insert_as(format, true, false);
            let outcome = lost(&op(Some(3)), Some(&plan), Answer::default(), cut);
            assert_eq!(outcome.certainty, certainty, "{format:?}");
            assert!(!outcome.session_usable);
            assert_eq!(outcome.error.unwrap().class, ErrorClass::Connection);
        }
        let refused = Lost::NotConnected(UserError::unreachable("refused"));
        let plan = insert_as(Format::RowBinary, true, false);
        let outcome = lost(&op(Some(3)), Some(&plan), Answer::default(), refused);
        assert_eq!((outcome.certainty, outcome.rows_refused), (Certainty::NotApplied, 3));
    }
}
