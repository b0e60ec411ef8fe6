//! Classifies server errors: error code to class and certainty, one line of text, and the outcome of an op, from a
//! complete response or a lost connection.
//!
//! The table is that of `docs/reference/clickhouse.md`, tested on ClickHouse 18.16 unless noted there. It applies to
//! one block for one part: an error before its part exists has added nothing. HTTP's status is 500 for nearly all
//! errors, so the code decides. Must not guess: an error that is not listed is unknown.

use std::io;

use highwater_driver::failure::{ServerMessage, broken, failed, gone, not_applied};
use highwater_driver::network::one_line;
use highwater_driver::target_url::without_secrets;
use highwater_model::op::{Op, OpBody};
use highwater_model::outcome::{Certainty, ErrorClass, OpError, Outcome};
use highwater_model::user_error::{UserError, UserErrorKind};

use super::answer::Answer;
use super::encode::Plan;
use super::wire::Lost;

/// An error response of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerError {
    /// HTTP status.
    pub(super) status: u16,
    /// The server's error code; 0 if none was found.
    pub(super) code: u32,
    /// The message, one line, bounded.
    pub(super) message: String,
}

/// The meaning of a server error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Judgment {
    class: ErrorClass,
    certainty: Certainty,
    /// It is raised before the first row is written, for any table.
    early: bool,
}

impl ServerError {
    /// Parses the text of a response: `Code: 60, e.displayText() = …` or `Code: 60. DB::Exception: …`. Nested errors
    /// also have codes: the first one counts.
    pub(super) fn read(status: u16, code: Option<u32>, text: &str) -> Self {
        let behind = text.trim_start().strip_prefix("Code: ");
        let digits = behind.map(|behind| {
            let end = behind.find(|c: char| !c.is_ascii_digit());
            behind.split_at(end.unwrap_or(behind.len()))
        });
        let named = digits
            .filter(|(_, rest)| rest.starts_with([',', '.']))
            .and_then(|(digits, _)| digits.parse().ok());
        let text = one_line(text);
        Self {
            status,
            code: named.or(code).unwrap_or(0),
            message: if text.is_empty() { format!("HTTP {status} without a reason") } else { text },
        }
    }

    /// The error's class, and the certainty about its request.
    pub(super) fn judge(&self) -> Judgment {
        match self.code {
            0 => judge_status(self.status),
            code => judge_code(code),
        }
    }

    /// Converts it to the error of an op.
    fn into_op_error(self, class: ErrorClass) -> OpError {
        OpError {
            class,
            code: Some(if self.code == 0 {
                format!("HTTP {}", self.status)
            } else {
                self.code.to_string()
            }),
            message: without_secrets(self.message),
        }
    }
}

impl ServerMessage for ServerError {
    fn into_target_error(self, place: &str) -> UserError {
        use ErrorClass::{Authentication, Conflict, Connection, Rejected, Resource, Unavailable};
        let kind = match (self.code, self.judge().class) {
            (60, _) => UserErrorKind::MissingTable,
            (81 | 164 | 497, _) | (_, Authentication) => UserErrorKind::Refused,
            // Also limits of a user's settings (rows, bytes, or either), and no memory from the system.
            (158 | 173 | 307 | 396, _) | (_, Resource) => UserErrorKind::Exhausted,
            (_, Conflict | Connection | Rejected | Unavailable) => UserErrorKind::Unreachable,
            _ => UserErrorKind::Statement,
        };
        let hint = match self.code {
            192..=194 | 516 => Some("check user and password: the URL, or CLICKHOUSE_PASSWORD"),
            81 => Some("create the database: the URL names it as `…/NAME`"),
            164 | 497 => Some("grant the user the right"),
            0 => Some("give ClickHouse's HTTP port (mostly 8123, with TLS 8443)"),
            _ => None,
        };
        UserError::new(kind, format!("{place}: {}", without_secrets(self.message))).hinted(hint)
    }
}

const fn refused(class: ErrorClass) -> Judgment {
    Judgment { class, certainty: Certainty::NotApplied, early: false }
}

const fn early(class: ErrorClass) -> Judgment {
    Judgment { early: true, ..refused(class) }
}

const fn unknown(class: ErrorClass) -> Judgment {
    Judgment { certainty: Certainty::Unknown, ..refused(class) }
}

/// Syntax; missing or wrong names, functions, and types; settings; read-only violations.
const STATEMENT: &[u32] = &[
    16, 20, 36, 42, 43, 44, 46, 47, 48, 50, 53, 57, 60, 62, 63, 70, 71, 73, 80, 81, 115, 116, 164,
    174, 179, 181, 184, 215, 352, 368, 386, 497,
];

