//! The entity and tick of each row of a table, segments of one tick, and columns filled in one step, with memory reused.
//!
//! Rows are time-major unless the table states otherwise: row i is entity i mod n at tick i / n. Must not determine the
//! content of a column.

use std::sync::Arc;

use highwater_model::op::{ColumnData, Dictionary};
use serde::Serialize;

use super::random::Draws;

/// The entity and tick of each row of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// At least 1, below 2³².
    pub(super) entities: u64,
    /// Random number i selects the entity of row i; time-major if absent.
    pub(super) sampled: Option<Draws>,
    /// Row i equals row i modulo this; 0 for unbounded rows.
    pub(super) repeat: u64,
}

impl Layout {
    /// Rows from `first_row` on.
    pub(crate) fn segments(self, first_row: u64, rows: usize) -> Segments {
        Segments { layout: self, row: first_row, left: rows }
    }

    /// The row with the same content.
    fn content(self, row: u64) -> u64 {
        match self.repeat {
            0 => row,
            repeat => row % repeat,
        }
    }

    /// The tick of a row.
    pub(crate) fn tick(self, row: u64) -> u64 {
        match self.sampled {
            Some(_) => self.content(row),
            None => self.content(row) / self.entities,
        }
    }
}

/// Splits rows at tick changes and at the end of a repetition, and into single rows if entities are sampled.
#[derive(Debug, Clone)]
pub(crate) struct Segments {
    layout: Layout,
    row: u64,
    /// Remaining rows.
    pub(crate) left: usize,
}

impl Iterator for Segments {
    type Item = Segment;

    fn next(&mut self) -> Option<Segment> {
        if self.left == 0 {
            return None;
        }
        let layout = self.layout;
        let row = layout.content(self.row);
        let (entity, together) = if let Some(draws) = layout.sampled {
            (draws.below(row, layout.entities), 1)
        } else {
            let entity = row % layout.entities;
            let of_this_tick = layout.entities - entity;
            let to_the_end = match layout.repeat {
                0 => u64::MAX,
                repeat => repeat - row,
            };
            (entity, of_this_tick.min(to_the_end))
        };
        let rows = usize::try_from(together).unwrap_or(usize::MAX).min(self.left);
        let segment = Segment { row, tick: layout.tick(row), entity, rows };
        self.row = self.row.wrapping_add(rows as u64);
        self.left -= rows;
        Some(segment)
    }
}

/// Consecutive rows of one tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Index of the first row.
    pub(crate) row: u64,
    /// Tick of all rows.
    pub(crate) tick: u64,
    /// Entity of the first row; below 2³².
    pub(crate) entity: u64,
    /// Number of rows, at least 1.
    pub(crate) rows: usize,
}

impl Segment {
    /// The indexes of its rows.
    pub(crate) fn row_indexes(self) -> impl Iterator<Item = u64> {
        (0..self.rows).map(move |offset| self.row.wrapping_add(offset as u64))
    }
}

/// Fills integers.
pub(crate) fn integers(
    data: &mut ColumnData,
    all: Segments,
    fill: impl Fn(Segment, &mut Vec<i64>),
) {
    let old = match taken(data) {
        ColumnData::Integer(old) => old,
        _ => Vec::new(),
    };
    *data = ColumnData::Integer(filled(old, all, fill));
}

/// Fills timestamps.
pub(crate) fn timestamps(
    data: &mut ColumnData,
    all: Segments,
    fill: impl Fn(Segment, &mut Vec<i64>),
) {
    let old = match taken(data) {
        ColumnData::TimestampMs(old) => old,
        _ => Vec::new(),
    };
    *data = ColumnData::TimestampMs(filled(old, all, fill));
}

/// Fills doubles.
pub(crate) fn floats(data: &mut ColumnData, all: Segments, fill: impl Fn(Segment, &mut Vec<f64>)) {
    let old = match taken(data) {
        ColumnData::Float(old) => old,
        _ => Vec::new(),
    };
    *data = ColumnData::Float(filled(old, all, fill));
}

/// Fills codes for a dictionary of `values`.
pub(crate) fn codes(
    data: &mut ColumnData,
    values: &Arc<[Box<str>]>,
    all: Segments,
    wrap: impl Fn(Dictionary) -> ColumnData,
    fill: impl Fn(Segment, &mut Vec<u32>),
) {
    let old = match taken(data) {
        ColumnData::TextDictionary(old) | ColumnData::ObjectDictionary(old) => old.codes,
        _ => Vec::new(),
    };
    *data = wrap(Dictionary { values: Arc::clone(values), codes: filled(old, all, fill) });
}

fn taken(data: &mut ColumnData) -> ColumnData {
    std::mem::replace(data, ColumnData::Integer(Vec::new()))
}

fn filled<T>(mut old: Vec<T>, all: Segments, fill: impl Fn(Segment, &mut Vec<T>)) -> Vec<T> {
    old.clear();
    old.reserve(all.left);
    all.for_each(|segment| fill(segment, &mut old));
    old
}

/// Time as a function of the tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Ticks {
    /// Milliseconds since 1970.
    pub(crate) start: i64,
    /// Milliseconds, at least 1.
    pub(crate) interval: i64,
    /// Range of milliseconds by which a row may be before or after its tick, inclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) jitter: Option<(i64, i64)>,
}

impl Ticks {
    /// Milliseconds since 1970 of a tick; the last representable time if it is beyond that.
    #[inline]
    pub(crate) fn at(self, tick: u64) -> i64 {
        let since = i64::try_from(tick).map_or(i64::MAX, |t| t.saturating_mul(self.interval));
        self.start.saturating_add(since)
    }

    /// The time of a row at a tick, with its jitter.
    pub(crate) fn near(self, tick: u64, draws: &Draws, row: u64) -> i64 {
        let (before, after) = self.jitter.unwrap_or((0, 0));
        let width = before.abs_diff(after).saturating_add(1);
        let jitter = before.saturating_add_unsigned(draws.below(row, width));
        self.at(tick).saturating_add(jitter)
    }
}
