//! The time for an amount of rows: a batch, or a whole load.

use super::axis::Axis;
use crate::series::{Point, names};

/// Whether an axis is an amount of rows, and whether that amount is a batch.
pub(super) fn amount(axis: &Axis) -> Option<bool> {
    match axis.name.as_str() {
        names::BATCH_ROWS => Some(true),
        names::ROWS => Some(false),
        _ => None,
    }
}

/// Sessions that send batches: as stated, or one.
pub(super) fn sessions(points: &[&Point], of_batches: bool) -> (f64, bool) {
    let stated = points.first().and_then(|point| point.sessions());
    match stated {
        Some(sessions) if of_batches && sessions > 0.0 => (sessions, true),
        _ => (1.0, false),
    }
}

/// Seconds per amount; for batches by Little's law, with one batch in flight per session.
pub(super) fn amount_s(
    axis: &Axis,
    number: Option<f64>,
    throughput: f64,
    points: &[&Point],
) -> Option<f64> {
    let of_batches = amount(axis)?;
    let counts_rows = points.iter().all(|point| point.counts_rows());
    let rows = number.filter(|rows| counts_rows && *rows > 0.0)?;
    Some(sessions(points, of_batches).0 * rows / throughput)
}
