//! The values of one column, for rows in segments; each kind of column fills its own kind of data.
//!
//! Nothing is allocated per value but text that differs from row to row; data that is filled
//! again keeps its memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::definition::{Column, ColumnGenerator, Table};
use super::distribution::Sampler;
use super::entity::Attributes;
use super::fields::{self, FieldRows};
use super::layout::Segments;
use super::plain::{Choices, Literal, Plain};
use super::random::Draws;
use super::segment::Segment;
use super::timeline::Timeline;
use super::walk::Walk;
use highwater_model::numbers::truncate_to_i64;
use highwater_model::op::{ColumnData, ColumnType, Dictionary};
use highwater_model::units::Seed;

/// A column whose values are made from the row's own index, entity and tick.
#[derive(Debug)]
pub(super) enum GeneratedColumn {
    Integer(Plain, Draws),
    Float(Plain, Draws),
    Boolean(Plain, Draws),
    Timestamp(Plain, Draws),
    Text(Plain, Draws),
    Timeline(Timeline, Draws),
    IntegerWalk {
        walk: Walk,
        min: i64,
    },
    FloatWalk(Walk),
    TextChoice(Arc<[Box<str>]>, Choices, Draws),
    Words(Arc<[Box<str>]>, Sampler, Draws),
    /// One code for each entity.
    Attribute(Arc<[Box<str>]>, Vec<u32>),
    /// The code is the entity's number.
    Object(Arc<[Box<str>]>),
    /// An object of its own for each row.
    Fields(Vec<FieldRows>),
}

impl GeneratedColumn {
    /// A column of `table`. A reference has no values of its own, so that here it has none.
    pub(super) fn new(table: &Table, column: &Column, entities: &[Attributes], seed: Seed) -> Self {
        let entity = table.entity.and_then(|position| entities.get(position));
        let path = ["column", table.name.as_str(), column.name.as_str()];
        let draws = Draws::of(seed, &path);
        match &column.generator {
            ColumnGenerator::Timeline(timeline) => Self::Timeline(*timeline, draws),
            ColumnGenerator::Fields(of) => Self::Fields(fields::rows_of(of, &path, seed)),
            ColumnGenerator::Walk(shape) => {
                let noise = Draws::of(seed, &["column", &table.name, &column.name, "noise"]);
                let walk = Walk::new(*shape, draws, noise);
                if column.kind == ColumnType::Float {
                    Self::FloatWalk(walk)
                } else {
                    let min = truncate_to_i64(walk.min());
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
            ColumnGenerator::Reference(_) => Self::Attribute(Vec::new().into(), Vec::new()),
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
            (_, Plain::Dictionary { words, sampler }) => {
                let all = (0..words.size).map(|n| words.word(&draws, n).into_boxed_str());
                Self::Words(all.collect(), sampler, draws)
            }
            (_, plain) => Self::Text(plain, draws),
        }
    }

    /// Makes `data` the values of the rows of all segments; its memory is used again.
    pub(super) fn fill(&self, segments: Segments, data: &mut ColumnData) {
        match self {
            Self::Fields(of) => *data = fields::objects(of, segments),
            Self::Integer(plain, draws) => integers(data, segments, |segment, values| {
                values.extend(segment.row_indexes().map(|row| plain.integer(draws, row)));
            }),
            Self::IntegerWalk { walk, min } => integers(data, segments, |segment, values| {
                walk.append(segment, values, |value| min + truncate_to_i64(value));
            }),
            Self::Timestamp(plain, draws) => timestamps(data, segments, |segment, values| {
                values.extend(segment.row_indexes().map(|row| plain.integer(draws, row)));
            }),
            Self::Timeline(timeline, draws) => {
                timestamps(data, segments, |segment, values| match timeline.jitter {
                    None => values.resize(values.len() + segment.rows, timeline.at(segment.tick)),
                    Some(_) => values.extend(
                        segment
                            .row_indexes()
                            .map(|row| timeline.near(segment.tick, draws, row)),
                    ),
                });
            }
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
            Self::Words(values, sampler, draws) => {
                let codes = codes(data, segments, |segment, codes| {
                    let picks = segment.row_indexes().map(|row| sampler.pick(draws, row));
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
