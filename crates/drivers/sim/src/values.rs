//! The values of stored rows: the workload's, regenerated, except those that the model alters. Which ones are altered
//! is a pure function of the row index.
//!
//! Random numbers are pure functions of a key: seed, purpose, and the identity of what they are for. Must not store
//! values.

use highwater_analysis::sums::Summer;
use highwater_model::op::{BoundColumn, ColumnData, ColumnType, RowBatch, RowGenerator};
use highwater_model::stored::value_at;
use highwater_model::units::Seed;

use super::parameters::SimParameters;

/// Rows generated at once; even.
const BLOCK: u64 = 4_096;

/// Determines which rows of a table get other values. Two faults affect pairs of neighbors: an even row and the next
/// one.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueFaultModel {
    altered: RandomKey,
    swapped: RandomKey,
    offset: RandomKey,
    /// Probabilities: per row, and per pair.
    alter: f64,
    swap: f64,
    shift: f64,
}

impl ValueFaultModel {
    pub(super) fn new(seed: Seed, table: &str, parameters: &SimParameters) -> Self {
        let random = |purpose| RandomKey::new(seed, purpose).with_text(table);
        Self {
            altered: random(Purpose::AlteredRow),
            swapped: random(Purpose::SwappedPair),
            offset: random(Purpose::OffsetPair),
            alter: parameters.alter,
            swap: parameters.swap,
            shift: parameters.offset,
        }
    }

    fn is_faithful(&self) -> bool {
        self.alter <= 0.0 && self.swap <= 0.0 && self.shift <= 0.0
    }

    /// Whether a row may have another value than was sent.
    fn affects(&self, row: u64) -> bool {
        let pair = row / 2;
        self.altered.with(row).happens(self.alter)
            || self.swapped.with(pair).happens(self.swap)
            || self.offset.with(pair).happens(self.shift)
    }
}

/// The values of a table's rows.
#[derive(Debug, Clone)]
pub(super) struct Values {
    generator: RowGenerator,
    /// Position of the table in the workload.
    position: usize,
    columns: Vec<BoundColumn>,
    faults: ValueFaultModel,
}

impl Values {
    pub(super) fn new(
        generator: RowGenerator,
        position: usize,
        columns: &[BoundColumn],
        faults: ValueFaultModel,
    ) -> Self {
        Self { generator, position, columns: columns.to_vec(), faults }
    }

    pub(super) fn columns(&self) -> &[BoundColumn] {
        &self.columns
    }

    pub(super) fn summer(&self) -> Summer {
        Summer::new(&self.columns)
    }

    /// Whether all rows have the sent values.
    pub(super) fn is_faithful(&self) -> bool {
        self.faults.is_faithful()
    }

    /// Whether a row is stored with other values than were sent; false if the change has no effect.
    pub(super) fn is_altered(&self, row: u64) -> bool {
        if !self.faults.affects(row) {
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
        (self.generator.0)(self.position, first, rows, &mut batch);
        batch
    }

    /// Rows as stored.
    pub(super) fn stored(&self, first: u64, rows: u64) -> RowBatch {
        if self.is_faithful() {
            return self.sent(first, rows);
        }
        // Whole pairs; rows outside the request are removed.
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

    /// Blocks of rows as stored.
    pub(super) fn blocks(&self, first: u64, end: u64) -> impl Iterator<Item = RowBatch> {
        let starts = (first..end).step_by(usize::try_from(BLOCK).unwrap_or(1));
        starts.map(move |start| self.stored(start, BLOCK.min(end - start)))
    }

    fn alter(&self, batch: &mut RowBatch, row: u64) {
        let random = self.faults.altered.with(row);
        if !random.happens(self.faults.alter) {
            return;
        }
        let at = usize::try_from(row - batch.first_row).unwrap_or(0);
        if let Some(column) = batch.columns.get_mut(self.column_of(random)) {
            change(column, at);
        }
    }

    /// `row` is the first one of a pair.
    fn alter_pair(&self, batch: &mut RowBatch, row: u64) {
        let at = usize::try_from(row - batch.first_row).unwrap_or(0);
        let random = self.faults.swapped.with(row / 2);
        if random.happens(self.faults.swap)
            && let Some(column) = batch.columns.get_mut(self.column_of(random))
        {
            swap(column, at);
        }
        let random = self.faults.offset.with(row / 2);
        if random.happens(self.faults.shift) {
            let numbers = self.columns.iter().enumerate().filter(|(_, column)| {
                use ColumnType::{Bigint, Float, Integer};
                matches!(column.kind, Integer | Bigint | Float)
            });
            let numbers: Vec<usize> = numbers.map(|(at, _)| at).collect();
            let bound = u32::try_from(numbers.len()).unwrap_or(0);
            if bound > 0 {
                let chosen = numbers[usize::try_from(random.with(1).below(bound)).unwrap_or(0)];
                offset(&mut batch.columns[chosen], at);
            }
        }
    }

    fn column_of(&self, random: RandomKey) -> usize {
        let columns = u32::try_from(self.columns.len()).unwrap_or(1).max(1);
        usize::try_from(random.with(1).below(columns)).unwrap_or(0)
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
        ColumnData::Nullable(values, nulls) => {
            keep(values, cut, rows);
            part(nulls, cut, rows);
        }
    }
}

/// Another value of the same type; for text, of the same length.
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
        ColumnData::Nullable(values, nulls) => {
            if !std::mem::take(&mut nulls[at]) {
                change(values, at);
            }
        }
    }
}

