//! The plausibility audit: whether the figures of a series are consistent.
//!
//! One small file per rule, each a pure function from points to warnings: a sentence with the figures, their place, and
//! what to check. Rules cover arithmetic and physics that hold for every source; none knows a source, and a database's
//! own guidance is data. A warning is a question to the publisher of the figures, not a verdict on the database.

mod bytes;
mod rates;
#[cfg(test)]
mod tests;
mod warning;

use super::series::{Point, SeriesSet};

pub use rates::{AGREE, ModelRequest};
pub use warning::{PlausibilityWarning, Rule, Weight};

/// All warnings about a set, by rule, then in the order of the points.
///
/// `request` is the model to fit, if any.
pub fn audit(set: &SeriesSet, request: Option<&ModelRequest>) -> Vec<PlausibilityWarning> {
    let mut warnings = Vec::new();
    for point in &set.points {
        warnings.extend(rates::littles_law(point));
        warnings.extend(bytes::row_bytes(point));
        warnings.extend(bytes::bandwidth(point));
        warnings.extend(rates::parts(point));
        warnings.extend(rates::rate_times_duration(point));
        warnings.extend(bytes::size_of_data(point));
        warnings.extend(bytes::shards_per_node(point));
        warnings.extend(rates::ceiling(point));
    }
    for series in set.series() {
        let points: Vec<&Point> = set.of(series).collect();
        warnings.extend(rates::ops(&points));
        warnings.extend(rates::not_linear(&points));
        warnings.extend(rates::users_per_node(&points));
        warnings.extend(rates::limited_by_load(&points));
        if let Some(request) = request {
            warnings.extend(rates::too_few(&points, request));
        }
    }
    warnings.extend(rates::disagree(set));
    warnings.sort_by_key(|warning| warning.rule);
    merge(warnings)
}

/// Merges warnings with the same text, keeping all their places.
fn merge(warnings: Vec<PlausibilityWarning>) -> Vec<PlausibilityWarning> {
    let mut merged: Vec<PlausibilityWarning> = Vec::new();
    for warning in warnings {
        match merged
            .iter_mut()
            .find(|known| known.rule == warning.rule && known.message == warning.message)
        {
            Some(known) => known.places.extend(warning.places),
            None => merged.push(warning),
        }
    }
    merged
}
