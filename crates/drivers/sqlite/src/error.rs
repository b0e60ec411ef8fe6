//! Converts SQLite's errors to terms common to all targets.

use std::path::Path;

use highwater_model::outcome::{ErrorClass, OpError};
use rusqlite::{Error, ErrorCode};

use highwater_model::user_error::RefusedStatement;
use highwater_model::user_error::{UserError, UserErrorKind};

/// Maximum bytes kept of a message.
const MESSAGE_LIMIT: usize = 300;

/// The error of an op.
pub(super) fn op_error(error: &Error) -> OpError {
    let (class, code) = match (error.sqlite_error(), error) {
        (Some(failure), _) => {
            let (class, name) = class_and_name(failure.code);
            // The extended result code, as in `SQLITE_CONSTRAINT (1555)`.
            (class, Some(format!("{name} ({})", failure.extended_code)))
        }
        (None, Error::Utf8Error(..) | Error::ToSqlConversionFailure(_) | Error::NulError(_)) => {
            (ErrorClass::Data, None)
        }
        (None, _) => (ErrorClass::Statement, None),
    };
    OpError { class, code, message: message_of(error) }
}

/// The driver's own error for an op that does not fit the session.
pub(super) fn misfit(class: ErrorClass, message: impl Into<String>) -> OpError {
    OpError { class, code: None, message: message.into() }
}

/// Whether the statement may have been applied although it failed.
///
/// Only an error below SQLite leaves this open: the frames of a commit may be in the log when the call that makes them
/// durable fails.
pub(super) fn is_unclear(error: &Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::SystemIoFailure
                | ErrorCode::DatabaseCorrupt
                | ErrorCode::InternalMalfunction
                | ErrorCode::OperationInterrupted
        )
    )
}

/// The class of an error, and the name of its primary result code.
fn class_and_name(code: ErrorCode) -> (ErrorClass, &'static str) {
    match code {
        ErrorCode::ConstraintViolation => (ErrorClass::Constraint, "SQLITE_CONSTRAINT"),
        ErrorCode::DatabaseBusy => (ErrorClass::Conflict, "SQLITE_BUSY"),
        ErrorCode::DatabaseLocked => (ErrorClass::Conflict, "SQLITE_LOCKED"),
        ErrorCode::FileLockingProtocolFailed | ErrorCode::SchemaChanged => {
            (ErrorClass::Conflict, "SQLITE_ERROR")
        }
        ErrorCode::DiskFull => (ErrorClass::Resource, "SQLITE_FULL"),
        ErrorCode::OutOfMemory => (ErrorClass::Resource, "SQLITE_NOMEM"),
        ErrorCode::SystemIoFailure => (ErrorClass::Resource, "SQLITE_IOERR"),
        ErrorCode::TypeMismatch => (ErrorClass::Data, "SQLITE_MISMATCH"),
        ErrorCode::TooBig => (ErrorClass::Data, "SQLITE_TOOBIG"),
        ErrorCode::OperationInterrupted => (ErrorClass::Timeout, "SQLITE_INTERRUPT"),
        ErrorCode::CannotOpen => (ErrorClass::Connection, "SQLITE_CANTOPEN"),
        ErrorCode::DatabaseCorrupt => (ErrorClass::Protocol, "SQLITE_CORRUPT"),
        ErrorCode::NotADatabase => (ErrorClass::Protocol, "SQLITE_NOTADB"),
        ErrorCode::InternalMalfunction => (ErrorClass::Protocol, "SQLITE_ERROR"),
        ErrorCode::ReadOnly => (ErrorClass::Statement, "SQLITE_READONLY"),
        _ => (ErrorClass::Statement, "SQLITE_ERROR"),
    }
}

/// SQLite's message: one line, bounded, without the statement.
pub(super) fn message_of(error: &Error) -> String {
    let text = match error {
        Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    };
    let mut line = text.replace(char::is_control, " ");
    line.truncate(line.floor_char_boundary(MESSAGE_LIMIT));
    line
}

/// A statement of the workload could not be prepared; with SQLite's message.
pub(super) fn preparation_error(what: &str, place: RefusedStatement, error: &Error) -> UserError {
    let position = match error {
        // Without a position, the offset is negative.
        Error::SqlInputError { sql, offset, .. } => {
            usize::try_from(*offset).ok().and_then(|at| Some(sql.get(..at)?.chars().count()))
        }
        _ => None,
    };
    statement_error(what, error).about(RefusedStatement { position, ..place })
}

/// A statement that the run needs was rejected.
pub(super) fn statement_error(what: &str, error: &Error) -> UserError {
    let message = format!("{what}: {}", message_of(error));
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            UserError::unreachable(message).with_hint(
                "another program holds the file; wait for it, or raise the URL's `?busy_timeout=`",
            )
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => UserError::refused(message),
        _ => UserError::statement(message),
    }
}

/// The file could not be opened or initialized.
pub(super) fn opening_error(path: &Path, error: &Error) -> UserError {
    use UserErrorKind::{Refused, Unreachable};
    let shown = path.display();
    let cause = format!("cannot be opened: {}", message_of(error));
    let (kind, cause, hint) = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => (
            Unreachable,
            "is not a SQLite database",
            "name another file; Highwater does not overwrite one that it cannot read",
        ),
        Some(ErrorCode::DatabaseCorrupt) => (Unreachable, "is damaged", "name another file"),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => (
            Refused,
            "cannot be written",
            "the file and its directory must be writable: SQLite puts its log beside the file",
        ),
        Some(ErrorCode::CannotOpen) => (
            Refused,
            "cannot be opened",
            "the file must be a plain file, and its directory readable and writable",
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            Unreachable,
            "is locked by another program",
            "wait for the other program, or raise the URL's `?busy_timeout=` (milliseconds)",
        ),
        Some(ErrorCode::DiskFull) => {
            (Unreachable, "has no space on its disk", "free some, or name a file on another disk")
        }
        _ => (Unreachable, cause.as_str(), "name another file: `sqlite:PATH`"),
    };
    UserError::new(kind, format!("`{shown}` {cause}")).with_hint(hint)
}
