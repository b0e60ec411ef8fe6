//! Ops, the streams that mix them, and what is loaded first.

use toml::de::DeValue;

use super::names::{check_name, limited, position_of};
use super::section::{Reader, Section};
use super::{parts, statement, writes};
use crate::definition::MAX_BLOCK;
use crate::definition::{
    Arrivals, Entity, Load, MAX_BATCH, OpBodyDefinition, OpDefinition, StreamSpec, Table, Unit,
};
use crate::parameter::ParameterKind;
use highwater_model::op::OpId;

/// The weight that makes the others up to a hundred.
const REST: &str = "rest";

/// Reads `[ops]`.
pub(super) fn read_ops(
    reader: &mut Reader<'_>,
    root: &mut Section<'_, '_>,
    entities: &[Entity],
    tables: &[Table],
) -> Vec<OpDefinition> {
    let Some(all) = root.section(reader, "ops", "the ops".to_owned()) else {
        let hint = "add [ops.NAME] with `insert`, `sql` or `transaction`".to_owned();
        reader.report(0..0, "the workload file has no ops", Some(hint));
        return Vec::new();
    };
    limited(reader, &all, "ops")
        .into_iter()
        .map(|(name, span, entry)| {
            check_name(reader, "op", name, span);
            let mut op = OpDefinition {
                name: name.to_owned(),
                summary: String::new(),
                body: OpBodyDefinition::Insert { table: 0, batch: 1 },
                answer: None,
            };
            let place = format!("op `{name}`");
            if let Some(section) = all.as_section(reader, name, entry, place) {
                read_op(reader, section, &mut op, entities, tables);
            }
            op
        })
        .collect()
}

fn read_op(
    reader: &mut Reader<'_>,
    mut section: Section<'_, '_>,
    op: &mut OpDefinition,
    entities: &[Entity],
    tables: &[Table],
) {
    op.summary = section.text_or_empty(reader, "summary");
    let insert = section.optional("insert");
    let sql = section.optional("sql");
    let transaction = section.optional("transaction");
    match (insert, sql, transaction) {
        (Some(entry), None, None) => {
            let name = section.text_of(reader, "insert", entry);
            let batch = section.integer(reader, "batch", 1..=MAX_BATCH, None);
            let names = tables.iter().map(|table| table.name.as_str());
            let table =
                name.and_then(|name| position_of(reader, names, "table", &name, entry.span()));
            op.body = OpBodyDefinition::Insert {
                table: table.unwrap_or(0),
                batch: batch.and_then(|b| u64::try_from(b).ok()).unwrap_or(1),
            };
        }
        (None, Some(_), None) => {
            op.body = statement::read_query(reader, &mut section, entities, tables);
            writes::read(reader, &mut section, &mut op.body, tables);
            op.answer = read_answer(reader, &mut section);
        }
        (None, None, Some(_)) => {
            op.body = statement::read_transaction(reader, &mut section, entities, tables);
            op.answer = read_answer(reader, &mut section);
        }
        _ => {
            let message = format!(
                "{} must have either `insert`, `sql` or `transaction`",
                section.place
            );
            let hint = "insert = \"table\" and batch = 1000, or [ops.NAME.sql] with a statement \
                        for each dialect, or [ops.NAME.transaction] with a list of them";
            reader.report(section.span.clone(), message, Some(hint.to_owned()));
        }
    }
    section.finish(reader);
}

/// Reads `answer`: how many rows the answer has, as `min` and `max`, times something.
fn read_answer(reader: &mut Reader<'_>, section: &mut Section<'_, '_>) -> Option<(u64, u64)> {
    let place = format!("`answer` of {}", section.place);
    let mut part = section.section(reader, "answer", place)?;
    let min = part.integer(reader, "min", 0..=i64::MAX, Some(0));
    let max = part.integer(reader, "max", 0..=i64::MAX, None);
    let times = part.integer(reader, "times", 1..=i64::MAX, Some(1));
    let (min, max, times) = (min?, max?, times?.unsigned_abs());
    parts::ordered(reader, &mut part, min <= max)?;
    part.finish(reader);
    Some((
        min.unsigned_abs().saturating_mul(times),
        max.unsigned_abs().saturating_mul(times),
    ))
}

/// Reads `[streams]`.
pub(super) fn read_streams(
    reader: &mut Reader<'_>,
    root: &mut Section<'_, '_>,
    ops: &[OpDefinition],
) -> Vec<StreamSpec> {
    let Some(all) = root.section(reader, "streams", "the streams".to_owned()) else {
        return Vec::new();
    };
    limited(reader, &all, "streams")
        .into_iter()
        .filter_map(|(name, span, entry)| {
            check_name(reader, "stream", name, span);
            let section = all.as_section(reader, name, entry, format!("stream `{name}`"))?;
            read_stream(reader, section, name, ops)
        })
        .collect()
}

