//! The options of references to existing rows.

use super::distribution::read_chosen_distribution;
use super::kinds::name_of;
use super::names::position_of;
use super::section::{Reader, Section};
use crate::definition::{Column, ColumnGenerator, FieldGenerator, Reference, Table};
use highwater_model::op::ColumnType;

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
    let (table, column, field) = read_place(reader, section, kind, tables)?;
    Some(Reference {
        table,
        column,
        field,
        rows: rows?,
        distribution: distribution?,
    })
}

/// Reads a `table` and perhaps a `column` of it and a `field` of that, which has the type `kind`.
pub(super) fn read_place(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    kind: ColumnType,
    tables: &[&Table],
) -> Option<(usize, Option<usize>, Vec<String>)> {
    let entry = section.required(reader, "table", "\"…\"");
    let column = section.optional("column");
    let entry = entry?;
    let name = section.text_of(reader, "table", entry)?;
    let names = tables.iter().map(|table| table.name.as_str());
    let position = position_of(reader, names, "table", &name, entry.span())?;
    let table = tables.get(position)?;
    let mut field = Vec::new();
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
            let column = position_of(reader, names, "column", &name, entry.span())?;
            let found = table.columns.get(column)?;
            let (of, found_kind) = read_field(reader, section, found)?;
            field = of;
            let plain = !matches!(found.generator, ColumnGenerator::Reference(_));
            if found_kind != kind || !plain {
                let message = format!(
                    "column `{}` is {}of type `{}`, {} of type `{}`",
                    [&[name], &field[..]].concat().join("."),
                    if plain { "" } else { "a reference itself, " },
                    name_of(found_kind),
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
    Some((position, column?, field))
}

/// Reads the path to a `field` of the objects in a column, where there is one, and of which type
/// what it leads to is.
fn read_field(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    column: &Column,
) -> Option<(Vec<String>, ColumnType)> {
    let Some(entry) = section.optional("field") else {
        return Some((Vec::new(), column.kind));
    };
    let text = section.text_of(reader, "field", entry)?;
    let mut fields = match &column.generator {
        ColumnGenerator::Fields(fields) => fields.as_slice(),
        _ => &[],
    };
    let mut kind = column.kind;
    let mut path = Vec::new();
    for name in text.split('.') {
        let names = fields.iter().map(|field| field.name.as_str());
        let position = position_of(reader, names, "field", name, entry.span())?;
        let field = fields.get(position)?;
        kind = field.kind;
        fields = match &field.generator {
            FieldGenerator::Object(fields) => fields,
            FieldGenerator::Plain(_) => &[],
        };
        path.push(name.to_owned());
    }
    Some((path, kind))
}
