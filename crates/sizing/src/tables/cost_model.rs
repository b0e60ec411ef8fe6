//! The cost model: t = a + b·rows, the time of a batch or of a whole load.
//!
//! A fixed cost a and a cost per row b: the throughput of one session approaches 1/b, and is half of that at rows =
//! a/b. A point that the model of the preceding points does not explain begins a new regime. Applies if the axis is the
//! rows of a batch, or of a load.

use schemars::JsonSchema;
use serde::Serialize;

use super::amount::{amount, sessions};
use super::axis::Axis;
use super::regression::Line;
use super::rows::Row;
use crate::series::Point;

/// A point is a surprise if it is this many standard deviations off the preceding model: at random, one in two thousand
/// is.
pub const SURPRISE: f64 = 3.5;
/// Minimum number of points before a change of regime can be detected.
const LEAST_BEFORE: usize = 3;

/// A figure and its 95% confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What the time of an amount depends on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CostModel {
    /// Whether the amount is a batch (or a whole load).
    pub of_batches: bool,
    /// How many values it was fitted to: those before the first change of regime.
    pub fitted: usize,
    /// The fit; absent below three values.
    pub line: Option<BatchCostModel>,
    /// Values that begin a new regime.
    pub changes: Vec<RegimeChange>,
}

/// t = a + b·rows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BatchCostModel {
    /// a: the fixed cost, seconds.
    pub fixed_s: Estimate,
    /// b: the cost per row, seconds.
    pub per_row_s: Estimate,
    /// Sessions that send at the same time.
    pub sessions: f64,
    /// Whether their number was stated; otherwise it is taken as one.
    pub sessions_stated: bool,
    /// sessions / b: what the throughput tends to, rows per second; absent where b is not above
    /// zero.
    pub asymptote: Option<f64>,
    /// a / b: rows at which half of the asymptote is reached; absent where a or b is not above
    /// zero.
    pub half_size: Option<f64>,
    /// Greatest relative difference between the model and a value.
    pub worst: f64,
}

/// A value that the model of the values before it does not explain.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RegimeChange {
    /// The axis' value.
    pub value: String,
    /// Its throughput.
    pub throughput: f64,
    /// What the model before it says.
    pub expected: f64,
    /// Standard deviations between them.
    pub deviations: f64,
}

impl CostModel {
    /// Absent if the axis is not an amount, the sessions change along it, or fewer than three values were measured.
    pub(super) fn of(points: &[&Point], axis: &Axis, rows: &[Row]) -> Option<Self> {
        let of_batches = amount(axis)?;
        let (sessions, sessions_stated) = sessions(points, of_batches);
        let same = |point: &&Point| point.sessions() == points[0].sessions();
        if of_batches && !points.iter().all(same) {
            return None;
        }
        let times: Vec<(f64, f64)> =
            rows.iter().filter_map(|row| Some((row.number?, row.amount_s?))).collect();
        if times.len() != rows.len() || times.len() < LEAST_BEFORE {
            return None;
        }
        let breaks = breaks(&times);
        let fitted = breaks.first().map_or(times.len(), |(at, _, _)| *at);
        let changes = breaks
            .into_iter()
            .map(|(at, expected_s, deviations)| RegimeChange {
                value: rows[at].value.clone(),
                throughput: rows[at].throughput,
                expected: sessions * times[at].0 / expected_s,
                deviations,
            })
            .collect();
        let line = BatchCostModel::of(&times[..fitted], sessions, sessions_stated);
        Some(Self { of_batches, fitted, line, changes })
    }
}

impl BatchCostModel {
    fn of(times: &[(f64, f64)], sessions: f64, sessions_stated: bool) -> Option<Self> {
        let line = Line::through(times)?;
        let [a, b] = line.half_widths()?;
        let around =
            |value: f64, half: f64| Estimate { value, low: value - half, high: value + half };
        let off = |(x, y): &(f64, f64)| (line.at(*x) / y - 1.0).abs();
        let has_slope = line.slope > 0.0;
        Some(Self {
            fixed_s: around(line.intercept, a),
            per_row_s: around(line.slope, b),
            sessions,
            sessions_stated,
            asymptote: has_slope.then(|| sessions / line.slope),
            half_size: (has_slope && line.intercept > 0.0).then(|| line.intercept / line.slope),
            worst: times.iter().map(off).fold(0.0, f64::max),
        })
    }
}

/// Positions at which a new regime begins, the prediction of the preceding model, and its error in standard deviations.
/// Each regime has a model of its own points.
fn breaks(times: &[(f64, f64)]) -> Vec<(usize, f64, f64)> {
    let mut found = Vec::new();
    let mut begin = 0;
    for (at, (amount, seconds)) in times.iter().enumerate() {
        if at < begin + LEAST_BEFORE {
            continue;
        }
        let Some(line) = Line::through(&times[begin..at]) else {
            continue;
        };
        let expected = line.at(*amount);
        let deviations = (seconds - expected) / line.deviation_at(*amount);
        if expected > 0.0 && deviations.abs() > SURPRISE {
            found.push((at, expected, deviations));
            begin = at;
        }
    }
    found
}
