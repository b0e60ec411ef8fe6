//! Classifies server errors: error number to class and certainty, and one line of text.
//!
//! The table is that of `docs/reference/mariadb.md`, tested on MariaDB 10.11 unless noted there. Must not guess: an
//! error that is not listed is unknown.

use highwater_model::outcome::{Certainty, ErrorClass, OpError};

use super::wire::Reader;
use highwater_driver::failure::{self, ServerMessage};
use highwater_driver::network::one_line;
use highwater_driver::target_url::without_secrets;
use highwater_model::user_error::{UserError, UserErrorKind};

/// An error packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerError {
    /// The server's error number.
    pub(super) code: u16,
    /// The message, one line, bounded.
    pub(super) message: String,
    /// It arrived before any request: the server had already closed the connection.
    pub(super) unsolicited: bool,
}

/// Why an exchange with the server failed.
pub(super) type Failure = failure::Failure<ServerError>;

/// The meaning of a server error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Judgment {
    pub(super) class: ErrorClass,
    pub(super) certainty: Certainty,
    /// The connection must not be reused: the server closes it, or keeps a transaction open in it.
    pub(super) closes: bool,
}

impl ServerError {
    /// Parses an error packet, with or without an SQLSTATE; missing parts stay empty.
    pub(super) fn read(sequence: u8, payload: &[u8]) -> Self {
        let mut reader = Reader(payload);
        let code = reader.bytes(1).and_then(|_| reader.number(2));
        let text = match reader.0 {
            [b'#', state_and_text @ ..] => state_and_text.get(5..).unwrap_or_default(),
            text => text,
        };
        Self {
            code: code.and_then(|code| u16::try_from(code).ok()).unwrap_or(0),
            message: one_line(&String::from_utf8_lossy(text)),
            unsolicited: sequence == 0,
        }
    }

    /// The class of a failed statement outside a transaction, or of a failed COMMIT, and its certainty.
    pub(super) fn judge(&self) -> Judgment {
        let mut judgment = judge_code(self.code);
        if self.is_too_large() {
            judgment = refused(ErrorClass::Resource);
        }
        if self.unsolicited {
            judgment.certainty = Certainty::NotApplied;
            judgment.closes = true;
        }
        judgment
    }

    /// A transaction larger than Galera may replicate. Its numbers are shared by every error during COMMIT (1180) and
    /// by every error without its own number (1105), whose effect is unknown.
    fn is_too_large(&self) -> bool {
        let says = |words| self.message.contains(words);
        match self.code {
            1105 => says("Maximum writeset size exceeded"),
            1180 => says("wsrep_max_ws_rows exceeded"),
            _ => false,
        }
    }

    /// An error that arrived instead of a response.
    pub(super) fn failure(sequence: u8, payload: &[u8]) -> Failure {
        Failure::Server(Self::read(sequence, payload))
    }

    /// Converts it to the error of an op.
    pub(super) fn into_op_error(self, class: ErrorClass) -> OpError {
        OpError { class, code: Some(self.code.to_string()), message: without_secrets(self.message) }
    }
}

impl ServerMessage for ServerError {
    fn into_target_error(self, place: &str) -> UserError {
        use ErrorClass::{Authentication, Conflict, Connection, Rejected, Resource, Unavailable};
        let kind = match (self.code, judge_code(self.code).class) {
            (1146, _) => UserErrorKind::MissingTable,
            // Sessions hold their statements for as long as they live: none becomes free while they work.
            (1461, _) => UserErrorKind::Statement,
            (1049 | 1142 | 1143 | 1227 | 1044, _) | (_, Authentication) => UserErrorKind::Refused,
            // Also no space for a temporary file (3, and MariaDB's limits on them), and TiDB's memory quotas.
            (3 | 200 | 201 | 8175 | 8176, _) | (_, Resource) => UserErrorKind::Exhausted,
            (_, Conflict | Connection | Rejected | Unavailable) => UserErrorKind::Unreachable,
            _ => UserErrorKind::Statement,
        };
        let hint = match self.code {
            1045 => Some(
                "check user and password: URL, MYSQL_PWD or the section [client] of ~/.my.cnf; an \
                 account is of a user and a host, and `''@localhost` comes before `user@'%'`",
            ),
            1698 => Some("this account is for a user of the machine: connect by `?socket=PATH`"),
            1044 | 1049 => Some("create the database, and grant the user its use: `…/NAME`"),
            1142 | 1143 | 1227 => Some("grant the user the right"),
            1040 | 1203 | 1226 => {
                Some("use fewer sessions (`-c`), or raise max_connections of server or account")
            }
            3159 => Some("`?sslmode=require` uses TLS"),
            code => failure_hint(code),
        };
        UserError::new(kind, format!("{place}: {} ({})", without_secrets(self.message), self.code))
            .hinted(hint)
    }
}

