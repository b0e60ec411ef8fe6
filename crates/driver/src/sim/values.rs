//! The values of rows that the model stored: the workload's, made again, but for those that it was
//! told to alter. Which ones is a pure function of the row index, so that nothing is kept.

use highwater_core::analysis::sums::Summer;
use highwater_core::model::op::{BoundColumn, ColumnData, ColumnType, RowBatch, RowGenerator};
use highwater_core::model::stored::value_at;
use highwater_core::model::units::Seed;

use super::draw::{Draw, Purpose};
use super::parameters::SimParameters;

/// Rows that are made at once; even.
const BLOCK: u64 = 4_096;

/// Which rows of a table get other values. Two faults befall pairs of neighbors: an even row and
/// the one behind it.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueFate {
    altered: Draw,
    swapped: Draw,
    offset: Draw,
    /// Probabilities: of a row, and of pairs.
    alter: f64,
    swap: f64,
    shift: f64,
}

impl ValueFate {
    pub(super) fn new(seed: Seed, table: &str, parameters: &SimParameters) -> Self {
        let draw = |purpose| Draw::new(seed, purpose).with_text(table);
        Self {
            altered: draw(Purpose::AlteredRow),
            swapped: draw(Purpose::SwappedPair),
            offset: draw(Purpose::OffsetPair),
            alter: parameters.alter,
            swap: parameters.swap,
            shift: parameters.offset,
        }
    }

    fn is_faithful(&self) -> bool {
        self.alter <= 0.0 && self.swap <= 0.0 && self.shift <= 0.0
    }

    /// Whether a row may have another value than was sent.
    fn befalls(&self, row: u64) -> bool {
        let pair = row / 2;
        self.altered.with(row).happens(self.alter)
            || self.swapped.with(pair).happens(self.swap)
            || self.offset.with(pair).happens(self.shift)
    }
}

/// The values of a table's rows.
#[derive(Debug, Clone)]
pub(super) struct Values {
    maker: RowGenerator,
    /// The table's in the workload.
    position: usize,
    columns: Vec<BoundColumn>,
    fate: ValueFate,
}

impl Values {
    pub(super) fn new(
        maker: RowGenerator,
        position: usize,
        columns: &[BoundColumn],
        fate: ValueFate,
    ) -> Self {
        Self {
            maker,
            position,
            columns: columns.to_vec(),
            fate,
        }
    }

    pub(super) fn columns(&self) -> &[BoundColumn] {
        &self.columns
    }

    pub(super) fn summer(&self) -> Summer {
        Summer::new(&self.columns)
    }

    /// Whether no row has another value than was sent.
    pub(super) fn is_faithful(&self) -> bool {
        self.fate.is_faithful()
    }

    /// Whether a row is stored otherwise than it was sent; not where it was told to become what it
    /// is.
    pub(super) fn is_altered(&self, row: u64) -> bool {
        if !self.fate.befalls(row) {
            return false;
        }
        let (sent, stored) = (self.sent(row, 1), self.stored(row, 1));
        let value = |batch: &RowBatch, column: usize| {
            let data = batch.columns.get(column)?;
            Some(value_at(&self.columns[column], data, 0))
        };
        (0..self.columns.len()).any(|column| value(&sent, column) != value(&stored, column))
    }

    fn sent(&self, first: u64, rows: u64) -> RowBatch {
        let mut batch = RowBatch::default();
        let rows = usize::try_from(rows).unwrap_or(0);
        (self.maker.0)(self.position, first, rows, &mut batch);
        batch
    }

    /// Rows as they are stored.
    pub(super) fn stored(&self, first: u64, rows: u64) -> RowBatch {
        if self.is_faithful() {
            return self.sent(first, rows);
        }
        // Whole pairs, of which what was not asked for is cut off.
        let begin = first - first % 2;
        let end = (first + rows).next_multiple_of(2);
        let mut batch = self.sent(begin, end - begin);
        for row in begin..end {
            self.alter(&mut batch, row);
            if row % 2 == 1 {
                self.alter_pair(&mut batch, row - 1);
            }
        }
        let cut = usize::try_from(first - begin).unwrap_or(0);
        let rows = usize::try_from(rows).unwrap_or(0);
        for column in &mut batch.columns {
            keep(column, cut, rows);
        }
        batch.first_row = first;
        batch.rows = rows;
        batch
    }

