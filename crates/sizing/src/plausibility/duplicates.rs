//! Points with equal settings whose throughputs disagree.
//!
//! Within a series all such points are repeats. Between series of one source they are repeats if the series vary
//! different settings and meet in a point; two series that vary the same settings are compared on purpose, and differ
//! in something without a column.

use std::collections::{BTreeMap, BTreeSet};

use super::warning::{PlausibilityWarning, Rule, Weight};
use crate::series::{Origin, Point, SeriesSet, Setting, number_text};

/// Maximum ratio of the greatest to the least of equal points.
pub const AGREE: f64 = 1.2;

pub(super) fn disagree(set: &SeriesSet) -> Vec<PlausibilityWarning> {
    let varied: BTreeMap<&str, Vec<&str>> =
        set.series().into_iter().map(|series| (series, varied(set, series))).collect();
    let mut warnings = Vec::new();
    let mut seen = vec![false; set.points.len()];
    for (at, point) in set.points.iter().enumerate() {
        if seen[at] || point.settings.is_empty() {
            continue;
        }
        let mut equal = vec![point];
        for (other_at, other) in set.points.iter().enumerate().skip(at + 1) {
            if !seen[other_at] && meet(point, other, &varied) && same(point, other) {
                seen[other_at] = true;
                equal.push(other);
            }
        }
        warnings.extend(warning(&equal));
    }
    warnings
}

fn warning(equal: &[&Point]) -> Option<PlausibilityWarning> {
    let by_throughput = |a: &&&Point, b: &&&Point| a.throughput.total_cmp(&b.throughput);
    let least = equal.iter().min_by(by_throughput)?;
    let most = equal.iter().max_by(by_throughput)?;
    if most.throughput <= least.throughput * AGREE {
        return None;
    }
    let [high, low] = [most, least].map(|point| number_text(point.throughput));
    let apart = (most.throughput / least.throughput - 1.0) * 100.0;
    let (unit, equal) = (&most.unit, settings(most));
    let message =
        format!("{high} and {low} {unit} for equal settings ({equal}): {apart:.0}% apart");
    let check = "what was not written down changed between them: other data, a cache, burst \
                 credits, another day? A difference between settings that is smaller than this one \
                 means nothing.";
    Some(Rule::DuplicatesDisagree.warning(Weight::Contradiction, &[most, least], message, check))
}

/// Whether two points may be repeats.
fn meet(a: &Point, b: &Point, varied: &BTreeMap<&str, Vec<&str>>) -> bool {
    if a.series == b.series {
        return true;
    }
    let from_file = |point: &Point| matches!(point.origin, Origin::Line(_));
    let one_source = !a.source.is_empty() && a.source == b.source;
    one_source
        && from_file(a)
        && from_file(b)
        && varied.get(a.series.as_str()) != varied.get(b.series.as_str())
}

fn same(a: &Point, b: &Point) -> bool {
    // Another offered rate is another load.
    (&a.unit, &a.settings, a.offered_per_s) == (&b.unit, &b.settings, b.offered_per_s)
}

/// Settings with several values in a series.
fn varied<'a>(set: &'a SeriesSet, series: &'a str) -> Vec<&'a str> {
    let points: Vec<&Point> = set.of(series).collect();
    let names: BTreeSet<&str> =
        points.iter().flat_map(|point| point.settings.keys()).map(String::as_str).collect();
    let is_varied = |name: &&str| {
        let mut values = points.iter().map(|point| point.settings.get(*name));
        let one = values.next().flatten();
        values.any(|value| value != one)
    };
    names.into_iter().filter(is_varied).collect()
}

/// The numeric settings, worded for readers.
fn settings(point: &Point) -> String {
    point
        .settings
        .iter()
        .filter_map(|(name, setting)| match setting {
            Setting::Number(_) => Some(format!("{name} {setting}")),
            Setting::Word(_) => None,
        })
        .collect::<Vec<_>>()
        .join(", ")
}
