//! Leave one source out: how predictions hold whose intervals never saw the source that they are
//! held against.
//!
//! Both sides of the intervals are made as wide as serves all other sources best. What else the
//! method has (models, discount, shape of the sides) stays as it is.

use std::collections::BTreeSet;

use super::Case;
use super::score::mean_by;
use crate::scaling::LEVEL;

/// By how many tenths a side may be made narrower or wider.
const TENTHS: std::ops::RangeInclusive<u32> = 6..=16;

/// The same predictions, with sides that were fitted to the other sources.
pub fn refitted(cases: &[Case]) -> Vec<Case> {
    let sources: BTreeSet<&str> = cases.iter().map(|case| case.source.as_str()).collect();
    let refit = |source: &str| {
        let (own, others): (Vec<&Case>, Vec<&Case>) =
            cases.iter().partition(|case| case.source == source);
        let below = best(
            &others,
            |case| (case.predicted.expected / case.predicted.low).ln(),
            |case| (case.predicted.expected / case.measured).ln(),
        );
        let above = best(
            &others,
            |case| (case.predicted.high / case.predicted.expected).ln(),
            |case| (case.measured / case.predicted.expected).ln(),
        );
        own.into_iter().map(move |case| resized(case, below, above))
    };
    sources.into_iter().flat_map(refit).collect()
}

/// The factor of a side with the least interval score by series: what the side is long, and what
/// the measurement is beyond it.
fn best(cases: &[&Case], side: fn(&Case) -> f64, away: fn(&Case) -> f64) -> f64 {
    let score = |factor: f64| {
        mean_by(
            cases,
            |case| &case.series,
            |case| {
                let reach = factor * side(case);
                reach + 2.0 / (1.0 - LEVEL) * (away(case) - reach).max(0.0)
            },
        )
    };
    let least = TENTHS
        .map(|tenths| f64::from(tenths) / 10.0)
        .min_by(|one, other| score(*one).total_cmp(&score(*other)));
    least.unwrap_or(1.0)
}

fn resized(case: &Case, below: f64, above: f64) -> Case {
    let mut resized = case.clone();
    let predicted = &mut resized.predicted;
    let expected = predicted.expected;
    predicted.low = expected * (predicted.low / expected).powf(below);
    predicted.high = expected * (predicted.high / expected).powf(above);
    resized
}
