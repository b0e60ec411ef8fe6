//! Tables: their columns, the statements that create them, and the key of their rows.

use std::collections::BTreeMap;

use toml::de::DeValue;

use super::names::{MAX_ITEMS, check_name, limited, named_element, position_of};
use super::section::{Entry, Reader, Section};
use super::{generator, parts};
use crate::definition::{Column, ColumnGenerator, Entity, Order, Table};
use crate::plain::{Literal, Plain};
use highwater_model::input_error::suggest;
use highwater_model::op::ColumnType;

/// Reads `[tables]`.
pub(super) fn read_tables(
    reader: &mut Reader<'_>,
    root: &mut Section<'_, '_>,
    entities: &[Entity],
) -> Vec<Table> {
    let Some(all) = root.section(reader, "tables", "the tables".to_owned()) else {
        return Vec::new();
    };
    let mut tables: Vec<Table> = Vec::new();
    for (name, span, entry) in limited(reader, &all, "tables") {
        check_name(reader, "table", name, span);
        let mut table = Table {
            name: name.to_owned(),
            entity: None,
            order: Order::TimeMajor,
            repeat: 0,
            replaces: None,
            columns: Vec::new(),
            create: BTreeMap::new(),
            key: BTreeMap::new(),
            values: BTreeMap::new(),
            locate: BTreeMap::new(),
        };
        let place = format!("table `{name}`");
        if let Some(section) = all.as_section(reader, name, entry, place) {
            read_table(reader, section, &mut table, entities, &tables);
        }
        tables.push(table);
    }
    tables
}

fn read_table(
    reader: &mut Reader<'_>,
    mut section: Section<'_, '_>,
    table: &mut Table,
    entities: &[Entity],
    earlier: &[Table],
) {
    if let Some(entry) = section.optional("entity")
        && let Some(name) = section.text_of(reader, "entity", entry)
    {
        let names = entities.iter().map(|entity| entity.name.as_str());
        table.entity = position_of(reader, names, "entity", &name, entry.span());
    }
    read_order(reader, &mut section, table);
    let entity = table.entity.and_then(|position| entities.get(position));
    let elements = section.list(reader, "columns");
    if elements.is_empty() {
        let message = format!("{} has no columns", section.place);
        let hint = format!("add [[tables.{}.columns]]", table.name);
        reader.report(section.span.clone(), message, Some(hint));
    }
    for element in elements.into_iter().take(MAX_ITEMS) {
        let place = format!("a column of table `{}`", table.name);
        if let Some(part) = section.as_section(reader, "columns", element, place) {
            let column = read_column(reader, part, table, entity, earlier);
            table.columns.push(column);
        }
    }
    if let Some(part) = parts::per_dialect(reader, &mut section, "create") {
        for (dialect, _, entry) in part.entries() {
            let statements = statements_of(reader, &part, dialect, entry);
            table.create.insert(dialect.to_owned(), statements);
        }
    }
    if let Some(part) = parts::per_dialect(reader, &mut section, "key") {
        for (dialect, span, entry) in part.entries() {
            if !table.create.contains_key(dialect) {
                let message = format!(
                    "{} has a key but no `create` for `{dialect}`",
                    section.place
                );
                let hint = suggest(dialect, table.create.keys().map(String::as_str));
                reader.report(span, message, hint);
            }
            if let Some(key) = part.text_of(reader, dialect, entry) {
                table.key.insert(dialect.to_owned(), key.trim().to_owned());
            }
        }
        for dialect in table
            .create
            .keys()
            .filter(|name| !table.key.contains_key(*name))
        {
            let message = format!("{} has no key for `{dialect}`", section.place);
            let hint = "an integer expression whose value is the row's index".to_owned();
            reader.report(part.span.clone(), message, Some(hint));
        }
    }
    read_values(reader, &mut section, table);
    read_locate(reader, &mut section, table);
    read_replaces(reader, &mut section, table);
    section.finish(reader);
}

/// Reads `replaces`: the column whose value a later row takes over.
fn read_replaces(reader: &mut Reader<'_>, section: &mut Section<'_, '_>, table: &mut Table) {
    let Some(entry) = section.optional("replaces") else {
        return;
    };
    let Some(name) = section.text_of(reader, "replaces", entry) else {
        return;
    };
    let names = table.columns.iter().map(|column| column.name.as_str());
    let position = position_of(reader, names, "column", &name, entry.span());
    let column = position.and_then(|position| table.columns.get(position));
    if column.is_some_and(|column| column.kind != ColumnType::Bigint) {
        let message = format!(
            "column `{name}` of {} is not of type `bigint`",
            section.place
        );
        let hint = "rows replace each other by a column of type bigint".to_owned();
        reader.report(entry.span(), message, Some(hint));
    }
    table.replaces = position;
}

/// Reads `[values.DIALECT]`: per column an integer expression for what stands for its value.
fn read_values(reader: &mut Reader<'_>, section: &mut Section<'_, '_>, table: &mut Table) {
    let place = format!("`values` of {}", section.place);
    let Some(all) = section.section(reader, "values", place) else {
        return;
    };
    for (dialect, span, entry) in all.entries() {
        check_dialect(reader, table, "values", dialect, span);
        let place = format!("`values.{dialect}` of table `{}`", table.name);
        let Some(part) = all.as_section(reader, dialect, entry, place) else {
            continue;
        };
        for (column, span, entry) in part.entries() {
            let names = table.columns.iter().map(|column| column.name.as_str());
            if position_of(reader, names, "column", column, span).is_none() {
                continue;
            }
            if let Some(expression) = part.text_of(reader, column, entry) {
                let of_dialect = table.values.entry(dialect.to_owned()).or_default();
                of_dialect.insert(column.to_owned(), expression.trim().to_owned());
            }
        }
    }
}

