//! References: what an existing row has in a column, or that row's index.

use serde_json::Value;

use super::column::GeneratedColumn;
use super::definition::{Reference, Table};
use super::distribution::{Distribution, Sampler};
use super::entity::Attributes;
use super::layout::{Layout, Segments};
use super::random::Draws;
use super::segment::Segment;
use highwater_model::op::ColumnData;
use highwater_model::units::Seed;

/// A column whose values are those of existing rows.
#[derive(Debug)]
pub(super) struct ReferenceColumn {
    draws: Draws,
    distribution: Distribution,
    /// Where the number of rows does not change.
    fixed: Option<Sampler>,
    /// The column that is referred to; the row's index without.
    source: Option<(Layout, GeneratedColumn)>,
    /// The path to a field of the objects that are referred to; empty for the whole value.
    field: Vec<String>,
}

/// The row that the n-th draw refers to among `rows`; 0 if there is none.
pub(super) fn row_of(distribution: Distribution, draws: &Draws, n: u64, rows: u64) -> u64 {
    Sampler::new(distribution, rows).pick(draws, n)
}

impl ReferenceColumn {
    pub(super) fn new(
        reference: &Reference,
        draws: Draws,
        tables: &[Table],
        entities: &[Attributes],
        seed: Seed,
    ) -> Self {
        let source = tables.get(reference.table).and_then(|table| {
            let column = table.columns.get(reference.column?)?;
            let rows = GeneratedColumn::new(table, column, entities, seed);
            Some((Layout::of(table, entities, seed), rows))
        });
        Self {
            draws,
            distribution: reference.distribution,
            fixed: reference
                .rows
                .map(|rows| Sampler::new(reference.distribution, rows)),
            source,
            field: reference.field.clone(),
        }
    }

    /// Makes `data` what the rows of all segments refer to.
    pub(super) fn fill(&self, segments: Segments, data: &mut ColumnData) {
        let rows = segments.flat_map(Segment::row_indexes);
        let targets = rows.map(|row| match &self.fixed {
            Some(sampler) => sampler.pick(&self.draws, row),
            None => row_of(self.distribution, &self.draws, row, row),
        });
        let Some((layout, column)) = &self.source else {
            let indexes = targets.map(|row| i64::try_from(row).unwrap_or(i64::MAX));
            *data = ColumnData::Integer(indexes.collect());
            return;
        };
        let mut cell = ColumnData::Integer(Vec::new());
        let mut all: Option<ColumnData> = None;
        for row in targets {
            column.fill(layout.segments(row, 1), &mut cell);
            cell = field_of(cell, &self.field);
            match &mut all {
                Some(all) => append(all, &cell),
                None => all = Some(written_out(&cell)),
            }
        }
        *data = all.unwrap_or(ColumnData::Integer(Vec::new()));
    }
}

/// What the field at the end of a path is in a row's object; the cell itself without a path.
pub(super) fn field_of(cell: ColumnData, path: &[String]) -> ColumnData {
    let ColumnData::ObjectDictionary(object) = &cell else {
        return cell;
    };
    if path.is_empty() {
        return cell;
    }
    let code = object.codes.first().copied().map(usize::try_from);
    let text = code.and_then(|code| object.values.get(code.ok()?));
    let object: Option<Value> = text.and_then(|text| serde_json::from_str(text).ok());
    let mut value = object.as_ref();
    for key in path {
        value = value.and_then(|value| value.get(key));
    }
    match value.unwrap_or(&Value::Null) {
        Value::Bool(value) => ColumnData::Boolean(vec![*value]),
        Value::Number(number) => match number.as_i64() {
            Some(number) => ColumnData::Integer(vec![number]),
            None => ColumnData::Float(vec![number.as_f64().unwrap_or(f64::NAN)]),
        },
        text => ColumnData::Text(vec![text.as_str().unwrap_or_default().into()]),
    }
}

/// The same values without a dictionary.
fn written_out(data: &ColumnData) -> ColumnData {
    match data {
        ColumnData::TextDictionary(coded) => ColumnData::Text(
            coded
                .codes
                .iter()
                .filter_map(|code| coded.values.get(usize::try_from(*code).ok()?))
                .cloned()
                .collect(),
        ),
        other => other.clone(),
    }
}

/// Appends values of the same kind.
fn append(all: &mut ColumnData, more: &ColumnData) {
    match (all, written_out(more)) {
        (ColumnData::Integer(all), ColumnData::Integer(more))
        | (ColumnData::TimestampMs(all), ColumnData::TimestampMs(more)) => all.extend(more),
        (ColumnData::Float(all), ColumnData::Float(more)) => all.extend(more),
        (ColumnData::Boolean(all), ColumnData::Boolean(more)) => all.extend(more),
        (ColumnData::Text(all), ColumnData::Text(more)) => all.extend(more),
        // A column makes one kind of data only.
        _ => {}
    }
}
