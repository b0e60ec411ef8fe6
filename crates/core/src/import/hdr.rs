//! HdrHistogram's own files: interval logs (`.hlog`), and percentiles as they are printed (`.hgrm`).
//!
//! Neither says what was counted, nor how it was asked. A log has distributions, and mostly a
//! time; a percentile file has the rows that it prints and nothing between them.

mod log;
mod percentiles;

use std::collections::BTreeSet;

use crate::model::import_record::MissingField;

use super::told::Told;

pub(super) use log::{Reader as LogReader, is_log};
pub(super) use percentiles::{Reader as PercentileReader, is_percentiles};

const TOOL: &str = "HdrHistogram";

/// What holds of both.
fn told() -> Told {
    Told {
        untold: BTreeSet::from([MissingField::Offered, MissingField::Errors]),
        notes: vec!["each value that was recorded counts as an acknowledged op".to_owned()],
        ..Told::of(TOOL)
    }
}

/// How many values are at most the quantile.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank of more than 2^53 may be off by one part in 2^53"
)]
fn rank(quantile: f64, total: u64) -> u64 {
    ((quantile * total as f64 * (1.0 - 4.0 * f64::EPSILON)).ceil() as u64).max(1)
}
