//! What holds for both of HdrHistogram's formats: a run of recorded values, and ranks among them.
//!
//! What must not be here: reading one of the formats.

use std::collections::BTreeSet;

use crate::imported_run::ImportedRun;
use highwater_model::import_record::MissingField;

pub(super) const TOOL: &str = "HdrHistogram";

/// A run with what holds for both formats.
pub(super) fn empty_run() -> ImportedRun {
    ImportedRun {
        missing_fields: BTreeSet::from([MissingField::Offered, MissingField::Errors]),
        notes: vec!["each value that was recorded counts as an acknowledged op".to_owned()],
        ..ImportedRun::new(TOOL)
    }
}

/// How many values are at most the quantile.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank of more than 2^53 may be off by one part in 2^53"
)]
pub(super) fn rank(quantile: f64, total: u64) -> u64 {
    ((quantile * total as f64 * (1.0 - 4.0 * f64::EPSILON)).ceil() as u64).max(1)
}