/// Reads `[locate]`: per dialect a condition that an index answers.
fn read_locate(reader: &mut Reader<'_>, section: &mut Section<'_, '_>, table: &mut Table) {
    let place = format!("`locate` of {}", section.place);
    let Some(part) = section.section(reader, "locate", place) else {
        return;
    };
    for (dialect, span, entry) in part.entries() {
        check_dialect(reader, table, "locate", dialect, span);
        let Some(condition) = part.text_of(reader, dialect, entry) else {
            continue;
        };
        for word in [":first", ":last"] {
            if !condition.contains(word) {
                let message = format!("`locate.{dialect}` of {} has no {word}", section.place);
                let hint = "it is a condition for keys from :first to :last, both included";
                reader.report(entry.span(), message, Some(hint.to_owned()));
            }
        }
        table
            .locate
            .insert(dialect.to_owned(), condition.trim().to_owned());
    }
}

fn check_dialect(
    reader: &mut Reader<'_>,
    table: &Table,
    key: &str,
    dialect: &str,
    span: std::ops::Range<usize>,
) {
    if !table.create.contains_key(dialect) {
        let message = format!(
            "table `{}` has `{key}` but no `create` for `{dialect}`",
            table.name
        );
        let hint = suggest(dialect, table.create.keys().map(String::as_str));
        reader.report(span, message, hint);
    }
}

/// Reads `order` and `repeat`.
fn read_order(reader: &mut Reader<'_>, section: &mut Section<'_, '_>, table: &mut Table) {
    if section.optional("order").is_some() {
        let words = [("time-major", Order::TimeMajor), ("drawn", Order::Sampled)];
        let order = parts::word(reader, section, "order", &words);
        table.order = order.unwrap_or(Order::TimeMajor);
    }
    let repeat = section.integer(reader, "repeat", 0..=i64::MAX, Some(0));
    table.repeat = repeat.unwrap_or(0).unsigned_abs();
}

/// One statement or a list of them; one that is a table counts under a condition only.
fn statements_of(
    reader: &mut Reader<'_>,
    part: &Section<'_, '_>,
    dialect: &str,
    entry: Entry<'_, '_>,
) -> Vec<String> {
    let elements: Vec<Entry<'_, '_>> = match entry.get_ref() {
        DeValue::Array(elements) => elements.iter().collect(),
        _ => vec![entry],
    };
    let statements: Vec<String> = elements
        .into_iter()
        .filter_map(|element| match element.get_ref() {
            DeValue::Table(_) => conditional(reader, part, dialect, element),
            _ => part.text_of(reader, dialect, element),
        })
        .map(|statement| statement.trim().trim_end_matches(';').to_owned())
        .collect();
    if statements.iter().all(String::is_empty) {
        let message = format!("{} is empty for `{dialect}`", part.place);
        let hint = "write a statement, or leave the dialect out".to_owned();
        reader.report(entry.span(), message, Some(hint));
    }
    statements
}

/// `{ sql = "…", when = ["${parameter}", "value"] }`, or `unless`: the statement, if it counts.
fn conditional(
    reader: &mut Reader<'_>,
    part: &Section<'_, '_>,
    dialect: &str,
    entry: Entry<'_, '_>,
) -> Option<String> {
    let place = format!("a statement for `{dialect}` of {}", part.place);
    let mut section = part.as_section(reader, dialect, entry, place)?;
    let sql = section.text(reader, "sql");
    let mut counts = true;
    for (key, expected) in [("when", true), ("unless", false)] {
        let Some(condition) = section.optional(key) else {
            continue;
        };
        let texts: Vec<String> = section
            .list(reader, key)
            .into_iter()
            .filter_map(|text| section.text_of(reader, key, text))
            .collect();
        if let [left, right] = texts.as_slice() {
            counts &= (left == right) == expected;
        } else {
            let message = format!("`{key}` of {} is not two texts", section.place);
            let hint = format!("{key} = [\"${{parameter}}\", \"value\"]");
            reader.report(condition.span(), message, Some(hint));
        }
    }
    section.finish(reader);
    sql.filter(|_| counts)
}

fn read_column(
    reader: &mut Reader<'_>,
    mut section: Section<'_, '_>,
    table: &Table,
    entity: Option<&Entity>,
    earlier: &[Table],
) -> Column {
    let taken: Vec<&str> = table
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    let name = named_element(reader, &mut section, "column", &taken);
    if !name.is_empty() {
        section.place = format!("column `{name}` of table `{}`", table.name);
    }
    let kind = parts::read_type(reader, &mut section);
    let tables: Vec<&Table> = earlier.iter().chain([table]).collect();
    let span = section.span.clone();
    let generator =
        kind.and_then(|kind| generator::read_column(reader, section, kind, entity, &tables));
    if table.order == Order::Sampled && matches!(generator, Some(ColumnGenerator::Walk(_))) {
        let message = format!("table `{}` has no ticks to walk along", table.name);
        let hint = "leave `order` out: then each entity has a row at each tick".to_owned();
        reader.report(span, message, Some(hint));
    }
    Column {
        name,
        kind: kind.unwrap_or(ColumnType::Integer),
        generator: generator
            .unwrap_or(ColumnGenerator::Plain(Plain::Constant(Literal::Integer(0)))),
    }
}
