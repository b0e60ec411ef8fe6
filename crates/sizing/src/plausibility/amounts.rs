//! Rate × duration against the number of rows or queries.

use super::warning::{PlausibilityWarning, Rule, Weight};
use crate::series::{Point, names, number_text};

/// Maximum difference, as a fraction: a rate is often the mean without its beginning.
const TOLERANCE: f64 = 0.15;

pub(super) fn rate_times_duration(point: &Point) -> Option<PlausibilityWarning> {
    let duration_s = point.number(names::DURATION)?;
    // `rows` for rows/s, `queries` for queries/s, independent of the column's name.
    let noun = point.unit.strip_suffix("/s")?;
    let amount = point.number(noun).filter(|amount| *amount > 0.0)?;
    let expected = point.throughput * duration_s;
    if (expected / amount - 1.0).abs() <= TOLERANCE {
        return None;
    }
    let figures = [point.throughput, duration_s, expected, amount];
    let ([rate, seconds, all, amount], unit) = (figures.map(number_text), &point.unit);
    let message =
        format!("{rate} {unit} for {seconds} s are {all} {noun}, but {amount} are stated");
    let check = "is the rate a peak, or the mean over all of the time? Were all of these written \
                 in that time, or were some there before?";
    Some(Rule::RateTimesDuration.warning(Weight::Contradiction, &[point], message, check))
}
