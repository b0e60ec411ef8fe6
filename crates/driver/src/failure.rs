//! Why an exchange with a server failed, and outcomes of ops, for all drivers with their own wire.
//!
//! Must not do I/O, know a protocol, or decide the meaning or the certainty of a server's errors.

use std::io;

use highwater_model::op::{Op, OpBody};
use highwater_model::outcome::{Certainty, ErrorClass, OpError, Outcome};
use highwater_model::user_error::UserError;

use crate::network::{describe, lost, one_line};

/// An error returned by a server, as needed before and after a load.
pub trait ServerMessage {
    /// Converts it to the reason why a target cannot be used; `place` names the target.
    fn into_target_error(self, place: &str) -> UserError;

    /// Number of characters of the statement before the reported position, if any.
    fn position(&self) -> Option<usize> {
        None
    }
}

/// Why an exchange with a server failed.
#[derive(Debug)]
pub enum Failure<E> {
    /// The connection was lost, or the response violated the protocol.
    Io(io::Error),
    /// The server returned an error.
    Server(E),
}

impl<E> From<io::Error> for Failure<E> {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl<E: ServerMessage> Failure<E> {
    /// Converts it to the reason why a target cannot be used; `place` names the target.
    pub fn into_target_error(self, place: &str) -> UserError {
        match self {
            Self::Io(error) => lost(place, &error),
            Self::Server(error) => error.into_target_error(place),
        }
    }

    /// Position of the server's error in a statement: number of characters before it.
    pub fn position(&self) -> Option<usize> {
        match self {
            Self::Io(_) => None,
            Self::Server(error) => error.position(),
        }
    }
}

/// Why a login failed: on the client's side or on the server's.
#[derive(Debug)]
pub enum LoginError<E> {
    /// No password, or none that may be sent.
    Client(UserError),
    /// The server's error, or the loss of the connection.
    Server(Failure<E>),
}

impl<E> From<io::Error> for LoginError<E> {
    fn from(error: io::Error) -> Self {
        Self::Server(Failure::Io(error))
    }
}

impl<E> From<UserError> for LoginError<E> {
    fn from(error: UserError) -> Self {
        Self::Client(error)
    }
}

/// The error of an op whose connection is closed.
pub fn gone(cause: &str) -> OpError {
    OpError { class: ErrorClass::Connection, code: None, message: one_line(cause) }
}

/// The error of an op whose exchange failed: the connection was lost, or the response violated the protocol.
pub fn broken(error: &io::Error) -> OpError {
    OpError {
        class: match error.kind() {
            io::ErrorKind::InvalidData => ErrorClass::Protocol,
            _ => ErrorClass::Connection,
        },
        ..gone(&describe(error))
    }
}

/// No part of the op was applied; the session ends.
pub fn not_applied(op: &Op, error: OpError) -> Outcome {
    let mut outcome = Outcome::refused(op.rows(), error);
    outcome.session_usable = false;
    outcome
}

/// The session had ended before.
pub fn closed(op: &Op) -> Outcome {
    not_applied(op, gone("the session is closed"))
}

/// The server responded with an error to these rows.
pub fn failed(rows: u64, certainty: Certainty, error: OpError) -> Outcome {
    match certainty {
        Certainty::Unknown => Outcome::unknown(error),
        Certainty::Applied | Certainty::NotApplied => Outcome::refused(rows, error),
    }
}

/// The server reported this many applied rows; `answered` is the outcome if the op is a query. The other rows of an
/// insert were rejected.
pub fn counted(op: &Op, applied: u64, answered: Outcome) -> Outcome {
    if matches!(op.body, OpBody::Query(_)) {
        return Outcome { rows_applied: applied, ..answered };
    }
    let sent = op.rows();
    let mut outcome = Outcome::applied(applied.min(sent));
    outcome.rows_refused = sent - outcome.rows_applied;
    if outcome.rows_refused > 0 {
        outcome.error = Some(OpError {
            class: ErrorClass::Constraint,
            code: None,
            message: format!("the server applied {applied} of {sent} rows"),
        });
    }
    outcome
}
