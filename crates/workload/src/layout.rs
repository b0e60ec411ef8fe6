//! The entity and tick of each row of a table, and rows split into segments of one tick.
//!
//! Rows are time-major unless the table states otherwise: row i is entity i mod n at tick i div n, where n is the
//! number of the table's entities (1 if it has none). Must not determine the content of columns.

use super::random::Draws;
use super::segment::Segment;

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