fn read_stream(
    reader: &mut Reader<'_>,
    mut section: Section<'_, '_>,
    name: &str,
    ops: &[OpDefinition],
) -> Option<StreamSpec> {
    let unit = parts::word(
        reader,
        &mut section,
        "unit",
        &[("rows", Unit::Rows), ("queries", Unit::Queries)],
    );
    let arrivals = parts::word(
        reader,
        &mut section,
        "arrivals",
        &[
            ("constant", Arrivals::Constant),
            ("poisson", Arrivals::Poisson),
        ],
    );
    let entry = section.required(reader, "ops", "{ NAME = 1 }")?;
    let place = format!("`ops` of {}", section.place);
    let part = section.as_section(reader, "ops", entry, place)?;
    let mut mix = Vec::new();
    let mut rest = None;
    for (op, span, weight) in part.entries() {
        let names = ops.iter().map(|op| op.name.as_str());
        let position = position_of(reader, names, "op", op, span);
        if let DeValue::String(text) = weight.get_ref()
            && text == REST
        {
            rest = position;
            continue;
        }
        let weight = part
            .number_of(reader, op, weight, ParameterKind::Integer)
            .and_then(|number| u32::try_from(number).ok())
            .filter(|number| (0..=1_000_000).contains(number))
            .or_else(|| {
                let hint = Some("a whole number from 0, for never, to 1,000,000".to_owned());
                reader.report(weight.span(), format!("`{op}` has no usable weight"), hint);
                None
            });
        if let (Some(position), Some(weight)) = (position, weight) {
            mix.push((position, weight));
        }
    }
    section.finish(reader);
    if let Some(position) = rest {
        let others: u32 = mix.iter().map(|(_, weight)| *weight).sum();
        if let Some(weight) = 100_u32.checked_sub(others) {
            mix.push((position, weight));
        } else {
            let message = format!("{} adds up to {others} %", part.place);
            let hint = "what is not \"rest\" is at most 100".to_owned();
            reader.report(part.span.clone(), message, Some(hint));
        }
    }
    mix.retain(|(_, weight)| *weight > 0);
    check_mix(reader, &part, name, unit?, ops, &mix);
    let ops = mix
        .iter()
        .filter_map(|(position, weight)| Some((OpId(u16::try_from(*position).ok()?), *weight)));
    Some(StreamSpec {
        name: name.to_owned(),
        ops: ops.collect(),
        unit: unit?,
        arrivals: arrivals?,
    })
}

/// A stream of rows is one insert, so that its ops cover the rows without a gap; a stream of
/// queries has none. Where some of them write, each op looks at all weights.
fn check_mix(
    reader: &mut Reader<'_>,
    part: &Section<'_, '_>,
    name: &str,
    unit: Unit,
    ops: &[OpDefinition],
    mix: &[(usize, u32)],
) {
    let inserts = mix
        .iter()
        .filter_map(|(position, _)| ops.get(*position))
        .filter(|op| matches!(op.body, OpBodyDefinition::Insert { .. }))
        .count();
    let good = match unit {
        Unit::Rows => inserts == 1 && mix.len() == 1,
        Unit::Queries => inserts == 0 && !mix.is_empty(),
    };
    if !good {
        let message = format!("{} does not fit its unit", part.place);
        let hint = "unit = \"rows\" takes exactly one insert, \"queries\" takes queries only";
        reader.report(part.span.clone(), message, Some(hint.to_owned()));
    }
    let written = mix
        .iter()
        .filter_map(|(position, _)| ops.get(*position))
        .any(|op| {
            matches!(
                op.body,
                OpBodyDefinition::Query {
                    writes: Some(_),
                    ..
                }
            )
        });
    let weights: u64 = mix.iter().map(|(_, weight)| u64::from(*weight)).sum();
    if written && weights > MAX_BLOCK {
        let message = format!("the weights of {} add up to {weights}", part.place);
        let hint = format!("with an op that writes among them to at most {MAX_BLOCK}");
        reader.report(part.span.clone(), message, Some(hint));
    }
    let other_op = ops.iter().position(|op| op.name == name);
    if other_op.is_some_and(|op| mix.iter().any(|(position, _)| *position != op)) {
        let message = format!("stream `{name}` has the name of an op but asks others");
        reader.report(
            part.span.clone(),
            message,
            Some("rename the stream".to_owned()),
        );
    }
}

/// Reads `[load]`.
pub(super) fn read_load(
    reader: &mut Reader<'_>,
    root: &mut Section<'_, '_>,
    ops: &[OpDefinition],
) -> Option<Load> {
    let mut section = root.section(reader, "load", "`load`".to_owned())?;
    let rows = section.integer(reader, "rows", 0..=i64::MAX, None);
    let entry = section.required(reader, "op", "\"insert\"");
    let op = entry.and_then(|entry| {
        let name = section.text_of(reader, "op", entry)?;
        let inserts: Vec<&str> = ops
            .iter()
            .filter(|op| matches!(op.body, OpBodyDefinition::Insert { .. }))
            .map(|op| op.name.as_str())
            .collect();
        position_of(reader, inserts.into_iter(), "insert", &name, entry.span())?;
        ops.iter().position(|op| op.name == name)
    });
    section.finish(reader);
    Some(Load {
        op: OpId(u16::try_from(op?).ok()?),
        rows: u64::try_from(rows?).ok()?,
    })
}
