//! Statements that write rows which replace each other: `upserts` and `deletes`.

use super::names::position_of;
use super::section::{Reader, Section};
use crate::definition::{
    OpBodyDefinition, ParameterGenerator, QueryParameter, Table, WriteKind, Writes,
};

/// Reads what a query does to the rows of a table, if it says so.
pub(super) fn read(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    body: &mut OpBodyDefinition,
    tables: &[Table],
) {
    let OpBodyDefinition::Query {
        parameters, writes, ..
    } = body
    else {
        return;
    };
    *writes = read_writes(reader, section, parameters, tables);
    let upserted = writes.filter(|writes| writes.kind == WriteKind::Upsert);
    for parameter in parameters.iter() {
        let ParameterGenerator::Written { table, .. } = parameter.generator else {
            continue;
        };
        if upserted.is_none_or(|writes| writes.table != table || writes.rows != parameter.count) {
            let message = format!(
                "parameter `{}` of {} is not of the rows that it upserts",
                parameter.name, section.place
            );
            let hint = "upserts = \"TABLE\", and one `count` for all its parameters";
            reader.report(section.span.clone(), message, Some(hint.to_owned()));
        }
    }
}

fn read_writes(
    reader: &mut Reader<'_>,
    section: &mut Section<'_, '_>,
    parameters: &[QueryParameter],
    tables: &[Table],
) -> Option<Writes> {
    let (kind, key, entry) = match (section.optional("upserts"), section.optional("deletes")) {
        (None, None) => return None,
        (Some(entry), None) => (WriteKind::Upsert, "upserts", entry),
        (None, Some(entry)) => (WriteKind::Delete, "deletes", entry),
        (Some(entry), Some(_)) => {
            let message = format!("{} both upserts and deletes", section.place);
            let hint = "make two ops of it".to_owned();
            reader.report(entry.span(), message, Some(hint));
            return None;
        }
    };
    let name = section.text_of(reader, key, entry)?;
    let names = tables.iter().map(|table| table.name.as_str());
    let table = position_of(reader, names, "table", &name, entry.span())?;
    let Some(column) = tables.get(table)?.replaces else {
        let message = format!("rows of table `{name}` do not replace each other");
        let hint = "add replaces = \"COLUMN\" to the table: what a later row takes over";
        reader.report(entry.span(), message, Some(hint.to_owned()));
        return None;
    };
    let entry = section.required(reader, "key", "\"…\"")?;
    let name = section.text_of(reader, "key", entry)?;
    let names = parameters.iter().map(|parameter| parameter.name.as_str());
    let key = position_of(reader, names, "parameter", &name, entry.span())?;
    let parameter = parameters.get(key)?;
    let place = match (&parameter.generator, kind) {
        (ParameterGenerator::Written { table, column }, WriteKind::Upsert) => {
            Some((*table, *column))
        }
        (ParameterGenerator::Reference(of), WriteKind::Delete) => {
            of.column.map(|column| (of.table, column))
        }
        _ => None,
    };
    if place != Some((table, column)) {
        let message = format!("parameter `{name}` has not the keys of {}", section.place);
        let hint = match kind {
            WriteKind::Upsert => "generator = \"written\", with the column that `replaces` names",
            WriteKind::Delete => "generator = \"reference\", with the column that `replaces` names",
        };
        reader.report(entry.span(), message, Some(hint.to_owned()));
        return None;
    }
    Some(Writes {
        kind,
        table,
        key,
        rows: parameter.count,
    })
}
