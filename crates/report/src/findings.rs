//! All findings about a record, in the order in which reports have them.

use highwater_analysis::findings::{self, RuleFinding};
use highwater_model::record::RunRecord;
use highwater_sizing::batch_too_small;

/// What a tuning shows as a whole, and what the record itself shows.
pub(crate) fn findings(record: &RunRecord) -> Vec<RuleFinding> {
    let of_record = findings::findings(record);
    batch_too_small(record)
        .into_iter()
        .chain(of_record)
        .collect()
}
