//! The plausibility audit: whether the figures of a series are consistent.
//!
//! Each rule is a pure function from points to warnings: a sentence with the figures, their place, and what to check,
//! with a severity. Rules cover arithmetic and physics that hold for every source; none knows a source, and a
//! database's own guidance is data. A warning is a question to the publisher of the figures, not a verdict on the
//! database.

mod bytes;
mod rates;

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;

use super::series::{Point, SeriesSet};
use crate::series::Origin;

pub use rates::{AGREE, ModelRequest};

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
        warnings.extend(rates::swapped(point));
    }
    for series in set.series() {
        let points: Vec<&Point> = set.points_of(series).collect();
        warnings.extend(rates::ops(&points));
        warnings.extend(rates::not_linear(&points));
        warnings.extend(rates::out_of_line(&points));
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

macro_rules! rules {
    ($($(#[$of_variant:meta])* $variant:ident = $code:literal: $compares:literal,)*) => {
        /// A rule, by its stable code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Rule { $($(#[$of_variant])* $variant,)* }

        impl Rule {
            /// Every rule with its code and what it compares, for the reference.
            pub const ALL: &[(Self, &str, &str)] = &[$((Self::$variant, $code, $compares),)*];

            /// Its code, as in the reference.
            pub fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }
        }
    };
}

rules! {
    /// Sessions, rate and latency.
    LittlesLaw = "littles_law":
        "Sessions = ops per second × (mean latency + think time), within 15%; where only the p99 \
         is stated, the mean that follows must not exceed it. With `pace` open, fewer busy sessions \
         are no warning.",
    /// Traffic against rate and row size.
    RowBytes = "row_bytes":
        "Stated traffic divided by the rate, against `bytes_per_row` or the size of a row of a \
         workload that comes with the program: at most 4 times it for each copy, at least a tenth. \
         Where no size is known, at most 4 KiB.",
    /// Traffic against what network or disk can carry.
    Bandwidth = "bandwidth":
        "Rate × bytes per row, and stated traffic, against nodes × what one node's network or \
         disks can carry.",
    /// Parts above their total.
    PartsExceedTotal = "parts_exceed_total":
        "The sum of the parts is at most 1% above the total.",
    /// Efficiency against the word "linear".
    NotLinear = "not_linear":
        "Where the source says \"linear\", throughput per node at the largest size is at least \
         85% of that at the smallest.",
    /// Rate times duration against rows.
    RateTimesDuration = "rate_times_duration":
        "Rate × duration = rows (or queries, metrics, …: whatever the rate counts), within 15%.",
    /// Bytes of a batch or of all rows against the row size.
    SizeOfData = "size_of_data":
        "Stated bytes of a batch, or of all rows, are between 0.8 and 2 times rows × bytes per \
         row.",
    /// Load per node changes with nodes.
    UsersPerNode = "users_per_node":
        "Sessions per node (or load generators per node) are the same at every size, within 10%.",
    /// Shards per node.
    ShardsPerNode = "shards_per_node":
        "Shard copies per node are within the database's own guidance, and no fewer than one.",
    /// TPC-C's ceiling.
    TpmcPerWarehouse = "tpmc_per_warehouse":
        "tpmC is at most 12.86 per warehouse; a series that stays within 3% of it measures its \
         own load.",
    /// Equal settings, different figures.
    DuplicatesDisagree = "duplicates_disagree":
        "Points with equal settings differ by at most 20%, within a series, and between series of \
         one source that vary different settings.",
    /// A size out of line with its neighbors.
    OutOfLine = "out_of_line":
        "No size between two others has less than half of the smaller one's throughput, or more than twice the larger \
         one's.",
    /// Nodes and throughput exchanged.
    Swapped = "swapped":
        "A cluster of 1,000 nodes or more serves at least one unit per second on each.",
    /// Fewer sizes than the model needs.
    TooFewSizes = "too_few_sizes":
        "As many different sizes as the requested model needs.",
}

/// The certainty of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// The figures contradict each other.
    Contradiction,
    /// Both figures may be correct, but not for the reason that a reader would assume.
    Doubt,
}

/// A warning about figures that do not fit together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlausibilityWarning {
    /// The rule that was violated.
    pub rule: Rule,
    /// Its certainty.
    pub weight: Weight,
    /// The warning as a sentence with the figures.
    pub message: String,
    /// Places of the figures, such as `line 7` or `run …`.
    pub places: Vec<String>,
    /// What to check, as a sentence.
    pub check: String,
}

impl Rule {
    fn warning(
        self,
        weight: Weight,
        places: &[&Point],
        message: String,
        check: &str,
    ) -> PlausibilityWarning {
        let places = places.iter().map(|point| point.origin.to_string());
        PlausibilityWarning {
            rule: self,
            weight,
            message,
            places: places.collect(),
            check: check.to_owned(),
        }
    }
}

/// Points with a number of nodes, grouped by it, ascending.
fn by_nodes<'a>(points: &[&'a Point]) -> Vec<(f64, Vec<&'a Point>)> {
    let mut sorted: Vec<(f64, &Point)> =
        points.iter().filter_map(|point| Some((point.nodes()?, *point))).collect();
    sorted.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let groups = sorted.chunk_by(|(a, _), (b, _)| a.total_cmp(b).is_eq());
    let points_of = |group: &[(f64, &'a Point)]| group.iter().map(|(_, point)| *point).collect();
    groups.map(|group| (group[0].0, points_of(group))).collect()
}

/// The name of a place for sentences: `7`, or a run's ID.
fn short(origin: &Origin) -> String {
    match origin {
        Origin::Line(line) => format!("line {line}"),
        Origin::Run(id) => id.clone(),
    }
}
