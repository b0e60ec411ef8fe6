//! Statements that write rows that replace each other: `upserts` and `deletes`.

use crate::definition::{OpBodyDefinition, QueryParameter, WriteKind, Writes};
use crate::generators::parameters::{ParameterGenerator, Written};
use crate::input::Section;
use crate::table::Table;

/// Reads the effect of a query on the rows of a table, if stated.
pub(super) fn read(of: &Section<'_>, body: &mut OpBodyDefinition, tables: &[Table]) {
    let OpBodyDefinition::Query { parameters, writes, .. } = body else {
        return;
    };
    *writes = read_writes(of, parameters, tables);
    let upserted = writes.filter(|writes| writes.kind == WriteKind::Upsert);
    for parameter in parameters.iter() {
        let ParameterGenerator::Written(Written { table, .. }) = parameter.generator else {
            continue;
        };
        if upserted.is_none_or(|writes| writes.table != table || writes.rows != parameter.count) {
            let (name, place) = (&parameter.name, &of.place);
            let message =
                format!("parameter `{name}` of {place} is not of the rows that it upserts");
            let hint = "upserts = \"TABLE\", and one `count` for all its parameters";
            of.error::<()>(message, hint);
        }
    }
}

fn read_writes(
    of: &Section<'_>,
    parameters: &[QueryParameter],
    tables: &[Table],
) -> Option<Writes> {
    let (kind, entry) = match (of.optional("upserts"), of.optional("deletes")) {
        (None, None) => return None,
        (Some(entry), None) => (WriteKind::Upsert, entry),
        (None, Some(entry)) => (WriteKind::Delete, entry),
        (Some(entry), Some(_)) => {
            let message = format!("{} both upserts and deletes", of.place);
            return entry.error(message, "make two ops of it");
        }
    };
    let position = entry.position("table", tables)?;
    let table = tables.get(position)?;
    let Some(column) = table.replaces else {
        let message = format!("rows of table `{}` do not replace each other", table.name);
        let hint = "add replaces = \"COLUMN\" to the table: what a later row takes over";
        return entry.error(message, hint);
    };
    let entry = of.required("key", "\"…\"")?;
    let key = entry.position("parameter", parameters)?;
    let parameter = parameters.get(key)?;
    let (place, generator) = match (&parameter.generator, kind) {
        (ParameterGenerator::Written(of), WriteKind::Upsert) => {
            (Some((of.table, Some(of.column))), "written")
        }
        (ParameterGenerator::Reference(of), WriteKind::Delete) => {
            (Some((of.0.table, of.0.column)), "reference")
        }
        (_, WriteKind::Upsert) => (None, "written"),
        (_, WriteKind::Delete) => (None, "reference"),
    };
    if place != Some((position, Some(column))) {
        let message = format!("parameter `{}` has not the keys of {}", parameter.name, of.place);
        let hint = format!("generator = \"{generator}\", with the column that `replaces` names");
        return entry.error(message, hint);
    }
    Some(Writes { kind, table: position, key, rows: parameter.count })
}
