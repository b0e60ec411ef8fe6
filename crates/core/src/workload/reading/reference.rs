//! The options of references to existing rows.

use super::super::definition::{ColumnGenerator, Reference, Table};
use super::super::section::{Reader, Section};
use super::distribution::read_chosen_distribution;
use super::kinds::name_of;
use super::position_of;
use crate::model::op::ColumnType;

/// Reads a reference to one of `tables`, of which the last may be the table itself.
pub(super) fn read(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    kind: ColumnType,
    tables: &[&Table],
) -> Option<Reference> {
    let rows = match section.optional("rows") {
        None => Some(None),
        Some(_) => section
            .integer(reader, "rows", 1..=i64::MAX, None)
            .map(|rows| Some(rows.unsigned_abs())),
    };
    let distribution = read_chosen_distribution(reader, section);
    let (table, column) = read_place(reader, section, kind, tables)?;
    Some(Reference {
        table,
        column,
        rows: rows?,
        distribution: distribution?,
    })
}

/// Reads a `table` and perhaps a `column` of it, which has the type `kind`.
pub(super) fn read_place(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    kind: ColumnType,
    tables: &[&Table],
) -> Option<(usize, Option<usize>)> {
    let entry = section.required(reader, "table", "\"…\"");
    let column = section.optional("column");
    let entry = entry?;
    let name = section.text_of(reader, "table", entry)?;
    let names = tables.iter().map(|table| table.name.as_str());
    let position = position_of(reader, names, "table", (&name, entry.span()))?;
    let table = tables.get(position)?;
    let column = match column {
        None => {
            let good = matches!(kind, ColumnType::Integer | ColumnType::Bigint);
            if !good {
                let message = format!("{} refers to no column", section.place);
                let hint = "add column = \"…\"; without one it is the row's index, a number";
                reader.report(section.span.clone(), message, Some(hint.to_owned()));
            }
            good.then_some(None)
        }
        Some(entry) => {
            let name = section.text_of(reader, "column", entry)?;
            let names = table.columns.iter().map(|column| column.name.as_str());
            let column = position_of(reader, names, "column", (&name, entry.span()))?;
            let found = table.columns.get(column)?;
            let plain = !matches!(found.generator, ColumnGenerator::Reference(_));
            if found.kind != kind || !plain {
                let message = format!(
                    "column `{name}` is {}of type `{}`, {} of type `{}`",
                    if plain { "" } else { "a reference itself, " },
                    name_of(found.kind),
                    section.place,
                    name_of(kind)
                );
                let hint = "both have one type, and a reference ends at a value".to_owned();
                reader.report(entry.span(), message, Some(hint));
                return None;
            }
            Some(Some(column))
        }
    };
    Some((position, column?))
}
