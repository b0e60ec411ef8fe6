//! Rows of a table from their indexes, column by column. Rows are time-major unless the table states otherwise: row i
//! is entity i mod n at tick i / n. They are made in segments of one tick, and columns are filled in one step, with
//! memory reused. Attributes are constant texts of an entity, generated from its number. Must not determine the content
//! of a column.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use highwater_model::op::{ColumnData, ColumnType, Dictionary, RowBatch, Value};
use highwater_model::units::Seed;

use super::definition::{Column, Table};
use super::generators::columns::{Fill, MadeFor};
use super::generators::plain::{Choice, Literal, Plain, Texts, choice, literals};
use super::input::{Entry, Section, named};
use super::random::Draws;

/// The rows of a table.
#[derive(Debug)]
pub(crate) struct TableRows {
    layout: Layout,
    columns: Vec<Box<dyn Fill>>,
    /// Of each column, which rows have no value; absent if all have one.
    nulls: Vec<Option<Nulls>>,
}

/// Which rows of a column have no value.
#[derive(Debug)]
struct Nulls {
    share: f64,
    draws: Draws,
}

impl Nulls {
    fn of(table: &Table, column: &Column, seed: Seed) -> Option<Self> {
        let draws = Draws::new(seed, &["nulls", &table.name, &column.name]);
        (column.nulls > 0.0).then_some(Self { share: column.nulls, draws })
    }

    fn fill(&self, column: &dyn Fill, segments: Segments, data: &mut ColumnData) {
        let (mut values, mut nulls) = match taken(data) {
            ColumnData::Nullable(values, nulls) => (values, nulls),
            values => (Box::new(values), Vec::new()),
        };
        nulls.clear();
        let rows = segments.clone().flat_map(Segment::row_indexes);
        nulls.extend(rows.map(|row| self.draws.unit(row) < self.share));
        column.fill(segments, &mut values);
        *data = ColumnData::Nullable(values, nulls);
    }
}

/// Creates the row generators of all tables.
pub(crate) fn rows_of(tables: &[Table], entities: &[Attributes], seed: Seed) -> Vec<TableRows> {
    let all = AllRows { tables, entities, seed };
    let rows = |table: &Table| TableRows {
        layout: table.layout(entities, seed),
        columns: table.columns.iter().map(|column| all.column(table, column)).collect(),
        nulls: table.columns.iter().map(|column| Nulls::of(table, column, seed)).collect(),
    };
    tables.iter().map(rows).collect()
}

/// The inputs of columns.
struct AllRows<'a> {
    tables: &'a [Table],
    entities: &'a [Attributes],
    seed: Seed,
}

impl AllRows<'_> {
    fn column(&self, table: &Table, column: &Column) -> Box<dyn Fill> {
        column.generator.made(&MadeFor {
            table: &table.name,
            column: &column.name,
            kind: column.kind,
            entity: table.entity.and_then(|position| self.entities.get(position)),
            seed: self.seed,
            // Reading ensures that a reference does not lead to a reference, so this terminates.
            other: &|table, column| {
                let table = self.tables.get(table)?;
                let made = self.column(table, table.columns.get(column)?);
                Some((table.layout(self.entities, self.seed), made))
            },
        })
    }
}

impl TableRows {
    /// The tick of a row.
    pub(crate) fn tick(&self, row: u64) -> u64 {
        self.layout.tick(row)
    }

    /// Fills `batch` with the rows from `first_row` on, reusing its memory.
    pub(crate) fn fill(&self, first_row: u64, rows: usize, batch: &mut RowBatch) {
        batch.first_row = first_row;
        batch.rows = rows;
        batch.columns.resize_with(self.columns.len(), || ColumnData::Integer(Vec::new()));
        let columns = self.columns.iter().zip(&self.nulls);
        for ((column, nulls), data) in columns.zip(&mut batch.columns) {
            let segments = self.layout.segments(first_row, rows);
            match nulls {
                Some(nulls) => nulls.fill(column.as_ref(), segments, data),
                None => column.fill(segments, data),
            }
        }
    }

    /// Values that include the extremes of the range of each column's generator.
    pub(crate) fn extremes(&self) -> Vec<Vec<Value>> {
        self.columns.iter().map(|column| column.extremes()).collect()
    }

    /// The value of one row in one column, or the one that it would have if it is not null; `None` if there is no such column.
    pub(crate) fn cell(&self, column: usize, row: u64) -> Option<ColumnData> {
        let mut data = ColumnData::Integer(Vec::new());
        self.columns.get(column)?.fill(self.layout.segments(row, 1), &mut data);
        Some(data)
    }
}

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

named!(Entity, Attribute);

/// Entities that rows describe, numbered from 0.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Entity {
    pub(crate) name: String,
    /// In 1..=[`MAX_ENTITIES`].
    pub(crate) count: u64,
    pub(crate) attributes: Vec<Attribute>,
    /// Name prefixes of repeated attributes, whose number may be 0.
    #[serde(skip)]
    pub(crate) repeated: Vec<String>,
}

