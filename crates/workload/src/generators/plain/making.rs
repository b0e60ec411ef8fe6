//! What a generator that needs only a number can do: its part of the list.
//!
//! What must not be here: a generator, and how files are read.

use crate::generators::prelude::{ColumnData, ColumnType, Draws, Section, Segments, Spec, Value};
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::layout::Segment;
use crate::layout::{codes, floats, integers, timestamps};

/// Texts that values are picked from.
pub(crate) type Texts = Arc<[Box<str>]>;

/// A generator; what it says it makes, it makes, and anything else is 0, false or nothing.
pub(crate) trait Make: Sized {
    const SPECS: &'static [Spec];

    /// Reads the options of the generator that `name` is one of.
    fn read(of: &Section<'_>, name: &str, kind: ColumnType) -> Option<Self>;

    /// The n-th text.
    fn text(&self, draws: &Draws, n: u64) -> String;

    fn integer(&self, _: &Draws, _: u64) -> i64 {
        0
    }

    fn float(&self, _: &Draws, _: u64) -> f64 {
        0.0
    }

    fn boolean(&self, _: &Draws, _: u64) -> bool {
        false
    }

    /// What stands before an integer that together are its text.
    fn prefix(&self) -> Option<&str> {
        None
    }

    /// The texts that it picks from, if they can be kept.
    fn texts(&self, _: &Draws) -> Option<Texts> {
        None
    }

    /// Which of its texts is the n-th.
    fn pick(&self, _: &Draws, _: u64) -> u64 {
        0
    }

    /// The values at the ends of what it may make for a column of that type, among others; none where
    /// they follow from the row, or all are alike.
    fn extremes(&self, _: ColumnType) -> Vec<Value> {
        Vec::new()
    }

    /// Makes `data` the values of the rows of all segments; its memory is used again.
    fn fill(&self, kind: ColumnType, draws: &Draws, segments: Segments, data: &mut ColumnData) {
        let rows = Segment::row_indexes;
        match kind {
            ColumnType::Integer | ColumnType::Bigint => integers(data, segments, |segment, all| {
                all.extend(rows(segment).map(|row| self.integer(draws, row)));
            }),
            ColumnType::Timestamp => timestamps(data, segments, |segment, all| {
                all.extend(rows(segment).map(|row| self.integer(draws, row)));
            }),
            ColumnType::Float => floats(data, segments, |segment, all| {
                all.extend(rows(segment).map(|row| self.float(draws, row)));
            }),
            ColumnType::Boolean => {
                let all = segments.flat_map(rows).map(|row| self.boolean(draws, row));
                *data = ColumnData::Boolean(all.collect());
            }
            ColumnType::Text | ColumnType::Object => {
                let all = segments.flat_map(rows).map(|row| self.text(draws, row).into());
                *data = ColumnData::Text(all.collect());
            }
        }
    }

    /// The same with codes of `texts`.
    fn fill_codes(&self, texts: &Texts, draws: &Draws, segments: Segments, data: &mut ColumnData) {
        codes(data, texts, segments, ColumnData::TextDictionary, |segment, all| {
            let picks = segment.row_indexes().map(|row| self.pick(draws, row));
            all.extend(picks.map(|pick| u32::try_from(pick).unwrap_or(0)));
        });
    }
}

/// Integers that a type can hold.
pub(super) fn range_of(kind: ColumnType) -> RangeInclusive<i64> {
    match kind {
        ColumnType::Integer => i64::from(i32::MIN)..=i64::from(i32::MAX),
        _ => i64::MIN..=i64::MAX,
    }
}

/// The ends of a range of integers, as a column of that type has them.
pub(super) fn ends(kind: ColumnType, prefix: &str, ends: [i64; 2]) -> Vec<Value> {
    let value = |number: i64| match kind {
        ColumnType::Integer | ColumnType::Bigint => Value::Integer(number),
        _ => Value::Text(format!("{prefix}{number}").into()),
    };
    ends.map(value).to_vec()
}

/// The `prefix` of a text; other types have none.
pub(super) fn prefix_of(of: &Section<'_>, kind: ColumnType) -> String {
    match kind {
        ColumnType::Text => of.text_or_empty("prefix"),
        _ => String::new(),
    }
}
