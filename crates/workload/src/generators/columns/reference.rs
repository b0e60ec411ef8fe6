//! `reference`: what an existing row has in a column, or that row's index.

use serde_json::Value;

use super::making::{ColumnScope, Scope};
use super::making::{Fill, Generate, MadeFor};
use crate::generators::distribution::{Distribution, Sampler};
use crate::generators::prelude::{
    ColumnData, ColumnType, Draws, SCALARS, Section, Segments, Serialize, Spec, specs,
};
use crate::layout::Layout;
use crate::layout::Segment;

/// What an existing row has in a column, or its index.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Reference {
    /// Position of the table; never a later one.
    pub(crate) table: usize,
    /// Position of the column, which is no reference itself; without one, the row's index.
    pub(crate) column: Option<usize>,
    /// The path to a field of the objects in that column; empty for the whole value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) field: Vec<String>,
    /// Rows that there are; without a number, those before the row itself, or before the op.
    rows: Option<u64>,
    distribution: Distribution,
}

impl Reference {
    /// The row that the n-th draw refers to, where `before` rows are there; 0 if there is none.
    pub(crate) fn row(&self, draws: &Draws, n: u64, before: u64) -> u64 {
        Sampler::new(self.distribution, self.rows.unwrap_or(before)).pick(draws, n)
    }
}

impl Generate for Reference {
    const SPECS: &'static [Spec] = specs!(
        "reference", "what an earlier row, or a row of an earlier table, has in a column", SCALARS,
        ["table": Text; "column": Text, "field": Text, "rows": Integer, "distribution": Distribution,
            "theta": Float, "data": Float, "asked": Float, "percentile": Float, "order": Text];
    );

    /// Reads a reference to one of the tables above, of which the last may be the table itself.
    fn read(of: &Section<'_>, scope: &Scope<'_>) -> Option<Self> {
        let rows = of.optional("rows").map(|_| of.natural("rows", 1, None));
        let distribution = Distribution::read(of);
        let reference = read_place(of, scope)?;
        of.good(Self { rows, distribution: distribution?, ..reference })
    }

    fn made(&self, column: &MadeFor<'_>) -> impl Fill + 'static {
        Referring {
            draws: column.draws(),
            distribution: self.distribution,
            fixed: self.rows.map(|rows| Sampler::new(self.distribution, rows)),
            source: self.column.and_then(|of| (column.other)(self.table, of)),
            field: self.field.clone(),
        }
    }
}

/// Reads a `table` and perhaps a `column` of it and a `field` of that, which has the type of what
/// is read.
pub(crate) fn read_place(of: &Section<'_>, scope: &Scope<'_>) -> Option<Reference> {
    let table = of.required("table", "\"…\"")?.position("table", scope.tables)?;
    let mut reference = Reference {
        table,
        column: None,
        field: Vec::new(),
        rows: None,
        distribution: Distribution::Uniform,
    };
    let Some(entry) = of.optional("column") else {
        let good = matches!(scope.kind, ColumnType::Integer | ColumnType::Bigint);
        let message = format!("{} refers to no column", of.place);
        let hint = "add column = \"…\"; without one it is the row's index, a number";
        of.check(good, message, hint);
        return good.then_some(reference);
    };
    let columns = &scope.tables.get(table)?.columns;
    let position = entry.position("column", columns)?;
    let column = columns.get(position)?;
    let target = read_field(of, column, &mut reference.field)?;
    if target.kind != scope.kind || column.refers {
        let message = format!(
            "column `{}` is {}of type `{}`, {} of type `{}`",
            [std::slice::from_ref(&column.name), &reference.field[..]].concat().join("."),
            if column.refers { "a reference itself, " } else { "" },
            target.kind.name(),
            of.place,
            scope.kind.name()
        );
        return entry.error(message, "both have one type, and a reference ends at a value");
    }
    reference.column = Some(position);
    Some(reference)
}

/// Reads the path to a `field` of the objects in a column, where there is one, and what it leads
/// to.
fn read_field<'c>(
    of: &Section<'_>,
    column: &'c ColumnScope,
    path: &mut Vec<String>,
) -> Option<&'c ColumnScope> {
    let mut target = column;
    if let Some(entry) = of.optional("field") {
        for name in entry.text()?.split('.') {
            let position = entry.position_of("field", name, &target.fields)?;
            target = target.fields.get(position)?;
            path.push(name.to_owned());
        }
    }
    Some(target)
}

/// A column whose values are those of existing rows.
#[derive(Debug)]
struct Referring {
    draws: Draws,
    distribution: Distribution,
    /// Where the number of rows does not change.
    fixed: Option<Sampler>,
    /// The column that is referred to; the row's index without.
    source: Option<(Layout, Box<dyn Fill>)>,
    /// The path to a field of the objects that are referred to; empty for the whole value.
    field: Vec<String>,
}

impl Fill for Referring {
    fn fill(&self, segments: Segments, data: &mut ColumnData) {
        let targets = segments.flat_map(Segment::row_indexes).map(|row| match &self.fixed {
            Some(sampler) => sampler.pick(&self.draws, row),
            None => Sampler::new(self.distribution, row).pick(&self.draws, row),
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
pub(crate) fn field_of(cell: ColumnData, path: &[String]) -> ColumnData {
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
    let ColumnData::TextDictionary(coded) = data else {
        return data.clone();
    };
    let value = |code: &u32| coded.values.get(usize::try_from(*code).ok()?).cloned();
    ColumnData::Text(coded.codes.iter().filter_map(value).collect())
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
