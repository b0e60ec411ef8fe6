//! Classifies server errors: SQLSTATE to class and certainty, and one line of text.
//!
//! The rules follow PostgreSQL's appendix "Error Codes": a statement that ends in an ERROR is rolled back. Must not
//! guess: an error without certainty is unknown.

use highwater_driver::failure::{self, ServerMessage};
use highwater_driver::network::one_line;
use highwater_driver::target_url::without_secrets;
use highwater_model::outcome::{Certainty, ErrorClass, OpError};
use highwater_model::user_error::{UserError, UserErrorKind};

/// An `ErrorResponse`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ServerError {
    /// The connection ends with it (FATAL, PANIC).
    pub(super) fatal: bool,
    /// SQLSTATE.
    pub(super) code: String,
    /// The primary message, one line, bounded. Detail and hint may contain data, and are omitted.
    pub(super) message: String,
    /// Number of characters of the statement before the error position.
    pub(super) position: Option<usize>,
}

/// Why an exchange with the server failed.
pub(super) type Failure = failure::Failure<ServerError>;

/// Why start-up failed.
pub(super) type StartUpError = failure::LoginError<ServerError>;

/// The error sent by the server instead of the expected message.
pub(super) fn server_error(body: &[u8]) -> StartUpError {
    StartUpError::Server(Failure::Server(ServerError::read(body)))
}

impl ServerError {
    /// Parses the body of an `ErrorResponse`; missing parts stay empty.
    pub(super) fn read(body: &[u8]) -> Self {
        let mut error = Self::default();
        for field in body.split(|byte| *byte == 0) {
            let Some((kind, value)) = field.split_first() else {
                continue;
            };
            match kind {
                b'V' => error.fatal = value != b"ERROR",
                // Servers older than PostgreSQL 9.6 send only the localized severity.
                b'S' => error.fatal |= value == b"FATAL" || value == b"PANIC",
                b'C' => error.code = one_line(&String::from_utf8_lossy(value)),
                b'P' => {
                    let number = std::str::from_utf8(value).ok();
                    let number = number.and_then(|text| text.parse::<usize>().ok());
                    error.position = number.and_then(|number| number.checked_sub(1));
                }
                b'M' => error.message = one_line(&String::from_utf8_lossy(value)),
                _ => {}
            }
        }
        error
    }

    /// The SQLSTATE; if the server has no error codes, the one for its text.
    fn meant(&self) -> &str {
        if self.code == NO_CODE { code_of(&self.message) } else { &self.code }
    }

    /// The class of a failed op, and its certainty.
    pub(super) fn judge(&self) -> (ErrorClass, Certainty) {
        match judge_code(self.meant()) {
            // The connection is gone: whether the server had committed is unknown.
            (class, _) if self.fatal => (class, Certainty::Unknown),
            judged => judged,
        }
    }

    /// The certainty about a transaction whose COMMIT had not been sent: nothing is stored, whatever went wrong, unless
    /// the server itself reports that it may be.
    pub(super) fn certainty_before_commit(&self) -> Certainty {
        if AMBIGUOUS.contains(&self.meant()) { Certainty::Unknown } else { Certainty::NotApplied }
    }

    /// Converts it to the error of an op.
    pub(super) fn into_op_error(self) -> OpError {
        OpError {
            class: self.judge().0,
            code: Some(self.code),
            message: without_secrets(self.message),
        }
    }
}

impl ServerMessage for ServerError {
    fn into_target_error(self, place: &str) -> UserError {
        let code = self.meant();
        let kind = match code.get(..2).unwrap_or_default() {
            "28" => UserErrorKind::Refused,
            // A full disk, no memory, more temporary data than temp_file_limit.
            "53" if matches!(code, "53100" | "53200" | "53400") => UserErrorKind::Exhausted,
            // Connections, resources, the operator, the system, and conflicts that a retry may avoid.
            "08" | "40" | "53" | "57" | "58" => UserErrorKind::Unreachable,
            _ if code == "55P03" => UserErrorKind::Unreachable,
            _ if code == "42P01" => UserErrorKind::MissingTable,
            _ if code == "3D000" || code == "42501" => UserErrorKind::Refused,
            _ => UserErrorKind::Statement,
        };
        let hint = match code {
            "28P01" => Some("check user and password: URL, PGPASSWORD or ~/.pgpass"),
            "28000" => Some(
                "the server's access rules refuse this user, database, address or kind of \
                 connection; `?sslmode=require` uses TLS, `?sslmode=disable` uses none",
            ),
            "3D000" => Some("name an existing database in the URL: `…/NAME`"),
            "42501" => Some(
                "grant the user the right, or choose another schema by `?options=-csearch_path%3DNAME`",
            ),
            "3F000" => {
                Some("create the schema, or name another by `?options=-csearch_path%3DNAME`")
            }
            "53300" => Some("use fewer sessions (`-c`), or raise max_connections"),
            "57P03" => Some("the server is starting up or shutting down; try again"),
            _ => failure_hint(code),
        };
        UserError::new(kind, format!("{place}: {} ({})", without_secrets(self.message), self.code))
            .hinted(hint)
    }