    /// Blocks of rows as they are stored.
    pub(super) fn blocks(&self, first: u64, end: u64) -> impl Iterator<Item = RowBatch> {
        let starts = (first..end).step_by(usize::try_from(BLOCK).unwrap_or(1));
        starts.map(move |start| self.stored(start, BLOCK.min(end - start)))
    }

    fn alter(&self, batch: &mut RowBatch, row: u64) {
        let draw = self.fate.altered.with(row);
        if !draw.happens(self.fate.alter) {
            return;
        }
        let at = usize::try_from(row - batch.first_row).unwrap_or(0);
        if let Some(column) = batch.columns.get_mut(self.column_of(draw)) {
            change(column, at);
        }
    }

    /// `row` is the first one of a pair.
    fn alter_pair(&self, batch: &mut RowBatch, row: u64) {
        let at = usize::try_from(row - batch.first_row).unwrap_or(0);
        let draw = self.fate.swapped.with(row / 2);
        if draw.happens(self.fate.swap)
            && let Some(column) = batch.columns.get_mut(self.column_of(draw))
        {
            swap(column, at);
        }
        let draw = self.fate.offset.with(row / 2);
        if draw.happens(self.fate.shift) {
            let numbers = self.columns.iter().enumerate().filter(|(_, column)| {
                use ColumnType::{Bigint, Float, Integer};
                matches!(column.kind, Integer | Bigint | Float)
            });
            let numbers: Vec<usize> = numbers.map(|(at, _)| at).collect();
            let bound = u32::try_from(numbers.len()).unwrap_or(0);
            if bound > 0 {
                let chosen = numbers[usize::try_from(draw.with(1).below(bound)).unwrap_or(0)];
                offset(&mut batch.columns[chosen], at);
            }
        }
    }

    fn column_of(&self, draw: Draw) -> usize {
        let columns = u32::try_from(self.columns.len()).unwrap_or(1).max(1);
        usize::try_from(draw.with(1).below(columns)).unwrap_or(0)
    }
}

fn keep(column: &mut ColumnData, cut: usize, rows: usize) {
    fn part<T>(values: &mut Vec<T>, cut: usize, rows: usize) {
        values.truncate(cut + rows);
        drop(values.drain(..cut.min(values.len())));
    }
    match column {
        ColumnData::Integer(values) | ColumnData::TimestampMs(values) => part(values, cut, rows),
        ColumnData::Float(values) => part(values, cut, rows),
        ColumnData::Boolean(values) => part(values, cut, rows),
        ColumnData::Text(values) => part(values, cut, rows),
        ColumnData::TextDictionary(words) | ColumnData::ObjectDictionary(words) => {
            part(&mut words.codes, cut, rows);
        }
    }
}

/// Another value of the same kind; of a text, one of the same length.
fn change(column: &mut ColumnData, at: usize) {
    match column {
        ColumnData::Integer(values) | ColumnData::TimestampMs(values) => {
            values[at] = values[at].wrapping_add(1);
        }
        ColumnData::Float(values) => values[at] += 1.0,
        ColumnData::Boolean(values) => values[at] = !values[at],
        ColumnData::Text(values) => {
            let mut text = values[at].to_string();
            let last = text.pop();
            text.push(if last == Some('x') { 'y' } else { 'x' });
            values[at] = text.into();
        }
        ColumnData::TextDictionary(words) | ColumnData::ObjectDictionary(words) => {
            let count = u32::try_from(words.values.len()).unwrap_or(1).max(1);
            words.codes[at] = (words.codes[at] + 1) % count;
        }
    }
}

/// The values of two neighbors change places.
fn swap(column: &mut ColumnData, at: usize) {
    match column {
        ColumnData::Integer(values) | ColumnData::TimestampMs(values) => values.swap(at, at + 1),
        ColumnData::Float(values) => values.swap(at, at + 1),
        ColumnData::Boolean(values) => values.swap(at, at + 1),
        ColumnData::Text(values) => values.swap(at, at + 1),
        ColumnData::TextDictionary(words) | ColumnData::ObjectDictionary(words) => {
            words.codes.swap(at, at + 1);
        }
    }
}

/// One number becomes greater by what its neighbor becomes smaller.
fn offset(column: &mut ColumnData, at: usize) {
    match column {
        ColumnData::Integer(values) => {
            values[at] = values[at].wrapping_add(1);
            values[at + 1] = values[at + 1].wrapping_sub(1);
        }
        ColumnData::Float(values) => {
            values[at] += 1.0;
            values[at + 1] -= 1.0;
        }
        _ => {}
    }
}
