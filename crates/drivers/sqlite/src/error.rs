//! SQLite's errors in words that mean the same for every target.

use std::path::Path;

use highwater_model::outcome::{ErrorClass, OpError};
use rusqlite::{Error, ErrorCode};

use highwater_driver::RefusedStatement;
use highwater_driver::contract::{TargetError, TargetErrorKind};

/// Bytes of a message that are kept.
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
    OpError {
        class,
        code,
        message: message_of(error),
    }
}

/// An error of ours about an op that does not fit the session.
pub(super) fn misfit(class: ErrorClass, message: impl Into<String>) -> OpError {
    OpError {
        class,
        code: None,
        message: message.into(),
    }
}

/// Whether the statement may have been applied although it failed.
///
/// Only an error below SQLite says so little: the frames of a commit may be in the log when the
/// call that makes them durable fails.
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

/// SQLite's own words: one line, bounded, without the statement.
pub(super) fn message_of(error: &Error) -> String {
    let text = match error {
        Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    };
    let mut line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if line.len() > MESSAGE_LIMIT {
        let cut = (0..=MESSAGE_LIMIT)
            .rev()
            .find(|i| line.is_char_boundary(*i));
        line.truncate(cut.unwrap_or(0));
    }
    line
}

/// A statement of the workload that was not prepared, and where it is wrong.
pub(super) struct PreparationError {
    pub(super) error: TargetError,
    /// Characters of the statement before that place.
    pub(super) position: Option<usize>,
}

impl PreparationError {
    /// In SQLite's words.
    pub(super) fn new(what: &str, error: &Error) -> Self {
        let position = match error {
            // Without a place, the offset is negative.
            Error::SqlInputError { sql, offset, .. } => usize::try_from(*offset)
                .ok()
                .and_then(|at| Some(sql.get(..at)?.chars().count())),
            _ => None,
        };
        Self {
            error: statement_error(what, error),
            position,
        }
    }

    /// As the reason why a workload cannot run on the target.
    pub(super) fn into_target_error(self, op: usize, statement: usize) -> TargetError {
        self.error.about(RefusedStatement {
            op,
            statement,
            position: self.position,
        })
    }
}

/// A statement that the run needs was refused.
pub(super) fn statement_error(what: &str, error: &Error) -> TargetError {
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => TargetErrorKind::Unreachable,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => TargetErrorKind::Refused,
        _ => TargetErrorKind::Statement,
    };
    let error = TargetError::new(kind, format!("{what}: {}", message_of(error)));
    match kind {
        TargetErrorKind::Unreachable => error.with_hint(
            "another program holds the file; wait for it, or raise the URL's `?busy_timeout=`",
        ),
        _ => error,
    }
}

/// The file could not be opened or set up.
pub(super) fn opening_error(path: &Path, error: &Error) -> TargetError {
    let shown = path.display();
    let (kind, cause, hint) = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => (
            TargetErrorKind::Unreachable,
            "is not a SQLite database".to_owned(),
            "name another file; Highwater does not overwrite one that it cannot read",
        ),
        Some(ErrorCode::DatabaseCorrupt) => (
            TargetErrorKind::Unreachable,
            "is damaged".to_owned(),
            "name another file",
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => (
            TargetErrorKind::Refused,
            "cannot be written".to_owned(),
            "the file and its directory must be writable: SQLite puts its log beside the file",
        ),
        Some(ErrorCode::CannotOpen) => (
            TargetErrorKind::Refused,
            "cannot be opened".to_owned(),
            "the file must be a plain file, and its directory readable and writable",
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            TargetErrorKind::Unreachable,
            "is locked by another program".to_owned(),
            "wait for the other program, or raise the URL's `?busy_timeout=` (milliseconds)",
        ),
        Some(ErrorCode::DiskFull) => (
            TargetErrorKind::Unreachable,
            "has no space on its disk".to_owned(),
            "free some, or name a file on another disk",
        ),
        _ => (
            TargetErrorKind::Unreachable,
            format!("cannot be opened: {}", message_of(error)),
            "name another file: `sqlite:PATH`",
        ),
    };
    TargetError::new(kind, format!("`{shown}` {cause}")).with_hint(hint)
}