    fn position(&self) -> Option<usize> {
        self.position
    }
}

/// Advice on a code, before a load and during it, if its class does not imply it.
pub(super) fn failure_hint(code: &str) -> Option<&'static str> {
    match code {
        "25006" => Some(
            "the server is a standby, or read-only: name the primary too, with \
             `?target_session_attrs=read-write`",
        ),
        // A statement that exists on another server connection, or is missing on this one.
        "26000" | "42P05" => Some(
            "something between shares the connections of the server: connect past it, or send queries unprepared \
             (`--literals`)",
        ),
        _ => None,
    }
}

/// The result of a commit is unknown: codes of CockroachDB and of PostgreSQL.
const AMBIGUOUS: [&str; 2] = ["40003", "08007"];

/// Class and certainty of an SQLSTATE with severity ERROR.
fn judge_code(code: &str) -> (ErrorClass, Certainty) {
    use Certainty::{NotApplied, Unknown};
    let class = match code {
        code if AMBIGUOUS.contains(&code) => return (ErrorClass::Unavailable, Unknown),
        "08P01" => return (ErrorClass::Protocol, Unknown),
        "57014" => ErrorClass::Timeout,
        "53300" | "53400" => ErrorClass::Rejected,
        "40002" => ErrorClass::Constraint,
        "25006" => ErrorClass::Unavailable,
        // YugabyteDB's own code, which it sometimes sends instead of 40001.
        "55P03" | "55006" | "YB003" => ErrorClass::Conflict,
        _ => match code.get(..2).unwrap_or_default() {
            "08" => return (ErrorClass::Connection, Unknown),
            // Shutdown, start-up, failover (57); internal errors (58, XX), after which PostgreSQL rolls back but
            // compatible servers may not.
            "57" | "58" | "XX" => return (ErrorClass::Unavailable, Unknown),
            "23" | "44" => ErrorClass::Constraint,
            "21" | "22" => ErrorClass::Data,
            "28" => ErrorClass::Authentication,
            "40" => ErrorClass::Conflict,
            "53" => ErrorClass::Resource,
            _ => ErrorClass::Statement,
        },
    };
    (class, NotApplied)
}

/// The meaningless code.
pub(super) const NO_CODE: &str = "00000";

/// Parts of texts, with the SQLSTATE of their meaning.
const TEXTS: &[(&str, &str)] = &[
    // Another session is writing a table without a write-ahead log: the statement was not begun.
    ("table busy", "55P03"),
    ("inconvertible", "22000"),
    ("bad parameter value length", "22P03"),
    ("invalid UTF8 encoding", "22021"),
    ("designated timestamp", "22008"),
    ("table does not exist", "42P01"),
    ("table already exists", "42P07"),
    ("Invalid column", "42703"),
    ("unknown function name", "42883"),
    ("unexpected token", "42601"),
    ("row value count does not match", "42601"),
    ("insert statement must populate timestamp", "42601"),
    ("invalid parameter count", "42601"),
    ("statement or portal does not exist", "26000"),
    ("invalid username/password", "28P01"),
];

/// A canceled INSERT … SELECT keeps the batches that it had written, so it is not 57014.
const INTERNAL: &str = "XX000";

