//! How much of what was offered nobody can say of. Must not ask why.

use highwater_model::display::{count, percent};
use highwater_model::numbers::to_f64;

use super::measured::MeasuredStream;

/// Rows of unknown outcome may be this share of the offered ones: more of them, and the acknowledged
/// rows alone say too little of what the target did.
pub const UNKNOWN_LIMIT: f64 = 0.05;

pub(super) fn place(stream: &MeasuredStream<'_>) -> Option<String> {
    let unknown: u64 = stream.results.iter().map(|r| r.rows.unknown).sum();
    let offered: f64 = stream
        .results
        .iter()
        .filter(|result| result.sent > 0)
        // Ops that were never sent have as many rows as those that were.
        .map(|r| to_f64(r.rows.sent) / to_f64(r.sent) * to_f64(r.offered))
        .sum();
    let share = to_f64(unknown) / offered;
    (share > UNKNOWN_LIMIT).then(|| {
        let unknown = count(unknown);
        let [share, limit] = [share, UNKNOWN_LIMIT].map(percent);
        format!(
            "{stream}: the outcome of {unknown} rows is unknown, {share} of those that were offered; \
             the limit is {limit}"
        )
    })
}
