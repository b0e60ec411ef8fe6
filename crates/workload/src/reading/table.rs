//! Tables: their columns, the statements that create them, and the key of their rows.

use toml::de::DeValue;

use crate::definition::{Column, Order, Table};
use crate::generators::columns::{ColumnGenerator, Scope, TableScope};
use crate::generators::plain::Plain;
use crate::generators::read_column_type;
use crate::input::{Entry, Section};
use crate::rows::Entity;
use highwater_model::op::ColumnType;
use highwater_model::user_error::suggest;

/// Reads `[tables]`.
pub(super) fn read_tables(root: &Section<'_>, entities: &[Entity]) -> Vec<Table> {
    let Some(all) = root.part("tables", "the tables") else {
        return Vec::new();
    };
    let mut tables: Vec<Table> = Vec::new();
    for entry in all.things("table", "tables") {
        let mut table = Table { name: entry.key.to_owned(), ..Table::default() };
        if let Some(section) = entry.section(format!("table `{}`", entry.key)) {
            read_table(&section, &mut table, entities, &tables);
        }
        tables.push(table);
    }
    tables
}

fn read_table(of: &Section<'_>, table: &mut Table, entities: &[Entity], earlier: &[Table]) {
    let entity = of.optional("entity");
    table.entity = entity.and_then(|entry| entry.position("entity", entities));
    let orders = [("time-major", Order::TimeMajor), ("drawn", Order::Sampled)];
    let order = of.word("order", &orders, Some(Order::TimeMajor));
    table.order = order.unwrap_or_default();
    table.repeat = of.natural("repeat", 0, Some(0));
    let elements = of.items("columns");
    // Copied, because the table's columns are extended below.
    let name = table.name.clone();
    let mut scopes: Vec<_> = earlier.iter().map(Table::scope).collect();
    scopes.push(TableScope::new(&name));
    for element in elements {
        if let Some(part) = element.section(format!("a column of {}", of.place)) {
            let column = read_column(part, table, entities, &scopes);
            if let Some(own) = scopes.last_mut() {
                own.add(&column);
            }
            table.columns.push(column);
        }
    }
    if let Some(part) = of.per_dialect("create") {
        for entry in part.entries() {
            table.create.insert(entry.key.to_owned(), read_create(&part, entry));
        }
    }
    // Rows that `create` makes have no index.
    if !table.columns.is_empty() {
        read_key(of, table);
    }
    read_values(of, table);
    read_locate(of, table);
    table.left_out = of.texts("left_out");
    if let Some(entry) = of.optional("replaces") {
        table.replaces = entry.position("column", &table.columns);
        let column = table.replacing();
        if let Some(column) = column.filter(|column| column.kind != ColumnType::Bigint) {
            let message =
                format!("column `{}` of {} is not of type `bigint`", column.name, of.place);
            entry.error::<()>(message, "rows replace each other by a column of type bigint");
        }
    }
    of.finish();
}

