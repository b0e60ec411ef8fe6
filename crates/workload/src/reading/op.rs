//! Ops, and the rows loaded first.

use super::statement::Statements;
use super::writes;
use crate::definition::{Load, MAX_BATCH, OpBodyDefinition, OpDefinition};
use crate::entity::Entity;
use crate::input::Section;
use crate::table::Table;
use highwater_model::op::OpId;

/// Reads `[ops]`.
pub(super) fn read_ops(
    root: &Section<'_>,
    entities: &[Entity],
    tables: &[Table],
) -> Vec<OpDefinition> {
    let Some(all) = root.part("ops", "the ops") else {
        let hint = "add [ops.NAME] with `insert`, `sql` or `transaction`";
        root.reader.report(0..0, "the workload file has no ops", hint);
        return Vec::new();
    };
    let mut ops = Vec::new();
    for entry in all.things("op", "ops") {
        let mut op = OpDefinition {
            name: entry.key.to_owned(),
            summary: String::new(),
            body: OpBodyDefinition::Insert { table: 0, batch: 1 },
            answer: None,
        };
        if let Some(section) = entry.section(format!("op `{}`", entry.key)) {
            read_op(&section, &mut op, entities, tables);
        }
        ops.push(op);
    }
    ops
}

fn read_op(of: &Section<'_>, op: &mut OpDefinition, entities: &[Entity], tables: &[Table]) {
    op.summary = of.text_or_empty("summary");
    let (insert, sql) = (of.optional("insert"), of.optional("sql"));
    match (insert, sql, of.optional("transaction")) {
        (Some(entry), None, None) => {
            let batch = of.integer("batch", 1..=MAX_BATCH, None).unsigned_abs();
            let table = entry.position("table", tables).unwrap_or(0);
            op.body = OpBodyDefinition::Insert { table, batch };
        }
        (None, Some(_), None) => {
            let statements = Statements::read(of, entities, tables);
            op.body = statements.query(of);
            writes::read(of, &mut op.body, tables);
            op.answer = read_answer(of);
        }
        (None, None, Some(_)) => {
            op.body = Statements::read(of, entities, tables).transaction(of);
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
    let is_insert = |op: &&OpDefinition| matches!(op.body, OpBodyDefinition::Insert { .. });
    let inserts: Vec<&str> = ops.iter().filter(is_insert).map(|op| op.name.as_str()).collect();
    let entry = of.required("op", "\"insert\"");
    let insert = entry.and_then(|entry| entry.position("insert", &inserts));
    of.finish();
    let name = inserts.get(insert?)?;
    let position = ops.iter().position(|op| op.name == *name)?;
    let op = OpId(u16::try_from(position).ok()?);
    of.good(Load { op, rows })
}