/// Advice on an error number, before a load and during it, if its class does not imply it.
pub(super) fn failure_hint(code: u16) -> Option<&'static str> {
    match code {
        1461 => Some(
            "send queries unprepared (`--literals`) and rows by `--insert values`, use fewer sessions (`-c`), or raise \
             max_prepared_stmt_count",
        ),
        // A statement that a proxy does not know, or that cannot be prepared.
        1243 | 1295 => {
            Some("send queries unprepared (`--literals`), and rows by `--insert values`")
        }
        1290 | 1792 | 1836 => Some(
            "the server, or the user's transactions, are read-only: name a host that takes writes",
        ),
        _ => None,
    }
}

fn refused(class: ErrorClass) -> Judgment {
    Judgment { class, certainty: Certainty::NotApplied, closes: false }
}

/// Missing or wrong names, syntax, privileges, too many parameters, disabled LOAD DATA LOCAL, a read-only transaction.
const STATEMENT: &[u16] = &[
    1046, 1049, 1050, 1051, 1052, 1054, 1055, 1064, 1065, 1066, 1072, 1091, 1103, 1109, 1110, 1111,
    1142, 1143, 1146, 1148, 1149, 1193, 1210, 1227, 1243, 1247, 1248, 1295, 1305, 1390, 1792, 3948,
    4166,
];

