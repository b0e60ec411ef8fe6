//! Outcomes of ops common to all drivers with a wire. Must not do I/O, or decide certainty.

use std::io;

use highwater_model::op::{Op, OpBody};
use highwater_model::outcome::{Certainty, ErrorClass, OpError, Outcome};

use crate::network::{describe, one_line};

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
