//! The content of an outcome, for tests of drivers of SQL servers with numbered errors.

use highwater_model::outcome::{Certainty, ErrorClass, Outcome};

/// Number, class, certainty, and whether the session continues.
pub type Said = (Option<String>, ErrorClass, Certainty, bool);

/// What an outcome with an error states.
pub fn said(outcome: &Outcome) -> Said {
    let error = outcome.error.clone().expect("an error");
    (error.code, error.class, outcome.certainty, outcome.session_usable)
}

/// Rejected as a whole; the session continues.
pub fn refused(code: u32, class: ErrorClass) -> Said {
    (Some(code.to_string()), class, Certainty::NotApplied, true)
}
