//! Classifies server errors: error code to class and certainty, and one line of text.
//!
//! The table is that of `docs/reference/clickhouse.md`, tested on ClickHouse 18.16 unless noted there. It applies to
//! one block for one part: an error before its part exists has added nothing. HTTP's status is 500 for nearly all
//! errors, so the code decides. Must not guess: an error that is not listed is unknown.

use highwater_driver::failure::ServerMessage;
use highwater_driver::network::one_line;
use highwater_driver::redaction::without_secrets;
use highwater_model::outcome::{Certainty, ErrorClass, OpError};
use highwater_model::user_error::{UserError, UserErrorKind};

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
    pub(super) class: ErrorClass,
    pub(super) certainty: Certainty,
    /// It is raised before the first row is written, for any table.
    pub(super) early: bool,
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
    pub(super) fn into_op_error(self, class: ErrorClass) -> OpError {
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn only_what_is_decided_before_a_row_is_written_is_early() {
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
}
