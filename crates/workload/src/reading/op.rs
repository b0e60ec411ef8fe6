//! Ops: their rows and writes, their statements in each dialect with parameters, the rows loaded first, and the streams
//! that mix them.

use std::collections::BTreeMap;

use toml::de::DeValue;

use highwater_model::op::OpId;
use highwater_model::user_error::suggest;

use super::steps::read_steps;
use crate::definition::{
    Arrivals, Load, MAX_BATCH, MAX_BLOCK, OpBodyDefinition, OpDefinition, QueryParameter,
    StreamSpec, Table, Unit, WriteKind, Writes,
};
use crate::generators::columns::{ColumnScope, Scope};
use crate::generators::parameters::{MAX_COUNT, ParameterGenerator, Written};
use crate::generators::read_column_type;
use crate::input::{Entry, Section};
use crate::parameter::ParameterKind;
use crate::rows::Entity;
use crate::sql::{Sql, SqlInputError};

/// Reads `[ops]`.
pub(super) fn read_ops(
    root: &Section<'_>,
    entities: &[Entity],
    tables: &[Table],
) -> Vec<OpDefinition> {
    if root.optional("ops").is_none() {
        let hint = "add [ops.NAME] with `insert`, `sql` or `transaction`";
        root.error::<()>("the workload file has no ops", hint);
    }
    root.each("ops", "op", |entry| {
        let mut op = OpDefinition {
            name: entry.key.to_owned(),
            summary: String::new(),
            body: OpBodyDefinition::Insert { table: 0, batch: 1 },
            answer: None,
        };
        if let Some(section) = entry.section(format!("op `{}`", entry.key)) {
            read_op(&section, &mut op, entities, tables);
        }
        Some(op)
    })
}

fn read_op(of: &Section<'_>, op: &mut OpDefinition, entities: &[Entity], tables: &[Table]) {
    op.summary = of.text_or_empty("summary");
    let (insert, sql) = (of.optional("insert"), of.optional("sql"));
    match (insert, sql, of.optional("transaction")) {
        (Some(entry), None, None) => {
            let batch = of.integer("batch", 1..=MAX_BATCH, None).unsigned_abs();
            let table = entry.position("table", tables).unwrap_or(0);
            if let Some(of) = tables.get(table).filter(|of| of.columns.is_empty()) {
                let hint = format!("add [[tables.{}.columns]]", of.name);
                entry.error::<()>(format!("table `{}` has no columns", of.name), hint);
            }
            op.body = OpBodyDefinition::Insert { table, batch };
        }
        (None, Some(_), None) => {
            let (parameters, names) = read_parameters(of, entities, tables);
            let sql = read_sql(of, &names);
            let writes = read_writes(of, &parameters, tables);
            check_written(of, &parameters, writes);
            op.body = OpBodyDefinition::Query { sql, parameters, writes };
            op.answer = read_answer(of);
        }
        (None, None, Some(_)) => {
            let (parameters, names) = read_parameters(of, entities, tables);
            let sql = read_dialects(of, "transaction", |entry, place| {
                read_steps(entry, place, &parameters, &names)
            });
            op.body = OpBodyDefinition::Transaction { sql, parameters };
            op.answer = read_answer(of);
        }
        _ => {
            let message = format!("{} must have either `insert`, `sql` or `transaction`", of.place);
            let hint = "insert = \"table\" and batch = 1000, or [ops.NAME.sql] with a statement \
                        for each dialect, or [ops.NAME.transaction] with a list of them";
            of.error::<()>(message, hint);
        }
    }
    of.finish();
}

/// Reads `answer`: the number of rows in the response, as `min` and `max`, times a factor.
fn read_answer(of: &Section<'_>) -> Option<(u64, u64)> {
    let part = of.section("answer")?;
    let min = part.natural("min", 0, Some(0));
    let max = part.natural("max", 0, None);
    let times = part.natural("times", 1, Some(1));
    part.check_order(min <= max);
    part.finish();
    part.good((min.saturating_mul(times), max.saturating_mul(times)))
}

/// Reads `[load]`.
pub(super) fn read_load(root: &Section<'_>, ops: &[OpDefinition]) -> Option<Load> {
    let of = root.part("load", "`load`")?;
    let rows = of.natural("rows", 0, None);
    let inserts = ops.iter().filter(|op| op.body.is_insert());
    let inserts: Vec<&str> = inserts.map(|op| op.name.as_str()).collect();
    let entry = of.required("op", "\"insert\"");
    let insert = entry.and_then(|entry| entry.position("insert", &inserts));
    of.finish();
    let name = inserts.get(insert?)?;
    let position = ops.iter().position(|op| op.name == *name)?;
    let op = OpId(u16::try_from(position).ok()?);
    of.good(Load { op, rows })
}