/// Class and certainty of an error code.
fn judge_code(code: u32) -> Judgment {
    match code {
        code if STATEMENT.contains(&code) => early(ErrorClass::Statement),
        192..=194 | 516 => early(ErrorClass::Authentication),
        // Too many queries, too many parts of the table, an unfinished insert with a quorum: wait.
        202 => early(ErrorClass::Rejected),
        252 | 286 => refused(ErrorClass::Rejected),
        // Values that cannot be parsed, or do not fit their column.
        6 | 10 | 25..=27 | 32 | 33 | 38 | 41 | 69 | 72 | 117 | 130 | 131 | 190 | 321 | 349 => {
            refused(ErrorClass::Data)
        }
        // A full disk, no memory left.
        75 | 241 | 243 => refused(ErrorClass::Resource),
        // A temporarily read-only table, too few replicas.
        242 | 285 => refused(ErrorClass::Unavailable),
        // Timeout, too slow, killed: written rows remain.
        159 | 160 | 394 => unknown(ErrorClass::Timeout),
        209 | 210 => unknown(ErrorClass::Connection),
        // Includes 319, an insert with an unknown quorum, and 279 and 999.
        _ => unknown(ErrorClass::Unavailable),
    }
}

/// The same for a response without a ClickHouse error.
fn judge_status(status: u16) -> Judgment {
    match status {
        401 | 403 => early(ErrorClass::Authentication),
        400 | 404 | 405 | 411 | 413..=415 | 501 => early(ErrorClass::Statement),
        429 => early(ErrorClass::Rejected),
        _ => unknown(ErrorClass::Unavailable),
    }
}

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
    use crate::plan::Format;

    /// The lines of `docs/reference/clickhouse.md`.
    #[test]
    fn numbers_become_classes_and_certainties() {
        use Certainty::{NotApplied, Unknown};
        use ErrorClass::{
            Authentication, Connection, Data, Rejected, Resource, Statement, Timeout, Unavailable,
        };
        for (codes, class, certainty) in [
            (&[16, 47, 60, 62, 73, 81, 115, 164, 497][..], Statement, NotApplied),
            (&[192, 193, 194, 516], Authentication, NotApplied),
            (&[202, 252, 286], Rejected, NotApplied),
            (&[27, 33, 117, 321], Data, NotApplied),
            (&[75, 241, 243], Resource, NotApplied),
            (&[242, 285], Unavailable, NotApplied),
            (&[159, 160, 394], Timeout, Unknown),
            (&[209, 210], Connection, Unknown),
            (&[279, 319, 999, 12_345], Unavailable, Unknown),
        ] {
            for code in codes {
                let text = format!("Code: {code}, e.displayText() = DB::Exception: x");
                let judgment = ServerError::read(500, None, &text).judge();
                assert_eq!((judgment.class, judgment.certainty), (class, certainty), "{code}");
            }
        }
    }

    #[test]
    fn only_errors_raised_before_a_row_is_written_are_early() {
        for (code, is_early) in [(60, true), (193, true), (202, true), (252, false), (241, false)] {
            assert_eq!(judge_code(code).early, is_early, "{code}");
        }
    }

    #[test]
    fn without_a_number_the_status_decides() {
        for (status, class, certainty) in [
            (400, ErrorClass::Statement, Certainty::NotApplied),
            (401, ErrorClass::Authentication, Certainty::NotApplied),
            (429, ErrorClass::Rejected, Certainty::NotApplied),
            (500, ErrorClass::Unavailable, Certainty::Unknown),
            (503, ErrorClass::Unavailable, Certainty::Unknown),
            (200, ErrorClass::Unavailable, Certainty::Unknown),
        ] {
            let judgment = ServerError::read(status, None, "<html>").judge();
            assert_eq!((judgment.class, judgment.certainty), (class, certainty), "{status}");
        }
    }

    #[test]
    fn the_first_number_of_the_text_counts() {
        for (text, code) in [
            ("Code: 60, e.displayText() = x", 60),
            ("Code: 27. DB::Exception: Code: 6. x", 27),
            ("Code: 27 and more", 0),
            ("Code: , x", 0),
            ("x Code: 5, y", 0),
            ("", 0),
        ] {
            assert_eq!(ServerError::read(500, None, text).code, code, "{text}");
        }
        assert_eq!(ServerError::read(400, None, "").message, "HTTP 400 without a reason");
    }

    #[test]
    fn a_target_error_has_the_kind_that_decides_the_exit_code() {
        for (code, kind) in [
            (193, UserErrorKind::Refused),
            (81, UserErrorKind::Refused),
            (60, UserErrorKind::MissingTable),
            (62, UserErrorKind::Statement),
            (202, UserErrorKind::Unreachable),
            (999, UserErrorKind::Unreachable),
            (241, UserErrorKind::Exhausted),
            (243, UserErrorKind::Exhausted),
            (158, UserErrorKind::Exhausted),
        ] {
            let text = format!("Code: {code}, e.displayText() = x");
            let error = ServerError::read(500, None, &text).into_target_error("x");
            assert_eq!(error.kind, kind, "{code}");
        }
    }

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
    fn an_insert_is_atomic_unless_its_table_has_several_parts() {
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
    fn an_error_after_rows_is_an_error_and_a_query_changes_nothing() {
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
    fn rows_sent_one_by_one_are_atomic_up_to_the_size_of_a_block() {
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