/// Swaps the values of two neighbors.
fn swap(column: &mut ColumnData, at: usize) {
    match column {
        ColumnData::Integer(values) | ColumnData::TimestampMs(values) => values.swap(at, at + 1),
        ColumnData::Float(values) => values.swap(at, at + 1),
        ColumnData::Boolean(values) => values.swap(at, at + 1),
        ColumnData::Text(values) => values.swap(at, at + 1),
        ColumnData::TextDictionary(words) | ColumnData::ObjectDictionary(words) => {
            words.codes.swap(at, at + 1);
        }
        ColumnData::Nullable(values, nulls) => {
            swap(values, at);
            nulls.swap(at, at + 1);
        }
    }
}

/// Increases one number by the same amount as it decreases its neighbor.
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

/// The increment of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", 2014): 2⁶⁴ divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The purpose of a random number; keys of different purposes never collide.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    /// Everything about one op: its place, its service times, its faults.
    Op = 1,
    /// Which rows are dropped.
    DroppedRow = 2,
    /// Which rows are stored twice.
    DuplicatedRow = 3,
    /// Which rows are stored with another value.
    AlteredRow = 4,
    /// Which pairs of rows are stored with a value swapped.
    SwappedPair = 5,
    /// Which pairs of rows are stored with two changes that offset each other.
    OffsetPair = 6,
}

/// A key, and the number that belongs to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RandomKey(u64);

impl RandomKey {
    /// The root of all keys of one purpose.
    pub(super) fn new(seed: Seed, purpose: Purpose) -> Self {
        Self(seed.0).with(purpose as u64)
    }

    /// The key extended by a word. The mix is the finalizer of SplitMix64.
    pub(super) fn with(self, word: u64) -> Self {
        let mut z = self.0.wrapping_add(GOLDEN).wrapping_add(word.wrapping_mul(GOLDEN));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self(z ^ (z >> 31))
    }

    /// The key extended by a text.
    pub(super) fn with_text(self, text: &str) -> Self {
        text.bytes().fold(self, |key, byte| key.with(byte.into()))
    }

    /// Uniform in the open interval (0, 1): a multiple of 2⁻⁵³, offset by half of one from both ends.
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 bits are exact in a double; that is why the others are shifted out"
    )]
    pub(super) fn uniform(self) -> f64 {
        ((self.with(0).0 >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }

    /// Uniform among the integers below `bound`, which is at least 1.
    pub(super) fn below(self, bound: u32) -> u32 {
        // The upper 32 bits times the bound, divided by 2³²: the bias is below bound / 2³².
        let scaled = (self.with(0).0 >> 32) * u64::from(bound);
        u32::try_from(scaled >> 32).unwrap_or(0)
    }

    /// True with this probability; never for 0, always for 1.
    pub(super) fn happens(self, probability: f64) -> bool {
        probability > 0.0 && self.uniform() < probability
    }

    /// Exponential with mean 1, by inversion.
    pub(super) fn exponential(self) -> f64 {
        -self.uniform().ln()
    }

    /// Lognormal with mean 1 and this coefficient of variation: exp(σz − σ²/2) with
    /// σ² = ln(1 + cv²) and z standard normal (Box and Muller, 1958).
    pub(super) fn lognormal(self, cv: f64) -> f64 {
        let variance = cv.mul_add(cv, 1.0).ln();
        let radius = (-2.0 * self.with(1).uniform().ln()).sqrt();
        let z = radius * (std::f64::consts::TAU * self.with(2).uniform()).cos();
        variance.sqrt().mul_add(z, -variance / 2.0).exp()
    }
}