/// The weight that completes the others to a hundred.
const REST: &str = "rest";

/// Reads a stream of `[streams]`.
pub(super) fn read_stream(entry: Entry<'_>, ops: &[OpDefinition]) -> Option<StreamSpec> {
    let of = entry.section(format!("stream `{}`", entry.key))?;
    let units = Unit::ALL.map(|unit| (unit.name(), unit));
    let unit = of.word("unit", &units, None);
    let kinds = [("constant", Arrivals::Constant), ("poisson", Arrivals::Poisson)];
    let arrivals = of.word("arrivals", &kinds, None);
    let part = of.required("ops", "{ NAME = 1 }")?.section(format!("`ops` of {}", of.place))?;
    let mut mix = Vec::new();
    let mut rest = None;
    for weight in part.entries() {
        let position = weight.key_position("op", ops);
        if matches!(weight.value(), DeValue::String(text) if text == REST) {
            rest = position;
        } else if let (Some(position), Some(weight)) = (position, read_weight(weight)) {
            mix.push((position, weight));
        }
    }
    of.finish();
    if let Some(position) = rest {
        let others: u32 = mix.iter().map(|(_, weight)| *weight).sum();
        if let Some(weight) = 100_u32.checked_sub(others) {
            mix.push((position, weight));
        } else {
            let message = format!("{} adds up to {others}%", part.place);
            part.error::<()>(message, "what is not \"rest\" is at most 100");
        }
    }
    mix.retain(|(_, weight)| *weight > 0);
    let op =
        |(position, weight): &(usize, u32)| Some((OpId(u16::try_from(*position).ok()?), *weight));
    let stream = StreamSpec {
        name: entry.key.to_owned(),
        ops: mix.iter().filter_map(op).collect(),
        unit: unit?,
        arrivals: arrivals?,
    };
    if part.good(()).is_some() {
        check_mix(&part, &stream, ops);
    }
    Some(stream)
}

fn read_weight(entry: Entry<'_>) -> Option<u32> {
    let weight = u32::try_from(entry.number(ParameterKind::Integer)?).ok();
    weight.filter(|weight| *weight <= 1_000_000).or_else(|| {
        let hint = "a whole number from 0, for never, to 1,000,000";
        entry.error(format!("`{}` has no usable weight", entry.key), hint)
    })
}

/// A stream of rows is one insert, so that its ops cover the rows without a gap; a stream of queries has none. If some
/// of its ops write, each op visits all weights.
fn check_mix(part: &Section<'_>, stream: &StreamSpec, ops: &[OpDefinition]) {
    let mix = || stream.ops.iter().filter_map(|(id, _)| ops.get(usize::from(id.0)));
    let is_transaction =
        |op: &OpDefinition| matches!(op.body, OpBodyDefinition::Transaction { .. });
    let inserts = mix().filter(|op| op.body.is_insert()).count();
    let good = match stream.unit {
        Unit::Rows => inserts == 1 && stream.ops.len() == 1,
        Unit::Queries => inserts == 0 && !stream.ops.is_empty(),
        Unit::Transactions => !stream.ops.is_empty() && mix().all(is_transaction),
    };
    if !good {
        let message = format!("{} does not fit its unit", part.place);
        let hint = "unit = \"rows\" takes exactly one insert, \"transactions\" takes transactions only, \"queries\" no insert";
        part.error::<()>(message, hint);
    }
    let weights: u64 = stream.ops.iter().map(|(_, weight)| u64::from(*weight)).sum();
    if weights > MAX_BLOCK && mix().any(|op| op.body.writes().is_some()) {
        let message = format!("the weights of {} add up to {weights}", part.place);
        let hint = format!("with an op that writes among them to at most {MAX_BLOCK}");
        part.error::<()>(message, hint);
    }
    let name = &stream.name;
    let is_named = ops.iter().any(|op| op.name == *name);
    if is_named && mix().any(|op| op.name != *name) {
        let message = format!("stream `{name}` has the name of an op but runs others");
        part.error::<()>(message, "rename the stream");
    }
}