fn read_column(
    mut of: Section<'_>,
    table: &Table,
    entities: &[Entity],
    tables: &[TableScope<'_>],
) -> Column {
    let name = of.named("column", &table.columns, &format!("table `{}`", table.name));
    let kind = read_column_type(&of);
    let nulls = of.float("nulls", Some(0.0));
    let message = format!("`nulls` of {} is {nulls}", of.place);
    of.check_at("nulls", (0.0..=1.0).contains(&nulls), message, "a share of the rows, from 0 to 1");
    let generator = kind.and_then(|kind| {
        let scope = Scope {
            kind,
            count: 1,
            entity: table.entity.and_then(|position| entities.get(position)),
            entities,
            tables,
            parameters: &[],
        };
        ColumnGenerator::read(&of, &scope)
    });
    if table.order == Order::Sampled && matches!(generator, Some(ColumnGenerator::Walk(_))) {
        let message = format!("table `{}` has no ticks to walk along", table.name);
        let hint = "leave `order` out: then each entity has a row at each tick";
        of.error::<()>(message, hint);
    }
    Column {
        name,
        kind: kind.unwrap_or(ColumnType::Integer),
        nulls,
        generator: generator.unwrap_or(ColumnGenerator::Plain(Plain::nothing())),
    }
}

/// Reads `key`: an expression per dialect for the index of a row.
fn read_key(of: &Section<'_>, table: &mut Table) {
    let Some(part) = of.per_dialect("key") else {
        return;
    };
    for entry in part.entries() {
        if !table.create.contains_key(entry.key) {
            let message = format!("{} has a key but no `create` for `{}`", of.place, entry.key);
            entry.key_error(message, other_dialect(table, entry.key));
        }
        if let Some(key) = entry.text() {
            table.key.insert(entry.key.to_owned(), key.trim().to_owned());
        }
    }
    for dialect in table.create.keys().filter(|name| !table.key.contains_key(*name)) {
        let message = format!("{} has no key for `{dialect}`", of.place);
        part.error::<()>(message, "an integer expression whose value is the row's index");
    }
}

/// Reads `[values.DIALECT]`: an integer expression per column that represents its value.
fn read_values(of: &Section<'_>, table: &mut Table) {
    let Some(all) = of.section("values") else {
        return;
    };
    for dialect in all.entries() {
        check_dialect(dialect, "values", table);
        let place = format!("`values.{}` of {}", dialect.key, of.place);
        let Some(part) = dialect.section(place) else {
            continue;
        };
        for entry in part.entries() {
            if entry.key_position("column", &table.columns).is_some()
                && let Some(expression) = entry.text()
            {
                let of_dialect = table.values.entry(dialect.key.to_owned()).or_default();
                of_dialect.insert(entry.key.to_owned(), expression.trim().to_owned());
            }
        }
    }
}

/// Reads `[locate]`: a condition per dialect that an index can serve.
fn read_locate(of: &Section<'_>, table: &mut Table) {
    let Some(part) = of.section("locate") else {
        return;
    };
    for entry in part.entries() {
        check_dialect(entry, "locate", table);
        let Some(condition) = entry.text() else {
            continue;
        };
        for word in [":first", ":last"].iter().filter(|word| !condition.contains(*word)) {
            let message = format!("`locate.{}` of {} has no {word}", entry.key, of.place);
            let hint = "it is a condition for keys from :first to :last, both included";
            entry.error::<()>(message, hint);
        }
        table.locate.insert(entry.key.to_owned(), condition.trim().to_owned());
    }
}

fn check_dialect(entry: Entry<'_>, key: &str, table: &Table) {
    let dialect = entry.key;
    if !table.create.contains_key(dialect) {
        let message = format!("table `{}` has `{key}` but no `create` for `{dialect}`", table.name);
        entry.key_error(message, other_dialect(table, dialect));
    }
}

fn other_dialect(table: &Table, dialect: &str) -> Option<String> {
    suggest(dialect, table.create.keys().map(String::as_str))
}

/// One statement or a list of them; a statement in a table has a condition.
fn read_create(part: &Section<'_>, entry: Entry<'_>) -> Vec<String> {
    let elements = match entry.value() {
        DeValue::Array(_) => entry.list().unwrap_or_default(),
        _ => vec![entry],
    };
    let statements: Vec<String> = elements
        .into_iter()
        .filter_map(|element| match element.value() {
            DeValue::Table(_) => read_conditional(part, element),
            _ => element.text(),
        })
        .map(|statement| statement.trim().trim_end_matches(';').to_owned())
        .collect();
    if statements.iter().all(String::is_empty) {
        let message = format!("{} is empty for `{}`", part.place, entry.key);
        entry.error::<()>(message, "write a statement, or leave the dialect out");
    }
    statements
}

/// `{ sql = "…", when = ["${parameter}", "value"] }`, or `unless`: the statement, if its condition holds.
fn read_conditional(part: &Section<'_>, entry: Entry<'_>) -> Option<String> {
    let of = entry.section(format!("a statement for `{}` of {}", entry.key, part.place))?;
    let sql = of.text("sql");
    let mut counts = true;
    for (key, expected) in [("when", true), ("unless", false)] {
        let Some(condition) = of.optional(key) else {
            continue;
        };
        let texts: Option<Vec<String>> =
            condition.list().and_then(|all| all.into_iter().map(Entry::text).collect());
        match texts.as_deref() {
            None => {}
            Some([left, right]) => counts &= (left == right) == expected,
            Some(_) => {
                let message = format!("`{key}` of {} is not two texts", of.place);
                let hint = format!("{key} = [\"${{parameter}}\", \"value\"]");
                condition.error::<()>(message, hint);
            }
        }
    }
    of.finish();
    counts.then_some(sql).filter(|sql| !sql.is_empty())
}