/// Maximum number of entities of one kind; their attributes are kept in memory.
pub(crate) const MAX_ENTITIES: i64 = 1_000_000;

/// A constant text of an entity.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) generator: AttributeGenerator,
}

/// How an attribute is generated from the entity's number.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AttributeGenerator {
    Plain(Plain),
    /// A choice that depends on the value of an earlier attribute.
    ChoiceBy {
        attribute: usize,
        choices: BTreeMap<String, Choice>,
    },
}

impl Entity {
    /// The positions of the copies of a repeated attribute.
    pub(crate) fn repetitions(&self, begin: &str) -> Vec<usize> {
        let numbered = |name: &str| {
            let number = name.strip_prefix(begin);
            number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        self.attributes
            .iter()
            .enumerate()
            .filter(|(_, attribute)| numbered(&attribute.name))
            .map(|(position, _)| position)
            .collect()
    }
}

/// Reads a choice `by` the value of an earlier attribute.
pub(crate) fn read_choice_by(
    of: &Section<'_>,
    by: Entry<'_>,
    earlier: &[Attribute],
) -> Option<AttributeGenerator> {
    let attribute = by.position("earlier attribute", earlier)?;
    let Attribute { name, generator } = earlier.get(attribute)?;
    let AttributeGenerator::Plain(Plain::Choice(other)) = generator else {
        let message = format!("attribute `{name}` is not made by a plain choice");
        return by.error(message, "it needs generator = \"choice\" without `by`");
    };
    let entry = of.required("values", "{ a = [\"a1\", \"a2\"] }")?;
    let table = entry.section(format!("`values` of {}", of.place))?;
    let known: Vec<String> = other.values.iter().map(Literal::text).collect();
    let mut choices = BTreeMap::new();
    for list in table.entries() {
        list.key_position(&format!("value of `{name}`"), &known);
        let values = literals(list, ColumnType::Text, &table.place);
        let weights = vec![1; values.len()];
        if let Some(made) = choice(values, &weights) {
            choices.insert(list.key.to_owned(), made);
        }
    }
    for value in known.iter().filter(|value| !choices.contains_key(*value)) {
        let message = format!("{} has no list for `{value}`", table.place);
        entry.error::<()>(message, format!("add {value} = [\"…\"]"));
    }
    Some(AttributeGenerator::ChoiceBy { attribute, choices })
}

/// An entity's definition and the randomness of its attributes.
#[derive(Debug)]
pub(crate) struct Attributes {
    entity: Entity,
    /// One per attribute.
    draws: Vec<Draws>,
}

impl Attributes {
    pub(crate) fn new(entity: &Entity, seed: Seed) -> Self {
        let draws = entity
            .attributes
            .iter()
            .map(|attribute| Draws::new(seed, &["entity", &entity.name, &attribute.name]))
            .collect();
        Self { entity: entity.clone(), draws }
    }

    /// Number of entities.
    pub(crate) fn count(&self) -> u64 {
        self.entity.count
    }

    /// The attribute of entity `number`; empty if there is no such attribute.
    pub(crate) fn value(&self, attribute: usize, number: u64) -> String {
        let known = self.entity.attributes.get(attribute);
        let Some((known, draws)) = known.zip(self.draws.get(attribute)) else {
            return String::new();
        };
        match &known.generator {
            AttributeGenerator::Plain(plain) => plain.text(draws, number),
            AttributeGenerator::ChoiceBy { attribute: earlier, choices } => {
                // Reading ensures that `earlier` comes before, so this terminates.
                let choice = choices.get(&self.value(*earlier, number));
                choice.map_or_else(String::new, |choice| choice.value_text(draws, number))
            }
        }
    }

    /// The distinct values of an attribute, sorted.
    pub(crate) fn distinct(&self, attribute: usize) -> Texts {
        let values: BTreeSet<String> =
            (0..self.count()).map(|number| self.value(attribute, number)).collect();
        values.into_iter().map(String::into_boxed_str).collect()
    }

    /// Per entity, a JSON object of some attributes, without insignificant spaces.
    pub(crate) fn objects(&self, attributes: &[usize]) -> Texts {
        let known = attributes.iter().filter_map(|attribute| {
            let known = self.entity.attributes.get(*attribute)?;
            Some((*attribute, quoted(&known.name)))
        });
        let keys: Vec<(usize, String)> = known.collect();
        (0..self.count()).map(|number| self.object(&keys, number).into_boxed_str()).collect()
    }

    /// A JSON object of these attributes with their quoted names.
    fn object(&self, keys: &[(usize, String)], number: u64) -> String {
        let mut object = String::from("{");
        for (attribute, name) in keys {
            if object.len() > 1 {
                object.push(',');
            }
            object.push_str(name);
            object.push(':');
            object.push_str(&quoted(&self.value(*attribute, number)));
        }
        object.push('}');
        object
    }
}

/// A JSON string.
pub(crate) fn quoted(text: &str) -> String {
    // Serializing a string to memory cannot fail.
    serde_json::to_string(text).unwrap_or_default()
}
