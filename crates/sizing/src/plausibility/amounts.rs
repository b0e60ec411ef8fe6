//! Rate × duration against the amount that was written or asked.

use super::warning::{PlausibilityWarning, Rule, Weight};
use crate::series::{Point, names, number_text};

/// Most that both may differ, as a fraction: a rate is often the mean without its beginning.
const TOLERANCE: f64 = 0.15;

pub(super) fn rate_times_duration(point: &Point) -> Option<PlausibilityWarning> {
    let duration_s = point.number(names::DURATION)?;
    // `rows` for rows/s, `queries` for queries/s, whatever the column is called.
    let noun = point.unit.strip_suffix("/s")?;
    let amount = point.number(noun).filter(|amount| *amount > 0.0)?;
    let expected = point.throughput * duration_s;
    if (expected / amount - 1.0).abs() <= TOLERANCE {
        return None;
    }
    let message = format!(
        "{} {} for {} s are {} {noun}, but {} are stated",
        number_text(point.throughput),
        point.unit,
        number_text(duration_s),
        number_text(expected),
        number_text(amount),
    );
    let check = "is the rate a peak, or the mean over all of the time? Were all of these written \
                 in that time, or were some there before?";
    let weight = Weight::Contradiction;
    Some(PlausibilityWarning::new(
        Rule::RateTimesDuration,
        weight,
        &[point],
        message,
        check,
    ))
}