/// The SQLSTATE for an error's text.
pub(super) fn code_of(message: &str) -> &'static str {
    let known = TEXTS.iter().find(|(part, _)| message.contains(part));
    known.map_or(INTERNAL, |(_, code)| *code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(severity: &str, code: &str) -> ServerError {
        let body = format!("S{severity}\0V{severity}\0C{code}\0Mwords\non two lines\0Dsecret\0\0");
        ServerError::read(body.as_bytes())
    }

    #[test]
    fn a_statement_without_room_is_no_absence_and_too_many_clients_are() {
        for (code, kind) in [
            ("53100", UserErrorKind::Exhausted),
            ("53200", UserErrorKind::Exhausted),
            ("53400", UserErrorKind::Exhausted),
            ("53300", UserErrorKind::Unreachable),
        ] {
            let found = error("ERROR", code).into_target_error("h").kind;
            assert_eq!(found, kind, "{code}");
        }
    }

    #[test]
    fn advice_follows_the_cause_before_a_load_and_during_it() {
        for (code, advice) in [
            ("25006", Some("target_session_attrs=read-write")),
            ("26000", Some("--literals")),
            ("42P05", Some("--literals")),
            // By their class: see `judge`.
            ("40001", None),
            ("42883", None),
        ] {
            let before = error("ERROR", code).into_target_error("h").hint;
            assert_eq!(before.as_deref(), failure_hint(code), "{code}");
            let is_it = |hint: String| advice.is_some_and(|advice| hint.contains(advice));
            assert_eq!(before.is_some_and(is_it), advice.is_some(), "{code}");
        }
    }

    #[test]
    fn sqlstates_become_classes_and_certainties() {
        use Certainty::{NotApplied, Unknown};
        for (code, class, certainty) in [
            ("23505", ErrorClass::Constraint, NotApplied),
            ("22003", ErrorClass::Data, NotApplied),
            ("42P01", ErrorClass::Statement, NotApplied),
            ("40001", ErrorClass::Conflict, NotApplied),
            ("40P01", ErrorClass::Conflict, NotApplied),
            ("YB003", ErrorClass::Conflict, NotApplied),
            ("40003", ErrorClass::Unavailable, Unknown),
            ("53100", ErrorClass::Resource, NotApplied),
            ("53200", ErrorClass::Resource, NotApplied),
            ("53300", ErrorClass::Rejected, NotApplied),
            ("57014", ErrorClass::Timeout, NotApplied),
            ("57P01", ErrorClass::Unavailable, Unknown),
            ("28P01", ErrorClass::Authentication, NotApplied),
            ("XX000", ErrorClass::Unavailable, Unknown),
            ("", ErrorClass::Statement, NotApplied),
        ] {
            assert_eq!(error("ERROR", code).judge(), (class, certainty), "{code}");
        }
    }

    #[test]
    fn after_a_fatal_error_nothing_is_certain() {
        assert_eq!(error("FATAL", "57014").judge().1, Certainty::Unknown);
        assert!(error("PANIC", "XX000").fatal);
    }

    #[test]
    fn messages_are_one_line_without_detail() {
        assert_eq!(error("ERROR", "22000").message, "words on two lines");
    }

    fn without_code(message: &str) -> ServerError {
        // As it arrives: without `V`, the non-localized severity.
        ServerError::read(format!("C00000\0M{message}\0SERROR\0P1\0\0").as_bytes())
    }

    #[test]
    fn a_text_can_be_more_specific_than_its_code() {
        use Certainty::{NotApplied, Unknown};
        for (message, class, certainty) in [
            ("table busy [reason=insert]", ErrorClass::Conflict, NotApplied),
            (
                "inconvertible value: `nonsense` [STRING -> TIMESTAMP] tuple: 2",
                ErrorClass::Data,
                NotApplied,
            ),
            ("designated timestamp column cannot be NULL", ErrorClass::Data, NotApplied),
            ("[-105] table does not exist [table=e1]", ErrorClass::Statement, NotApplied),
            ("Invalid column: s", ErrorClass::Statement, NotApplied),
            ("cancelled by user", ErrorClass::Unavailable, Unknown),
            ("could not write, no space left", ErrorClass::Unavailable, Unknown),
            ("", ErrorClass::Unavailable, Unknown),
        ] {
            assert_eq!(without_code(message).judge(), (class, certainty), "{message}");
        }
    }

    #[test]
    fn errors_before_a_load_have_a_kind_and_a_hint() {
        let refused = without_code("invalid username/password").into_target_error("h");
        assert_eq!(refused.kind, UserErrorKind::Refused);
        assert!(refused.hint.is_some_and(|hint| hint.contains("PGPASSWORD")));
        let missing = without_code("table does not exist [table=t]").into_target_error("h");
        assert_eq!(missing.kind, UserErrorKind::MissingTable);
        let busy = without_code("table busy [reason=insert]").into_target_error("h");
        assert_eq!(busy.kind, UserErrorKind::Unreachable);
    }
}
