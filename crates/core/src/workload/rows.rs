//! Rows of a table from their indexes, column by column.
//!
//! Rows are time-major: row i is entity i mod n at tick i div n, where n is the number of the
//! table's entities (1 if it has none). Nothing is allocated per value but text that differs
//! from row to row; a batch that is filled again keeps its memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::definition::{Choices, Column, ColumnGenerator, Literal, Plain, Table, Timeline};
use super::entity::Attributes;
use super::random::Draws;
use super::walk::{Segment, Walk};
use crate::model::op::{ColumnData, ColumnType, Dictionary, RowBatch};
use crate::model::units::Seed;

/// The rows of a table.
#[derive(Debug)]
pub(super) struct TableRows {
    /// At least 1, below 2³².
    entities: u64,
    columns: Vec<ColumnRows>,
}

/// The values of a column.
#[derive(Debug)]
enum ColumnRows {
    Integer(Plain, Draws),
    Float(Plain, Draws),
    Boolean(Plain, Draws),
    Timestamp(Plain, Draws),
    Text(Plain, Draws),
    Timeline(Timeline),
    IntegerWalk {
        walk: Walk,
        min: i64,
    },
    FloatWalk(Walk),
    TextChoice(Arc<[Box<str>]>, Choices, Draws),
    /// One code for each entity.
    Attribute(Arc<[Box<str>]>, Vec<u32>),
    /// The code is the entity's number.
    Object(Arc<[Box<str>]>),
}

impl TableRows {
    pub(super) fn new(table: &Table, entities: &[Attributes], seed: Seed) -> Self {
        let entity = table.entity.and_then(|position| entities.get(position));
        Self {
            entities: entity.map_or(1, Attributes::count).max(1),
            columns: table
                .columns
                .iter()
                .map(|column| ColumnRows::new(&table.name, column, entity, seed))
                .collect(),
        }
    }

    /// The tick of a row.
    pub(super) fn tick(&self, row: u64) -> u64 {
        row / self.entities
    }

    /// Makes `batch` the rows from `first_row` on; its memory is used again.
    pub(super) fn fill(&self, first_row: u64, rows: usize, batch: &mut RowBatch) {
        batch.first_row = first_row;
        batch.rows = rows;
        batch
            .columns
            .resize_with(self.columns.len(), || ColumnData::Integer(Vec::new()));
        let segments = Segments {
            entities: self.entities,
            row: first_row,
            left: rows,
        };
        for (column, data) in self.columns.iter().zip(&mut batch.columns) {
            column.fill(segments.clone(), data);
        }
    }
}

/// Cuts rows where the tick changes.
#[derive(Debug, Clone)]
struct Segments {
    entities: u64,
    row: u64,
    left: usize,
}

impl Iterator for Segments {
    type Item = Segment;

    fn next(&mut self) -> Option<Segment> {
        if self.left == 0 {
            return None;
        }
        let entity = self.row % self.entities;
        let of_this_tick = usize::try_from(self.entities - entity).unwrap_or(usize::MAX);
        let rows = of_this_tick.min(self.left);
        let segment = Segment {
            row: self.row,
            tick: self.row / self.entities,
            entity,
            rows,
        };
        self.row = self.row.wrapping_add(rows as u64);
        self.left -= rows;
        Some(segment)
    }
}

impl Segment {
    fn row_indexes(self) -> impl Iterator<Item = u64> {
        (0..self.rows).map(move |offset| self.row.wrapping_add(offset as u64))
    }
}

impl ColumnRows {
    fn new(table: &str, column: &Column, entity: Option<&Attributes>, seed: Seed) -> Self {
        let draws = Draws::of(seed, &["column", table, &column.name]);
        match &column.generator {
            ColumnGenerator::Timeline(timeline) => Self::Timeline(*timeline),
            ColumnGenerator::Walk(shape) => {
                let noise = Draws::of(seed, &["column", table, &column.name, "noise"]);
                let walk = Walk::new(*shape, draws, noise);
                if column.kind == ColumnType::Float {
                    Self::FloatWalk(walk)
                } else {
                    let min = whole(walk.min());
                    Self::IntegerWalk { walk, min }
                }
            }
            ColumnGenerator::Attribute(attribute) => {
                let (values, codes) = coded(entity, *attribute);
                Self::Attribute(values, codes)
            }
            ColumnGenerator::Object(attributes) => {
                let none = || Vec::new().into();
                Self::Object(entity.map_or_else(none, |entity| entity.objects(attributes)))
            }
            ColumnGenerator::Plain(plain) => Self::plain(plain.clone(), column.kind, draws),
        }
    }

    fn plain(plain: Plain, kind: ColumnType, draws: Draws) -> Self {
        match (kind, plain) {
            (ColumnType::Integer | ColumnType::Bigint, plain) => Self::Integer(plain, draws),
            (ColumnType::Float, plain) => Self::Float(plain, draws),
            (ColumnType::Boolean, plain) => Self::Boolean(plain, draws),
            (ColumnType::Timestamp, plain) => Self::Timestamp(plain, draws),
            (_, Plain::Choice(choices)) => {
                let values = choices.values.iter().map(|v| v.text().into()).collect();
                Self::TextChoice(values, choices, draws)
            }
            (_, Plain::Constant(value)) => {
                let choices = Choices {
                    values: vec![Literal::Integer(0)],
                    cumulative: vec![1],
                };
                Self::TextChoice([value.text().into()].into(), choices, draws)
            }
            (_, plain) => Self::Text(plain, draws),
        }
    }

