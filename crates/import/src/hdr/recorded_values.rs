//! Common parts of HdrHistogram's formats: a run of recorded values, and ranks among them.
//!
//! Must not read a format.

use std::collections::BTreeSet;

use crate::imported_run::ImportedRun;
use highwater_model::import_record::MissingField;
use highwater_model::numbers::{ceil_to_u64, to_f64};

pub(crate) const TOOL: &str = "HdrHistogram";

/// A run with the properties of both formats.
pub(super) fn empty_run() -> ImportedRun {
    ImportedRun {
        missing_fields: BTreeSet::from([MissingField::Offered, MissingField::Errors]),
        notes: vec!["each value that was recorded counts as an acknowledged op".to_owned()],
        ..ImportedRun::new(TOOL)
    }
}

/// Number of values up to the quantile.
pub(super) fn rank(quantile: f64, total: u64) -> u64 {
    ceil_to_u64(quantile * to_f64(total) * (1.0 - 4.0 * f64::EPSILON)).max(1)
}
