//! Parts above their total, in one row or in rows of one series that differ in `op`.

use super::warning::{PlausibilityWarning, Rule, Weight};
use crate::series::{Point, Setting, names, number_text};

/// Maximum excess of the sum of parts over their total, as a fraction: rounding.
const TOLERANCE: f64 = 0.01;
/// Values of the column `op` for all ops together.
const TOTALS: [&str; 4] = ["total", "all", "sum", "overall"];
const CHECK: &str = "were parts and total measured over the same time? Tools that divide each \
                     part by its own time span print parts that add up to too much.";

/// Parts in separate columns.
pub(super) fn parts(point: &Point) -> Option<PlausibilityWarning> {
    let sum: f64 = point.parts.values().sum();
    let names: Vec<&str> = point.parts.keys().map(String::as_str).collect();
    (!names.is_empty()).then_some(())?;
    warning(point, &[point], sum, &names)
}

/// Parts in separate rows: equal settings except `op`, and one row for the total.
pub(super) fn ops(points: &[&Point]) -> Vec<PlausibilityWarning> {
    let is_total = |point: &&&Point| {
        let op = point.word(names::OP).map(str::to_lowercase);
        op.is_some_and(|op| TOTALS.contains(&op.as_str()))
    };
    let warnings = points.iter().filter(is_total).filter_map(|total| {
        let parts: Vec<&Point> = points
            .iter()
            .copied()
            .filter(|point| !is_total(&point) && same_but_op(point, total))
            .collect();
        let sum: f64 = parts.iter().map(|point| point.throughput).sum();
        let named: Vec<&str> = parts.iter().filter_map(|p| p.word(names::OP)).collect();
        let mut places = vec![*total];
        places.extend(&parts);
        warning(total, &places, sum, &named)
    });
    warnings.collect()
}

fn warning(
    total: &Point,
    places: &[&Point],
    sum: f64,
    parts: &[&str],
) -> Option<PlausibilityWarning> {
    let above = sum / total.throughput - 1.0;
    if above <= TOLERANCE {
        return None;
    }
    let [sum, all] = [sum, total.throughput].map(number_text);
    let (parts, unit, above) = (parts.join(" + "), &total.unit, above * 100.0);
    let message = format!("{parts} make {sum} {unit}, {above:.1}% above the total of {all}");
    Some(Rule::PartsExceedTotal.warning(Weight::Contradiction, places, message, CHECK))
}

fn same_but_op(a: &Point, b: &Point) -> bool {
    let without = |point: &Point| -> Vec<(String, Setting)> {
        point
            .settings
            .iter()
            .filter(|(name, _)| *name != names::OP)
            .map(|(n, s)| (n.clone(), s.clone()))
            .collect()
    };
    a.unit == b.unit && without(a) == without(b)
}
