//! One step of a search, and the values that it can take.
//!
//! Must not decide which step comes next.

use highwater_model::search::{SearchAxis, SearchOutcome};

/// Significant digits of a probed rate.
const DIGITS: i32 = 4;

/// The next step.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Closed load, which does not judge a value.
    Estimate,
    /// A probe at this value.
    Probe {
        /// On the axis.
        at: f64,
    },
    /// A longer probe at the candidate.
    Confirm {
        /// On the axis.
        at: f64,
    },
    /// One long run at the confirmed value.
    Soak {
        /// On the axis.
        at: f64,
    },
    /// The search is complete.
    End(SearchOutcome),
}

pub(super) fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// A value that can be probed: whole sessions, or rates of four digits; rounded down, so that a
/// step never exceeds its intended width.
pub(super) fn askable(axis: SearchAxis, at: f64) -> f64 {
    match axis {
        SearchAxis::Sessions => at.floor().max(1.0),
        SearchAxis::Rate if at <= 0.0 => 0.0,
        SearchAxis::Rate => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the logarithm of a finite number is below 309"
            )]
            let decimals = DIGITS - 1 - at.log10().floor() as i32;
            let scale = 10_f64.powi(decimals.abs());
            // A value that was already rounded must not change.
            if decimals > 0 {
                (at * scale + 1e-6).floor() / scale
            } else {
                (at / scale + 1e-6).floor() * scale
            }
        }
    }
}