/// The values of written rows are those of the rows that the query upserts.
fn check_written(of: &Section<'_>, parameters: &[QueryParameter], writes: Option<Writes>) {
    let upserted = writes.filter(|writes| writes.kind == WriteKind::Upsert);
    for parameter in parameters {
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

/// Reads the effect of a query on the rows of a table, if stated.
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

/// Reads the `parameters` of an op's statements, and the names by which statements use them, including unreadable ones;
/// empty names for those that are not sent.
fn read_parameters(
    of: &Section<'_>,
    entities: &[Entity],
    tables: &[Table],
) -> (Vec<QueryParameter>, Vec<String>) {
    let tables: Vec<_> = tables.iter().map(Table::scope).collect();
    let (mut parameters, mut taken, mut names) = (Vec::new(), Vec::new(), Vec::new());
    let mut earlier: Vec<ColumnScope> = Vec::new();
    for element in of.items("parameters") {
        let Some(mut part) = element.section(format!("a parameter of {}", of.place)) else {
            continue;
        };
        let name = part.named("parameter", &taken, &of.place);
        let copies = part.copies(&name);
        taken.extend(copies.iter().cloned());
        names.extend(copies.iter().cloned());
        let Some(kind) = read_column_type(&part) else {
            continue;
        };
        // A computed value need not be sent.
        let computed = part.optional("generator").is_some_and(
            |entry| matches!(entry.value(), DeValue::String(text) if text == "expression"),
        );
        let least = i64::from(!computed);
        let count = part.integer("count", least..=MAX_COUNT, Some(1)).unsigned_abs();
        if count == 0 {
            names.iter_mut().rev().take(copies.len()).for_each(String::clear);
        }
        let scope =
            Scope { kind, count, entity: None, entities, tables: &tables, parameters: &earlier };
        if let Some(generator) = ParameterGenerator::read(&part, &scope) {
            let late = match &generator {
                ParameterGenerator::Answer(_) => true,
                ParameterGenerator::Computed(computed) => {
                    let mut used = computed.expression().variables().into_iter();
                    used.any(|used| parameters.get(used).is_some_and(|of: &QueryParameter| of.late))
                }
                _ => false,
            };
            for name in copies {
                let (refers, fields) = (false, Vec::new());
                earlier.push(ColumnScope { late, name: name.clone(), kind, refers, fields });
                let generator = generator.clone();
                parameters.push(QueryParameter { name, kind, count, generator, late });
            }
        }
    }
    (parameters, names)
}

/// Reads a value per dialect, with its name in messages.
fn read_dialects<T>(
    of: &Section<'_>,
    key: &'static str,
    read: impl Fn(Entry<'_>, &str) -> Option<T>,
) -> BTreeMap<String, T> {
    let mut sql = BTreeMap::new();
    if let Some(part) = of.per_dialect(key) {
        for entry in part.entries() {
            let place = format!("{} for `{}`", part.place, entry.key);
            if let Some(read) = read(entry, &place) {
                sql.insert(entry.key.to_owned(), read);
            }
        }
    }
    sql
}

/// Reads `sql`: a statement per dialect, which uses all of `names`.
pub(super) fn read_sql(of: &Section<'_>, names: &[String]) -> BTreeMap<String, Sql> {
    read_dialects(of, "sql", |entry, place| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let errors = match Sql::parse(&entry.text()?, &names) {
            Ok(parsed) => return Some(parsed),
            Err(errors) => errors,
        };
        for error in errors {
            let several = "an op is one statement, or a `transaction` of several";
            report(entry, place, &names, error, several);
        }
        None
    })
}

/// Reports an error in a statement; `several` is the suggested fix for several statements.
pub(super) fn report(
    entry: Entry<'_>,
    place: &str,
    names: &[&str],
    error: SqlInputError,
    several: &str,
) {
    let (word, message, hint) = match error {
        SqlInputError::UnknownParameter(name) => (
            format!(":{name}"),
            format!("unknown parameter `:{name}` in {place}"),
            suggest(&name, names.iter().copied())
                .unwrap_or_else(|| "describe it in `parameters`".to_owned()),
        ),
        SqlInputError::UnusedParameter(name) => (
            String::new(),
            format!("parameter `:{name}` is not used in {place}"),
            "every dialect must use the same parameters".to_owned(),
        ),
        SqlInputError::SeveralStatements => {
            (";".to_owned(), format!("more than one statement in {place}"), several.to_owned())
        }
        SqlInputError::Unterminated(what) => (
            String::new(),
            format!("a {what} does not end in {place}"),
            "close it, or double a quote inside it".to_owned(),
        ),
        SqlInputError::Empty => (
            String::new(),
            format!("{place} is empty"),
            "write a statement, or leave the dialect out".to_owned(),
        ),
    };
    entry.error_word(&word, message, hint);
}
