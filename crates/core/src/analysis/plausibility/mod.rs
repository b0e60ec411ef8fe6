//! The plausibility audit: can the figures of a series be right, all together?
//!
//! One small file a rule, each a pure function from points to objections: a sentence with the
//! figures, where they stand, and what to look at. Rules are about arithmetic and physics that
//! hold for every source; none knows a source, and a database's own guidance is data. An objection
//! is a question to whoever published the figures, not a verdict on the database.

mod amounts;
mod bytes;
mod duplicates;
mod latency;
mod linear;
mod parts;
mod points;
mod row_size;
mod shards;
mod sizes;
#[cfg(test)]
mod tests;
mod tpmc;
mod traffic;
mod users;
mod warning;

use super::series::{Point, SeriesSet};

pub use duplicates::AGREE;
pub use sizes::ModelRequest;
pub use warning::{PlausibilityWarning, Rule, Weight};

/// Everything that the rules have against a set, by rule, then in the order of the points.
///
/// `asked` is the model that is to be fitted, where there is one.
pub fn audit(set: &SeriesSet, asked: Option<&ModelRequest>) -> Vec<PlausibilityWarning> {
    let mut objections = Vec::new();
    for point in &set.points {
        objections.extend(latency::littles_law(point));
        objections.extend(traffic::row_bytes(point));
        objections.extend(traffic::bandwidth(point));
        objections.extend(parts::parts(point));
        objections.extend(amounts::rate_times_duration(point));
        objections.extend(bytes::size_of_data(point));
        objections.extend(shards::shards_per_node(point));
        objections.extend(tpmc::ceiling(point));
    }
    for series in set.series() {
        let points: Vec<&Point> = set.of(series).collect();
        objections.extend(parts::ops(&points));
        objections.extend(linear::not_linear(&points));
        objections.extend(users::users_per_node(&points));
        objections.extend(tpmc::limited_by_load(&points));
        if let Some(asked) = asked {
            objections.extend(sizes::too_few(&points, asked));
        }
    }
    objections.extend(duplicates::disagree(set));
    objections.sort_by_key(|objection| objection.rule);
    merge(objections)
}

/// Objections with the same words are one, with all their places.
fn merge(objections: Vec<PlausibilityWarning>) -> Vec<PlausibilityWarning> {
    let mut merged: Vec<PlausibilityWarning> = Vec::new();
    for objection in objections {
        match merged
            .iter_mut()
            .find(|known| known.rule == objection.rule && known.message == objection.message)
        {
            Some(known) => known.places.extend(objection.places),
            None => merged.push(objection),
        }
    }
    merged
}
