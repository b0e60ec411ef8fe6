//! Leave one source out: the accuracy of predictions whose intervals were fitted without the source
//! that they are compared with.
//!
//! Both sides of the intervals are as wide as the confidence level requires on all other sources. The
//! rest of the method (models, discount, shape of the sides) stays unchanged.

use std::collections::BTreeSet;

use super::Case;
use super::score::mean_by;
use highwater_sizing::scaling::LEVEL;

/// Range of factors for the width of a side, in twentieths.
const TWENTIETHS: std::ops::RangeInclusive<u32> = 10..=40;

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

/// The smallest factor of a side such that the fraction of measurements beyond it, by series, is at most what the level
/// allows; the arguments are the length of the side, and the distance of the measurement.
fn best(cases: &[&Case], side: fn(&Case) -> f64, away: fn(&Case) -> f64) -> f64 {
    let beyond = |factor: f64| {
        let is_beyond = |case: &Case| f64::from(u8::from(away(case) > factor * side(case)));
        mean_by(cases, |case| &case.series, is_beyond)
    };
    let mut factors = TWENTIETHS.map(|part| f64::from(part) / 20.0);
    let most = (1.0 - LEVEL) / 2.0;
    factors.find(|factor| beyond(*factor) <= most).unwrap_or(2.0)
}

fn resized(case: &Case, below: f64, above: f64) -> Case {
    let mut resized = case.clone();
    let predicted = &mut resized.predicted;
    let expected = predicted.expected;
    predicted.low = expected * (predicted.low / expected).powf(below);
    predicted.high = expected * (predicted.high / expected).powf(above);
    resized
}
