//! Little's law: sessions = ops per second × time per op. Judges one point at a time.
//!
//! J. D. C. Little, "A Proof for the Queuing Formula L = λW", Operations Research 9(3), 1961.

use super::warning::{PlausibilityWarning, Rule, Weight};
use crate::series::{Point, names, number_text};

/// Maximum difference of busy sessions from stated ones, as a fraction: four standard deviations of a rate and a
/// latency with errors of 3% each.
const TOLERANCE: f64 = 0.15;
const CHECK: &str = "are rate, latency and sessions those of the same time, and does the latency \
                     count from when an op was due? A load at a fixed rate has pace `open`.";

pub(super) fn littles_law(point: &Point) -> Option<PlausibilityWarning> {
    let sessions = point.sessions().filter(|sessions| *sessions > 0.0)?;
    let ops = point.ops_per_s()?;
    let open = point.word(names::PACE) == Some("open");
    let think_s = point.number(names::THINK_TIME).unwrap_or(0.0);
    let Some(mean_s) = point.number(names::MEAN_LATENCY) else {
        return above_p99(point, sessions, ops, think_s, open);
    };
    let busy = ops * (mean_s + think_s);
    let weight = if busy > sessions * (1.0 + TOLERANCE) {
        Weight::Contradiction
    } else if !open && busy < sessions * (1.0 - TOLERANCE) {
        Weight::Doubt
    } else {
        return None;
    };
    let figures = [ops, (mean_s + think_s) * 1e3, busy, sessions];
    let [ops, each_ms, busy, sessions] = figures.map(number_text);
    let message = format!(
        "{ops} ops/s of {each_ms} ms each keep {busy} sessions busy, but {sessions} are stated"
    );
    Some(Rule::LittlesLaw.warning(weight, &[point], message, CHECK))
}

/// Sessions that are always busy spend sessions / rate on each op on average; few ops can take longer than the p99, so
/// a mean above it is suspicious.
fn above_p99(
    point: &Point,
    sessions: f64,
    ops: f64,
    think_s: f64,
    open: bool,
) -> Option<PlausibilityWarning> {
    let p99_s = point.number(names::P99_LATENCY)?;
    let mean_s = sessions / ops - think_s;
    if open || mean_s <= p99_s * (1.0 + TOLERANCE) {
        return None;
    }
    let figures = [sessions, ops, mean_s * 1e3, p99_s * 1e3];
    let [sessions, ops, mean, p99] = figures.map(number_text);
    let message = format!(
        "{sessions} sessions and {ops} ops/s make a mean of {mean} ms, above the stated p99 of {p99} ms"
    );
    Some(Rule::LittlesLaw.warning(Weight::Doubt, &[point], message, CHECK))
}