/// Class and certainty of an error number.
fn judge_code(code: u16) -> Judgment {
    let closed = |class| Judgment { closes: true, ..refused(class) };
    let unknown = |class| Judgment { class, certainty: Certainty::Unknown, closes: true };
    match code {
        // A duplicate, null, foreign keys, checks (MySQL's is 3819).
        1022 | 1048 | 1062 | 1169 | 1216 | 1217 | 1451 | 1452 | 1557 | 1586 | 1761 | 1762
        | 3819 | 4025 => refused(ErrorClass::Constraint),
        // A value that does not fit its column, or has no partition.
        1136 | 1264 | 1265 | 1292 | 1300 | 1364 | 1366 | 1406 | 1411 | 1416 | 1526 | 1690
        | 3140 | 3141 | 3143 | 4038 => refused(ErrorClass::Data),
        code if STATEMENT.contains(&code) => refused(ErrorClass::Statement),
        // Longer than max_allowed_packet: the server closes the connection.
        1153 => closed(ErrorClass::Statement),
        1044 | 1045 | 1130 | 1251 | 1524 | 1698 | 1820 | 1862 | 3118 | 3159 => {
            closed(ErrorClass::Authentication)
        }
        1040 | 1203 | 1226 => closed(ErrorClass::Rejected),
        // A lock timeout, a deadlock, or a failed certification; TiDB's 8002 to 8147, according to its documentation.
        1205 | 1213 | 3572 | 8002 | 8005 | 8022 | 8028 | 8141 | 8147 => {
            refused(ErrorClass::Conflict)
        }
        // Killed, or timed out.
        1317 | 1969 | 3024 => refused(ErrorClass::Timeout),
        // A full disk; TiDB's oversized transactions, according to its documentation.
        1114 | 8004 | 8025 => refused(ErrorClass::Resource),
        // More prepared statements than max_prepared_stmt_count.
        1461 => refused(ErrorClass::Rejected),
        // A read-only server or transaction.
        1290 | 1836 => refused(ErrorClass::Unavailable),
        // A node that lost its cluster. At COMMIT the transaction stays open, and the next command on the connection
        // would commit it: so the connection is closed. See `transaction`.
        1047 => closed(ErrorClass::Unavailable),
        1152 | 1158..=1161 | 1184 => unknown(ErrorClass::Connection),
        1021 | 1037 | 1038 | 1041 => unknown(ErrorClass::Resource),
        1156 | 1157 | 1835 => unknown(ErrorClass::Protocol),
        // Includes 1180, an error during COMMIT, and 1053, 1927, and 4031, a server shutdown.
        _ => unknown(ErrorClass::Unavailable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: u16) -> ServerError {
        let [a, b] = code.to_le_bytes();
        ServerError::read(1, &[&[0xff, a, b][..], b"#23000words\non two lines"].concat())
    }

    /// The lines of `docs/reference/mariadb.md`.
    #[test]
    fn numbers_become_classes_and_certainties() {
        use Certainty::{NotApplied, Unknown};
        use ErrorClass::{
            Authentication, Conflict, Connection, Constraint, Data, Rejected, Resource, Statement,
            Timeout, Unavailable,
        };
        for (codes, class, certainty, closes) in [
            (&[1062, 1048, 1452, 4025][..], Constraint, NotApplied, false),
            (&[1264, 1265, 1292, 1364, 1366, 1406, 1690], Data, NotApplied, false),
            (&[1146, 1054, 1064, 1142, 1227, 1390, 1210, 1295, 4166], Statement, NotApplied, false),
            (&[1153], Statement, NotApplied, true),
            (&[1044, 1045, 1698], Authentication, NotApplied, true),
            (&[1461], Rejected, NotApplied, false),
            (&[1040, 1203, 1226], Rejected, NotApplied, true),
            (&[1205, 1213], Conflict, NotApplied, false),
            (&[1317, 1969, 3024], Timeout, NotApplied, false),
            (&[1290], Unavailable, NotApplied, false),
            (&[1792], Statement, NotApplied, false),
            (&[1114], Resource, NotApplied, false),
            (&[1047], Unavailable, NotApplied, true),
            (&[1180, 1053, 1927, 9001, 1105, 12345], Unavailable, Unknown, true),
            (&[1159, 1184], Connection, Unknown, true),
            (&[1021], Resource, Unknown, true),
        ] {
            for code in codes {
                let expected = Judgment { class, certainty, closes };
                assert_eq!(error(*code).judge(), expected, "{code}");
            }
        }
    }

    #[test]
    fn an_error_has_an_sqlstate_or_none_and_one_line() {
        assert_eq!(error(1062).message, "words on two lines");
        let early = ServerError::read(0, b"\xff\x10\x04Too many connections");
        assert_eq!((early.code, early.message.as_str()), (1040, "Too many connections"));
        assert_eq!(ServerError::read(1, b"\xff").code, 0);
    }

    #[test]
    fn a_transaction_that_is_too_large_to_be_replicated_is_known_by_its_words() {
        use Certainty::{NotApplied, Unknown};
        for (code, words, certainty, closes) in [
            (1105, "Maximum writeset size exceeded", NotApplied, false),
            (1180, "wsrep_max_ws_rows exceeded", NotApplied, false),
            (1180, "Got error 6 \"No such device or address\" during COMMIT", Unknown, true),
            (1105, "Unknown error", Unknown, true),
        ] {
            let [a, b] = u16::to_le_bytes(code);
            let packet = [&[0xff, a, b][..], b"#HY000", words.as_bytes()].concat();
            let judgment = ServerError::read(1, &packet).judge();
            assert_eq!((judgment.certainty, judgment.closes), (certainty, closes), "{words}");
        }
    }

    #[test]
    fn an_error_before_the_request_changed_nothing() {
        let unsolicited = ServerError::read(0, b"\xff\xbf\x0f#HY000idle for too long");
        let judgment = unsolicited.judge();
        assert_eq!((judgment.certainty, judgment.closes), (Certainty::NotApplied, true));
        assert_eq!(
            ServerError::read(3, b"\xff\xbf\x0f#HY000").judge().certainty,
            Certainty::Unknown
        );
    }

    #[test]
    fn a_target_error_has_the_kind_that_decides_the_exit_code() {
        for (code, kind) in [
            (1045, UserErrorKind::Refused),
            (1049, UserErrorKind::Refused),
            (1146, UserErrorKind::MissingTable),
            (1064, UserErrorKind::Statement),
            (1040, UserErrorKind::Unreachable),
            (1213, UserErrorKind::Unreachable),
            (3, UserErrorKind::Exhausted),
            (1021, UserErrorKind::Exhausted),
            (1114, UserErrorKind::Exhausted),
        ] {
            assert_eq!(error(code).into_target_error("x").kind, kind, "{code}");
        }
    }
}
