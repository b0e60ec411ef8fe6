//! Which rows are the same: keys that an op writes again and how their rows are distinguished, and the identity of a
//! workload's rows, by which a run continues another one's table. Must not decide which of several writes wins; the
//! audit does.

use std::collections::BTreeMap;

use highwater_model::input_error::InputError;
use highwater_model::op::{ColumnData, Op, OpBody, Value};
use highwater_model::plan::hex;
use highwater_model::units::Seed;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::definition::{Definition, OpBodyDefinition, WriteKind, Writes, preferred};
use super::entity::Entity;
use super::generators::columns::ColumnGenerator;
use super::generators::plain::Plain;
use super::instance::Workload;
use super::table::{Column, Table};

/// Keys that an op writes in a table whose rows replace each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedKeys {
    /// Position of the table.
    pub table: usize,
    /// Values of the deciding column, in the order of the op's rows.
    pub keys: Vec<i64>,
    /// Index of the row for the first key; the others follow. `None` if the rows are deleted.
    pub first_row: Option<u64>,
}

impl Workload {
    /// The keys that an op writes or deletes, if rows replace each other; `first_row` is the first row that it writes.
    pub fn replaced_keys(&self, op: &Op, first_row: u64) -> Option<ReplacedKeys> {
        match (&self.op_definition(op.id)?.body, &op.body) {
            (OpBodyDefinition::Insert { table, .. }, OpBody::Insert(batch)) => {
                let key = self.replacing_column(*table)?;
                let ColumnData::Integer(keys) = batch.columns.get(key)? else {
                    return None;
                };
                Some(ReplacedKeys {
                    table: *table,
                    keys: keys.clone(),
                    first_row: Some(batch.first_row),
                })
            }
            (
                OpBodyDefinition::Query { parameters, writes: Some(writes), .. },
                OpBody::Query(values),
            ) => {
                let before: u64 = parameters.iter().take(writes.key).map(|p| p.count).sum();
                let keys = keys_of(values, before, *writes);
                Some(ReplacedKeys {
                    table: writes.table,
                    keys,
                    first_row: (writes.kind == WriteKind::Upsert).then_some(first_row),
                })
            }
            _ => None,
        }
    }

    /// Position of the column by whose value a later row replaces an earlier one, if rows do.
    pub fn replacing_column(&self, table: usize) -> Option<usize> {
        self.table_definition(table)?.replaces
    }

    /// Whether every row of a table contains its number, so that a row that is found identifies the op that wrote it.
    pub fn rows_are_marked(&self, table: usize) -> bool {
        let marked = |table: &Table| {
            table.columns.iter().any(|column| match &column.generator {
                ColumnGenerator::Plain(Plain::Text(text)) => text.is_marked(),
                _ => false,
            })
        };
        self.table_definition(table).is_some_and(marked)
    }

    /// Whether a table's keys are unique for any number of rows.
    pub fn keys_never_repeat(&self, table: usize) -> bool {
        let never_repeats = |column: &Column| match &column.generator {
            ColumnGenerator::Plain(Plain::Keys(keys)) => keys.never_repeats(),
            _ => false,
        };
        let table = self.table_definition(table);
        table.and_then(Table::replacing).is_some_and(never_repeats)
    }
}

fn keys_of(values: &[Value], before: u64, writes: Writes) -> Vec<i64> {
    let before = usize::try_from(before).unwrap_or(usize::MAX);
    let rows = usize::try_from(writes.rows).unwrap_or(0);
    values
        .iter()
        .skip(before)
        .take(rows)
        .filter_map(|value| match value {
            Value::Integer(key) => Some(*key),
            _ => None,
        })
        .collect()
}

/// Part of every fingerprint: incremented when the same file and seed give different rows or ops.
pub(super) const GENERATOR_VERSION: u32 = 1;

/// Parameters for how a target spreads rows, which change no row.
pub(super) const SPREADING: [&str; 3] = ["shards", "num_shards", "replicas"];

/// The inputs that determine the rows of all tables.
#[derive(Serialize)]
struct RowIdentity<'a> {
    generators: u32,
    seed: Seed,
    format: u32,
    entities: &'a [Entity],
    tables: Vec<Table>,
}

/// Each table's create statements, by dialect.
pub(super) type Creation = Vec<BTreeMap<String, Vec<String>>>;

/// SHA-256, in hexadecimal, of the inputs that determine the rows in a target of these dialects.
pub(super) fn row_identity(
    definition: &Definition,
    creation: &Creation,
    dialects: &[String],
    seed: Seed,
) -> Result<String, InputError> {
    let mut tables = definition.tables.clone();
    for (table, creation) in tables.iter_mut().zip(creation) {
        // Finding rows changes none of them.
        table.key.clear();
        let place = format!("table `{}`", table.name);
        let create = preferred(creation, dialects, &place)?.clone();
        table.create = BTreeMap::from([("this target's".to_owned(), create)]);
        for column in &mut table.columns {
            if let ColumnGenerator::Plain(Plain::Keys(keys)) = &mut column.generator {
                keys.leave_out_what_changes_no_key();
            }
        }
    }
    let identity = RowIdentity {
        generators: GENERATOR_VERSION,
        seed,
        format: definition.format,
        entities: &definition.entities,
        tables,
    };
    digest(&identity, "the workload's rows have no identity")
}

/// SHA-256, in hexadecimal, of a value as JSON; `missing` is the error if it cannot be serialized.
pub(super) fn digest(content: &impl Serialize, missing: &str) -> Result<String, InputError> {
    let content = serde_json::to_vec(content)
        .map_err(|error| InputError::elsewhere(format!("{missing}: {error}")))?;
    Ok(hex(&Sha256::digest(&content)))
}
