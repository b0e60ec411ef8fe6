//! Efficiency against the word "linear", for a series over nodes.

use super::points::{by_nodes, short};
use super::warning::{PlausibilityWarning, Rule, Weight};
use crate::series::{Point, number_text};

/// Minimum efficiency that may be called linear: with two throughputs with errors of 3% each it differs by 15% once in
/// two thousand cases.
const LINEAR: f64 = 0.85;
/// Words that negate "linear", before or after it.
const NEGATIONS: [&str; 8] = [
    "sublinear",
    "sub-linear",
    "nonlinear",
    "non-linear",
    "not linear",
    "not scale linear",
    "less than linear",
    "below linear",
];

pub(super) fn not_linear(points: &[&Point]) -> Option<PlausibilityWarning> {
    let claim = points.iter().find(|point| says_linear(&point.claim))?;
    let groups = by_nodes(points);
    let ((few, first), (many, last)) = (groups.first()?, groups.last()?);
    let (base, largest) = (greatest(first)?, greatest(last)?);
    if few >= many || base.unit != largest.unit {
        return None;
    }
    let efficiency = (largest.throughput / many) / (base.throughput / few);
    if efficiency >= LINEAR {
        return None;
    }
    let figures = [*many, many / few, *few, largest.throughput, base.throughput];
    let [many, times, few, reached, first] = figures.map(number_text);
    let said: String = claim.claim.chars().take(80).collect();
    let message = format!(
        "the source says \"{said}\", but {many} nodes reach {:.1}% of {times} times what {few} \
         reach ({reached} against {first} {}, {})",
        efficiency * 100.0,
        base.unit,
        short(&base.origin),
    );
    let check = "say by how much it grows, or which part of the range is linear; size with the \
                 measured efficiency.";
    Some(Rule::NotLinear.warning(Weight::Contradiction, &[base, largest], message, check))
}

fn says_linear(claim: &str) -> bool {
    let mut claim = claim.to_lowercase();
    for negation in NEGATIONS {
        claim = claim.replace(negation, "");
    }
    claim.contains("linear")
}

fn greatest<'a>(points: &[&'a Point]) -> Option<&'a Point> {
    points.iter().copied().reduce(
        |best, point| {
            if point.throughput > best.throughput { point } else { best }
        },
    )
}