    fn fill(&self, segments: Segments, data: &mut ColumnData) {
        match self {
            Self::Integer(plain, draws) => integers(data, segments, |segment, values| {
                values.extend(segment.row_indexes().map(|row| plain.integer(draws, row)));
            }),
            Self::IntegerWalk { walk, min } => integers(data, segments, |segment, values| {
                walk.append(segment, values, |value| min + whole(value));
            }),
            Self::Timestamp(plain, draws) => timestamps(data, segments, |segment, values| {
                values.extend(segment.row_indexes().map(|row| plain.integer(draws, row)));
            }),
            Self::Timeline(timeline) => timestamps(data, segments, |segment, values| {
                values.resize(values.len() + segment.rows, timeline.at(segment.tick));
            }),
            Self::Float(plain, draws) => floats(data, segments, |segment, values| {
                values.extend(segment.row_indexes().map(|row| plain.float(draws, row)));
            }),
            Self::FloatWalk(walk) => floats(data, segments, |segment, values| {
                walk.append(segment, values, |value| walk.min() + value);
            }),
            Self::Boolean(plain, draws) => {
                let rows = segments.flat_map(Segment::row_indexes);
                *data = ColumnData::Boolean(rows.map(|row| plain.boolean(draws, row)).collect());
            }
            Self::Text(plain, draws) => {
                let rows = segments.flat_map(Segment::row_indexes);
                *data = ColumnData::Text(rows.map(|row| plain.text(draws, row).into()).collect());
            }
            Self::TextChoice(values, choices, draws) => {
                let codes = codes(data, segments, |segment, codes| {
                    let picks = segment.row_indexes().map(|row| choices.pick(draws, row));
                    codes.extend(picks.map(|pick| u32::try_from(pick).unwrap_or(0)));
                });
                *data = dictionary(values, codes, ColumnData::TextDictionary);
            }
            Self::Attribute(values, of_entity) => {
                let codes = codes(data, segments, |segment, codes| {
                    let first = usize::try_from(segment.entity).unwrap_or(0);
                    let entities = of_entity.get(first..first + segment.rows);
                    codes.extend_from_slice(entities.unwrap_or_default());
                });
                *data = dictionary(values, codes, ColumnData::TextDictionary);
            }
            Self::Object(values) => {
                let codes = codes(data, segments, |segment, codes| {
                    let first = u32::try_from(segment.entity).unwrap_or(0);
                    let rows = u32::try_from(segment.rows).unwrap_or(0);
                    codes.extend(first..first.saturating_add(rows));
                });
                *data = dictionary(values, codes, ColumnData::ObjectDictionary);
            }
        }
    }
}

/// The different values of an attribute, and each entity's position among them.
fn coded(entity: Option<&Attributes>, attribute: usize) -> (Arc<[Box<str>]>, Vec<u32>) {
    let Some(entity) = entity else {
        return (Vec::new().into(), Vec::new());
    };
    let values = entity.distinct(attribute);
    let positions: BTreeMap<&str, u32> = values
        .iter()
        .zip(0..)
        .map(|(value, position)| (&**value, position))
        .collect();
    let codes = (0..entity.count())
        .map(|number| {
            let value = entity.value(attribute, number);
            positions.get(value.as_str()).copied().unwrap_or(0)
        })
        .collect();
    (values, codes)
}

/// The whole part of a number that is known to fit.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "walks of integers stay within 2e9"
)]
fn whole(number: f64) -> i64 {
    number as i64
}

/// Fills integers, in the memory that `data` has if it holds integers already.
fn integers(data: &mut ColumnData, all: Segments, fill: impl Fn(Segment, &mut Vec<i64>)) {
    let mut values = match std::mem::replace(data, ColumnData::Integer(Vec::new())) {
        ColumnData::Integer(values) => emptied(values, all.left),
        _ => Vec::with_capacity(all.left),
    };
    all.for_each(|segment| fill(segment, &mut values));
    *data = ColumnData::Integer(values);
}

/// Fills timestamps, in the memory that `data` has if it holds timestamps already.
fn timestamps(data: &mut ColumnData, all: Segments, fill: impl Fn(Segment, &mut Vec<i64>)) {
    let mut values = match std::mem::replace(data, ColumnData::Integer(Vec::new())) {
        ColumnData::TimestampMs(values) => emptied(values, all.left),
        _ => Vec::with_capacity(all.left),
    };
    all.for_each(|segment| fill(segment, &mut values));
    *data = ColumnData::TimestampMs(values);
}

/// Fills doubles, in the memory that `data` has if it holds doubles already.
fn floats(data: &mut ColumnData, all: Segments, fill: impl Fn(Segment, &mut Vec<f64>)) {
    let mut values = match std::mem::replace(data, ColumnData::Integer(Vec::new())) {
        ColumnData::Float(values) => emptied(values, all.left),
        _ => Vec::with_capacity(all.left),
    };
    all.for_each(|segment| fill(segment, &mut values));
    *data = ColumnData::Float(values);
}

/// Codes of a dictionary, in the memory that `data` has if it holds some already.
fn codes(data: &mut ColumnData, all: Segments, fill: impl Fn(Segment, &mut Vec<u32>)) -> Vec<u32> {
    let mut codes = match std::mem::replace(data, ColumnData::Integer(Vec::new())) {
        ColumnData::TextDictionary(old) | ColumnData::ObjectDictionary(old) => {
            emptied(old.codes, all.left)
        }
        _ => Vec::with_capacity(all.left),
    };
    all.for_each(|segment| fill(segment, &mut codes));
    codes
}

fn dictionary(
    values: &Arc<[Box<str>]>,
    codes: Vec<u32>,
    wrap: impl Fn(Dictionary) -> ColumnData,
) -> ColumnData {
    let values = Arc::clone(values);
    wrap(Dictionary { values, codes })
}

fn emptied<T>(mut values: Vec<T>, room: usize) -> Vec<T> {
    values.clear();
    values.reserve(room);
    values
}
