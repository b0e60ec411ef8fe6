//! One step of a tuning.
//!
//! Must not decide which step comes next.

use highwater_model::tune::{TrialPurpose, TuneOutcome};

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum TuneStep {
    /// Measure a configuration.
    Measure {
        /// Position of the value on each axis.
        at: Vec<usize>,
        /// Why.
        purpose: TrialPurpose,
    },
    /// Nothing more.
    End(TuneOutcome),
}
