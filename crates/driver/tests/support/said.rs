//! What an outcome says, for the tests of drivers of SQL servers whose errors have numbers.

use highwater_model::outcome::{Certainty, ErrorClass, Outcome};

/// Number, class, certainty, whether the session goes on.
pub(crate) type Said = (Option<String>, ErrorClass, Certainty, bool);

pub(crate) fn said(outcome: &Outcome) -> Said {
    let error = outcome.error.clone().expect("an error");
    (error.code, error.class, outcome.certainty, outcome.session_usable)
}

/// Refused as a whole, and the session goes on.
pub(crate) fn refused(code: u32, class: ErrorClass) -> Said {
    (Some(code.to_string()), class, Certainty::NotApplied, true)
}
